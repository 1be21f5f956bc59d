import { z } from 'zod'
import { throttle } from '../access/throttle.js'
import { pageOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { withHeaders } from '../api/reply.js'
import { Timestamp, timestamp } from '../base/schemas.js'
import { listSegments } from '../calls/store.js'
import { HandoffLine, SHOWN_ROLES } from './handoff-events.js'
import { HANDOFF_POLICY, handoffHtml } from './handoff-html.js'

const Handoff = z.object({
  destination: z.object({ label: z.string() }),
  language: z.string(),
  agentName: z.string().nullable(),
  callerMasked: z.string(),
  brief: z.string().nullable(),
  transcript: z.array(HandoffLine),
  position: z
    .int()
    .meta({ description: 'Position of the transcript in the events of the call: their parameter `after`.' }),
  live: z.boolean(),
  expiresAt: Timestamp,
})

/** Digits of the caller's number that the page shows. */
const SHOWN_DIGITS = 3
/** Maximum number of loads of the page of one transfer. Each reads the whole transcript. */
const PAGES_PER_MINUTE = 60

export const readHandoff = pageOperation({
  id: 'readHandoff',
  path: '/v1/handoff/:token',
  tag: 'Transfers',
  summary: 'Get the page for the person of a transfer',
  description:
    'What was said on the call so far, for 24 hours from the request. The address is in the events of the transfer. A browser gets a page that follows the call while it lasts; programs get JSON.',
  audience: 'address',
  address: 'handoff',
  params: z.object({ token: z.string().max(512) }),
  query: z.strictObject({ lang: z.enum(['en', 'hi']).optional() }),
  result: Handoff,
  html: handoffHtml,
  fails: ['not_found', 'rate_limited'],
  run: async ({ query, actor, deps }) => {
    const { db } = deps
    const tooMany = await throttle(deps, `readHandoff ${actor.subject}`, PAGES_PER_MINUTE)
    if (tooMany !== null) return tooMany
    const found = await db
      .selectFrom('transferAttempts')
      .innerJoin('calls', 'calls.id', 'transferAttempts.callId')
      .leftJoin('agents', 'agents.id', 'calls.agentId')
      .leftJoin('transferDestinations', 'transferDestinations.id', 'transferAttempts.destinationId')
      .select(['transferAttempts.label', 'transferAttempts.brief', 'transferDestinations.language'])
      .select(['calls.id', 'calls.direction', 'calls.fromNumber', 'calls.toNumber', 'calls.endedAt'])
      .select('agents.name as agentName')
      .where('transferAttempts.id', '=', actor.subject)
      .executeTakeFirst()
    if (found === undefined) return refuse('not_found', 'The transfer no longer exists.')
    const segments = await listSegments(db, found.id)
    return withHeaders(
      {
        destination: { label: found.label },
        language: query.lang ?? found.language ?? 'en-IN',
        agentName: found.agentName,
        callerMasked: masked(found.direction === 'inbound' ? found.fromNumber : found.toNumber),
        brief: found.brief,
        transcript: segments
          .filter(({ role }) => (SHOWN_ROLES as readonly string[]).includes(role))
          .map(({ role, text, startMs }) => ({ role, text, startMs: Math.round(startMs) })),
        position: Math.max(0, ...segments.map(({ seq }) => Number(seq))),
        live: found.endedAt === null,
        expiresAt: timestamp(actor.expiresAt),
      },
      { 'content-security-policy': HANDOFF_POLICY, 'x-robots-tag': 'noindex' },
    )
  },
})

/** Hides all characters of a number but the last ones. */
function masked(number: string): string {
  const shown = number.slice(-SHOWN_DIGITS)
  return `${'•'.repeat(Math.max(0, number.length - shown.length))}${shown}`
}
