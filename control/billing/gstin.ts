/*
 * GST state codes and the identifier of a registered business (GSTIN). A telecom circle is not a tax state
 * and must not be used as one.
 */

/** Two-digit codes that are valid in a billing address. */
export const STATES: Readonly<Record<string, string>> = {
  '01': 'Jammu and Kashmir',
  '02': 'Himachal Pradesh',
  '03': 'Punjab',
  '04': 'Chandigarh',
  '05': 'Uttarakhand',
  '06': 'Haryana',
  '07': 'Delhi',
  '08': 'Rajasthan',
  '09': 'Uttar Pradesh',
  '10': 'Bihar',
  '11': 'Sikkim',
  '12': 'Arunachal Pradesh',
  '13': 'Nagaland',
  '14': 'Manipur',
  '15': 'Mizoram',
  '16': 'Tripura',
  '17': 'Meghalaya',
  '18': 'Assam',
  '19': 'West Bengal',
  '20': 'Jharkhand',
  '21': 'Odisha',
  '22': 'Chhattisgarh',
  '23': 'Madhya Pradesh',
  '24': 'Gujarat',
  '26': 'Dadra and Nagar Haveli and Daman and Diu',
  '27': 'Maharashtra',
  '29': 'Karnataka',
  '30': 'Goa',
  '31': 'Lakshadweep',
  '32': 'Kerala',
  '33': 'Tamil Nadu',
  '34': 'Puducherry',
  '35': 'Andaman and Nicobar Islands',
  '36': 'Telangana',
  '37': 'Andhra Pradesh',
  '38': 'Ladakh',
  '97': 'Other Territory',
}

/**
 * Codes of older registrations, from before states were reorganized, and the present states of those
 * businesses.
 */
const FORMER: Readonly<Record<string, readonly string[]>> = {
  // Daman and Diu, merged in 2020.
  '25': ['26'],
  // Andhra Pradesh before its division in 2014.
  '28': ['37', '36'],
}

const GSTIN = /^[0-3]\d[A-Z]{5}\d{4}[A-Z][1-9A-Z]Z[0-9A-Z]$/
const PAN = /^[A-Z]{5}\d{4}[A-Z]$/
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const BASE = ALPHABET.length

/** Returns the error in a GSTIN (format, state or check character), or null if it is valid. */
export function gstinProblem(gstin: string): string | null {
  if (!GSTIN.test(gstin)) return 'is not a GSTIN: 15 characters such as 29AAGCB7383J1Z4'
  const state = gstin.slice(0, 2)
  if (!Object.hasOwn(STATES, state) && !Object.hasOwn(FORMER, state)) return `names no state: ${state}`
  if (checkCharacter(gstin.slice(0, 14)) !== gstin.charAt(14)) return 'has a wrong check character'
  return null
}

/** Returns the states in which a business with this valid GSTIN may have its address. */
export function statesOfGstin(gstin: string): readonly string[] {
  const code = gstin.slice(0, 2)
  return FORMER[code] ?? [code]
}

/** Returns the PAN in a valid GSTIN. */
export function panOfGstin(gstin: string): string {
  return gstin.slice(2, 12)
}

/** Returns true for a permanent account number: five letters, four digits, one letter. */
export function isPan(text: string): boolean {
  return PAN.test(text)
}

/**
 * The fifteenth character over the first fourteen: digits in base 36 weighted 1, 2, 1, 2, ...; each
 * product gives its quotient and remainder by 36; the sum's complement to 36 is the check.
 */
function checkCharacter(first14: string): string {
  let sum = 0
  for (const [index, character] of [...first14].entries()) {
    const product = ALPHABET.indexOf(character) * (index % 2 === 0 ? 1 : 2)
    sum += Math.floor(product / BASE) + (product % BASE)
  }
  return ALPHABET.charAt((BASE - (sum % BASE)) % BASE)
}
