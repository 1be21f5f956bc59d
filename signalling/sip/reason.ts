/** Longest Reason value that is passed on (characters). */
const MAX_REASON = 200
/** `protocol;name=value`, and further ones after commas (RFC 3326 2). */
const REASON =
  /^[\w.-]+(?:\s*;\s*[\w.-]+\s*=\s*(?:[\w.-]+|"[^"\\]*"))*(?:\s*,\s*[\w.-]+(?:\s*;\s*[\w.-]+\s*=\s*(?:[\w.-]+|"[^"\\]*"))*)*$/

/** Returns a Reason header value that may be passed to another peer (RFC 3326); null for none and for anything else. */
export function passableReason(value: string | null | undefined): string | null {
  const text = value?.trim() ?? ''
  return text !== '' && text.length <= MAX_REASON && REASON.test(text) ? text : null
}

/** Returns the Reason of a message that tells which SIP status was the cause, after that of the network if there is one. */
export function reasonOfStatus(status: number, network: string | null): string {
  return `${network === null ? '' : `${network}, `}SIP;cause=${status}`
}
