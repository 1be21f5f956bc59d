import { type RequestHandler, type Response, Router } from 'express'
import { idOfUuid } from '../../media/base/ids.js'
import { authenticate, type KeyVerifier } from '../access/keys/api-keys.js'
import type { Deps } from '../api/deps.js'
import { isRefusal, PROBLEMS, type Refusal, refuse } from '../api/problem.js'
import type { Exchange } from '../http/exchange.js'
import { readBytes } from '../http/json-body.js'
import { send } from '../http/reply.js'
import { budgetHeaders, rateLimited } from '../limits/rate-limiter.js'
import { hangUp } from './hang-up.js'

/*
 * Hang-up requests as carriers define them. A bot written for a carrier hangs up through that carrier's REST
 * call. The same paths are served here, with an API key in place of the carrier's token, so that the bot
 * needs a new base URL only. These paths are not operations of the API: responses and refusals have the
 * carrier's format.
 */

const MAX_BODY = 4096

interface Vendor {
  readonly method: 'post' | 'delete'
  readonly paths: readonly string[]
  /** Returns the UUID of the call that the path names. */
  uuid(name: string): string
  /** Returns whether the body asks to end the call. */
  readonly ends: (body: string) => boolean
  answer(response: Response, names: { readonly account: string; readonly call: string }): void
  /** Returns the body of a refusal. */
  problem(refusal: Refusal, exchange: Exchange): object
}

/** Error codes of Twilio and Telnyx by HTTP status. */
const TWILIO_CODES: Readonly<Record<number, number>> = { 401: 20003, 403: 20003, 404: 20404, 429: 20429 }
const TELNYX_CODES: Readonly<Record<number, string>> = {
  401: '10009',
  403: '10010',
  404: '10005',
  429: '10011',
}

const VENDORS: readonly Vendor[] = [
  {
    method: 'post',
    paths: ['/2010-04-01/Accounts/:account/Calls/:call.json'],
    uuid: (name) => name.replace(/^CA/, ''),
    ends: (body) => ['completed', 'canceled'].includes(new URLSearchParams(body).get('Status') ?? ''),
    answer: (response, { account, call }) => {
      response.status(200).json({ sid: call, account_sid: account, status: 'completed' })
    },
    problem: ({ code, message, status }, { docsUrl }) => ({
      code: TWILIO_CODES[status] ?? 20001,
      message,
      more_info: `${docsUrl}#${code}`,
      status,
    }),
  },
  {
    method: 'delete',
    paths: ['/v1/Account/:account/Call/:call/', '/v1/Account/:account/Call/:call'],
    uuid: (name) => name,
    ends: () => true,
    answer: (response) => {
      response.status(204).end()
    },
    problem: ({ message }, { requestId }) => ({ api_id: requestId, error: message }),
  },
  {
    method: 'post',
    paths: ['/v2/calls/:call/actions/hangup'],
    uuid: (name) => name.replace(/^v3:/, ''),
    ends: () => true,
    answer: (response) => {
      response.status(200).json({ data: { result: 'ok' } })
    },
    problem: ({ code, message, status }, { docsUrl }) => ({
      errors: [
        {
          code: TELNYX_CODES[status] ?? '10015',
          title: PROBLEMS[code].when,
          detail: message,
          meta: { url: `${docsUrl}#${code}` },
        },
      ],
    }),
  },
]

export function vendorHangups(deps: Deps, keys: KeyVerifier): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true })
  for (const vendor of VENDORS) {
    for (const path of vendor.paths) router[vendor.method](path, serve(deps, keys, vendor))
  }
  return router
}

function serve(deps: Deps, keys: KeyVerifier, vendor: Vendor): RequestHandler {
  return async (request, response) => {
    const exchange: Exchange = response.locals.exchange
    const { account = '', call = '' } = request.params as Readonly<Record<string, string>>
    const refusal = await end(deps, keys, vendor, exchange, call)
    if (refusal === null) vendor.answer(response, { account, call })
    else {
      const { status, headers } = refusal
      send(exchange, { status, headers, body: JSON.stringify(vendor.problem(refusal, exchange)) })
    }
  }
}

/** Ends the call. Returns null when the call has ended. */
async function end(
  deps: Deps,
  keys: KeyVerifier,
  vendor: Vendor,
  { request, response }: Exchange,
  name: string,
): Promise<Refusal | null> {
  const actor = await authenticate(keys, bearerOf(request.header('authorization')))
  if (isRefusal(actor)) return actor
  const spent = await deps.requests.take(actor, 1)
  response.set(budgetHeaders(spent))
  if (!spent.allowed) return rateLimited(spent)
  if (!actor.scopes.includes('write')) {
    return refuse('insufficient_scope', 'Hanging up requires an API key with the scope write.')
  }
  const body = await readBytes(request, response, MAX_BODY)
  if (isRefusal(body)) return body
  if (!vendor.ends(body.toString()))
    return refuse('bad_request', 'Only a request to end the call is supported.')
  const id = idOfUuid('call', vendor.uuid(name))
  const ended = id === null ? null : await hangUp(deps, actor, id)
  return ended === null ? refuse('not_found', 'There is no such call.') : null
}

/** Carriers expect `account:token` (HTTP Basic). The token is the API key. */
function bearerOf(header: string | undefined): string | undefined {
  const basic = /^Basic +(\S+) *$/i.exec(header ?? '')?.[1]
  if (basic === undefined) return header
  const text = Buffer.from(basic, 'base64').toString()
  return `Bearer ${text.slice(text.indexOf(':') + 1)}`
}
