import { wordsOf } from './words.js'

/*
 * Numbers that are said as words, in English, Hindi, Tamil and Bengali and their spellings in Latin letters: `thirty days` is
 * `30 days`, and `पाँच लाख` is `500000`. The words are those of the spell-out rules of Unicode CLDR.
 */

const UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'
/** From 0 to 100. */
const HINDI =
  'शून्य एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पन्द्रह सोलह सत्रह अठारह उन्नीस बीस इक्कीस बाईस तेईस चौबीस ' +
  'पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस तीस इकतीस बत्तीस तैंतीस चौंतीस पैंतीस छत्तीस सैंतीस अड़तीस उनतालीस चालीस इकतालीस बयालीस ' +
  'तैंतालीस चौवालीस पैंतालीस छियालीस सैंतालीस अड़तालीस उनचास पचास इक्यावन बावन तिरेपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ साठ ' +
  'इकसठ बासठ तिरेसठ चौंसठ पैंसठ छियासठ सड़सठ अड़सठ उनहत्तर सत्तर इकहत्तर बहत्तर तिहत्तर चौहत्तर पचहत्तर छिहत्तर सतहत्तर अठहत्तर ' +
  'उनासी अस्सी इक्यासी बयासी तिरासी चौरासी पचासी छियासी सत्तासी अट्ठासी नवासी नब्बे इक्यानबे बानबे तिरानबे चौरानबे पंचानबे ' +
  'छियानबे सत्तानबे अट्ठानबे निन्यानबे'
const TAMIL = 'பூஜ்யம் ஒன்று இரண்டு மூன்று நான்கு ஐந்து ஆறு ஏழு எட்டு ஒன்பது பத்து'
const BENGALI = 'শূন্য এক দুই তিন চার পাঁচ ছয় সাত আট নয় দশ এগারো বারো তেরো চোদ্দ পনেরো ষোল সতেরো আঠারো উনিশ বিশ'

/** Other spellings, and other words for the same. */
const OTHERS: Readonly<Record<number, string>> = {
  ...{ 0: 'ज़ीरो জিরো ஜீரோ', 1: 'ek वन ওয়ান ஒன்', 2: 'टू দু টু டூ', 3: 'teen थ्री থ্রি த்ரீ' },
  ...{
    4: 'फोर ফোর ஃபோர் நாலு naalu',
    5: 'paanch panch फाइव ফাইভ ஃபைவ் அஞ்சு',
    6: 'chhah chhe छः छे सिक्स সিক্স சிக்ஸ்',
  },
  ...{ 7: 'saat सेवन সেভেন செவன்', 8: 'aath एट এইট எயிட்', 9: 'नाइन নাইন நைன்', 10: 'dus' },
  ...{
    11: 'gyarah',
    12: 'barah',
    15: 'pandrah पंद्रह',
    18: 'अट्ठारह',
    20: 'bees কুড়ি இருபது',
    25: 'pachees pachchees পঁচিশ',
  },
  ...{ 30: 'tees ত্রিশ முப்பது', 40: 'chalis chaalees চল্লিশ நாற்பது', 50: 'pachas pachaas পঞ্চাশ ஐம்பது' },
  ...{ 60: 'ষাট அறுபது', 70: 'সত্তর எழுபது', 80: 'assi আশি எண்பது', 90: 'nabbe নব্বই தொண்ணூறு' },
  ...{ 1.5: 'डेढ़ dedh দেড়', 2.5: 'ढाई अढ़ाई dhai আড়াই' },
}
const VALUES: ReadonlyMap<string, number> = new Map([
  ...[UNITS, HINDI, TAMIL, BENGALI].flatMap((list) =>
    wordsOf(list).map((word, value) => [word, value] as const),
  ),
  ...wordsOf(TENS).map((word, at) => [word, 20 + 10 * at] as const),
  ...Object.entries(OTHERS).flatMap(([value, list]) =>
    wordsOf(list).map((word) => [word, Number(value)] as const),
  ),
])
const SCALES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    100: 'hundred सौ sau শো একশো நூறு',
    1000: 'thousand हज़ार hazar hazaar hajar হাজার ஆயிரம் aayiram',
    100000: 'lakh lakhs lac लाख লাখ লক্ষ லட்சம் latcham',
    10000000: 'crore crores करोड़ কোটি கோடி',
    1000000: 'million',
  }).flatMap(([value, list]) => wordsOf(list).map((word) => [word, Number(value)] as const)),
)
/** Words before a number that change it by a part of one. */
const PARTS: ReadonlyMap<string, number> = new Map(
  Object.entries({ 0.5: 'साढ़े sadhe saadhe সাড়ে', 0.25: 'सवा sava', '-0.25': 'पौने paune' }).flatMap(
    ([value, list]) => wordsOf(list).map((word) => [word, Number(value)] as const),
  ),
)

/** Returns the value of a word that is one digit, as a digit, or null. */
export function digitOf(word: string): string | null {
  if (/^\d$/.test(word)) return word
  const value = VALUES.get(word)
  return value !== undefined && Number.isInteger(value) && value < 10 ? String(value) : null
}

/** Tells whether a number may begin with the word. */
function isNumber(word: string): boolean {
  return VALUES.has(word) || SCALES.has(word) || PARTS.has(word) || /^\d+$/.test(word)
}

/** Returns the words with digits for numbers. Words for hundreds and more stay beside them. */
export function withNumbers(words: readonly string[]): string[] {
  const found: string[] = []
  for (let at = 0; at < words.length; ) {
    const { value, length, scales } = isNumber(words[at] ?? '') ? numberAt(words, at) : NO_NUMBER
    if (length === 0) found.push(words[at] ?? '')
    else found.push(...(Number.isInteger(value) ? [String(value)] : String(value).split('.')), ...scales)
    at += Math.max(1, length)
  }
  return found
}

interface SaidNumber {
  readonly value: number
  /** Words that say it. */
  readonly length: number
  readonly scales: readonly string[]
}

const NO_NUMBER: SaidNumber = { value: 0, length: 0, scales: [] }

/** Reads the number that begins at a word. Its length is 0 when none does, or when it is written in digits alone. */
function numberAt(words: readonly string[], from: number): SaidNumber {
  const scales: string[] = []
  const part = PARTS.get(words[from] ?? '') ?? 0
  const start = part === 0 ? from : from + 1
  let total = 0
  let group: number | null = null
  let least = Number.POSITIVE_INFINITY
  let at = start
  let hasWords = false
  for (; at < words.length; at++) {
    const word = words[at] ?? ''
    const isDigits = /^\d{1,9}$/.test(word)
    const unit = isDigits ? Number(word) : VALUES.get(word)
    const scale = SCALES.get(word)
    if (unit !== undefined) {
      if (isDigits && at > start) break
      if (group === null) group = unit
      else if (unit > 0 && fits(group, unit)) group += unit
      else break
      hasWords ||= !isDigits
    } else if (scale === 100 && (group === null || group < 100)) {
      group = (group ?? 1) * scale
      scales.push(word)
    } else if (scale !== undefined && scale !== 100 && scale < least) {
      total += (group ?? 1) * scale
      least = scale
      group = null
      scales.push(word)
    } else break
  }
  if (at === start || (!hasWords && scales.length === 0)) return NO_NUMBER
  const value = total + (group ?? 0)
  return { value: value + part * (scales.length === 0 ? 1 : scaleOf(value)), length: at - from, scales }
}

/** Tells whether a number of tens or hundreds takes the next word: `twenty five`, and not `two five`. */
function fits(group: number, unit: number): boolean {
  return (
    (group >= 20 && group < 100 && group % 10 === 0 && unit < 10) ||
    (group >= 100 && group % 100 === 0 && unit < 100)
  )
}

/** Returns the unit that a part of one before the number counts: hundreds of 350, lakhs of 3 lakh. */
function scaleOf(value: number): number {
  return [...SCALES.values()]
    .filter((scale) => scale <= value)
    .reduce((most, scale) => Math.max(most, scale), 1)
}
