import type { TranscriptSegmentRow } from '../db/tables/calling.js'

const MAX_QUOTE = 160

/**
 * The summary of a call whose language model cannot be asked for one (the embedded rules): what the
 * caller said first, and how it went on, in fixed words. Null when nobody said anything.
 */
export function plainSummary(
  segments: readonly Pick<TranscriptSegmentRow, 'role' | 'text'>[],
  seconds: number,
): string | null {
  const said = segments.filter(({ role }) => role === 'caller')
  const answers = segments.filter(({ role }) => role === 'agent').length
  if (said.length === 0 && answers === 0) return null
  const length = `A call of ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
  const first = said[0]
  if (first === undefined) return `${length} The caller said nothing.`
  const more = said.length - 1
  const rest =
    more === 0 ? '' : ` ${more === 1 ? 'One more turn' : `${more} more turns`} of the caller followed.`
  return `${length} The caller said: "${shortened(first.text)}".${rest}`
}

function shortened(text: string): string {
  const letters = [...text.replace(/["“”]/g, '')]
  return letters.length <= MAX_QUOTE ? letters.join('') : `${letters.slice(0, MAX_QUOTE).join('')}...`
}
