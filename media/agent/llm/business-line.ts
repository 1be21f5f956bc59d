/** Reads the name from a line of `businessLine`. */
export const BUSINESS_LINE = /^You speak for (.+)\.$/m

/** Returns the line of the prompt that names the business, empty without a name. */
export function businessLine(name: string): string {
  const oneLine = name.replace(/\s+/gu, ' ').trim()
  return oneLine === '' ? '' : `\n\nYou speak for ${oneLine}.`
}
