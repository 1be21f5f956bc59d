/** What answered, as far as its words tell. */
export type SpokenAnswer = 'voicemail' | 'screening' | 'ivr'

/*
 * What machines say that people do not, in the eleven languages as recognisers spell them. Written by
 * the makers of this program, not by native speakers of each. Order matters: a mailbox may also ask for
 * a name.
 */
const PHRASES: readonly (readonly [SpokenAnswer, readonly RegExp[]])[] = [
  [
    'voicemail',
    [
      /\bleave (me |us )?(a|your) (message|name)\b/,
      /\b(after|at) the (tone|beep)\b/,
      /\bvoice ?mail\b|\bmailbox\b|\banswering machine\b/,
      /\brecord your message\b/,
      /\bcan(not|'t)? (come to|answer) the phone\b/,
      /\b(person|subscriber|number) you (are calling|have dialed|have dialled|called) is (not available|unavailable|switched off|busy)\b/,
      /\b(beep|tone) ke baad\b|\bsandesh chho[dr]/,
      /(बीप|टोन) के बाद|संदेश (छोड़|रिकॉर्ड)|(बीप|टोन)नंतर|संदेश (ठेवा|सोडा)|वॉ[यइ]समेल/,
      /(বিপ|টোনের) পর|বার্তা (রাখ|রেকর্ড)|ভয়েসমেল/,
      /(பீப்|டோன்).{0,20}பிறகு|செய்தியை.{0,20}(பதிவு|விட)|வாய்ஸ்மெயில்/,
      /(బీప్|టోన్).{0,20}తర్వాత|సందేశ.{0,20}(వదల|రికార్డ్)|వాయిస్ ?మెయిల్/,
      /(ಬೀಪ್|ಟೋನ್).{0,20}ನಂತರ|ಸಂದೇಶ.{0,20}(ಬಿಡಿ|ರೆಕಾರ್ಡ್)|ವಾಯ್ಸ್ ?ಮೇಲ್/,
      /(ബീപ്പ്|ടോൺ).{0,20}ശേഷം|സന്ദേശ.{0,20}(രേഖപ്പെടുത്ത|റെക്കോർഡ്)|വോയ്‌?സ് ?മെയിൽ/,
      /(બીપ|ટોન) પછી|સંદેશ.{0,20}(મૂકો|છોડો|રેકોર્ડ)|વોઇસ ?મેઇલ/,
      /(ਬੀਪ|ਟੋਨ) ਤੋਂ ਬਾਅਦ|ਸੁਨੇਹਾ.{0,20}(ਛੱਡੋ|ਰਿਕਾਰਡ)|ਵੌਇਸ ?ਮੇਲ/,
      /(ବିପ୍|ଟୋନ).{0,20}ପରେ|ବାର୍ତ୍ତା.{0,20}(ଛାଡ|ରେକର୍ଡ)|ଭଏସ୍ ?ମେଲ/,
    ],
  ],
  [
    'screening',
    [
      /\b(say|state|tell me) your name and (why|the reason|what)\b/,
      /\b(record|say) your name and (the )?reason for (your )?call/,
      /\b(call|google) (screening|assistant)\b|\bscreening (service|this call)\b/,
      /\bi('| wi)ll see if (this|the) person is available\b/,
      /\bperson you('| a)re calling is using a\b/,
    ],
  ],
  [
    'ivr',
    [
      /\b(press|dial) (zero|one|two|three|four|five|six|seven|eight|nine|\d)\b/,
      /\bfor (english|hindi|sales|support)\b.{0,20}\bpress\b/,
      /\bplease listen (carefully )?to the (following )?(menu|options)\b/,
      /\byour call is important to us\b/,
      /\b\d (dabaye|dabaiye|dabaen)\b|(दबाएँ|दबाएं|दबाइए|दाबा)/,
    ],
  ],
]

/** Null when the words could be anybody's. */
export function spokenAnswer(text: string): SpokenAnswer | null {
  const plain = text
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[.,!?;:।"“”]/g, ' ')
    .replace(/\s+/g, ' ')
  for (const [answer, phrases] of PHRASES) {
    if (phrases.some((phrase) => phrase.test(plain))) return answer
  }
  return null
}
