import { z } from 'zod'
import { isId, newId } from '../../../media/base/ids.js'
import { throttle } from '../../access/throttle.js'
import { readConfig } from '../../agents/config.js'
import { publishProblem } from '../../agents/publishable.js'
import { findAgent, numbersOf } from '../../agents/store.js'
import type { SessionActor } from '../../api/actor.js'
import { audited } from '../../api/audited.js'
import type { Deps } from '../../api/deps.js'
import { operation } from '../../api/operation.js'
import { isRefusal, type Refusal, refuse, unavailable } from '../../api/problem.js'
import { DEVELOPER_ROLES } from '../../api/scopes.js'
import { Timestamp, timestamp } from '../../base/schemas.js'
import type { AgentRow } from '../../db/tables/calling.js'
import { listNumbers, type Owner } from '../../numbers/store.js'
import { refuseMonitoring } from '../../organization/monitoring.js'
import { liveCall } from '../live-call-api.js'
import { iceServers } from './ice-servers.js'
import { SIP_PATH } from './sip-api.js'
import { prepareTalk, type Talk } from './talk.js'
import { issueTicket, type MonitorTicket, type TalkTicket } from './ticket.js'

const TICKETS_PER_MINUTE = 30
const MAX_VARIABLES = 50

/** Fields of the purpose `talk` only. */
const TALK_FIELDS = ['agentId', 'version', 'numberId', 'variables'] as const

const Body = z
  .strictObject({
    purpose: z.enum(['talk', 'listen', 'takeover']),
    agentId: z.string().max(64).optional().meta({ description: 'Whom to talk to. Required to talk.' }),
    version: z
      .union([z.literal('draft'), z.int().min(1).max(999_999_999)])
      .optional()
      .meta({ description: 'To talk. The default is the published version.' }),
    numberId: z.string().max(64).optional().meta({
      description:
        'The number to which a talk counts. The default is a number that the agent answers, or else any number of the environment.',
    }),
    variables: z
      .record(z.string().max(50), z.string().max(1_000))
      .refine((value) => Object.keys(value).length <= MAX_VARIABLES, `at most ${MAX_VARIABLES}`)
      .refine((value) => JSON.stringify(value).length <= 4_000, 'at most 4,000 characters in all')
      .optional()
      .meta({ description: 'To talk. The default is none.', maxProperties: MAX_VARIABLES }),
    callId: z
      .string()
      .max(64)
      .optional()
      .meta({ description: 'The running call. Required to listen or take over.' }),
  })
  .superRefine((body, context) => {
    const talks = body.purpose === 'talk'
    const issue = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message })
    const required = talks ? 'agentId' : 'callId'
    if (body[required] === undefined) issue(required, `required with the purpose "${body.purpose}"`)
    for (const field of talks ? (['callId'] as const) : TALK_FIELDS)
      if (body[field] !== undefined) issue(field, `not used with the purpose "${body.purpose}"`)
  })

const requestBrowserCall = operation({
  id: 'requestBrowserCall',
  method: 'post',
  path: '/v1/browser-calls',
  tag: 'Calls',
  summary: 'Request a ticket for a call from the browser',
  description:
    'To talk to an agent from a page of the dashboard (`talk`), to hear a running call (`listen`, with an offer that only receives), or to take it over from its agent (`takeover`). The page opens SIP over WebSocket (RFC 7118) at `webSocketUrl` in the same session, and sends an INVITE from `from` to `to` with the header `Authorization: Bearer <ticket>` and an offer of DTLS-SRTP with ICE. A ticket is good for one call within a minute. A refusal names its reason in the header `X-Svc-Code`; with `other_process` the ticket stays good: connect again. To talk makes a call with the id `callId`, which counts and costs as an inbound call to the number. To listen or take over makes a leg of the call `callId`, with the entry `monitorId` in its monitors. The organization must allow that (`monitoring`), the time with a person costs as after a transfer, and a hang-up or `POST /v1/calls/{id}/release` gives the caller back.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  body: Body,
  status: 201,
  result: z.object({
    callId: z.string(),
    monitorId: z.string().nullable().meta({ description: 'Null to talk.' }),
    ticket: z.string(),
    webSocketUrl: z.string(),
    from: z.string(),
    to: z.string(),
    iceServers: z
      .array(z.object({ urls: z.array(z.string()), username: z.string(), credential: z.string() }))
      .meta({ description: 'Relays for networks that block UDP. Empty if none is configured.' }),
    expiresAt: Timestamp,
  }),
  fails: [
    'not_found',
    'call_not_live',
    'unprocessable_entity',
    'missing_variables',
    'knowledge_base_not_ready',
    'conflict',
    'rate_limited',
    'internal_error',
  ],
  run: async ({ body, actor, deps, requestId }) => {
    const { userId } = actor
    const limited = await throttle(deps, `browser call ${userId}`, TICKETS_PER_MINUTE)
    if (limited !== null) return limited
    if (deps.browserSip === null)
      return unavailable('Calls from the browser need the embedded SIP server.', {
        reason: 'external_sip_server',
      })
    if (deps.calls.draining)
      return unavailable('The service is shutting down and accepts no new calls.', { reason: 'draining' })
    const ticket = await (body.purpose === 'talk'
      ? talkTicket(deps, actor, body)
      : monitorTicket(deps, actor, body.purpose, body.callId ?? ''))
    if (isRefusal(ticket)) return ticket
    const now = deps.clock.wall()
    const { token, expiresAt } = issueTicket(deps.rootKey, ticket, now)
    await audited({ actor, deps, requestId }, async (_trx, record) => {
      const { purpose, callId } = ticket
      if (purpose === 'talk')
        await record('agent.talk_requested', ticket.agentId, { after: { version: ticket.version, callId } })
      else if (purpose === 'takeover')
        await record('call.takeover_requested', callId, { after: { monitorId: ticket.id, from: 'browser' } })
    })
    const base = deps.publicUrl()
    const { hostname } = new URL(base)
    return {
      callId: ticket.callId,
      monitorId: ticket.purpose === 'talk' ? null : ticket.id,
      ticket: token,
      webSocketUrl: `${base.replace(/^http/, 'ws')}${SIP_PATH}`,
      from: `sip:${userId}@${hostname}`,
      to: `sip:${ticket.purpose === 'talk' ? ticket.agentId : ticket.callId}@${hostname}`,
      iceServers: iceServers(deps.settings.turn, userId, now).map((server) => ({
        ...server,
        urls: [...server.urls],
      })),
      expiresAt: timestamp(expiresAt),
    }
  },
})

export const browserCallOperations = [requestBrowserCall]

async function talkTicket(
  deps: Deps,
  actor: SessionActor,
  body: z.output<typeof Body>,
): Promise<TalkTicket | Refusal> {
  const talk = await readTalk(deps, actor, body)
  if (isRefusal(talk)) return talk
  const prepared = await prepareTalk({ ...deps, providers: deps.settings.providers }, talk)
  if (isRefusal(prepared)) return prepared
  return { ...talk, purpose: 'talk', callId: newId('call', deps.clock.wall()), userId: actor.userId }
}

async function monitorTicket(
  deps: Deps,
  actor: SessionActor,
  purpose: MonitorTicket['purpose'],
  callId: string,
): Promise<MonitorTicket | Refusal> {
  const wanted = purpose === 'listen' ? 'listen' : 'listen_and_takeover'
  const refused = await refuseMonitoring(deps.db, actor, wanted)
  if (refused !== null) return refused
  const call = await liveCall(deps, actor, callId)
  if (isRefusal(call)) return call
  const { organizationId, environment, userId, sessionId } = actor
  const id = newId('mon', deps.clock.wall())
  const who = { organizationId, environment, userId, sessionId }
  return { ...who, purpose, id, callId: call.id, nodeId: call.nodeId }
}

/** Returns what the ticket will permit, or why there is none. */
async function readTalk(
  deps: Deps,
  { organizationId, environment }: Owner,
  { agentId = '', version, numberId, variables = {} }: z.output<typeof Body>,
): Promise<Talk | Refusal> {
  const { db } = deps
  const agent = isId('agt', agentId) ? await findAgent(db, organizationId, agentId) : null
  if (agent === null)
    return refuse('not_found', 'The agent does not exist.', { resource: 'agent', path: 'agentId' })
  const chosen = version ?? agent.publishedVersion
  if (chosen === null)
    return refuse(
      'unprocessable_entity',
      'The agent has no published version. Publish it, or use its draft.',
      {
        path: 'version',
      },
    )
  if (chosen === 'draft') {
    const problem = await publishProblem(deps, agent, readConfig(agent.draft))
    if (problem !== null) return problem
  }
  const owner = { organizationId, environment }
  const number = numberId ?? (await defaultNumber(deps, owner, agent))
  if (number === null)
    return refuse(
      'unprocessable_entity',
      'The environment has no active number, to which the call could count.',
      {
        path: 'numberId',
      },
    )
  const draftHash = chosen === 'draft' ? agent.draftHash : null
  return {
    ...owner,
    agentId,
    version: chosen === 'draft' ? null : chosen,
    draftHash,
    numberId: number,
    variables,
  }
}

/** Returns a number that the agent answers, or else the newest one of the environment; null without any. */
async function defaultNumber({ db }: Deps, owner: Owner, agent: AgentRow): Promise<string | null> {
  const { organizationId, environment } = owner
  const bound = await numbersOf(db, organizationId, environment, [agent.id])
  const { items } = await listNumbers(db, owner, {}, { limit: 100, after: null })
  const active = items.filter(({ status }) => status === 'active').map(({ id }) => id)
  return active.find((id) => bound.get(agent.id)?.includes(id)) ?? active[0] ?? null
}
