import { z } from 'zod'
import { isId } from '../../../media/base/ids.js'
import { throttle } from '../../access/throttle.js'
import { readConfig } from '../../agents/config.js'
import { publishProblem } from '../../agents/publishable.js'
import { findAgent, numbersOf } from '../../agents/store.js'
import { audited } from '../../api/audited.js'
import type { Deps } from '../../api/deps.js'
import { operation } from '../../api/operation.js'
import { isRefusal, type Refusal, refuse, unavailable } from '../../api/problem.js'
import { DEVELOPER_ROLES } from '../../api/scopes.js'
import { Timestamp, timestamp } from '../../base/schemas.js'
import type { AgentRow } from '../../db/tables/calling.js'
import { listNumbers, type Owner } from '../../numbers/store.js'
import { iceServers } from './ice-servers.js'
import { SIP_PATH } from './sip-api.js'
import { prepareTalk, type Talk } from './talk.js'
import { issueTicket } from './ticket.js'

const TICKETS_PER_MINUTE = 30
const MAX_VARIABLES = 50

const Body = z.strictObject({
  purpose: z.literal('talk'),
  agentId: z.string(),
  version: z
    .union([z.literal('draft'), z.int().min(1).max(999_999_999)])
    .optional()
    .meta({ description: 'The default is the published version.' }),
  numberId: z.string().optional().meta({
    description:
      'The number to which the call counts. The default is a number that the agent answers, or else any number of the environment.',
  }),
  variables: z
    .record(z.string().max(50), z.string().max(1_000))
    .refine((value) => Object.keys(value).length <= MAX_VARIABLES, `at most ${MAX_VARIABLES}`)
    .refine((value) => JSON.stringify(value).length <= 4_000, 'at most 4,000 characters in all')
    .default({}),
})

const requestBrowserCall = operation({
  id: 'requestBrowserCall',
  method: 'post',
  path: '/v1/browser-calls',
  tag: 'Calls',
  summary: 'Request a ticket for a call from the browser',
  description:
    'To talk to an agent from a page of the dashboard. The page opens SIP over WebSocket (RFC 7118) at `webSocketUrl` in the same session, and sends an INVITE from `from` to `to` with the header `Authorization: Bearer <ticket>` and an offer of DTLS-SRTP with ICE. A ticket is good for one call within a minute; the call has the id `callId`. A refusal names its reason in the header `X-Svc-Code`. Calls count and cost as inbound calls to the number.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  body: Body,
  status: 201,
  result: z.object({
    callId: z.string(),
    ticket: z.string(),
    webSocketUrl: z.string(),
    from: z.string(),
    to: z.string(),
    iceServers: z
      .array(z.object({ urls: z.array(z.string()), username: z.string(), credential: z.string() }))
      .meta({ description: 'Relays for networks that block UDP, if the service has any.' }),
    expiresAt: Timestamp,
  }),
  fails: [
    'not_found',
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
    const talk = await readTalk(deps, actor, body)
    if (isRefusal(talk)) return talk
    const prepared = await prepareTalk({ ...deps, providers: deps.settings.providers }, talk)
    if (isRefusal(prepared)) return prepared
    const now = deps.clock.wall()
    const { callId, token, expiresAt } = issueTicket(deps.rootKey, { talk, userId }, now)
    await audited({ actor, deps, requestId }, (_trx, record) =>
      record('agent.talk_requested', talk.agentId, { after: { version: talk.version, callId } }),
    )
    const base = deps.publicUrl()
    const { hostname } = new URL(base)
    return {
      callId,
      ticket: token,
      webSocketUrl: `${base.replace(/^http/, 'ws')}${SIP_PATH}`,
      from: `sip:${userId}@${hostname}`,
      to: `sip:${talk.agentId}@${hostname}`,
      iceServers: iceServers(deps.settings.turn, userId, now).map((server) => ({
        ...server,
        urls: [...server.urls],
      })),
      expiresAt: timestamp(expiresAt),
    }
  },
})

export const browserCallOperations = [requestBrowserCall]

/** Returns what the ticket will permit, or why there is none. */
async function readTalk(
  deps: Deps,
  { organizationId, environment }: Owner,
  { agentId, version, numberId, variables }: z.output<typeof Body>,
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
  const { items } = await listNumbers(db, owner, { limit: 100, after: null })
  const active = items.filter(({ status }) => status === 'active').map(({ id }) => id)
  return active.find((id) => bound.get(agent.id)?.includes(id)) ?? active[0] ?? null
}
