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
 * Returns the signature in the header `name` and the nonce beside it. The signed text is the URL as
 * `plivoText` writes it. https://docs.plivo.com/docs/messaging/concepts/signature-validation
 */
export function plivoSignature(name: string): Authenticate {
  return (secret, { url, nonce }) => {
    const signature = createHmac('sha256', secret)
      .update(`${plivoText(url)}.${nonce}`)
      .digest('base64')
    return { [name]: signature, [`${name}-nonce`]: nonce }
  }
}

/**
 * Returns the URL that Plivo's SDKs compare: with the scheme of HTTP, without a fragment, its query decoded,
 * sorted by name and then by value, and joined without encoding it again.
 */
function plivoText(url: string): string {
  const { origin, pathname, searchParams } = new URL(url.replace(/^ws/, 'http'))
  const pairs = [...searchParams].sort(
    ([name, value], [other, otherValue]) => compare(name, other) || compare(value, otherValue),
  )
  const query = pairs.map(([name, value]) => `${name}=${value}`).join('&')
  return `${origin}${pathname}${query === '' ? '' : `?${query}`}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
