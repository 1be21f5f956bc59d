import { z } from 'zod'
import { isId, newId } from '../../media/base/ids.js'
import { asPurpose, findAgent } from '../agents/store.js'
import type { Deps } from '../api/deps.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { Instant, parseInstant } from '../base/instant.js'
import { oneLine } from '../base/schemas.js'
import { readPoolUse } from '../calls/placement/call-slots.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import { namedNumber } from '../numbers/named-number.js'
import type { Owner } from './store.js'
import { BACKOFFS, RETRY_ON } from './view.js'

const DAY_MINUTES = 1_440
/** Hours of a campaign that states none (minutes after midnight IST). */
const DEFAULT_HOURS = { startMinute: 540, endMinute: 1_260 }
/** Collections end earlier by law. */
const COLLECTIONS_END_MINUTE = 1_140

const Pacing = z
  .strictObject({ callsPerMinute: z.int().min(1).max(120), maxConcurrent: z.int().min(1).max(10_000) })
  .partial()
const Retries = z
  .strictObject({
    attempts: z.int().min(1).max(5),
    backoff: z.enum(BACKOFFS),
    intervalMinutes: z.int().min(5).max(DAY_MINUTES),
    on: z.array(z.enum(RETRY_ON)).max(RETRY_ON.length),
  })
  .partial()
const Schedule = z
  .strictObject({
    startsAt: Instant.nullable(),
    endsAt: Instant.nullable(),
    weekdays: z.int().min(1).max(127),
    windowStartMinute: z
      .int()
      .min(0)
      .max(DAY_MINUTES - 1),
    windowEndMinute: z.int().min(1).max(DAY_MINUTES),
  })
  .partial()
const Floor = z.int().min(0).max(1_000_000_000)

const settings = {
  pacing: Pacing.optional(),
  retries: Retries.optional(),
  schedule: Schedule.optional(),
  autoPauseBelowPaise: Floor.optional(),
}
const Name = oneLine(120)
export const NewCampaign = z.strictObject({
  name: Name,
  agentId: z.string().max(40),
  numberId: z.string().max(40),
  ...settings,
})
export const CampaignPatch = z
  .strictObject({
    name: Name.optional(),
    agentId: z.string().max(40).optional(),
    numberId: z.string().max(40).optional(),
    ...settings,
  })
  .refine((body) => Object.keys(body).length > 0, 'at least one field is required')
  .meta({ minProperties: 1 })
type Patch = z.output<typeof CampaignPatch>

/** Returns a new draft, or why it cannot be made. */
export async function newDraft(
  deps: Deps,
  owner: Owner,
  body: z.output<typeof NewCampaign>,
): Promise<CampaignRow | Refusal> {
  const now = deps.clock.wall()
  const { organizationId, environment } = owner
  const counters = { total: 0, dialed: 0, connected: 0, excluded: 0, settled: 0, spentPaise: 0 }
  const draft: CampaignRow = {
    id: newId('cmp', now),
    organizationId,
    environment,
    name: body.name,
    status: 'draft',
    pausedReason: null,
    failureReason: null,
    agentId: '',
    agentName: '',
    agentVersion: null,
    speaksFirst: 0,
    numberId: '',
    numberE164: '',
    purpose: null,
    autoPauseBelowPaise: 0,
    callsPerMinute: 10,
    maxConcurrent: 5,
    attempts: 2,
    backoff: 'linear',
    intervalMinutes: 30,
    retryOn: '["no_answer","busy"]',
    startsAt: null,
    endsAt: null,
    weekdays: 127,
    windowStartMinute: DEFAULT_HOURS.startMinute,
    windowEndMinute: DEFAULT_HOURS.endMinute,
    nextDialAt: 0,
    uploaded: 0,
    importId: null,
    importUntil: null,
    ...counters,
    lateAgentSound: 0,
    countedAt: now,
    breakerAt: null,
    breakerTrips: 0,
    resumesAt: null,
    unreachableSince: null,
    preflight: null,
    launchedAt: null,
    launchRequestId: null,
    completedAt: null,
    archivedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  const target = await targetOf(deps, owner, body)
  if ('code' in target) return target
  const { purpose, ...names } = target
  const endsEarly = purpose === 'collections' ? { windowEndMinute: COLLECTIONS_END_MINUTE } : {}
  return withSettings(deps, { ...draft, ...names, ...endsEarly }, body)
}

/** Returns a draft after a PATCH, or why the PATCH cannot be applied. */
export async function patchedDraft(
  deps: Deps,
  draft: CampaignRow,
  body: Patch,
): Promise<CampaignRow | Refusal> {
  const { agentId = draft.agentId, numberId = draft.numberId } = body
  const changed = body.agentId !== undefined || body.numberId !== undefined
  const target = changed ? await targetOf(deps, draft, { agentId, numberId }) : null
  if (target !== null && 'code' in target) return target
  const { purpose: _, ...names } = target ?? { purpose: null }
  return withSettings(deps, { ...draft, ...names, name: body.name ?? draft.name }, body)
}

/** Fields that can change while a campaign is paused or scheduled. */
export function isLiveEdit({
  pacing: _pacing,
  autoPauseBelowPaise: _floor,
  schedule,
  ...rest
}: Patch): boolean {
  const { endsAt: _endsAt, ...schedules } = schedule ?? {}
  return Object.keys(rest).length === 0 && Object.keys(schedules).length === 0
}

/** Returns the agent and the number of a campaign as they are now. */
async function targetOf(
  { db }: Deps,
  owner: Owner,
  { agentId, numberId }: { readonly agentId: string; readonly numberId: string },
): Promise<
  | (Pick<CampaignRow, 'agentId' | 'agentName' | 'numberId' | 'numberE164'> & { readonly purpose: string })
  | Refusal
> {
  const agent = isId('agt', agentId) ? await findAgent(db, owner.organizationId, agentId) : null
  if (agent === null) {
    return refuse('not_found', 'The agent does not exist. Correct agentId.', {
      resource: 'agent',
      path: 'agentId',
    })
  }
  const number = await namedNumber(db, owner, numberId)
  if (isRefusal(number)) return number
  if (number.routingMode !== 'svc_agent') {
    const message = 'Campaigns call with agents only. Set routingMode of the number to svc_agent.'
    return refuse('unprocessable_entity', message, { path: 'numberId' })
  }
  return {
    agentId: agent.id,
    agentName: agent.name,
    numberId: number.id,
    numberE164: number.e164,
    purpose: asPurpose(agent.purpose),
  }
}

async function withSettings(deps: Deps, row: CampaignRow, body: Patch): Promise<CampaignRow | Refusal> {
  const { pacing, retries, schedule } = body
  const changed: CampaignRow = {
    ...row,
    callsPerMinute: pacing?.callsPerMinute ?? row.callsPerMinute,
    maxConcurrent: pacing?.maxConcurrent ?? row.maxConcurrent,
    attempts: retries?.attempts ?? row.attempts,
    backoff: retries?.backoff ?? row.backoff,
    intervalMinutes: retries?.intervalMinutes ?? row.intervalMinutes,
    retryOn: retries?.on === undefined ? row.retryOn : JSON.stringify([...new Set(retries.on)]),
    startsAt: instantOr(schedule?.startsAt, row.startsAt),
    endsAt: instantOr(schedule?.endsAt, row.endsAt),
    weekdays: schedule?.weekdays ?? row.weekdays,
    windowStartMinute: schedule?.windowStartMinute ?? row.windowStartMinute,
    windowEndMinute: schedule?.windowEndMinute ?? row.windowEndMinute,
    autoPauseBelowPaise: body.autoPauseBelowPaise ?? row.autoPauseBelowPaise,
  }
  return (await settingsProblem(deps, changed, pacing?.maxConcurrent !== undefined)) ?? changed
}

async function settingsProblem(deps: Deps, row: CampaignRow, checksLimit: boolean): Promise<Refusal | null> {
  const wrong = (path: string, message: string) => refuse('unprocessable_entity', message, { path })
  if (row.windowStartMinute >= row.windowEndMinute) {
    return wrong('schedule.windowEndMinute', 'windowEndMinute must be greater than windowStartMinute.')
  }
  if (row.startsAt !== null && row.endsAt !== null && row.startsAt >= row.endsAt) {
    return wrong('schedule.endsAt', 'endsAt must be later than startsAt.')
  }
  if (!checksLimit) return null
  const { limit } = (await readPoolUse(deps.db, row, deps.clock.wall())).agentCalls
  if (row.maxConcurrent <= limit) return null
  return wrong('pacing.maxConcurrent', `maxConcurrent must not exceed the limit of ${limit} agent calls.`)
}

function instantOr(given: string | null | undefined, current: number | null): number | null {
  if (given === undefined) return current
  return given === null ? null : parseInstant(given)
}
