import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { Egress } from '../net/egress.js'

/** Why a connection does not work. */
export type ProbeError =
  | 'timeout'
  | 'connection_failed'
  | 'tls_failed'
  | 'name_not_resolved'
  | 'address_refused'
  | 'redirect'
  | 'credential_refused'
  | 'server_error'

export interface Probe {
  readonly ok: boolean
  readonly status: number | null
  readonly error: ProbeError | null
  readonly durationMs: number
}

/** Time limit of the whole probe: DNS lookup, connection, and both requests (ms). */
export const PROBE_MS = 5_000

/**
 * Tests whether a base URL answers and accepts the credential: HEAD, then GET where HEAD is not supported.
 * Reads no response body and follows no redirect. Any status below 500 that does not reject the credential is
 * a success, because a base URL need not name a resource. Never throws.
 */
export async function probe(options: {
  readonly egress: Egress
  readonly organizationId: string
  readonly clock: Clock
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}): Promise<Probe> {
  const { clock } = options
  const startedAt = clock.now()
  const deadline = startedAt + PROBE_MS
  let answer = await ask(options, 'HEAD', deadline)
  if (answer === 405 || answer === 501) answer = await ask(options, 'GET', deadline)
  const durationMs = Math.round(clock.now() - startedAt)
  if (typeof answer === 'string') return { ok: false, status: null, error: answer, durationMs }
  const error = errorOfStatus(answer)
  return { ok: error === null, status: answer, error, durationMs }
}

function ask(
  options: Parameters<typeof probe>[0],
  method: 'HEAD' | 'GET',
  deadline: number,
): Promise<number | ProbeError> {
  const { egress, organizationId, clock, headers } = options
  let url: URL
  try {
    url = egress.permit(options.url, 'http')
  } catch (error) {
    return Promise.resolve(errorOf(error))
  }
  return new Promise((resolve) => {
    const secure = url.protocol === 'https:'
    const request = (secure ? requestHttps : requestHttp)(url, {
      method,
      headers: { 'user-agent': 'parley', accept: '*/*', ...headers },
      agent: secure ? egress.https : egress.http,
      lookup: egress.lookupOf(organizationId),
    })
    const timer = clock.after(Math.max(0, deadline - clock.now()), () => {
      resolve('timeout')
      request.destroy()
    })
    // This listener stays: a destroyed request may still report an error.
    request.on('error', (error) => {
      timer.cancel()
      resolve(errorOf(error))
    })
    request.on('response', (response) => {
      timer.cancel()
      // Destroys the connection with its unread body.
      response.on('error', () => {}).destroy()
      resolve(response.statusCode ?? 0)
    })
    request.end()
  })
}

function errorOfStatus(status: number): ProbeError | null {
  if (status >= 500) return 'server_error'
  if (status === 401 || status === 403) return 'credential_refused'
  return status >= 300 && status < 400 ? 'redirect' : null
}

const NAME_ERRORS = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA'])

function errorOf(error: unknown): ProbeError {
  if (error instanceof EngineError && error.code === 'egress_refused') return 'address_refused'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NAME_ERRORS.has(code)) return 'name_not_resolved'
  const tls = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|EPROTO)/.test(code)
  return tls ? 'tls_failed' : 'connection_failed'
}
