import type { TakeoverPlan } from '../../signalling/call/ports.js'

/** Most characters of the talk in a report. A media session takes notes of 2,000. */
const MAX_TALK = 1_400
const MAX_MESSAGE = 400

/** Returns what an agent is told when a colleague has given the caller back: the end of their talk, and a message. */
export function takeoverReport({ seconds, lines, message }: Parameters<TakeoverPlan['report']>[0]): string {
  const parts = [
    `A human colleague talked with the caller for ${seconds} seconds while you were away. You have the caller again.`,
  ]
  const talk = lastLines(lines.map(({ by, text }) => `${by === 'caller' ? 'Caller' : 'Colleague'}: ${text}`))
  if (talk !== '') parts.push(`What they said:\n${talk}`)
  if (message !== null) parts.push(`The colleague wants you to know: ${message.slice(0, MAX_MESSAGE)}`)
  return parts.join('\n')
}

/** Returns as many of the last lines as fit into a note. */
export function lastLines(lines: readonly string[]): string {
  let from = lines.length
  let length = 0
  while (from > 0 && length + (lines[from - 1] as string).length + 1 <= MAX_TALK) {
    from--
    length += (lines[from] as string).length + 1
  }
  return lines.slice(from).join('\n')
}
