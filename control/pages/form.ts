import type { Clock } from '../../media/base/clock.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { Exchange } from '../http/exchange.js'
import { isCleanText, readBytes } from '../http/json-body.js'

const MAX_BODY = 16 * 1024

/** Reads the fields of a form that was sent as `application/x-www-form-urlencoded`. */
export async function readForm(
  exchange: Exchange,
  clock: Clock,
): Promise<ReadonlyMap<string, string> | Refusal> {
  const { request, response } = exchange
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(request.header('content-type') ?? ''))
    return refuse('bad_request', 'The form was not sent as application/x-www-form-urlencoded.')
  const bytes = await readBytes(request, response, MAX_BODY, clock)
  if (isRefusal(bytes)) return bytes
  const values = new Map(new URLSearchParams(bytes.toString('utf8')))
  return [...values.values()].every(isCleanText)
    ? values
    : refuse('bad_request', 'The form contains a NUL character.')
}
