import type { AgentSpec } from '../agent-spec.js'
import { languageOf } from '../language/text-language.js'
import type { Phrase } from '../turn/turn-types.js'

/** Phrases that the agent speaks without the model. */
export interface EnginePhrases {
  /** A provider failed and is tried again. */
  readonly failure: string
  /** Another system is being asked. */
  readonly wait: string
  /** Another system takes long. */
  readonly stillWaiting: string
  /** The caller spoke and no text arrived. */
  readonly repeat: string
  /** The caller is silent. Replaces an agent's nudge that is written in another language. */
  readonly stillThere: string
  /** No recogniser is available. */
  readonly digitsOnly: string
  /** The call ends because a provider failed. */
  readonly goodbye: string
}

const ENGLISH: EnginePhrases = {
  stillThere: 'Are you still there?',
  failure: 'Sorry, I am having trouble. One moment please.',
  wait: 'One moment please.',
  stillWaiting: 'Sorry, this is taking a little longer. Please stay on the line.',
  repeat: 'Sorry, I could not hear that. Please say it again.',
  digitsOnly: 'Sorry, I cannot understand speech on this line. You can use the keys of your phone.',
  goodbye: 'Sorry, there is a technical problem. Please call again later. Goodbye.',
}

const PHRASES: Readonly<Record<string, EnginePhrases>> = {
  'en-IN': ENGLISH,
  'hi-IN': {
    stillThere: 'क्या आप लाइन पर हैं?',
    failure: 'माफ़ कीजिए, कुछ दिक्कत हो रही है। कृपया एक पल रुकिए।',
    wait: 'एक पल रुकिए।',
    stillWaiting: 'माफ़ कीजिए, थोड़ा और समय लग रहा है। कृपया लाइन पर बने रहिए।',
    repeat: 'माफ़ कीजिए, मैं सुन नहीं पाई। कृपया फिर से कहिए।',
    digitsOnly: 'माफ़ कीजिए, इस लाइन पर बोली समझ में नहीं आती। आप फ़ोन के बटन दबा सकते हैं।',
    goodbye: 'माफ़ कीजिए, तकनीकी समस्या है। कृपया बाद में फ़ोन कीजिए। नमस्ते।',
  },
  'bn-IN': {
    stillThere: 'আপনি কি লাইনে আছেন?',
    failure: 'দুঃখিত, একটু সমস্যা হচ্ছে। এক মুহূর্ত অপেক্ষা করুন।',
    wait: 'এক মুহূর্ত।',
    stillWaiting: 'দুঃখিত, আরও একটু সময় লাগছে। দয়া করে লাইনে থাকুন।',
    repeat: 'দুঃখিত, শুনতে পাইনি। দয়া করে আবার বলুন।',
    digitsOnly: 'দুঃখিত, এই লাইনে কথা বোঝা যায় না। আপনি ফোনের বোতাম টিপতে পারেন।',
    goodbye: 'দুঃখিত, প্রযুক্তিগত সমস্যা হয়েছে। পরে আবার ফোন করুন। নমস্কার।',
  },
  'ta-IN': {
    stillThere: 'நீங்கள் இணைப்பில் இருக்கிறீர்களா?',
    failure: 'மன்னிக்கவும், சிறிய சிக்கல் உள்ளது. ஒரு நிமிடம் காத்திருங்கள்.',
    wait: 'ஒரு நிமிடம்.',
    stillWaiting: 'மன்னிக்கவும், இன்னும் சிறிது நேரம் ஆகும். இணைப்பில் இருங்கள்.',
    repeat: 'மன்னிக்கவும், கேட்கவில்லை. மீண்டும் சொல்லுங்கள்.',
    digitsOnly: 'மன்னிக்கவும், இந்த இணைப்பில் பேச்சு புரியாது. தொலைபேசி பொத்தான்களை அழுத்தலாம்.',
    goodbye: 'மன்னிக்கவும், தொழில்நுட்ப சிக்கல் உள்ளது. பிறகு அழைக்கவும். வணக்கம்.',
  },
  'te-IN': {
    stillThere: 'మీరు లైన్‌లో ఉన్నారా?',
    failure: 'క్షమించండి, కొంచెం ఇబ్బంది ఉంది. ఒక్క క్షణం ఆగండి.',
    wait: 'ఒక్క క్షణం.',
    stillWaiting: 'క్షమించండి, ఇంకొంచెం సమయం పడుతోంది. లైన్‌లో ఉండండి.',
    repeat: 'క్షమించండి, వినపడలేదు. దయచేసి మళ్ళీ చెప్పండి.',
    digitsOnly: 'క్షమించండి, ఈ లైన్‌లో మాట అర్థం కాదు. మీరు ఫోన్ బటన్లు నొక్కవచ్చు.',
    goodbye: 'క్షమించండి, సాంకేతిక సమస్య ఉంది. తర్వాత ఫోన్ చేయండి. నమస్కారం.',
  },
  'kn-IN': {
    stillThere: 'ನೀವು ಲೈನ್‌ನಲ್ಲಿ ಇದ್ದೀರಾ?',
    failure: 'ಕ್ಷಮಿಸಿ, ಸ್ವಲ್ಪ ತೊಂದರೆ ಇದೆ. ಒಂದು ಕ್ಷಣ ಕಾಯಿರಿ.',
    wait: 'ಒಂದು ಕ್ಷಣ.',
    stillWaiting: 'ಕ್ಷಮಿಸಿ, ಇನ್ನೂ ಸ್ವಲ್ಪ ಸಮಯ ಬೇಕು. ದಯವಿಟ್ಟು ಲೈನ್‌ನಲ್ಲಿ ಇರಿ.',
    repeat: 'ಕ್ಷಮಿಸಿ, ಕೇಳಿಸಲಿಲ್ಲ. ದಯವಿಟ್ಟು ಮತ್ತೆ ಹೇಳಿ.',
    digitsOnly: 'ಕ್ಷಮಿಸಿ, ಈ ಲೈನ್‌ನಲ್ಲಿ ಮಾತು ಅರ್ಥವಾಗುವುದಿಲ್ಲ. ನೀವು ಫೋನ್ ಬಟನ್ ಒತ್ತಬಹುದು.',
    goodbye: 'ಕ್ಷಮಿಸಿ, ತಾಂತ್ರಿಕ ತೊಂದರೆ ಇದೆ. ನಂತರ ಕರೆ ಮಾಡಿ. ನಮಸ್ಕಾರ.',
  },
  'ml-IN': {
    stillThere: 'നിങ്ങൾ ലൈനിലുണ്ടോ?',
    failure: 'ക്ഷമിക്കണം, ചെറിയ തടസ്സമുണ്ട്. ഒരു നിമിഷം കാത്തിരിക്കൂ.',
    wait: 'ഒരു നിമിഷം.',
    stillWaiting: 'ക്ഷമിക്കണം, കുറച്ചുകൂടി സമയം വേണം. ദയവായി ലൈനിൽ തുടരൂ.',
    repeat: 'ക്ഷമിക്കണം, കേൾക്കാൻ കഴിഞ്ഞില്ല. ദയവായി വീണ്ടും പറയൂ.',
    digitsOnly: 'ക്ഷമിക്കണം, ഈ ലൈനിൽ സംസാരം മനസ്സിലാകില്ല. ഫോണിലെ ബട്ടണുകൾ അമർത്താം.',
    goodbye: 'ക്ഷമിക്കണം, സാങ്കേതിക പ്രശ്നമുണ്ട്. പിന്നീട് വിളിക്കൂ. നമസ്കാരം.',
  },
  'mr-IN': {
    stillThere: 'तुम्ही लाइनवर आहात का?',
    failure: 'माफ करा, थोडी अडचण येत आहे. कृपया एक क्षण थांबा.',
    wait: 'एक क्षण थांबा.',
    stillWaiting: 'माफ करा, थोडा अजून वेळ लागत आहे. कृपया लाइनवर राहा.',
    repeat: 'माफ करा, ऐकू आले नाही. कृपया पुन्हा सांगा.',
    digitsOnly: 'माफ करा, या लाइनवर बोलणे समजत नाही. तुम्ही फोनची बटणे दाबू शकता.',
    goodbye: 'माफ करा, तांत्रिक अडचण आहे. कृपया नंतर फोन करा. नमस्कार.',
  },
  'gu-IN': {
    stillThere: 'શું તમે લાઇન પર છો?',
    failure: 'માફ કરશો, થોડી મુશ્કેલી છે. કૃપા કરીને એક ક્ષણ રાહ જુઓ.',
    wait: 'એક ક્ષણ.',
    stillWaiting: 'માફ કરશો, થોડો વધુ સમય લાગે છે. કૃપા કરીને લાઇન પર રહો.',
    repeat: 'માફ કરશો, સંભળાયું નહીં. કૃપા કરીને ફરીથી કહો.',
    digitsOnly: 'માફ કરશો, આ લાઇન પર બોલી સમજાતી નથી. તમે ફોનના બટન દબાવી શકો છો.',
    goodbye: 'માફ કરશો, તકનીકી સમસ્યા છે. પછીથી ફોન કરજો. નમસ્તે.',
  },
  'pa-IN': {
    stillThere: 'ਕੀ ਤੁਸੀਂ ਲਾਈਨ ਤੇ ਹੋ?',
    failure: 'ਮਾਫ਼ ਕਰਨਾ, ਕੁਝ ਮੁਸ਼ਕਲ ਆ ਰਹੀ ਹੈ। ਕਿਰਪਾ ਕਰਕੇ ਇੱਕ ਪਲ ਰੁਕੋ।',
    wait: 'ਇੱਕ ਪਲ ਰੁਕੋ।',
    stillWaiting: 'ਮਾਫ਼ ਕਰਨਾ, ਥੋੜ੍ਹਾ ਹੋਰ ਸਮਾਂ ਲੱਗ ਰਿਹਾ ਹੈ। ਕਿਰਪਾ ਕਰਕੇ ਲਾਈਨ ਤੇ ਰਹੋ।',
    repeat: 'ਮਾਫ਼ ਕਰਨਾ, ਸੁਣਿਆ ਨਹੀਂ ਗਿਆ। ਕਿਰਪਾ ਕਰਕੇ ਦੁਬਾਰਾ ਕਹੋ।',
    digitsOnly: 'ਮਾਫ਼ ਕਰਨਾ, ਇਸ ਲਾਈਨ ਤੇ ਬੋਲੀ ਸਮਝ ਨਹੀਂ ਆਉਂਦੀ। ਤੁਸੀਂ ਫ਼ੋਨ ਦੇ ਬਟਨ ਦਬਾ ਸਕਦੇ ਹੋ।',
    goodbye: 'ਮਾਫ਼ ਕਰਨਾ, ਤਕਨੀਕੀ ਸਮੱਸਿਆ ਹੈ। ਬਾਅਦ ਵਿੱਚ ਫ਼ੋਨ ਕਰਨਾ। ਸਤ ਸ੍ਰੀ ਅਕਾਲ।',
  },
  'od-IN': {
    stillThere: 'ଆପଣ ଲାଇନରେ ଅଛନ୍ତି କି?',
    failure: 'କ୍ଷମା କରନ୍ତୁ, ଟିକେ ଅସୁବିଧା ହେଉଛି। ଦୟାକରି ଗୋଟିଏ ମୁହୂର୍ତ୍ତ ଅପେକ୍ଷା କରନ୍ତୁ।',
    wait: 'ଗୋଟିଏ ମୁହୂର୍ତ୍ତ।',
    stillWaiting: 'କ୍ଷମା କରନ୍ତୁ, ଆଉ ଟିକେ ସମୟ ଲାଗୁଛି। ଦୟାକରି ଲାଇନରେ ରୁହନ୍ତୁ।',
    repeat: 'କ୍ଷମା କରନ୍ତୁ, ଶୁଣିପାରିଲି ନାହିଁ। ଦୟାକରି ଆଉଥରେ କୁହନ୍ତୁ।',
    digitsOnly: 'କ୍ଷମା କରନ୍ତୁ, ଏହି ଲାଇନରେ କଥା ବୁଝି ହୁଏ ନାହିଁ। ଆପଣ ଫୋନର ବଟନ ଦବାଇପାରିବେ।',
    goodbye: 'କ୍ଷମା କରନ୍ତୁ, ଯାନ୍ତ୍ରିକ ସମସ୍ୟା ଅଛି। ପରେ ଫୋନ କରନ୍ତୁ। ନମସ୍କାର।',
  },
}

export function enginePhrases(language: string): EnginePhrases {
  return PHRASES[language] ?? ENGLISH
}

/** Returns the text of a phrase, empty when the agent has none. */
export function phraseText(spec: AgentSpec, phrase: Phrase, language: string): string {
  if (typeof phrase === 'object') {
    const text = spec.nudges.steps[phrase.nudge]?.text ?? ''
    // Nudges are written in one language. After a switch of language the built-in phrase replaces them.
    const switched =
      language !== spec.languages[0] && languageOf(text, spec.languages, spec.languages[0]) !== language
    return switched ? enginePhrases(language).stillThere : text
  }
  if (phrase === 'opening') return spec.openingLine ?? ''
  if (phrase === 'hangup') return spec.hangupLine ?? ''
  return enginePhrases(language)[phrase]
}
