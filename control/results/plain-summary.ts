import type { TranscriptSegmentRow } from '../db/tables/calling.js'

const MAX_QUOTE = 160

/**
 * Returns a summary in fixed words, for calls without a language model that can summarize (embedded rules): the first
 * words of the caller and the number of turns. Returns null if no party spoke.
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
