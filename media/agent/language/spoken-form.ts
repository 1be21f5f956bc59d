import { type LanguageData, languageData } from './language-data.js'

type SpokenWords = LanguageData['spokenForm']

const EMAIL = /[A-Za-z0-9](?:[\w.+-]{0,62}[A-Za-z0-9])?@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g
const DOMAIN = /\b(?:www\.)?[A-Za-z0-9-]{1,63}\.(?:com|in|org|net|co\.in|gov\.in|io)\b(?:\/[\w/-]*)?/g
const MONEY =
  /(?:₹|\bRs\.?|\bINR)\s?(\d[\d,]{0,30})(?:\.(\d{1,2}))?(?:\/-)?|\b(\d[\d,]{0,30})(?:\.(\d{1,2}))?\s?(?:\/-|rupees\b|रुपये|रुपए)/gi
const ISO_DATE = /\b(\d{4})-(\d{2})-(\d{2})\b/g
/** Day first, as usual in India. */
const DATE = /\b(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})\b/g
const PHONE = /(?<![\d.,])(?:\+|00)?(?:\d[ -]?){9,14}\d(?![\d.,]{0,30}\d)/g
/**
 * Digits that are an identifier, not an amount: after a word that announces one, or too long to be counted.
 */
const NAMED_DIGITS =
  /\b(OTP|PIN|PNR|code|number|no\.|account|a\/c|id|reference|ticket|order|pincode)((?:\s{1,4}(?:is|:|no\.|number)){0,3}:?\s{1,4}#?)(\d{4,40})\b/gi
const LONG_DIGITS = /(?<![\d.,])\d{7,40}(?![\d.,]{0,30}\d)/g
const GROUPED = /\b\d{1,3}(?:,\d{2,3})+\b/g
const PERCENT = /(\d)\s?%/g

const ENGLISH_FORMS: readonly (readonly [RegExp, string])[] = [
  [/\bDr\.(?=\s\p{Lu})/gu, 'Doctor'],
  [/\bMr\.(?=\s)/g, 'Mister'],
  [/\bMrs\.(?=\s)/g, 'Missus'],
  [/\be\.g\.,?/gi, 'for example'],
  [/\bi\.e\.,?/gi, 'that is'],
  [/\betc\./gi, 'et cetera'],
  [/\bapprox\.(?=\s)/gi, 'approximately'],
  [/\bNo\.(?=\s?\d)/g, 'number'],
  [/\ba\/c\b/gi, 'account'],
  [/\bw\.e\.f\./gi, 'with effect from'],
  [/(\d)\s?a\.m\./gi, '$1 AM'],
  [/(\d)\s?p\.m\./gi, '$1 PM'],
  [/\s&\s/g, ' and '],
]

/**
 * Returns a text as it is read aloud: amounts in lakh and crore, phone numbers and codes digit by digit,
 * dates with month names, addresses with named symbols, English abbreviations in full. Small numbers and
 * times stay because synthesis reads them correctly.
 */
export function spokenForm(text: string, language: string): string {
  if (!/[\d@&.]/.test(text)) return text
  const words = languageData(language).spokenForm
  let spoken = text
    .replace(EMAIL, (address) => addressed(address, words))
    .replace(DOMAIN, (name) => addressed(name, words))
    .replace(MONEY, (_all, a?: string, b?: string, c?: string, d?: string) =>
      money(a ?? c ?? '', b ?? d ?? '', words),
    )
    .replace(ISO_DATE, (all, year: string, month: string, day: string) => date(all, day, month, year, words))
    .replace(DATE, (all, day: string, month: string, year: string) => date(all, day, month, year, words))
    .replace(NAMED_DIGITS, (_all, name: string, between: string, digits: string) => {
      return `${name}${between.replace('#', '')}${oneByOne(digits)}`
    })
    .replace(PHONE, (number) => phone(number))
    .replace(LONG_DIGITS, (digits) => oneByOne(digits))
    .replace(GROUPED, (grouped) => counted(Number(grouped.replaceAll(',', '')), words))
    .replace(PERCENT, `$1 ${words.percent}`)
  if (language.startsWith('en')) {
    for (const [written, said] of ENGLISH_FORMS) spoken = spoken.replace(written, said)
  }
  return spoken.replace(/\s+/g, ' ').trim()
}

/** Returns a number in Indian units: `1,25,000` is 1 lakh 25 thousand. Numbers of up to four digits stay. */
export function counted(value: number, words: SpokenWords): string {
  if (value < 10_000) return String(value)
  const parts: string[] = []
  const crore = Math.floor(value / 10_000_000)
  const lakh = Math.floor((value % 10_000_000) / 100_000)
  const thousand = Math.floor((value % 100_000) / 1000)
  const rest = value % 1000
  if (crore > 0) parts.push(`${crore} ${words.crore}`)
  if (lakh > 0) parts.push(`${lakh} ${words.lakh}`)
  if (thousand > 0) parts.push(`${thousand} ${words.thousand}`)
  if (rest > 0) parts.push(String(rest))
  return parts.join(' ')
}

function money(whole: string, fraction: string, words: SpokenWords): string {
  const rupees = Number(whole.replaceAll(',', ''))
  const paise = fraction === '' ? 0 : Number(fraction.padEnd(2, '0'))
  const unit = rupees === 1 ? words.rupee : words.rupees
  return paise === 0
    ? `${counted(rupees, words)} ${unit}`
    : `${counted(rupees, words)} ${unit} ${paise} ${words.paise}`
}

function date(all: string, day: string, month: string, year: string, words: SpokenWords): string {
  const name = words.months[Number(month) - 1]
  const number = Number(day)
  return name === undefined || number < 1 || number > 31 ? all : `${number} ${name} ${year}`
}

/** Returns digits in groups that a listener can write down: the country code, then twice five digits. */
function phone(number: string): string {
  const digits = number.replace(/\D/g, '')
  const local = digits.slice(-10)
  const code = digits.slice(0, -10).replace(/^00/, '')
  const plus = number.startsWith('+') || number.startsWith('00') ? 'plus ' : ''
  const spoken = `${oneByOne(local.slice(0, 5))}, ${oneByOne(local.slice(5))}`
  return code === '' ? spoken : `${plus}${oneByOne(code)}, ${spoken}`
}

function oneByOne(digits: string): string {
  return [...digits].join(' ')
}

function addressed(address: string, words: SpokenWords): string {
  const signs: Readonly<Record<string, string>> = {
    '@': words.at,
    '.': words.dot,
    '-': words.dash,
    _: words.underscore,
    '/': words.slash,
  }
  return address.replace(/[@._/-]/g, (sign) => ` ${signs[sign]} `).trim()
}
