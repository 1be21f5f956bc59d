/**
 * Returns why a URL is not written as one, for the `reason` of a validation issue, or null. The URL standard
 * repairs such texts, and other parsers read them differently, so people would see another address than the
 * one that is used.
 */
export function urlFormProblem(text: string): string | null {
  if (/\p{Cc}/u.test(text)) return 'must not contain line breaks or other control characters'
  if (text !== text.trim()) return 'must not start or end with a blank'
  if (text.includes('\\')) return 'must not contain a backslash'
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(text)) return 'must have // and a host after the scheme'
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return 'must not contain a user or password'
  return null
}

/** Returns a valid URL in the form in which it is stored and shown: as it is sent. */
export function parsedUrl(text: string): string {
  return new URL(text).href
}
