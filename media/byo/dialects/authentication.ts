import { createHmac } from 'node:crypto'
import type { Authenticate } from './bot-dialect.js'

export const bearerToken: Authenticate = (secret) => ({ authorization: `Bearer ${secret}` })

/** The secret is `user:password` (RFC 7617). */
export const basicCredentials: Authenticate = (secret) => ({
  authorization: `Basic ${Buffer.from(secret).toString('base64')}`,
})

/** Signature of the URL. https://www.twilio.com/docs/usage/security */
export const twilioSignature: Authenticate = (secret, { url }) => ({
  'x-twilio-signature': createHmac('sha1', secret).update(url).digest('base64'),
})

/**
 * Returns the signature in the header `name` and the nonce beside it. The signed text is the URL as an HTTP
 * URL with a sorted query. https://docs.plivo.com/docs/messaging/concepts/signature-validation
 */
export function plivoSignature(name: string): Authenticate {
  return (secret, { url, nonce }) => {
    const signed = new URL(url.replace(/^ws/, 'http'))
    signed.searchParams.sort()
    const signature = createHmac('sha256', secret).update(`${signed.href}.${nonce}`).digest('base64')
    return { [name]: signature, [`${name}-nonce`]: nonce }
  }
}
