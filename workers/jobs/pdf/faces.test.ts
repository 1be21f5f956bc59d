import t from 'tap'
import { LANGUAGE_TAGS } from '../../../media/agent/language/language-data.js'
import { faceRuns, type ShapedGlyph } from './faces.js'

/** Glyphs of a text that one font has. */
function shaped(text: string): readonly ShapedGlyph[] {
  const [run, ...others] = faceRuns(text, 400)
  if (run === undefined || others.length > 0) throw new Error(`${text} needs several fonts`)
  return run.face.shape(text)
}

const nominal = (glyphs: readonly ShapedGlyph[]) =>
  glyphs.map(({ codePoints }) => String.fromCodePoint(...codePoints))

interface Sample {
  /** Sentence without any missing glyph, for the font with this name. */
  readonly text: string
  readonly face: string
  /** Conjunct with fewer glyphs than characters. */
  readonly conjunct?: string
  /** Syllable whose vowel sign is written before its consonant. */
  readonly reordered?: string
  /** Syllable whose first letter (ra) is drawn last. */
  readonly reph?: string
}

const SAMPLES: Readonly<Record<string, Sample>> = {
  'en-IN': { text: 'Your order of 12 May costs 1,200.50.', face: 'latin 400' },
  'hi-IN': {
    text: 'आपका ऑर्डर कल पहुँचेगा।',
    face: 'devanagari 400',
    conjunct: 'क्ष',
    reordered: 'कि',
    reph: 'र्क',
  },
  'mr-IN': {
    text: 'तुमची ऑर्डर उद्या पोहोचेल.',
    face: 'devanagari 400',
    conjunct: 'ज्ञ',
    reordered: 'नि',
    reph: 'र्त',
  },
  'bn-IN': { text: 'আপনার অর্ডার কাল পৌঁছাবে।', face: 'bengali 400', conjunct: 'ক্ষ', reordered: 'কি', reph: 'র্ক' },
  'pa-IN': { text: 'ਤੁਹਾਡਾ ਆਰਡਰ ਕੱਲ੍ਹ ਪਹੁੰਚੇਗਾ।', face: 'gurmukhi 400', reordered: 'ਕਿ' },
  'gu-IN': {
    text: 'તમારો ઓર્ડર કાલે પહોંચશે',
    face: 'gujarati 400',
    conjunct: 'ક્ષ',
    reordered: 'નિ',
    reph: 'ર્ક',
  },
  'od-IN': { text: 'ଆପଣଙ୍କ ଅର୍ଡର କାଲି ପହଞ୍ଚିବ', face: 'oriya 400', conjunct: 'କ୍ଷ', reordered: 'ମେ', reph: 'ର୍ମ' },
  'ta-IN': { text: 'உங்கள் ஆர்டர் நாளை வரும்', face: 'tamil 400', conjunct: 'க்ஷ', reordered: 'கெ' },
  'te-IN': { text: 'మీ ఆర్డర్ రేపు చేరుతుంది', face: 'telugu 400', conjunct: 'స్త్రీ' },
  'kn-IN': { text: 'ನಿಮ್ಮ ಆರ್ಡರ್ ನಾಳೆ ತಲುಪುತ್ತದೆ', face: 'kannada 400', conjunct: 'ಕ್ಷ', reph: 'ರ್ಕ' },
  'ml-IN': { text: 'നിങ്ങളുടെ ഓർഡർ നാളെ എത്തും', face: 'malayalam 400', conjunct: 'ക്ഷ', reordered: 'കെ' },
}

t.test('every language that agents speak has a sample', (t) => {
  t.same(Object.keys(SAMPLES).toSorted(), LANGUAGE_TAGS.toSorted())
  t.end()
})

for (const [tag, { text, face, conjunct, reordered, reph }] of Object.entries(SAMPLES)) {
  t.test(`${tag} is shaped`, (t) => {
    for (const weight of [400, 700] as const) {
      const runs = faceRuns(text, weight)
      t.ok(runs.some((run) => run.face.name === face.replace('400', String(weight))))
      for (const run of runs) {
        t.notOk(run.text.includes('\ufffd'), run.text)
        const ids = run.face.shape(run.text).map(({ id }) => id)
        t.notOk(ids.includes(0), `${run.text} has no missing glyph`)
      }
    }
    if (conjunct !== undefined) {
      t.ok(shaped(conjunct).length < [...conjunct].length, `${conjunct} is joined`)
    }
    if (reordered !== undefined) {
      const [consonant = '', sign = ''] = reordered
      t.same(nominal(shaped(reordered)).slice(-1), [consonant], `the sign ${sign} stands first`)
      t.equal(shaped(reordered).length, 2)
    }
    if (reph !== undefined) {
      const [ra = '', , consonant = ''] = reph
      t.equal(nominal(shaped(reph))[0], consonant, `${ra} moves behind ${consonant}`)
    }
    t.end()
  })
}

t.test('a text of several scripts is split by font, and shared characters stay', (t) => {
  const names = (text: string) => faceRuns(text, 400).map(({ face, text: part }) => [face.name, part])
  t.same(names('Hi नमस्ते। Bye'), [
    ['latin 400', 'Hi '],
    ['devanagari 400', 'नमस्ते।'],
    ['latin 400', ' Bye'],
  ])
  t.same(names('₹5'), [
    ['latin-ext 400', '₹'],
    ['latin 400', '5'],
  ])
  t.same(names('র\u200dয'), [['bengali 400', 'র\u200dয']], 'a joiner')
  t.same(names('a你😀b\u0007'), [['latin 400', 'a\ufffd\ufffdb ']], 'what no font has')
  t.same(names(''), [])
  t.end()
})
