import type { Offer } from './carrier.js'
import { CIRCLES, type Circle } from './circles.js'

/*
 * Numbers of the sandbox: +919000000100 to +919000009999. The simulated persons have +919000000001 to
 * +919000000013 in the same block.
 */
export const FIRST = 100
export const LAST = 9_999
export const SANDBOX = 'sandbox'

export const sandboxNumber = (index: number): string => `+91900000${String(index).padStart(4, '0')}`

/** Returns the index of a sandbox number, or null for another number. */
export function sandboxIndex(e164: string): number | null {
  const digits = /^\+91900000(\d{4})$/.exec(e164)?.[1]
  const index = digits === undefined ? -1 : Number(digits)
  return index >= FIRST && index <= LAST ? index : null
}

/** Behaviour of the purchase of a number, by its last two digits. Other numbers are sold. */
const BEHAVIOURS = {
  91: 'taken',
  92: 'bought_without_answer',
  93: 'lost',
  94: 'rejected',
  95: 'dearer',
  96: 'quota',
  97: 'compliance',
} as const

export type SandboxBehaviour = (typeof BEHAVIOURS)[keyof typeof BEHAVIOURS] | 'sold'

export function behaviourOf(index: number): SandboxBehaviour {
  return BEHAVIOURS[(index % 100) as keyof typeof BEHAVIOURS] ?? 'sold'
}

const CODES = Object.keys(CIRCLES) as Circle[]
const SETUP_PAISE = 10_000
const RENTAL_PAISE = 50_000
/** Numbers with more zeros at the end cost more (paise a month). */
const SURCHARGES = [0, 5_000, 20_000, 100_000]

/** Returns the offer of a sandbox number. */
export function sandboxOffer(index: number): Offer {
  const zeros = /0{0,16}$/.exec(String(index))?.[0].length ?? 0
  return {
    e164: sandboxNumber(index),
    provider: SANDBOX,
    region: CODES[index % CODES.length] ?? 'DL',
    numberType: 'mobile',
    setupPaise: SETUP_PAISE,
    rentalPaise: RENTAL_PAISE + (SURCHARGES[zeros] ?? 0),
    renewalCycle: index % 2 === 0 ? 'anniversary' : 'calendar_month',
  }
}
