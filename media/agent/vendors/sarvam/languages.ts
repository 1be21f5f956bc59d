/*
 * The vendor writes Odia in two ways: `od-IN` for synthesis and the legacy recognition socket, `or-IN`
 * for the realtime one.
 */

export function legacyTag(tag: string): string {
  return tag === 'or-IN' ? 'od-IN' : tag
}

export function realtimeTag(tag: string): string {
  return tag === 'od-IN' ? 'or-IN' : tag
}
