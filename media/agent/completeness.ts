import { plainWords } from './turn-late.js'
import { WordList } from './word-list.js'

/*
 * Whether a caller who fell silent has finished, as far as the words tell. Lists of the eleven languages
 * as recognisers spell them, written by the makers of this program and not reviewed by native speakers.
 */

/** After these, more is coming. */
const CONTINUES = new WordList(
  `and or but so because if when then than that which who with for to of from the a an my your his her our their is are was
     will would can could i'm it's like also plus
     और या लेकिन मगर पर क्योंकि अगर तो कि का की के को से में जब फिर मतलब यानी तथा मेरा मेरी मेरे
     आणि किंवा पण कारण जर तर की माझा माझी माझे म्हणजे
     এবং আর কিন্তু অথবা কারণ যদি তাহলে মানে আমার
     மற்றும் ஆனால் அல்லது ஏனென்றால் என் எனது
     మరియు కానీ లేదా ఎందుకంటే నా అంటే
     ಮತ್ತು ಆದರೆ ಅಥವಾ ಏಕೆಂದರೆ ನನ್ನ ಅಂದರೆ
     പക്ഷേ അല്ലെങ്കിൽ കാരണം എന്റെ
     અને પણ અથવા કારણકે જો તો મારું મારો મારી
     ਅਤੇ ਜਾਂ ਪਰ ਕਿਉਂਕਿ ਜੇ ਤਾਂ ਮੇਰਾ ਮੇਰੀ
     ଏବଂ କିନ୍ତୁ କିମ୍ବା କାରଣ ଯଦି ମୋର`,
  { 'hi-IN': 'aur ya lekin magar kyunki kyonki agar to toh ki ka ke ko se mein par jab phir matlab yaani' },
)

/** Sounds of thinking. */
const FILLERS = new WordList(
  `um uh umm uhh er erm hmm well actually basically
     उम अम मतलब वो अच्छा তো মানে அது வந்து అంటే ಅದು അത് એટલે ਮਤਲਬ`,
)

const NUMBER_WORDS = new WordList(
  `zero oh one two three four five six seven eight nine double triple
     शून्य एक दो तीन चार पांच पाँच छह छः सात आठ नौ डबल ट्रिपल
     শূন্য দুই তিন পাঁচ ছয় আট নয় సున్నా ఒకటి రెండు మూడు నాలుగు ఐదు ఆరు ఏడు ఎనిమిది తొమ్మిది
     பூஜ்யம் ஒன்று இரண்டு மூன்று நான்கு ஐந்து ஆறு ஏழு எட்டு ஒன்பது`,
  { 'hi-IN': 'ek do teen char paanch panch chhe saat aath nau shunya' },
)

/** Lengths at which a number said digit by digit may well be over: a PIN, a pincode, a mobile number. */
const COMPLETE_DIGITS: ReadonlySet<number> = new Set([4, 6, 10, 12])
/** The same when the caller says that it is a telephone number. */
const COMPLETE_PHONE: ReadonlySet<number> = new Set([10, 12])
const PHONE =
  /\b(phone|mobile|whatsapp|contact|my) (number|no)\b|नंबर|नम्बर|నంబర్|எண்|ನಂಬರ್|നമ്പർ|નંબર|ਨੰਬਰ|ନମ୍ବର|নম্বর/i
const LEAST_DIGITS = 2

/** How sure it is that the caller goes on. */
export type Openness = 'closed' | 'open' | 'spelling'

/**
 * `spelling`: in the middle of a number said in digits, or of an address; `open`: the last word asks for
 * another one. Everything else is closed: questions, sentences with a full stop, plain statements.
 * `language` is the call's, null when it is not known.
 */
export function openness(text: string, language: string | null = null): Openness {
  const trimmed = text.trim()
  if (trimmed === '') return 'closed'
  const words = plainWords(trimmed)
  if (spells(trimmed, words, language)) return 'spelling'
  if (/[?？]["'”’)]*$/.test(trimmed)) return 'closed'
  if (/(\.\.\.|…|,|-|–|—)$/.test(trimmed)) return 'open'
  const last = words.at(-1)
  if (last === undefined) return 'closed'
  // A full stop of the recogniser's own after "and" ends nothing.
  return CONTINUES.has(last, language) || FILLERS.has(last, language) ? 'open' : 'closed'
}

function spells(text: string, words: readonly string[], language: string | null): boolean {
  const last = words.at(-1) ?? ''
  // An address whose end has not come: "anita at", "a dot rao at gmail".
  const tail = words.slice(-6)
  if (tail.includes('at') && /^(at|dot|gmail|yahoo|outlook|hotmail|rediffmail|underscore|dash)$/.test(last))
    return true
  if (/@[\w-]*\.?$/.test(text)) return true
  let digits = 0
  for (let i = words.length - 1; i >= 0; i--) {
    const word = words[i] as string
    if (/^\d+$/.test(word)) digits += word.length
    else if (NUMBER_WORDS.has(word, language)) digits += 1
    else break
  }
  const complete = PHONE.test(text) ? COMPLETE_PHONE : COMPLETE_DIGITS
  return digits >= LEAST_DIGITS && digits < 12 && !complete.has(digits)
}
