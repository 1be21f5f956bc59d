/** Longest Reason value that is passed on (characters). */
const MAX_REASON = 200
/** Grammar: `protocol;name=value`, and further ones after commas (RFC 3326 2). */
const REASON =
  /^[\w.-]+(?:\s*;\s*[\w.-]+\s*=\s*(?:[\w.-]+|"[^"\\]*"))*(?:\s*,\s*[\w.-]+(?:\s*;\s*[\w.-]+\s*=\s*(?:[\w.-]+|"[^"\\]*"))*)*$/

/** Returns the value of a Reason header if it may be passed to another peer (RFC 3326); null for any other value. */
export function passableReason(value: string | null | undefined): string | null {
  const text = value?.trim() ?? ''
  return text !== '' && text.length <= MAX_REASON && REASON.test(text) ? text : null
}

/** Returns a Reason value that names a SIP status as the cause, after the Reason of the network if there is one. */
export function reasonOfStatus(status: number, network: string | null): string {
  return `${network === null ? '' : `${network}, `}SIP;cause=${status}`
}
