import { createHash, createHmac } from 'node:crypto'
import { constantTimeEqual } from '../base/crypto.js'
import { memberOf } from '../net/send-once.js'
import type { CarrierCallbacks } from './carrier.js'

/**
 * Returns the webhooks of trunks of Vobiz: hex HMAC-SHA256 of the raw body in `X-Vobiz-Signature`. The carrier does not
 * send that header for every account, so that a request without it must carry the secret as `t` in its address. It
 * signs no time. https://vobiz.ai/docs
 */
export function vobizCallbacks(secret: string): CarrierCallbacks {
  return {
    verify({ url, header, body }) {
      const signature = header('x-vobiz-signature')
      const [given, expected] =
        signature === undefined
          ? [new URL(url).searchParams.get('t') ?? '', secret]
          : [signature, createHmac('sha256', secret).update(body).digest('hex')]
      if (!constantTimeEqual(given, expected)) return null
      // The address is the same for every request, so that the body tells them apart.
      return { key: createHash('sha256').update(body).digest('hex') }
    },
    sipCallIdOf(body) {
      try {
        const id = memberOf(JSON.parse(body.toString('utf8')), 'SIPCallID')
        return typeof id === 'string' && id !== '' ? id.slice(0, 255) : null
      } catch {
        return null
      }
    },
  }
}
