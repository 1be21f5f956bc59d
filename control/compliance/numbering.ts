import { parsePhoneNumberFromString } from 'libphonenumber-js/max'

export type LineType = 'mobile' | 'landline' | 'unknown'

export type NumberClass =
  | { readonly kind: 'subscriber'; readonly e164: string; readonly lineType: LineType }
  /** Well-formed, but not for agents to call: sender series, toll-free numbers, special services. */
  | { readonly kind: 'promotional_series' | 'service_series' | 'special' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'invalid' }

const E164 = /^\+[1-9]\d{6,14}$/
const INDIAN = /^\+91([1-9]\d*)$/

/** Returns whether the text is canonical E.164: a plus sign and digits only. The number may be unassigned. */
export function isE164(text: string): boolean {
  return E164.test(text)
}

/**
 * Returns the kind of number of an E.164 string. The numbering library answers for range and type; the
 * classes it is known to get wrong for India are decided before it is asked:
 * - 1600/1601 are sender series, which it types as mobile (160 + 2-7 is the landline code of Kharar);
 * - 140 is a sender series, which it types as UAN;
 * - 1800 and 000800 are toll-free in more lengths than exist;
 * - only ten digits can be a person's line (11 occur with 1800 and 1860 alone).
 * `extraMobilePrefixes` (national, for example `60123`) admits series newer than the library (`mobilePrefixes`).
 * The sandbox numbers +9190000000xx need no exception: they are valid in a mobile range.
 */
export function classifyNumber(text: string, extraMobilePrefixes: readonly string[]): NumberClass {
  if (!isE164(text)) return { kind: 'invalid' }
  if (!text.startsWith('+91')) return { kind: 'foreign' }
  const national = INDIAN.exec(text)?.[1]
  if (national === undefined) return { kind: 'invalid' }
  if (/^140\d{7}$/.test(national)) return { kind: 'promotional_series' }
  if (/^160[01]\d{6}$/.test(national)) return { kind: 'service_series' }
  if (/^1800\d+$/.test(national)) return { kind: 'special' }
  if (national.length !== 10) return { kind: national.length === 11 ? 'special' : 'invalid' }
  if (extraMobilePrefixes.some((prefix) => national.startsWith(prefix))) {
    return { kind: 'subscriber', e164: text, lineType: 'mobile' }
  }
  // A number is valid if it has a type: asking for both would match every range twice.
  switch (parsePhoneNumberFromString(text)?.getType()) {
    case undefined:
      return { kind: 'invalid' }
    case 'MOBILE':
      return { kind: 'subscriber', e164: text, lineType: 'mobile' }
    case 'FIXED_LINE':
      return { kind: 'subscriber', e164: text, lineType: 'landline' }
    case 'FIXED_LINE_OR_MOBILE':
      // In the large 6xx, 7xx and 8xx blocks landline codes and mobile ranges overlap.
      return { kind: 'subscriber', e164: text, lineType: 'unknown' }
    default:
      return { kind: 'special' }
  }
}

/** Returns whether an agent may call the number: a +91 mobile or landline. */
export function isDialable(text: string, extraMobilePrefixes: readonly string[]): boolean {
  return classifyNumber(text, extraMobilePrefixes).kind === 'subscriber'
}

/** Toll-free and shared-cost numbers of India, and toll-free numbers for callers from abroad. */
const SERVICE_NUMBER = /^(?:91|0)?(18[06]0\d{6,7})$|^(?:91)?(000800\d{7})$/

/**
 * Converts a number of a SIP message to E.164, as carriers and softphones write it: with or without plus, national,
 * with trunk zero. Without a plus, 1800, 1860 and 000800 are numbers of India. Returns null for any other text. Only
 * signalling uses it; the API accepts E.164 only.
 */
export function dialledToE164(user: string): string | null {
  const digits = user.replace(/[\s().-]/g, '')
  if (isE164(digits)) return digits
  const service = SERVICE_NUMBER.exec(digits)
  if (service !== null) return `+91${service[1] ?? service[2]}`
  if (/^00[1-9]\d{6,14}$/.test(digits)) return `+${digits.slice(2)}`
  if (/^0[1-9]\d{9}$/.test(digits)) return `+91${digits.slice(1)}`
  if (/^91[1-9]\d{9}$/.test(digits)) return `+${digits}`
  if (/^[1-9]\d{9}$/.test(digits)) return `+91${digits}`
  return null
}
