import type { Db } from '../db/database.js'
import { readWallet } from '../wallet/store.js'
import { holdReason } from '../wallet/view.js'
import { countLost } from '../webhooks/delivery-store.js'
import type { DayCounts, Owner } from './store.js'

/** Problems of one code that are shown. */
const MOST = 10
const WEEK_MS = 7 * 86_400_000
/** Calls of today that failed, and their share, from which on that is a problem. */
const FAILED_CALLS = 5
const FAILED_SHARE = 0.2

export const PROBLEM_CODES = [
  ...(['calls_blocked', 'wallet_on_hold', 'wallet_low', 'calls_failing'] as const),
  ...(['trunk_disabled', 'trunk_unreachable', 'endpoint_disabled', 'endpoint_failing'] as const),
  'events_lost' as const,
  ...(['campaign_paused', 'campaign_failed', 'number_not_reachable', 'vendor_resting'] as const),
] as const
export type ProblemCode = (typeof PROBLEM_CODES)[number]

export interface FoundProblem {
  readonly code: ProblemCode
  /** Null concerns the whole organization. */
  readonly subject: {
    readonly type: 'trunk' | 'endpoint' | 'campaign' | 'number'
    readonly id: string
    readonly label: string
  } | null
  /** Why, if it is known. */
  readonly detail: string | null
  /** Why, as a code. Null if only a sentence is known. */
  readonly reason: string | null
  /** The numbers of the sentence, by name. */
  readonly counts: Readonly<Record<string, number>>
  readonly remedy: string
}

const REMEDIES: Readonly<Record<ProblemCode, string>> = {
  calls_blocked: 'Ask the operator of the service why calls of the organization are blocked.',
  wallet_on_hold: 'Ask the operator of the service why the wallet is on hold.',
  wallet_low: 'Top up the wallet: calls are refused when it is empty.',
  calls_failing: 'Read the reasons in the list of failed calls.',
  trunk_disabled: 'Read the reason, and ask the operator of the service to enable the trunk.',
  trunk_unreachable: 'Check address, port and firewall of the telephone system, then test the trunk again.',
  endpoint_disabled: 'Correct the receiver, enable the endpoint, and deliver the missed events again.',
  endpoint_failing: 'Read the answers of the receiver in the deliveries of the endpoint.',
  events_lost: 'Correct the receiver, then send the failed deliveries of the endpoint again.',
  campaign_paused: 'Remove the reason, then resume the campaign.',
  campaign_failed: 'Read the reason, and launch a copy of the campaign.',
  number_not_reachable: 'Read the reason, then switch the inbound calls of the number on again.',
  vendor_resting: 'The vendor failed several times. Its replacement serves the calls until it recovers.',
}

/** Finds what is wrong now, the most urgent first, at most ten of a kind. `today` are the counts of today. */
export async function findProblems(
  db: Db,
  owner: Owner,
  {
    today,
    resting,
    now,
  }: { readonly today: DayCounts; readonly resting: readonly string[]; readonly now: number },
): Promise<readonly FoundProblem[]> {
  const [blocked, wallet, trunks, endpoints, lost, campaigns, numbers] = await Promise.all([
    blockedReason(db, owner),
    owner.environment === 'live' ? readWallet(db, owner.organizationId, now) : null,
    brokenTrunks(db, owner),
    brokenEndpoints(db, owner),
    lostEvents(db, owner, now),
    brokenCampaigns(db, owner, now),
    brokenNumbers(db, owner),
  ])
  const all = (code: ProblemCode, detail: string | null, why: Why = {}): FoundProblem =>
    problem(code, null, detail, why)
  return [
    ...(blocked === null ? [] : [all('calls_blocked', blocked.detail, blocked)]),
    ...(wallet?.onHold ? [all('wallet_on_hold', holdReason(wallet), { reason: holdReason(wallet) })] : []),
    ...(wallet !== null && wallet.balancePaise < wallet.thresholdPaise ? [all('wallet_low', null)] : []),
    ...(today.failed >= FAILED_CALLS && today.failed >= FAILED_SHARE * today.calls
      ? [
          all('calls_failing', `${today.failed} of ${today.calls} calls of today failed.`, {
            counts: { failed: today.failed, calls: today.calls },
          }),
        ]
      : []),
    ...trunks,
    ...numbers,
    ...campaigns,
    ...endpoints,
    ...lost,
    ...resting.slice(0, MOST).map((vendor) => all('vendor_resting', vendor)),
  ]
}

type Why = Partial<Pick<FoundProblem, 'reason' | 'counts'>>

function problem(
  code: ProblemCode,
  subject: FoundProblem['subject'],
  detail: string | null,
  { reason = null, counts = {} }: Why = {},
): FoundProblem {
  return { code, subject, detail, reason, counts, remedy: REMEDIES[code] }
}

async function blockedReason(
  db: Db,
  { organizationId }: Owner,
): Promise<{ readonly detail: string; readonly reason: string | null } | null> {
  const row = await db
    .selectFrom('callingProfiles')
    .select(['enforcedAt', 'enforcedReason'])
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  if (row === undefined || row.enforcedAt === null) return null
  return { detail: row.enforcedReason ?? 'No reason was given.', reason: row.enforcedReason }
}

async function brokenTrunks(db: Db, owner: Owner): Promise<readonly FoundProblem[]> {
  const rows = await db
    .selectFrom('sipTrunks')
    .select(['id', 'name', 'status', 'disabledReason', 'lastProbe'])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('source', '=', 'api')
    .where('deletedAt', 'is', null)
    .orderBy('id')
    .execute()
  return rows
    .flatMap(({ id, name, status, disabledReason, lastProbe }) => {
      const subject = { type: 'trunk', id, label: name } as const
      if (status === 'disabled') return [problem('trunk_disabled', subject, disabledReason)]
      const probe = lastProbe === null ? null : (JSON.parse(lastProbe) as StoredProbe)
      const silent = status === 'active' && probe !== null && !probe.ok
      return silent ? [problem('trunk_unreachable', subject, probe.error)] : []
    })
    .slice(0, MOST)
}

/** Of the last test of a trunk (`trunks/view.ts`). */
interface StoredProbe {
  readonly ok: boolean
  readonly error: string | null
}

/** Endpoints serve both environments. */
async function brokenEndpoints(db: Db, { organizationId }: Owner): Promise<readonly FoundProblem[]> {
  const rows = await db
    .selectFrom('webhookEndpoints')
    .select(['id', 'url', 'enabled', 'disabledReason', 'consecutiveFailures'])
    .where('organizationId', '=', organizationId)
    .where('deletedAt', 'is', null)
    .where((row) => row.or([row('disabledReason', 'is not', null), row('failingSince', 'is not', null)]))
    .orderBy('id')
    .limit(MOST)
    .execute()
  return rows.map(({ id, url, enabled, consecutiveFailures }) =>
    problem(
      enabled === 0 ? 'endpoint_disabled' : 'endpoint_failing',
      { type: 'endpoint', id, label: url },
      `${consecutiveFailures} ${consecutiveFailures === 1 ? 'attempt' : 'attempts'} failed in a row.`,
      { counts: { attempts: consecutiveFailures } },
    ),
  )
}

/**
 * Returns the endpoints that did not get events of the last week. An event is lost when its last retry fails, or at
 * once after a redirect or a 4xx other than 408 and 429: these are not retried.
 */
async function lostEvents(db: Db, owner: Owner, now: number): Promise<readonly FoundProblem[]> {
  const endpoints = await countLost(db, owner, now - WEEK_MS, MOST)
  return endpoints.map(({ id, url, events }) =>
    problem(
      'events_lost',
      { type: 'endpoint', id, label: url },
      `${events} ${events === 1 ? 'event' : 'events'} of the last seven days did not arrive.`,
      { counts: { events } },
    ),
  )
}

async function brokenCampaigns(db: Db, owner: Owner, now: number): Promise<readonly FoundProblem[]> {
  const rows = await db
    .selectFrom('campaigns')
    .select(['id', 'name', 'status', 'pausedReason', 'failureReason'])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where((row) =>
      row.or([
        row.and([row('status', '=', 'paused'), row('pausedReason', '!=', 'operator')]),
        row.and([row('status', '=', 'failed'), row('updatedAt', '>=', now - WEEK_MS)]),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(MOST)
    .execute()
  return rows.map(({ id, name, status, pausedReason, failureReason }) =>
    status === 'paused'
      ? problem('campaign_paused', { type: 'campaign', id, label: name }, pausedReason, {
          reason: pausedReason,
        })
      : problem('campaign_failed', { type: 'campaign', id, label: name }, failureReason),
  )
}

async function brokenNumbers(db: Db, owner: Owner): Promise<readonly FoundProblem[]> {
  const rows = await db
    .selectFrom('numbers')
    .select(['id', 'e164', 'inboundReason'])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('inbound', '=', 'error')
    .where('releasedAt', 'is', null)
    .orderBy('id')
    .limit(MOST)
    .execute()
  return rows.map(({ id, e164, inboundReason }) =>
    problem('number_not_reachable', { type: 'number', id, label: e164 }, inboundReason),
  )
}
