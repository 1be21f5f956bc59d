import { createHmac } from 'node:crypto'
import { type BotSpec, type BotTransport, type BotType, transportOf } from '../bot-spec.js'

/** How a bot is reached and what the opening request carries, where there is one. */
export interface Handshake {
  readonly transport: BotTransport
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /**
   * Subprotocols to try, in this order, one try each; null offers none. A client that offers one fails
   * against the many servers that select none.
   */
  readonly subprotocols: readonly (string | null)[]
}

/** What jambonz really has on the wire, whatever its documents say; some servers want none. */
const JAMBONZ_SUBPROTOCOL = 'audio.drachtio.org'

/** `nonce` is random text for a signature. */
export function handshakeOf(spec: BotSpec, nonce: string): Handshake {
  const url = urlOf(spec)
  return {
    transport: transportOf(spec.type),
    url,
    headers: {
      'x-call-id': spec.callId,
      ...(spec.secret === null ? {} : authorization(spec.type, spec.secret, url, nonce)),
    },
    subprotocols: spec.type === 'jambonz' ? [JAMBONZ_SUBPROTOCOL, null] : [null],
  }
}

function urlOf({ type, url, sampleRate }: BotSpec): string {
  if (type !== 'exotel') return url
  const parsed = new URL(url)
  if (!parsed.searchParams.has('sample-rate')) parsed.searchParams.set('sample-rate', String(sampleRate))
  return parsed.href
}

function authorization(type: BotType, secret: string, url: string, nonce: string): Record<string, string> {
  switch (type) {
    case 'exotel':
    case 'jambonz':
      return { authorization: `Basic ${Buffer.from(secret).toString('base64')}` }
    case 'twilio':
      return { 'x-twilio-signature': createHmac('sha1', secret).update(url).digest('base64') }
    case 'plivo':
    case 'vobiz': {
      const name = type === 'plivo' ? 'x-plivo-signature-v3' : 'x-vobiz-signature-v3'
      const signature = createHmac('sha256', secret)
        .update(`${signedUrl(url)}.${nonce}`)
        .digest('base64')
      return { [name]: signature, [`${name}-nonce`]: nonce }
    }
    case 'audiosocket':
      // It has no place for one; none is accepted for it.
      return {}
    default:
      return { authorization: `Bearer ${secret}` }
  }
}

/** Plivo signs the address as an HTTP one, its query sorted. */
function signedUrl(url: string): string {
  const parsed = new URL(url.replace(/^ws/, 'http'))
  parsed.searchParams.sort()
  return parsed.href
}
