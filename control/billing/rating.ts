/*
 * Price of a call, in integer paise and whole seconds. The rate is fixed when the call is placed.
 */

/** List prices (paise per minute). The agreed rate of an organization replaces `service`. */
export const RATES = {
  service: 500,
  ownVoice: 200,
  ownTrunk: 450,
  ownTrunkOwnVoice: 150,
  person: 200,
  personOverOwnTrunk: 150,
} as const

/**
 * Returns the price of a minute of a call (paise). An own trunk never costs more than the organization's
 * agreed price.
 */
export function minuteRate(call: {
  /** A bot or telephone of the customer speaks, not an agent of the service. */
  readonly ownVoice: boolean
  /** The call uses a SIP trunk of the customer. */
  readonly ownTrunk: boolean
  /** The agreed price (paise a minute). Null means the list price. */
  readonly agreedPaise: number | null
}): number {
  if (call.ownVoice) return call.ownTrunk ? RATES.ownTrunkOwnVoice : RATES.ownVoice
  const service = call.agreedPaise ?? RATES.service
  return call.ownTrunk ? Math.min(service, RATES.ownTrunk) : service
}

export interface Charge {
  /** `fallback`: an agent in place of a lost bot. */
  readonly kind: 'agent' | 'fallback' | 'human'
  readonly seconds: number
  readonly ratePaisePerMinute: number
  readonly amountPaise: number
}

/** A time in which a person had a call that the agent had before and after. */
interface Taken {
  readonly from: number
  readonly to: number
}

export interface RatedCall {
  /** Time at which the call was answered (Unix ms). Null if media was never connected. */
  readonly answeredAt: number | null
  /** Time from which a person had the call until its end (Unix ms). Null if none did. */
  readonly bridgedAt: number | null
  /** When persons had the call before that (Unix ms). Absent means never. */
  readonly takenOver?: readonly Taken[]
  readonly endedAt: number
  readonly ratePaisePerMinute: number
  /** Time at which an agent took over from a lost bot (Unix ms), and its price. Null or absent if none did. */
  readonly agentTookOverAt?: number | null
  readonly agentRatePaisePerMinute?: number | null
  readonly personRatePaisePerMinute: number
}

/** Returns a duration in seconds, rounded up and never negative. */
export function billedSeconds(fromMs: number, toMs: number): number {
  return Math.max(0, Math.ceil((toMs - fromMs) / 1000))
}

/**
 * Returns the charges of a call, empty if it was not answered: the person while one has the call, else the agent or bot,
 * never both at the same time. An agent that took over from a bot has a charge of its own. `billedPaise` is the sum.
 */
export function rateCall(call: RatedCall): {
  readonly charges: readonly Charge[]
  readonly billedPaise: number
} {
  if (call.answeredAt === null) return { charges: [], billedPaise: 0 }
  const agentUntil = call.bridgedAt ?? call.endedAt
  const tookOverAt =
    typeof call.agentTookOverAt === 'number' ? Math.max(call.answeredAt, call.agentTookOverAt) : null
  const firstUntil = Math.min(tookOverAt ?? agentUntil, agentUntil)
  const { takenOver = [] } = call
  const first = firstUntil - takenMs(takenOver, call.answeredAt, firstUntil)
  const charges = [chargeFor('agent', billedSeconds(call.answeredAt, first), call.ratePaisePerMinute)]
  if (tookOverAt !== null) {
    const rate = call.agentRatePaisePerMinute ?? call.ratePaisePerMinute
    const until = agentUntil - takenMs(takenOver, tookOverAt, agentUntil)
    charges.push(chargeFor('fallback', billedSeconds(tookOverAt, until), rate))
  }
  const taken = takenMs(takenOver, call.answeredAt, agentUntil)
  if (call.bridgedAt !== null || taken > 0) {
    charges.push(
      chargeFor('human', billedSeconds(agentUntil - taken, call.endedAt), call.personRatePaisePerMinute),
    )
  }
  return { charges, billedPaise: charges.reduce((sum, charge) => sum + charge.amountPaise, 0) }
}

/** Returns for how long (ms) persons had the call in a part of it. */
function takenMs(takenOver: readonly Taken[], from: number, to: number): number {
  return takenOver.reduce(
    (sum, taken) => sum + Math.max(0, Math.min(to, taken.to) - Math.max(from, taken.from)),
    0,
  )
}

function chargeFor(kind: Charge['kind'], seconds: number, ratePaisePerMinute: number): Charge {
  return { kind, seconds, ratePaisePerMinute, amountPaise: Math.ceil((ratePaisePerMinute * seconds) / 60) }
}
