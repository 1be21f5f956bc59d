import { createHmac } from 'node:crypto'
import { type BotSpec, type BotTransport, type BotType, transportOf } from '../bot-spec.js'

/** URL of a bot and the contents of the opening request, where the transport has one. */
export interface Handshake {
  readonly transport: BotTransport
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /**
   * Subprotocols to offer, one per attempt, in this order; null offers none. A client that offers one fails
   * with the many servers that select none.
   */
  readonly subprotocols: readonly (string | null)[]
}

/** The subprotocol jambonz really uses, unlike its documentation; some servers want none. */
const JAMBONZ_SUBPROTOCOL = 'audio.drachtio.org'

/** `nonce` is random text for signatures. */
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
      // The protocol has no field for a credential, and none is accepted for it.
      return {}
    default:
      return { authorization: `Bearer ${secret}` }
  }
}

/** Plivo signs the URL as an HTTP URL with a sorted query. */
function signedUrl(url: string): string {
  const parsed = new URL(url.replace(/^ws/, 'http'))
  parsed.searchParams.sort()
  return parsed.href
}
