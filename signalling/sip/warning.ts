/** Returns a Warning header value (RFC 3261 20.43); 399 is "miscellaneous", the text gives the reason. */
export function warning(reason: string): string {
  return `399 parley "${reason.replaceAll(/["\\\r\n]/g, ' ')}"`
}
