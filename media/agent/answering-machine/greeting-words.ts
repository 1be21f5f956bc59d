/** What answered, as far as its words tell. */
export type GreetingKind = 'voicemail' | 'screening' | 'ivr'

/*
 * What machines say that people do not, in the eleven languages as recognisers spell them: recorders,
 * announcements of a network, screening services, menus. Written by the makers of this program, not by
 * native speakers of each. Whoever is asked to leave a message may be talking to a person: only what is
 * told, not what is asked, counts. Order matters: a mailbox may also ask for a name.
 */
const PHRASES: readonly (readonly [GreetingKind, readonly RegExp[]])[] = [
  [
    'screening',
    [
      /\bscreen(ing|ed|s)\b|\b(call|google) assistant\b/,
      /\b(digital|virtual|automated|ai|personal) (voice )?assistant\b/,
      /\b(try|trying) to connect (you|your call)\b/,
      /\bi('| wi)ll see if (this|the) person is available\b/,
      /(डिजिटल|वर्चुअल|कॉल) (असिस्टेंट|सहायक)/,
      /(ডিজিটাল|ভার্চুয়াল) অ্যাসিস্ট্যান্ট|(டிஜிட்டல்|விர்ச்சுவல்) (அசிஸ்டென்ட்|உதவியாளர்)|(డిజిటల్|వర్చువల్) అసిస్టెంట్/,
      /(ಡಿಜಿಟಲ್|ವರ್ಚುವಲ್) ಅಸಿಸ್ಟೆಂಟ್|(ഡിജിറ്റൽ|വെർച്വൽ) അസിസ്റ്റന്റ്|(ડિજિટલ|વર્ચ્યુઅલ) આસિસ્ટન્ટ|(ਡਿਜੀਟਲ|ਵਰਚੁਅਲ) ਅਸਿਸਟੈਂਟ|(ଡିଜିଟାଲ|ଭର୍ଚୁଆଲ) ଆସିଷ୍ଟାଣ୍ଟ/,
    ],
  ],
  [
    'voicemail',
    [
      /\b(after|at) the (tone|beep)\b/,
      /\bvoice ?mail\b|\bmailbox\b|\banswering machine\b|\bvoice messag(e|ing)\b/,
      /\brecord (your|a) message\b/,
      /\bcan(not|'t)? (come to|answer|get to|pick up|take) (the phone|your call)\b/,
      /\bsorry (i|we) missed (you|your call)\b/,
      /\b(person|subscriber|number|customer|party|user) you('ve| are| have|'re)?( just)? (calling|called|dialed|dialled|trying to (reach|call|contact)|tried to (reach|call))\b.{0,40}\b(not (available|reachable|answering|responding|in service|in use)|unavailable|switched off|busy|does not exist|out of|(speaking|talking) (to|with) (someone|somebody))/,
      /\bplease try (again|after|your call|calling)\b/,
      /\b(beep|tone) ke baad\b|\bsandesh chho[dr]|\bswitch(ed)? off hai\b/,
      /(बीप|टोन) के बाद|संदेश (छोड़|रिकॉर्ड)|(बीप|टोन)नंतर|संदेश (ठेवा|सोडा)|वॉ[यइ]समेल/,
      /(जिस|डायल|कॉल|संपर्क).{0,60}(उपलब्ध नहीं|स्विच ऑफ|व्यस्त ह|बंद ह|पहुँच से बाहर|पहुंच से बाहर|कवरेज|उत्तर नहीं|जवाब नहीं|मौजूद नहीं)/,
      /(पुनः|दोबारा|फिर से|बाद|बाद में) (प्रयास|कोशिश) कर|(मैं|हम).{0,20}(फ़ोन|फोन|कॉल) नहीं (उठा|ले)/,
      /(डायल|कॉल) केलेल.{0,50}(बंद|उपलब्ध नाही|व्यस्त|स्विच ऑफ|क्षेत्राबाहेर|कव्हरेज)|वेळाने (पुन्हा )?प्रयत्न/,
      /(বিপ|টোনের) পর|বার্তা (রাখ|রেকর্ড)|ভয়েসমেল/,
      /(কল করেছেন|ডায়াল করেছেন|কল করছেন|যোগাযোগ).{0,50}(বন্ধ|ব্যস্ত|উত্তর দিচ্ছেন না|উপলব্ধ নে?ই|সীমার বাইরে)|আবার চেষ্টা কর/,
      /(பீப்|டோன்).{0,20}பிறகு|செய்தியை.{0,20}(பதிவு|விட)|வாய்ஸ்மெயில்/,
      /(டயல் செய்த|அழைத்த|அழைக்கும்|தொடர்பு கொள்).{0,60}(அணைத்து|ஸ்விட்ச் ஆஃப்|எல்லைக்கு|பிஸி|பதிலளிக்க|கிடைக்க|இயலவில்லை)|மீண்டும் முயற்சி/,
      /(బీప్|టోన్).{0,20}తర్వాత|సందేశ.{0,20}(వదల|రికార్డ్)|వాయిస్ ?మెయిల్/,
      /(డయల్ చేసిన|కాల్ చేసిన|కాల్ చేస్తున్న|సంప్రదించ).{0,60}(స్విచ్ ఆఫ్|అందుబాటులో లే|బిజీ|కవరేజ్|సమాధానం|స్పందించ)|మళ్ళీ ప్రయత్నించ/,
      /(ಬೀಪ್|ಟೋನ್).{0,20}ನಂತರ|ಸಂದೇಶ.{0,20}(ಬಿಡಿ|ರೆಕಾರ್ಡ್)|ವಾಯ್ಸ್ ?ಮೇಲ್/,
      /(ಕರೆ ಮಾಡಿದ|ಡಯಲ್ ಮಾಡಿದ|ಕರೆ ಮಾಡುತ್ತಿರುವ).{0,60}(ಲಭ್ಯವಿಲ್ಲ|ಸ್ವಿಚ್ ಆಫ್|ಬ್ಯುಸಿ|ಕಾರ್ಯನಿರತ|ವ್ಯಾಪ್ತಿ)|ಮತ್ತೆ ಪ್ರಯತ್ನಿಸಿ/,
      /(ബീപ്പ്|ടോൺ).{0,20}ശേഷം|സന്ദേശ.{0,20}(രേഖപ്പെടുത്ത|റെക്കോർഡ്)|വോയ്‌?സ് ?മെയിൽ/,
      /(വിളിച്ച|വിളിക്കുന്ന|ഡയൽ ചെയ്ത).{0,60}(ലഭ്യമല്ല|സ്വിച്ച് ഓഫ്|തിരക്കി|പരിധിക്ക്|പ്രതികരിക്ക)|വീണ്ടും ശ്രമിക്ക/,
      /(બીપ|ટોન) પછી|સંદેશ.{0,20}(મૂકો|છોડો|રેકોર્ડ)|વોઇસ ?મેઇલ/,
      /(ડાયલ કરેલ|કોલ કરેલ|કૉલ કરેલ|સંપર્ક).{0,60}(બંધ છે|ઉપલબ્ધ નથી|વ્યસ્ત|સ્વિચ ઓફ|કવરેજ)|ફરી(થી)? પ્રયત્ન/,
      /(ਬੀਪ|ਟੋਨ) ਤੋਂ ਬਾਅਦ|ਸੁਨੇਹਾ.{0,20}(ਛੱਡੋ|ਰਿਕਾਰਡ)|ਵੌਇਸ ?ਮੇਲ/,
      /(ਡਾਇਲ ਕੀਤਾ|ਕਾਲ ਕੀਤੀ|ਕਾਲ ਕਰ|ਸੰਪਰਕ).{0,60}(ਬੰਦ ਹੈ|ਉਪਲਬਧ ਨਹੀਂ|ਵਿਅਸਤ|ਸਵਿੱਚ ਆਫ|ਕਵਰੇਜ)|ਦੁਬਾਰਾ ਕੋਸ਼ਿਸ਼/,
      /(ବିପ୍|ଟୋନ).{0,20}ପରେ|ବାର୍ତ୍ତା.{0,20}(ଛାଡ|ରେକର୍ଡ)|ଭଏସ୍ ?ମେଲ/,
      /(ଡାଏଲ୍|କଲ୍ କରି|ସମ୍ପର୍କ).{0,60}(ବନ୍ଦ ଅଛି|ଉପଲବ୍ଧ ନାହିଁ|ବ୍ୟସ୍ତ|ସୁଇଚ୍ ଅଫ୍)|ପୁଣି ଚେଷ୍ଟା/,
    ],
  ],
  [
    'screening',
    [
      /\b(say|state|tell me) your name and (why|the reason|what)\b/,
      /\b(record|say) your name and (the )?reason for (your )?call/,
      /नाम और.{0,20}(कारण|वजह|उद्देश्य)|कॉल (करने )?का (कारण|उद्देश्य)/,
    ],
  ],
  [
    'ivr',
    [
      /\b(press|dial) (zero|one|two|three|four|five|six|seven|eight|nine|star|hash|\d)\b/,
      /\bfor (english|hindi|sales|support)\b.{0,20}\bpress\b/,
      /\bplease listen (carefully )?to the (following )?(menu|options)\b|\bmain menu\b/,
      /\byour call is (very )?important to us\b|\byour call will be answered\b|\bstay on the line\b/,
      /\b(agents|executives|representatives|operators|lines) are (currently |presently |all )?busy\b/,
      /\b(recorded|monitored) for (quality|training)\b/,
      /\bplease (enter|key in|say or enter|select|choose) (your|an|the|a)\b/,
      /\b\d (dabaye|dabaiye|dabaen)\b|दबाएँ|दबाएं|दबायें|दबाइए|दाबा|मेन्यू|महत्वपूर्ण है.{0,20}लाइन|लाइन पर बने/,
      /টিপুন|চাপুন|প্রেস করুন|அழுத்தவும்|அழுத்துங்கள்|నొక్కండి|ప్రెస్ చేయండి|ಒತ್ತಿ|ಪ್ರೆಸ್ ಮಾಡಿ/,
      /അമർത്തുക|അമർത്തൂ|പ്രസ് ചെയ്യുക|દબાવો|પ્રેસ કરો|ਦਬਾਓ|ਪ੍ਰੈਸ ਕਰੋ|ଦବାନ୍ତୁ|ଚାପନ୍ତୁ|ପ୍ରେସ୍ କରନ୍ତୁ/,
    ],
  ],
]

/** People say it too: as a question, or and then where. What follows it decides. */
const LEAVE =
  /(?<!\b(?:want|like|wish|need|love) to )(?<!\b(?:can|may|shall|could|should) (?:i|we) )\b(?:leave|drop) (?:me |us )?(?:a|your) (?:brief |short |detailed )?(?:message|name|voicemail)\b(.*)$/
const ELSEWHERE = /^ .{0,20}\b(whatsapp|sms|text|inbox|telegram|mail|her|him|them)\b/
/** Words after it that must have come while more may. */
const FOLLOWING = 3

/** Letters that Unicode writes in two ways are written in one, here and in what is heard. */
const NORMAL: readonly (readonly [GreetingKind, readonly RegExp[]])[] = PHRASES.map(([answer, phrases]) => [
  answer,
  phrases.map(({ source }) => new RegExp(source.normalize('NFC'))),
])

/** Null when the words could be anybody's. `complete`: no more words of the same breath will come. */
export function classifyGreeting(text: string, complete = true): GreetingKind | null {
  const plain = text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[.,!?;:।"“”]/g, ' ')
    .replace(/\s+/g, ' ')
  for (const [answer, phrases] of NORMAL) {
    if (phrases.some((phrase) => phrase.test(plain))) return answer
  }
  const after = LEAVE.exec(plain)?.[1]
  if (after === undefined || ELSEWHERE.test(after)) return null
  return complete || after.trim().split(' ').length >= FOLLOWING ? 'voicemail' : null
}
