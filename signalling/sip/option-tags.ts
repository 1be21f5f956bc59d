import type { RawMessage } from './drachtio-types.js'

/**
 * Extensions (RFC 3261 19.2) that this application implements together with the SIP server below it: RFC 3262 and RFC
 * 4028.
 */
const IMPLEMENTED: readonly string[] = ['100rel', 'timer']

/** Value of `Supported` headers. */
export const SUPPORTED = IMPLEMENTED.join(', ')

/** Returns the option tags of a header value, in lower case. */
function tagsOf(value: string | null | undefined): readonly string[] {
  return (value ?? '')
    .split(',')
    .map((tag) => tag.trim().toLowerCase())
    .filter((tag) => tag !== '')
}

/** Tells whether a header value (Require, Supported) names an option tag. */
export function namesTag(value: string | null | undefined, tag: string): boolean {
  return tagsOf(value).includes(tag)
}

/**
 * Returns the headers of a 420 to a request with this Require (RFC 3261 8.2.2.3); null when all of its extensions are
 * implemented.
 */
export function unsupportedBy(require: string | null | undefined): { readonly Unsupported: string } | null {
  const unknown = tagsOf(require).filter((tag) => !IMPLEMENTED.includes(tag))
  return unknown.length === 0 ? null : { Unsupported: unknown.join(', ') }
}

/** Tells whether the sender of a request supports session timers (RFC 4028). */
export function knowsTimer(message: Pick<RawMessage, 'get'>): boolean {
  return namesTag(message.get('Supported'), 'timer') || namesTag(message.get('Require'), 'timer')
}
