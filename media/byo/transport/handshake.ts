import type { BotSpec, BotTransport } from '../bot-spec.js'
import { dialectOf } from '../dialects/registry.js'

/** URL of a bot and the contents of the opening request, where the transport has one. */
export interface Handshake {
  readonly transport: BotTransport
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /**
   * Subprotocols to offer, one list per attempt, in this order. A client that offers one fails with the many
   * servers that select none.
   */
  readonly subprotocols: readonly (readonly string[])[]
}

/** `nonce` is random text for signatures. */
export function handshakeOf(spec: BotSpec, nonce: string, dialect = dialectOf(spec.type)): Handshake {
  const { transport, authenticate, rateParameter, subprotocols = [[]] } = dialect
  const url = rateParameter === undefined ? spec.url : withRate(spec, rateParameter)
  const credentials = spec.secret === null ? undefined : authenticate?.(spec.secret, { url, nonce })
  const resumes = spec.resumeToken === undefined ? {} : { 'x-resume-token': spec.resumeToken }
  return { transport, url, headers: { 'x-call-id': spec.callId, ...resumes, ...credentials }, subprotocols }
}

/** Adds the sample rate to the query unless the customer's URL names one. */
function withRate({ url, sampleRate }: BotSpec, parameter: string): string {
  const parsed = new URL(url)
  if (!parsed.searchParams.has(parameter)) parsed.searchParams.set(parameter, String(sampleRate))
  return parsed.href
}
