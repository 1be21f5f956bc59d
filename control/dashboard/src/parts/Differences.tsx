/** A piece of a text: kept, taken away or added. */
interface Piece {
  readonly kind: 'same' | 'del' | 'ins'
  readonly text: string
}

/** Longest texts that are compared word by word: the table of the comparison has so many cells at most. */
const MOST_CELLS = 1_000_000

/** Compares two texts word by word. Texts that are too long are shown as replaced. */
function compare(before: string, after: string): readonly Piece[] {
  const a = before.split(/(\s+)/)
  const b = after.split(/(\s+)/)
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  return [
    { kind: 'same', text: a.slice(0, start).join('') },
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    { kind: 'same', text: a.slice(a.length - end).join('') },
  ]
}

function middle(a: readonly string[], b: readonly string[]): readonly Piece[] {
  if (a.length * b.length > MOST_CELLS) {
    return [
      { kind: 'del', text: a.join('') },
      { kind: 'ins', text: b.join('') },
    ]
  }
  const width = b.length + 1
  // Length of the longest common sequence of the words from (i, j) on.
  const common = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const pieces: Piece[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ kind: 'same', text: a[i] ?? '' })
      i++
      j++
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      pieces.push({ kind: 'del', text: a[i++] ?? '' })
    } else {
      pieces.push({ kind: 'ins', text: b[j++] ?? '' })
    }
  }
  return pieces
}

/** Shows what became of a text, word by word. */
export function TextDifference({ before, after }: { readonly before: string; readonly after: string }) {
  return (
    <p className="difference">
      {compare(before, after).map(({ kind, text }, index) => {
        if (kind === 'same') return text
        const Tag = kind
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a comparison have no other name
        return <Tag key={index}>{text}</Tag>
      })}
    </p>
  )
}
