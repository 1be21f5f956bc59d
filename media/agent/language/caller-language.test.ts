import t from 'tap'
import { detectLanguage, initialLanguage, type LanguageState, languageAfterTurn } from './caller-language.js'
import { requestedLanguage } from './language-request.js'
import { languageTagOf, vendorTag } from './language-tags.js'

const ALL = [
  'en-IN',
  'hi-IN',
  'bn-IN',
  'ta-IN',
  'te-IN',
  'kn-IN',
  'ml-IN',
  'mr-IN',
  'gu-IN',
  'pa-IN',
  'od-IN',
]
const BOTH = ['en-IN', 'hi-IN']

const REQUESTS: readonly (readonly [text: string, wanted: string | null])[] = [
  // Each language requested in itself, in its script and in Latin letters.
  ['Can we speak English?', 'en-IN'],
  ['English please', 'en-IN'],
  ['In English, please.', 'en-IN'],
  ['हिंदी में बात कीजिए', 'hi-IN'],
  ['Hindi mein baat kijiye', 'hi-IN'],
  ['कृपया हिन्दी में बोलिए।', 'hi-IN'],
  ['বাংলায় কথা বলুন', 'bn-IN'],
  ['Bangla te kotha bolun', 'bn-IN'],
  ['தமிழில் பேசுங்கள்', 'ta-IN'],
  ['Tamil la pesunga', 'ta-IN'],
  ['తెలుగులో మాట్లాడండి', 'te-IN'],
  ['Telugu lo matladandi', 'te-IN'],
  ['ಕನ್ನಡದಲ್ಲಿ ಮಾತಾಡಿ', 'kn-IN'],
  ['Kannada dalli maatadi', 'kn-IN'],
  ['മലയാളത്തിൽ സംസാരിക്കാമോ', 'ml-IN'],
  ['Malayalam samsarikkamo', 'ml-IN'],
  ['मराठीत बोला', 'mr-IN'],
  ['Marathi bola', 'mr-IN'],
  ['ગુજરાતીમાં વાત કરો', 'gu-IN'],
  ['Gujarati ma vaat karo', 'gu-IN'],
  ['ਪੰਜਾਬੀ ਵਿੱਚ ਗੱਲ ਕਰੋ', 'pa-IN'],
  ['Punjabi vich gal karo', 'pa-IN'],
  ['ଓଡ଼ିଆରେ କଥା କୁହନ୍ତୁ', 'od-IN'],
  ['Odia re katha kuhantu', 'od-IN'],
  // Requested in another language.
  ['क्या आप अंग्रेज़ी में बात कर सकते हैं?', 'en-IN'],
  ['இங்கிலீஷ்ல பேசுங்க', 'en-IN'],
  ['ఇంగ్లీష్‌లో చెప్పండి', 'en-IN'],
  ['ಇಂಗ್ಲಿಷ್ ನಲ್ಲಿ ಹೇಳಿ', 'en-IN'],
  ['Do you speak Telugu?', 'te-IN'],
  ['Can you repeat that in Hindi', 'hi-IN'],
  ['Sorry, could you talk in Marathi please?', 'mr-IN'],
  // A negated language is not requested.
  ["I don't speak Hindi", null],
  ['मुझे अंग्रेजी नहीं आती', null],
  ['எனக்கு ஹிந்தி தெரியாது', null],
  ["I don't understand Hindi, please speak English", 'en-IN'],
  ['Hindi nahi English mein boliye', 'en-IN'],
  ['अंग्रेज़ी नहीं, हिंदी में बोलिए', 'hi-IN'],
  // Named, but not requested.
  ['My daughter has a Hindi class at five', null],
  ['Is this the spoken English course?', null],
  ['I want to learn to speak English', null],
  ['मुझे अंग्रेजी सीखनी है', null],
  ['He speaks Tamil and I work here', null],
  ['The English department closes at six', null],
  ['I would like an appointment', null],
  ['or tomorrow', null],
  ['', null],
]

t.test('an explicit request for a language is detected', async (t) => {
  for (const [text, wanted] of REQUESTS) t.equal(requestedLanguage(text), wanted, text)
})

const SPOKEN: readonly (readonly [text: string, languages: readonly string[], language: string | null])[] = [
  ['I want to cancel my appointment', BOTH, 'en-IN'],
  ['मुझे कल का अपॉइंटमेंट कैंसल करना है', BOTH, 'hi-IN'],
  ['mujhe kal ka appointment cancel karna hai please', BOTH, 'hi-IN'],
  ['मेरा appointment Friday को reschedule कर दो', BOTH, 'hi-IN'],
  ['okay', BOTH, null],
  ['ओके थैंक यू', BOTH, null],
  ['haan ji', BOTH, null],
  ['9876543210', BOTH, null],
  ['nine eight seven six', BOTH, null],
  ['நாளைக்கு வரலாமா', ['en-IN', 'ta-IN'], 'ta-IN'],
  ['naalaikku eppo varalaam', ['en-IN', 'ta-IN'], 'ta-IN'],
  ['నాకు రేపు కావాలి', ['en-IN', 'te-IN'], 'te-IN'],
  ['मला उद्या वेळ पाहिजे', ['hi-IN', 'mr-IN'], 'mr-IN'],
  ['मुझे कल समय चाहिए', ['mr-IN', 'hi-IN'], 'hi-IN'],
  ['मला उद्या वेळ पाहिजे', ['en-IN', 'mr-IN'], 'mr-IN'],
  // A script of no language of the agent.
  ['நாளைக்கு வரலாமா', BOTH, null],
]

t.test('the language of one utterance is detected', async (t) => {
  for (const [text, languages, language] of SPOKEN) {
    const told = detectLanguage({ text, detected: null, translated: false }, languages, languages[0] ?? '')
    t.equal(told?.language ?? null, language, text)
  }
  const detected = (text: string, language: string, translated = false) =>
    detectLanguage({ text, detected: language, translated }, ALL, 'en-IN')?.language
  t.equal(detected('Anita Rao Koramangala', 'kn-IN'), 'kn-IN', 'names in Latin letters: as heard')
  t.equal(detected('मुझे कल आना है', 'en-IN'), 'hi-IN', 'the letters know better')
  t.equal(detected('I want to come tomorrow', 'hi-IN', true), 'hi-IN', 'of a translation only what was heard')
  t.equal(detectLanguage({ text: 'I want it', detected: null, translated: true }, BOTH, 'en-IN'), null)
})

/** A call: what is said, one turn after the other, and the language after each. */
const CALLS: Readonly<Record<string, readonly (readonly [said: string, after: string, heard?: string])[]>> = {
  'a Hindi sentence switches at once, an English one back': [
    ['I would like to book an appointment for tomorrow', 'en-IN'],
    ['अच्छा मुझे शाम को कितने बजे आना है', 'hi-IN'],
    ['ठीक है', 'hi-IN'],
    ['Okay so what does it cost in the evening then', 'en-IN'],
  ],
  'one stray word never does': [
    ['I would like to book an appointment for tomorrow', 'en-IN'],
    ['कल', 'en-IN'],
    ['no I want to come in the morning', 'en-IN'],
    ['शाम', 'en-IN'],
    ['yes', 'en-IN'],
  ],
  'little of it twice in a row does': [
    ['I would like to book an appointment for tomorrow', 'en-IN'],
    ['कल शाम', 'en-IN'],
    ['okay', 'en-IN'],
    ['पाँच बजे', 'hi-IN'],
  ],
  'English words in Hindi are Hindi': [
    ['मुझे अपॉइंटमेंट चाहिए था', 'hi-IN'],
    ['Friday morning', 'hi-IN'],
    ['okay thank you', 'hi-IN'],
    ['मेरा number change हो गया है please update कर दो', 'hi-IN'],
    ['double nine eight seven six', 'hi-IN'],
    ['yes please confirm', 'hi-IN'],
  ],
  'romanised Hindi is Hindi': [['mujhe kal shaam ko appointment chahiye', 'hi-IN']],
  'the first words count for more': [
    ['कौन बोल', 'hi-IN'],
    ['Who is this calling', 'hi-IN'],
  ],
  'a wish is enough': [
    ['I would like to book an appointment for tomorrow', 'en-IN'],
    ['Hindi please', 'hi-IN'],
    ['क्या आप इंग्लिश में बात कर सकते हैं', 'en-IN'],
  ],
  'a wish for what the agent does not speak changes nothing': [
    ['I would like to book an appointment for tomorrow', 'en-IN'],
    ['Can we speak Tamil?', 'en-IN'],
  ],
  'what the recogniser heard helps': [
    ['I would like to book an appointment for tomorrow', 'en-IN', 'en-IN'],
    ['Koramangala fifth block ke paas', 'hi-IN', 'hi-IN'],
    ['Anita Rao', 'hi-IN', 'en-IN'],
  ],
}

t.test('the language of a call follows several utterances', async (t) => {
  for (const [name, turns] of Object.entries(CALLS)) {
    let state: LanguageState = initialLanguage(BOTH)
    for (const [text, after, heard = null] of turns) {
      state = languageAfterTurn(state, { text, detected: heard, translated: false }, BOTH)
      t.equal(state.current, after, `${name}: ${text}`)
    }
  }
})

t.test('an agent with one language never leaves it', async (t) => {
  const state = initialLanguage(['hi-IN'])
  t.equal(
    languageAfterTurn(state, { text: 'Can we speak English?', detected: 'en-IN', translated: false }, [
      'hi-IN',
    ]),
    state,
  )
})

t.test('vendor tags of every language', async (t) => {
  const rows: readonly (readonly [
    tag: string,
    iso: string,
    deepgram: string,
    sarvam: string,
    realtime: string,
  ])[] = [
    ['en-IN', 'en', 'en-IN', 'en-IN', 'en-IN'],
    ['hi-IN', 'hi', 'hi', 'hi-IN', 'hi-IN'],
    ['bn-IN', 'bn', 'bn', 'bn-IN', 'bn-IN'],
    ['ta-IN', 'ta', 'ta', 'ta-IN', 'ta-IN'],
    ['te-IN', 'te', 'te', 'te-IN', 'te-IN'],
    ['kn-IN', 'kn', 'kn', 'kn-IN', 'kn-IN'],
    ['ml-IN', 'ml', 'ml', 'ml-IN', 'ml-IN'],
    ['mr-IN', 'mr', 'mr', 'mr-IN', 'mr-IN'],
    ['gu-IN', 'gu', 'gu', 'gu-IN', 'gu-IN'],
    ['pa-IN', 'pa', 'pa', 'pa-IN', 'pa-IN'],
    ['od-IN', 'or', 'or', 'od-IN', 'or-IN'],
    ['or-IN', 'or', 'or', 'od-IN', 'or-IN'],
  ]
  for (const [tag, iso, deepgram, sarvam, realtime] of rows) {
    t.equal(vendorTag('iso', tag), iso)
    t.equal(vendorTag('deepgram', tag), deepgram)
    t.equal(vendorTag('sarvam', tag), sarvam)
    t.equal(vendorTag('sarvamRealtime', tag), realtime)
    const own = tag === 'or-IN' ? 'od-IN' : tag
    for (const given of [tag, iso, deepgram, sarvam, realtime]) t.equal(languageTagOf(given), own, given)
  }
  t.equal(languageTagOf('hindi'), 'hi-IN')
  t.equal(languageTagOf('English'), 'en-IN')
  t.equal(languageTagOf('en_US'), 'en-IN')
  t.equal(languageTagOf('oriya'), 'od-IN')
  for (const none of ['unknown', 'fr', '', null, 7, 'auto']) t.equal(languageTagOf(none), null)
})
