/** A line of the service in a transcript, as a text of the dashboard with its values. */
export interface SystemLine {
  readonly text: 'pressed' | 'note' | 'trouble' | 'tookOver'
  readonly values: Readonly<Record<string, string>>
  /** Part of the call that failed. Null for other lines. */
  readonly part: Part | null
}

const PARTS = ['speech_to_text', 'text_to_speech', 'language_model', 'recording', 'media', 'bot'] as const
type Part = (typeof PARTS)[number]

/** Reads a line that the service wrote in English. Returns null for one that is not known. */
export function systemLine(line: string): SystemLine | null {
  const key = /^The caller pressed (.)\.$/.exec(line)?.[1]
  if (key !== undefined) return { text: 'pressed', values: { key }, part: null }
  const note = /^Note for the agent: (.*)$/s.exec(line)?.[1]
  if (note !== undefined) return { text: 'note', values: { note }, part: null }
  const [, said = '', code = '', instead] =
    /^Trouble with ([a-z ]+) \((\w+)\)(?:; (.+) took over)?\.$/.exec(line) ?? []
  const part = PARTS.find((known) => known === said.replaceAll(' ', '_'))
  if (part === undefined) return null
  return instead === undefined
    ? { text: 'trouble', values: { code }, part }
    : { text: 'tookOver', values: { code, instead }, part }
}
