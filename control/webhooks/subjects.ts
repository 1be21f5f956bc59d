import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { openEnum, Timestamp } from '../base/schemas.js'
import { findCall } from '../calls/store.js'
import { Call, type CallView, callView } from '../calls/view.js'
import { findCheck } from '../compliance/check-store.js'
import { ComplianceCheck, checkView } from '../compliance/check-view.js'
import type { EventRow } from '../db/tables/calling.js'
import type { RenderedSubject, SubjectName } from '../events/event-types.js'
import { numberView, PhoneNumber } from '../numbers/api.js'
import { findNumberEver } from '../numbers/store.js'
import { findWalletView } from '../wallet/store.js'
import { Wallet } from '../wallet/view.js'

const Texts = z.array(z.string())
const OptionalTime = Timestamp.nullable()

/** Schemas of resources that no operation returns yet. They accept additional members. */
const Transfer = z
  .looseObject({
    id: z.string(),
    attempt: z.int(),
    status: openEnum(
      ...(['accepted', 'ringing', 'answered', 'bridged', 'completed'] as const),
      ...(['missed', 'declined', 'failed', 'canceled'] as const),
    ),
    mode: openEnum('blind', 'screened', 'consult'),
    trigger: openEnum('model', 'api', 'byo', 'dtmf'),
    reason: z.string().nullable(),
    outcome: openEnum(
      ...(['connected', 'no_answer', 'busy', 'declined'] as const),
      ...(['caller_hung_up', 'carrier_error', 'destination_unavailable'] as const),
    ).nullable(),
    brief: z.string().nullable().meta({ description: 'What the person heard before the caller.' }),
    destination: z.object({ label: z.string() }),
    requestedAt: Timestamp,
    acceptedAt: OptionalTime,
    answeredAt: OptionalTime,
    bridgedAt: OptionalTime,
    endedAt: OptionalTime,
    humanSeconds: z.int(),
    hasRecording: z.boolean(),
    hasReturnRecording: z.boolean(),
  })
  .meta({
    description: 'The transfer attempt of this event, which may differ from the latest attempt of the call.',
  })

const Campaign = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    environment: z.enum(['test', 'live']),
    status: openEnum('draft', 'scheduled', 'running', 'paused', 'completed', 'stopped', 'failed'),
    pausedReason: openEnum('operator', 'low_balance', 'target_unavailable', 'carrier_errors').nullable(),
    failureReason: z.string().nullable(),
    agent: z.object({ id: z.string().nullable(), name: z.string().nullable() }),
    number: z.object({ id: z.string().nullable(), e164: z.string().nullable() }),
    purpose: z.string().nullable(),
    autoPauseBelowPaise: z.int(),
    pacing: z.object({ callsPerMinute: z.int(), maxConcurrent: z.int() }),
    retries: z.object({
      attempts: z.int(),
      backoff: openEnum('linear', 'exponential'),
      intervalMinutes: z.int(),
      on: Texts,
    }),
    schedule: z.object({
      startsAt: OptionalTime,
      endsAt: OptionalTime,
      weekdays: z.int().meta({ description: 'Bit mask of 7 days. Monday is bit 0.' }),
      windowStartMinute: z.int().meta({ description: 'Minutes after midnight in India.' }),
      windowEndMinute: z.int().meta({ description: 'Minutes after midnight in India.' }),
    }),
    progress: z.object({
      total: z.int(),
      dialed: z.int(),
      connected: z.int(),
      excluded: z.int(),
      spentPaise: z.int(),
    }),
    preflight: z
      .object({
        callable: z.int(),
        checks: z.array(
          z.object({ type: z.string(), outcome: openEnum('pass', 'warn', 'block'), reason: z.string() }),
        ),
        computedAt: Timestamp,
        estimatedCostPaise: z.object({ low: z.int(), high: z.int() }),
        excluded: z.record(z.string(), z.int()),
        excludedE164s: z.record(z.string(), Texts),
        total: z.int(),
        walletBalancePaise: z.int(),
      })
      .nullable(),
    launchedAt: OptionalTime,
    completedAt: OptionalTime,
    archivedAt: OptionalTime,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ description: 'The campaign as its GET operation returns it.' })

const KnowledgeBase = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    status: openEnum('empty', 'processing', 'ready', 'error'),
    deliveryMode: openEnum('inline', 'search', 'pending'),
    docCount: z.int(),
    totalBytes: z.int(),
    chunkCount: z.int().nullable(),
    compiledTokens: z.int().nullable(),
    agentCount: z.int(),
    error: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ description: 'The knowledge base as its GET operation returns it.' })

const Build = z.looseObject({
  id: z.string(),
  knowledgeBaseId: z.string(),
  status: openEnum('processing', 'completed', 'failed'),
  error: z.string().nullable(),
  documents: z.int(),
  chunkCount: z.int().nullable(),
  compiledTokens: z.int().nullable(),
  startedAt: Timestamp,
  finishedAt: OptionalTime,
})

/** Schema of each member of `data`. */
export const SUBJECT_SCHEMAS = {
  call: Call,
  transfer: Transfer,
  campaign: Campaign,
  check: ComplianceCheck,
  // The first release described an open object.
  wallet: Wallet.loose(),
  number: PhoneNumber,
  knowledgeBase: KnowledgeBase,
  build: Build,
} as const satisfies Readonly<Record<SubjectName, z.ZodType>>

/** Links of an event besides `self`. */
export interface SubjectLinks {
  readonly recording?: string
  readonly transcript?: string
  readonly handoff?: string
}

/** The links that a subject must add. A transfer cannot be rendered without its hand-off page. */
interface RequiredLinks {
  readonly transfer: { readonly handoff: string }
}

type LinksOf<S extends SubjectName, View> = S extends keyof RequiredLinks
  ? { readonly links: (view: View, self: string) => RequiredLinks[S] }
  : { readonly links?: (view: View, self: string) => SubjectLinks }

/** Owner of the subjects of an event. The environment is null if both environments share them. */
export type SubjectOwner = Pick<EventRow, 'organizationId' | 'environment'>
type Owner = { readonly organizationId: string; readonly environment: 'test' | 'live' }

type Renderer<S extends SubjectName, View = z.input<(typeof SUBJECT_SCHEMAS)[S]>> = {
  /** Path of the operation that returns the subject. `:id` stands for its id. */
  readonly path: `/v1/${string}`
  /** Returns the subject as that operation does, or null if it does not exist. */
  readonly load: (db: Deps['db'], owner: SubjectOwner, id: string) => Promise<View | null>
} & LinksOf<S, View>

/** Shows a resource of one environment. */
function pinned<Row, View>(
  find: (db: Deps['db'], owner: Owner, id: string) => Promise<Row | null>,
  view: (row: Row) => View,
) {
  return async (db: Deps['db'], owner: SubjectOwner, id: string): Promise<View | null> => {
    const { organizationId, environment } = owner
    if (environment === null) return null
    const row = await find(db, { organizationId, environment }, id)
    return row === null ? null : view(row)
  }
}

export const RENDERERS: { readonly [S in RenderedSubject]: Renderer<S> } = {
  call: {
    path: '/v1/calls/:id',
    load: pinned(findCall, callView),
    links: ({ hasRecording, hasTranscript }: CallView, self) => ({
      ...(hasRecording ? { recording: `${self}/recording` } : {}),
      ...(hasTranscript ? { transcript: `${self}/transcript` } : {}),
    }),
  },
  check: { path: '/v1/compliance/checks/:id', load: pinned(findCheck, checkView) },
  number: { path: '/v1/numbers/:id', load: pinned(findNumberEver, numberView) },
  // An organization has one wallet, which the live environment shows.
  wallet: { path: '/v1/wallet', load: (db, { organizationId }) => findWalletView(db, organizationId) },
}
