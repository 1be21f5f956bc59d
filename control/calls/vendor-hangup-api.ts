import { type RequestHandler, Router } from 'express'
import { idOfUuid } from '../../media/base/ids.js'
import type { BotDialect, HangUpRoute } from '../../media/byo/dialects/bot-dialect.js'
import { BOT_DIALECTS } from '../../media/byo/dialects/registry.js'
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

export function vendorHangups(
  deps: Deps,
  keys: KeyVerifier,
  dialects: readonly BotDialect[] = BOT_DIALECTS,
): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true })
  for (const { hangUp: route } of dialects) {
    for (const path of route?.paths ?? []) {
      if (route !== null) router[route.method](path, serve(deps, keys, route))
    }
  }
  return router
}

function serve(deps: Deps, keys: KeyVerifier, route: HangUpRoute): RequestHandler {
  return async (request, response) => {
    const exchange: Exchange = response.locals.exchange
    const { account = '', call = '' } = request.params as Readonly<Record<string, string>>
    const refusal = await end(deps, keys, route, exchange, call)
    if (refusal === null) {
      const { status, body } = route.done({ account, call })
      response.status(status)
      if (body === undefined) response.end()
      else response.json(body)
    } else {
      const { status, headers, code, message } = refusal
      const body = route.refused({
        status,
        code,
        message,
        title: PROBLEMS[code].when,
        requestId: exchange.requestId,
        url: `${exchange.docsUrl}#${code}`,
      })
      send(exchange, { status, headers, body: JSON.stringify(body) })
    }
  }
}

/** Ends the call. Returns null when the call has ended. */
async function end(
  deps: Deps,
  keys: KeyVerifier,
  route: HangUpRoute,
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
  const body = await readBytes(request, response, MAX_BODY, deps.clock)
  if (isRefusal(body)) return body
  if (!route.ends(body.toString()))
    return refuse('bad_request', 'Only a request to end the call is supported.')
  const id = idOfUuid('call', route.uuid(name))
  const ended = id === null ? null : await hangUp(deps, actor, id)
  return ended === null ? refuse('not_found', 'The call does not exist.') : null
}

/** Carriers expect `account:token` (HTTP Basic). The token is the API key. */
function bearerOf(header: string | undefined): string | undefined {
  const basic = /^Basic +(\S+) *$/i.exec(header ?? '')?.[1]
  if (basic === undefined) return header
  const text = Buffer.from(basic, 'base64').toString()
  return `Bearer ${text.slice(text.indexOf(':') + 1)}`
}
