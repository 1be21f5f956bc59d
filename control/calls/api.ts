import { z } from 'zod'
import { csvOperation, listOperation, operation } from '../api/operation.js'
import { allPages } from '../api/pagination.js'
import { isRefusal, refuse } from '../api/problem.js'
import { Instant, parseInstant } from '../base/instant.js'
import { E164, idParam } from '../base/schemas.js'
import { refuseUndialable } from '../compliance/dialable.js'
import { BLOCK_CODES } from '../compliance/gate.js'
import { CALL_COLUMNS } from './csv-columns.js'
import { SEARCH_MIN_DIGITS, searchDigits } from './digit-search.js'
import { hangUp } from './hang-up.js'
import { isTranscriptExpired } from './lifecycle/retention.js'
import { placeCall as place } from './placement/place-call.js'
import { Recording, recordingLink } from './recording-link.js'
import {
  type CallFilter,
  countCalls,
  findCall,
  findRecording,
  listSegments,
  listCalls as pageOfCalls,
} from './store.js'
import { Transcript, transcriptView } from './transcript.js'
import { Call, callView } from './view.js'

const CallPath = z.object({ id: idParam('call') })
const noCall = () => refuse('not_found', 'The call does not exist.')

/** A value holds at most 1,024 bytes, not characters. */
const Value = z
  .string()
  .max(1_024)
  .refine((text) => Buffer.byteLength(text) <= 1_024, 'must be at most 1024 bytes')
const texts = (max: number) =>
  z
    .record(z.string().min(1).max(100), Value)
    .refine((map) => Object.keys(map).length <= max, `must have at most ${max} entries`)
    .meta({ maxProperties: max })

export const placeCall = operation({
  id: 'placeCall',
  method: 'post',
  path: '/v1/calls',
  tag: 'Calls',
  summary: 'Place an outbound call',
  description: 'The compliance checks run before the call is dialled.',
  audience: 'key',
  scope: 'write',
  idempotent: 'accepted',
  body: z.strictObject({
    to: E164,
    numberId: z.string().max(64),
    agentId: z.string().max(64).optional(),
    variables: texts(50).optional(),
    metadata: texts(20).optional(),
  }),
  status: 201,
  result: Call,
  fails: [
    'not_found',
    'environment_mismatch',
    'unprocessable_entity',
    'missing_variables',
    'knowledge_base_not_ready',
    'concurrent_call_limit_reached',
    ...BLOCK_CODES,
    'sip_trunk_not_active',
    'provider_unavailable',
    'internal_error',
  ],
  run: async ({ body, actor, deps, idempotencyId }) => {
    const undialable = refuseUndialable(deps, body.to, 'to')
    if (undialable !== null) return undialable
    const call = await place(deps, actor, {
      to: body.to,
      numberId: body.numberId,
      agentId: body.agentId ?? null,
      variables: body.variables ?? {},
      metadata: body.metadata ?? {},
      idempotencyId,
    })
    return isRefusal(call) ? call : callView(call)
  },
})

const CallQuery = z.strictObject({
  search: z
    .string()
    .max(100)
    .refine((text) => searchDigits(text) !== null, `must hold at least ${SEARCH_MIN_DIGITS} digits`)
    .meta({ pattern: `^(\\D*\\d){${SEARCH_MIN_DIGITS}}` })
    .optional(),
  status: z.string().max(40).optional(),
  disposition: z.string().max(40).optional(),
  direction: z.enum(['outbound', 'inbound']).optional(),
  agentId: z.string().max(40).optional(),
  numberId: z.string().max(40).optional(),
  campaignId: z.string().max(40).optional(),
  startedAfter: Instant.optional(),
  startedBefore: Instant.optional(),
})

function callFilter(query: z.output<typeof CallQuery>): CallFilter {
  const instant = (text: string | undefined) =>
    text === undefined ? undefined : (parseInstant(text) ?? undefined)
  return {
    digits: query.search === undefined ? null : searchDigits(query.search),
    status: query.status,
    disposition: query.disposition,
    direction: query.direction,
    agentId: query.agentId,
    numberId: query.numberId,
    campaignId: query.campaignId,
    startedAfter: instant(query.startedAfter),
    startedBefore: instant(query.startedBefore),
  }
}

export const listCalls = listOperation({
  id: 'listCalls',
  path: '/v1/calls',
  tag: 'Calls',
  summary: 'List calls',
  description: 'Newest first.',
  audience: 'key',
  scope: 'read',
  query: CallQuery,
  result: Call,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const { items, next, total } = await pageOfCalls(deps.reads, actor, callFilter(query), page)
    return { items: items.map(callView), next, ...(total === undefined ? {} : { total }) }
  },
})

/** Most rows of an export. */
const EXPORT_ROWS = 100_000

export const exportCalls = csvOperation({
  id: 'exportCalls',
  path: '/v1/calls/export.csv',
  tag: 'Calls',
  summary: 'Download calls as CSV',
  description: `Newest first, with the filters of the list. More than ${EXPORT_ROWS.toLocaleString('en')} calls are refused with 422: narrow the filters. Objects are cells with JSON.`,
  audience: 'key',
  scope: 'read',
  query: CallQuery,
  columns: CALL_COLUMNS,
  view: callView,
  fileName: 'calls.csv',
  fails: ['unprocessable_entity'],
  run: async ({ query, actor, deps }) => {
    const filter = callFilter(query)
    if ((await countCalls(deps.reads, actor, filter, EXPORT_ROWS)) > EXPORT_ROWS) {
      return refuse(
        'unprocessable_entity',
        `More than ${EXPORT_ROWS} calls match. Narrow the filters, for example with startedAfter.`,
        { maxRows: EXPORT_ROWS },
      )
    }
    return allPages((page) => pageOfCalls(deps.reads, actor, filter, page))
  },
})

export const readCall = operation({
  id: 'readCall',
  method: 'get',
  path: '/v1/calls/:id',
  tag: 'Calls',
  summary: 'Get a call',
  description: 'Available during the call, too. Outputs and the evaluation follow after the end of the call.',
  audience: 'key',
  scope: 'read',
  params: CallPath,
  status: 200,
  result: Call,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const call = await findCall(deps.db, actor, params.id)
    return call === null ? noCall() : callView(call)
  },
})

export const readRecording = operation({
  id: 'readRecording',
  method: 'get',
  path: '/v1/calls/:id/recording',
  tag: 'Calls',
  summary: 'Get the download URL of a recording',
  description: 'The left channel is the caller, the right channel is the agent.',
  audience: 'key',
  scope: 'read',
  params: CallPath,
  status: 200,
  result: Recording,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findRecording(deps.db, actor, params.id)
    if (row === null) return refuse('not_found', 'The call does not exist or has no recording.')
    return recordingLink(deps, { ...row, name: row.callId })
  },
})

export const readTranscript = operation({
  id: 'readTranscript',
  method: 'get',
  path: '/v1/calls/:id/transcript',
  tag: 'Calls',
  summary: 'Get the transcript of a call',
  description: 'Available during the call, too. Returns 404 as long as `hasTranscript` of the call is false.',
  audience: 'key',
  scope: 'read',
  params: CallPath,
  status: 200,
  result: Transcript,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const call = await findCall(deps.db, actor, params.id)
    if (call === null) return noCall()
    const segments = await listSegments(deps.db, call.id)
    if (segments.length === 0) {
      const expired = isTranscriptExpired(call.id, deps.clock.wall())
      return refuse(
        'not_found',
        expired ? 'The transcript was deleted after 365 days.' : 'Nothing was said on the call so far.',
      )
    }
    return transcriptView(call.id, segments)
  },
})

export const hangUpCall = operation({
  id: 'hangUpCall',
  method: 'post',
  path: '/v1/calls/:id/hangup',
  tag: 'Calls',
  summary: 'Hang up a call',
  description: 'Does nothing if the call has ended.',
  audience: 'key',
  scope: 'write',
  params: CallPath,
  body: z.strictObject({}).optional(),
  status: 200,
  result: Call,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const after = await hangUp(deps, actor, params.id)
    return after === null ? noCall() : callView(after)
  },
})
