import { plainWords } from './plain-words.js'
import { WordList } from './word-list.js'

/**
 * Sounds of listening in the eleven languages, as recognisers spell them (native script and Latin).
 * They do not take the floor while the agent speaks; as an answer to a question they count in full.
 */
const LISTENING = new WordList(
  `mm mmm mhm mm-hmm hmm hm uh-huh uhuh huh ah aha oh okay ok yeah yes yep right sure i see alright great nice wow really got it
     haan han haanji ji achha acha theek thik hai sahi hmm
     हाँ हां हा जी हाँजी हांजी अच्छा ठीक है सही हम्म हूँ हूं ओके ओह बिल्कुल बरोबर हो होय बरं हं आहे
     হ্যাঁ হা আচ্ছা ঠিক আছে হুম হুঁ জি ওকে ও বেশ
     అవును అవునండి సరే సరేనండి అలాగే ఓకే ఊ ఆ హా
     ஆமா ஆமாம் ஆமாங்க சரி சரிங்க ம் ம்ம் ஹ்ம் ஓகே அப்படியா
     ಹೌದು ಹೌದಾ ಸರಿ ಆಯ್ತು ಹ್ಮ್ ಹೂಂ ಹಾಂ ಹಾ ಓಕೆ
     ശരി അതെ അതേ ആണോ ഉം ആ ഹാ ഓക്കേ ഓകെ
     હા હાં હં બરાબર સારું ઠીક છે અચ્છા ઓકે હમ્મ
     ਹਾਂ ਜੀ ਹਾਂਜੀ ਅੱਛਾ ਠੀਕ ਹੈ ਚੰਗਾ ਹੂੰ ਓਕੇ
     ହଁ ହଉ ହୁଁ ଆଚ୍ଛା ଠିକ ଠିକ୍ ଅଛି ଓକେ`,
  {
    'te-IN': 'avunu sare',
    'ta-IN': 'aama aamaa seri sari',
    'kn-IN': 'haudu sari',
    'ml-IN': 'athe sheri',
    'mr-IN': 'ho hoy barobar',
    'gu-IN': 'haa barabar saru',
    'bn-IN': 'hyan thik',
    'pa-IN': 'changa',
    'od-IN': 'hau',
  },
)

/** What people say into a call that has just been connected; over an opening line it is no interruption. */
const GREETING = new Set(
  plainWords(
    `hello hallo hi hey namaste namaskar vanakkam namaskaram speaking haalo
     नमस्ते नमस्कार हैलो हेलो हॅलो নমস্কার হ্যালো హలో నమస్కారం வணக்கம் ஹலோ ನಮಸ್ಕಾರ ಹಲೋ
     നമസ്കാരം ഹലോ નમસ્તે હેલો ਸਤ ਸ੍ਰੀ ਅਕਾਲ ਹੈਲੋ ନମସ୍କାର ହେଲୋ`,
  ),
)

/** More words than this are a sentence, whatever they are. */
const LONGEST = 3

/** `language` is the call's, null when it is not known. */
export function isBackchannel(text: string, overOpening: boolean, language: string | null = null): boolean {
  const words = plainWords(text)
  if (words.length === 0 || words.length > LONGEST) return false
  return words.every((word) => LISTENING.has(word, language) || (overOpening && GREETING.has(word)))
}
