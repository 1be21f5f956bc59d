import parsePhoneNumber from 'libphonenumber-js/max'
import type { NumberType, Offer, OfferFilters } from './carrier.js'

/** Series that are not for agents: 140, 1600, 1601 and 92. */
export const IRREGULAR = ['91140', '911600', '911601', '9192']

/** Returns an Indian number of a regular series as E.164, from E.164 or from its digits; null for anything else. */
export function regularNumber(number: unknown): string | null {
  if (typeof number !== 'string') return null
  const e164 = number.startsWith('+') ? number : `+${number}`
  if (!/^\+91[1-9]\d{9}$/.test(e164)) return null
  return IRREGULAR.some((prefix) => e164.startsWith(`+${prefix}`)) ? null : e164
}

/** Returns a number of the account of the service in E.164, or null if the text is none. */
export function ownedNumber(text: unknown): string | null {
  return typeof text === 'string' && /^\+[1-9]\d{6,14}$/.test(text) ? text : null
}

/** Returns the type of a number by its digits. */
export function numberTypeOf(e164: string): NumberType {
  return parsePhoneNumber(e164)?.getType() === 'MOBILE' ? 'mobile' : 'landline'
}

export function fits(offer: Offer, { region, numberType, contains }: OfferFilters): boolean {
  return (
    (region === null || offer.region === region) &&
    (numberType === null || offer.numberType === numberType) &&
    (contains === null || offer.e164.includes(contains))
  )
}
