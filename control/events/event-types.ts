/**
 * Resources that events report. `rendered` is true for a resource whose rows the payload shows
 * (`webhooks/subjects.ts`). An event of another resource cannot be inserted.
 */
export const SUBJECTS = {
  call: { type: 'call', rendered: true },
  transfer: { type: 'transfer', rendered: true },
  campaign: { type: 'campaign', rendered: true },
  check: { type: 'check', rendered: true },
  wallet: { type: 'wallet', rendered: true },
  number: { type: 'number', rendered: true },
  knowledgeBase: { type: 'knowledge_base', rendered: true },
  build: { type: 'build', rendered: true },
  evidenceHead: { type: 'evidence_head', rendered: true },
} as const satisfies Readonly<Record<string, { readonly type: string; readonly rendered: boolean }>>

/** Member of `data` in a payload. */
export type SubjectName = keyof typeof SUBJECTS
export type RenderedSubject = {
  [S in SubjectName]: (typeof SUBJECTS)[S]['rendered'] extends true ? S : never
}[SubjectName]

interface EventDefinition {
  /** Sentence for the API description and docs/webhooks.md. */
  readonly when: string
  /** The first subject is `subjectType` and `subjectId` of the event, and `links.self` leads to it. */
  readonly subjects: readonly [SubjectName] | readonly [SubjectName, SubjectName]
  /** True for events of resources that both environments share. Their environment is null. */
  readonly shared?: true
  /** False for a type that is no longer sent. Existing subscriptions stay valid. */
  readonly sent?: false
}

/** All event types. A new type needs one entry here, and nothing else if its subjects are rendered. */
export const EVENTS = {
  'call.initiated': {
    when: 'An outbound call was accepted or an inbound call arrived.',
    subjects: ['call'],
  },
  'call.answered': { when: 'The call was answered and media is connected.', subjects: ['call'] },
  'call.completed': {
    when: 'A call ended, with any outcome. For an answered agent call the event is delayed by up to about 90 seconds until the summary is ready.',
    subjects: ['call'],
  },
  'call.failed': {
    when: 'A call ended as failed, no_answer or busy. Sent in addition to call.completed.',
    subjects: ['call'],
  },
  'call.transfer_started': {
    when: 'The agent started to transfer the call, and the phone of the destination rings.',
    subjects: ['call', 'transfer'],
  },
  'call.transferred': {
    when: 'The transfer destination answered the call. Not sent over carriers that never report the answer.',
    subjects: ['call', 'transfer'],
  },
  'call.transfer_failed': {
    when: 'The transfer destination did not answer, or the caller hung up first. May also follow call.transferred.',
    subjects: ['call', 'transfer'],
  },
  'campaign.completed': {
    when: 'All recipients of a campaign have reached a final state.',
    subjects: ['campaign'],
  },
  'campaign.paused': {
    when: 'A campaign was paused, possibly automatically because the wallet balance is too low.',
    subjects: ['campaign'],
  },
  'compliance.check.blocked': {
    when: 'A compliance check blocked a call before it was dialled. Contains the check that decided.',
    subjects: ['check'],
  },
  'wallet.balance.low': {
    when: 'The balance fell below the low-balance threshold.',
    subjects: ['wallet'],
  },
  'number.renewal_due': {
    when: 'A renewal is due and the balance does not cover it. The number is released at releaseAt unless the balance is topped up.',
    subjects: ['number'],
  },
  'number.released': {
    when: 'A renewal was not paid by releaseAt, and the number was released.',
    subjects: ['number'],
  },
  'number.suspended': {
    when: 'No longer sent. The type is kept so that existing subscriptions stay valid.',
    subjects: ['number'],
    sent: false,
  },
  'number.reactivated': {
    when: 'No longer sent. The type is kept so that existing subscriptions stay valid.',
    subjects: ['number'],
    sent: false,
  },
  'knowledge.build.completed': {
    when: 'The build of a knowledge base finished.',
    subjects: ['knowledgeBase', 'build'],
    shared: true,
  },
  'knowledge.build.failed': {
    when: 'The build of a knowledge base failed. build.error contains the reason.',
    subjects: ['knowledgeBase', 'build'],
    shared: true,
  },
  'evidence.head': {
    when: 'Once a day, after midnight in India, if the evidence chain has new records. Keep it: with it the verifier finds a chain that was cut off or rewritten later.',
    subjects: ['evidenceHead'],
  },
} as const satisfies Readonly<Record<string, EventDefinition>>

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[]

type SubjectOf<T extends EventType> = (typeof EVENTS)[T]['subjects'][number]

/** Types that can be inserted: those that are still sent and whose subjects are all rendered. */
export type SendableType = {
  [T in EventType]: (typeof EVENTS)[T] extends { readonly sent: false }
    ? never
    : SubjectOf<T> extends RenderedSubject
      ? T
      : never
}[EventType]

/** An event that is about to be inserted, with the id of each of its subjects. */
export type NewEvent = {
  [T in SendableType]: {
    readonly organizationId: string
    readonly environment: (typeof EVENTS)[T] extends { readonly shared: true } ? null : 'test' | 'live'
    readonly type: T
    readonly subjects: { readonly [S in SubjectOf<T>]: string }
  }
}[SendableType]

/** Returns the definition of a stored event type, or null if this release does not know it. */
export function eventDefinition(type: string): EventDefinition | null {
  return Object.hasOwn(EVENTS, type) ? EVENTS[type as EventType] : null
}
