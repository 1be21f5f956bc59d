/*
 * What a call costs. Integer paise and whole seconds only; the rate is the one frozen at dial.
 */

/** Paise per minute by who does what; an organization's agreed rate replaces `service`. */
export const RATES = {
  service: 500,
  ownVoice: 200,
  ownTrunk: 450,
  ownTrunkOwnVoice: 150,
  person: 200,
  personOverOwnTrunk: 150,
} as const

export interface Charge {
  readonly kind: 'agent' | 'human'
  readonly seconds: number
  readonly ratePaisePerMinute: number
  readonly amountPaise: number
}

export interface RatedCall {
  /** Unix ms; null when media never connected. */
  readonly answeredAt: number | null
  /** Unix ms at which a person took over; null when none did. */
  readonly bridgedAt: number | null
  readonly endedAt: number
  readonly ratePaisePerMinute: number
  readonly personRatePaisePerMinute: number
}

/** Seconds, rounded up, of a stretch of time; never negative. */
export function billedSeconds(fromMs: number, toMs: number): number {
  return Math.max(0, Math.ceil((toMs - fromMs) / 1000))
}

/**
 * The lines of a call's bill, empty when it was not answered: the agent's part up to the bridge, and
 * from there on the person's part, never both at once. `billedPaise` is their sum.
 */
export function rateCall(call: RatedCall): {
  readonly charges: readonly Charge[]
  readonly billedPaise: number
} {
  if (call.answeredAt === null) return { charges: [], billedPaise: 0 }
  const agentUntil = call.bridgedAt ?? call.endedAt
  const charges = [line('agent', billedSeconds(call.answeredAt, agentUntil), call.ratePaisePerMinute)]
  if (call.bridgedAt !== null) {
    charges.push(line('human', billedSeconds(call.bridgedAt, call.endedAt), call.personRatePaisePerMinute))
  }
  return { charges, billedPaise: charges.reduce((sum, charge) => sum + charge.amountPaise, 0) }
}

function line(kind: Charge['kind'], seconds: number, ratePaisePerMinute: number): Charge {
  return { kind, seconds, ratePaisePerMinute, amountPaise: Math.ceil((ratePaisePerMinute * seconds) / 60) }
}
