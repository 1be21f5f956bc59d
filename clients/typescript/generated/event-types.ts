// Generated from docs/openapi.json by `npm run openapi`. Changes here are lost.

/** Types of events that a webhook endpoint can receive. */
export const EVENT_TYPES = [
  'call.initiated',
  'call.answered',
  'call.completed',
  'call.failed',
  'call.transfer_started',
  'call.transferred',
  'call.transfer_failed',
  'campaign.completed',
  'campaign.paused',
  'compliance.check.blocked',
  'wallet.balance.low',
  'number.renewal_due',
  'number.released',
  'number.suspended',
  'number.reactivated',
  'knowledge.build.completed',
  'knowledge.build.failed',
  'evidence.head',
] as const

export type EventType = (typeof EVENT_TYPES)[number]
