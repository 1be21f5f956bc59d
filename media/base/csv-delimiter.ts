/** Delimiters of the programs that write tables. */
const DELIMITERS = [',', ';', '\t', '|'] as const
/** Number of lines that are read to find the delimiter. */
const LINES = 20
/** Maximum number of characters (UTF-16 units) that are read to find it. */
const MAX_LOOK = 64 * 1024

/**
 * Returns the delimiter of a table, or null for a table of one column. Picks the character that most lines contain as
 * often as the first line does. Delimiters in quotes do not count. A first line `sep=;`, as Excel writes it, decides.
 */
export function csvDelimiter(text: string): string | null {
  const stated = statedDelimiter(text)
  if (stated !== null) return stated
  const lines = countsOfLines(text.slice(0, MAX_LOOK))
  const [header = []] = lines
  let best: string | null = null
  let most = 0
  for (const [at, delimiter] of DELIMITERS.entries()) {
    const columns = header[at] ?? 0
    if (columns === 0) continue
    const alike = lines.filter((counts) => counts[at] === columns).length
    const score = alike * 1000 + Math.min(columns, 999)
    if (score > most) [best, most] = [delimiter, score]
  }
  return best
}

/** Returns the text without a first line `sep=;`, which is no row. */
export function withoutDelimiterLine(text: string): string {
  return statedDelimiter(text) === null ? text : text.slice(text.indexOf('\n') + 1)
}

function statedDelimiter(text: string): string | null {
  return /^\ufeff?"?sep=([,;\t|])"?\r?\n/i.exec(text.slice(0, 16))?.[1] ?? null
}

/** Counts each delimiter outside of quotes, for each of the first lines that are not empty. */
function countsOfLines(text: string): number[][] {
  const lines: number[][] = []
  let counts = DELIMITERS.map(() => 0)
  let quoted = false
  let empty = true
  for (const character of text) {
    if (character === '"') quoted = !quoted
    if (character === '\n' && !quoted) {
      if (!empty) lines.push(counts)
      if (lines.length === LINES) return lines
      counts = DELIMITERS.map(() => 0)
      empty = true
      continue
    }
    if (character.trim() !== '') empty = false
    const at = quoted ? -1 : (DELIMITERS as readonly string[]).indexOf(character)
    if (at >= 0) counts[at] = (counts[at] ?? 0) + 1
  }
  if (!empty) lines.push(counts)
  return lines
}
