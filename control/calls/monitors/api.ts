import { z } from 'zod'
import { listOperation, operation } from '../../api/operation.js'
import { isRefusal, refuse } from '../../api/problem.js'
import { idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../../base/schemas.js'
import type { CallMonitorRow } from '../../db/tables/monitors.js'
import { refuseMonitoring } from '../../organization/monitoring.js'
import { liveCall } from '../live-call-api.js'
import { findCall } from '../store.js'
import { LISTEN_PATH, LISTEN_PROTOCOL, TICKET_PREFIX } from './listen-api.js'
import { listMonitors } from './store.js'
import { issueTicket } from './ticket.js'

const CallPath = z.object({ id: idParam('call') })

const Monitor = z.object({
  id: z.string(),
  userId: z.string(),
  mode: openEnum('listen', 'takeover'),
  createdAt: Timestamp,
  startedAt: Timestamp.nullable().meta({
    description: 'Null for a takeover that did not happen, or not yet.',
  }),
  endedAt: Timestamp.nullable(),
  outcome: openEnum(
    ...['given_back', 'left', 'withdrawn', 'no_answer', 'busy', 'declined', 'call_ended', 'carrier_error'],
    'destination_unavailable',
  )
    .nullable()
    .meta({ description: 'How a takeover ended. Null for a listening.' }),
})

const listCallMonitors = listOperation({
  id: 'listCallMonitors',
  path: '/v1/calls/:id/monitors',
  tag: 'Calls',
  summary: 'List who listened to a call or took it over',
  description: 'Newest first. Each is an event of the call and has entries in the audit log, too.',
  audience: 'key',
  scope: 'read',
  params: CallPath,
  result: Monitor,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    const call = await findCall(deps.db, actor, params.id)
    if (call === null) return refuse('not_found', 'The call does not exist.')
    const { organizationId, environment } = actor
    const { items, next } = await listMonitors(
      deps.db,
      { callId: call.id, organizationId, environment },
      page,
    )
    return { items: items.map((row) => monitorView(row, call.endedAt)), next }
  },
})

const requestListenTicket = operation({
  id: 'requestListenTicket',
  method: 'post',
  path: '/v1/calls/:id/monitors',
  tag: 'Calls',
  summary: 'Request a ticket to listen to a running call',
  description: `For owners and admins, and for developers if the organization allows it (\`monitoring\`). Open a WebSocket at \`url\` with the subprotocols \`${LISTEN_PROTOCOL}\` and \`${TICKET_PREFIX}<ticket>\`, from a page of the dashboard, within 30 seconds. The first message is JSON with \`sampleRate\`; binary messages are 16-bit little-endian PCM with two channels: the caller, and what the caller hears. A slow connection loses audio; the message \`dropped\` says how much. A ticket is good for one listening; two people can listen at the same time. Code 4421 means that another process carries the call: connect again with the same ticket.`,
  audience: 'session',
  params: CallPath,
  status: 201,
  result: z.object({ id: z.string(), url: z.string(), ticket: z.string(), expiresAt: Timestamp }),
  fails: ['not_found', 'call_not_live'],
  run: async ({ params, actor, deps }) => {
    const refused = await refuseMonitoring(deps.db, actor, 'listen')
    if (refused !== null) return refused
    const call = await liveCall(deps, actor, params.id)
    if (isRefusal(call)) return call
    const { id, token, expiresAt } = issueTicket(deps.rootKey, call, actor, deps.clock.wall())
    const base = deps.publicUrl().replace(/^http/, 'ws')
    const url = `${base}${LISTEN_PATH}${encodeURIComponent(call.nodeId)}`
    return { id, url, ticket: token, expiresAt: timestamp(expiresAt) }
  },
})

export const monitorOperations = [listCallMonitors, requestListenTicket]

/** Returns a monitoring as JSON. It ends with its call, also when the process of the call stopped. */
function monitorView(row: CallMonitorRow, callEndedAt: number | null): z.input<typeof Monitor> {
  return {
    id: row.id,
    userId: row.userId,
    mode: row.mode,
    createdAt: timestamp(row.createdAt),
    startedAt: timestampOrNull(row.startedAt),
    endedAt: timestampOrNull(row.endedAt ?? callEndedAt),
    outcome: row.outcome,
  }
}
