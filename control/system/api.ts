import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import type { Deps } from '../api/deps.js'
import { type Operation, operation } from '../api/operation.js'
import { unavailable } from '../api/problem.js'
import { JsonText, withHeaders } from '../api/reply.js'
import { openEnum } from '../base/schemas.js'
import { openApiDocument } from '../openapi/document.js'
import { WEBHOOKS } from '../openapi/webhook-events.js'

/** Version of the API description. Increases with every release that adds something. */
export const API_VERSION = '1.1.0'

const PROBE_MS = 2000
/** Time for which an answer of the database counts (ms). */
const READY_MS = 1000
/** Time without a poll after which the job queue counts as stuck (ms). The poll interval is 250 ms. */
const JOBS_IDLE_MS = 60_000
/** Number of unstored call events above which the store counts as behind. */
const CALL_EVENTS_WAITING = 2_000

// Probes of earlier versions read the fields at the top level.
const Health = z.object({ status: openEnum('ok') })
const Readiness = z.object({ status: openEnum('ready'), checks: z.record(z.string(), openEnum('ok')) })

export const health = operation({
  id: 'getHealth',
  method: 'get',
  path: '/v1/health',
  tag: 'System',
  summary: 'Check that the process is running',
  description: 'Answers as long as the process runs. It checks neither the database nor telephony.',
  audience: 'public',
  status: 200,
  bare: true,
  result: Health.extend({ data: Health }),
  fails: [],
  run: () => ({ status: 'ok', data: { status: 'ok' } }),
})

export const ready = operation({
  id: 'getReady',
  method: 'get',
  path: '/v1/ready',
  tag: 'System',
  summary: 'Check that the service is ready',
  description: 'Returns 503 while the service cannot take calls and requests.',
  audience: 'public',
  status: 200,
  bare: true,
  result: Readiness.extend({ data: Readiness }),
  fails: ['internal_error'],
  run: async ({ deps }) => {
    if (deps.calls.draining)
      return unavailable('The service is shutting down.', {
        reason: 'draining',
        checks: { calls: 'draining' },
      })
    if (!deps.calls.connected) {
      return unavailable('The SIP server is not connected.', {
        reason: 'no_sip_server',
        checks: { calls: 'no_sip_server' },
      })
    }
    if (!(await databaseAnswered(deps)))
      return unavailable('The service is not ready.', { checks: { database: 'failed' } })
    const { callEvents, jobsIdleMs, isDiskLow } = deps.backlog()
    const queue = jobsIdleMs === null ? 'starting' : jobsIdleMs > JOBS_IDLE_MS ? 'stuck' : 'ok'
    const events = callEvents > CALL_EVENTS_WAITING ? 'behind' : 'ok'
    const disk = isDiskLow ? 'low' : 'ok'
    if (queue !== 'ok' || events !== 'ok' || disk !== 'ok') {
      return unavailable('The service is not ready.', { checks: { queue, callEvents: events, disk } })
    }
    const checks = { database: 'ok', calls: 'ok', queue, callEvents: events, disk }
    const readiness = { status: 'ready', checks }
    return { ...readiness, data: readiness }
  },
})

/**
 * Returns the operation for the OpenAPI description. `list` is called per request because this operation is
 * part of the list.
 */
export function openApi(list: () => readonly Operation[]): Operation {
  // The document is large and never changes, so that it is rendered once.
  let rendered: { readonly text: JsonText; readonly etag: string } | undefined
  return operation({
    id: 'getOpenApi',
    method: 'get',
    path: '/v1/openapi.json',
    tag: 'System',
    summary: 'Get the OpenAPI description',
    description: 'OpenAPI 3.1 as JSON. The description covers every operation and every webhook event.',
    audience: 'public',
    status: 200,
    bare: true,
    result: z.record(z.string(), z.unknown()),
    fails: [],
    run: () => {
      if (rendered === undefined) {
        const text = JSON.stringify(
          openApiDocument({ version: API_VERSION, operations: list(), webhooks: WEBHOOKS }),
        )
        const digest = createHash('sha256').update(text).digest('base64url')
        rendered = { text: new JsonText(text, gzipSync(text)), etag: `"${digest}"` }
      }
      return withHeaders(rendered.text, { etag: rendered.etag, 'cache-control': 'no-cache' })
    },
  })
}

/** Answers of the database by service. Anybody may ask whether the service is ready. */
const answers = new WeakMap<Deps, { readonly at: number; readonly answer: Promise<boolean> }>()

/** Returns whether the database answered within the last second. */
function databaseAnswered(deps: Deps): Promise<boolean> {
  const now = deps.clock.now()
  const known = answers.get(deps)
  if (known !== undefined && now - known.at < READY_MS) return known.answer
  const answer = databaseAnswers(deps)
  answers.set(deps, { at: now, answer })
  return answer
}

async function databaseAnswers(deps: Deps): Promise<boolean> {
  return new Promise((resolve) => {
    // A hanging database must not block the probe.
    const deadline = deps.clock.after(PROBE_MS, () => resolve(false))
    sql`select 1`
      .execute(deps.db)
      .then(
        () => resolve(true),
        (error: unknown) => {
          deps.log.warn({ error: errorText(error) }, 'database.unreachable')
          resolve(false)
        },
      )
      .finally(() => deadline.cancel())
  })
}
