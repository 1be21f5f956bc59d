/** Words `from` to `to` (exclusive) of the written text that the spoken text says as one piece. */
interface Piece {
  readonly written: readonly [from: number, to: number]
  readonly spoken: readonly [from: number, to: number]
}

/**
 * Pairs a written text with its spoken form, word by word: `₹1,25,000 is due` with
 * `1 lakh 25 thousand rupees is due`. Words that both texts have in common are pieces of their own; what lies between
 * them is one piece.
 */
export class WrittenForm {
  readonly #written: readonly string[]
  readonly #spoken: readonly string[]
  readonly #pieces: readonly Piece[]

  constructor(written: string, spoken: string) {
    this.#written = wordsOf(written)
    this.#spoken = wordsOf(spoken)
    this.#pieces = pieces(this.#written, this.#spoken)
  }

  /** Returns the written words of the first `spokenWords` spoken words. A piece counts when all of it was spoken. */
  upTo(spokenWords: number): string {
    const said = this.#pieces.filter(({ spoken }) => spoken[1] <= spokenWords)
    // A written word without a spoken one belongs to the words before it.
    const end = spokenWords === 0 ? 0 : (said.at(-1)?.written[1] ?? 0)
    return this.#written.slice(0, end).join(' ')
  }

  /** Returns the pieces that lie within the first `spokenWords` spoken words, in order, without silent ones. */
  piecesUpTo(
    spokenWords: number,
  ): readonly { readonly text: string; readonly first: number; readonly last: number }[] {
    return this.#pieces
      .filter(
        ({ spoken, written }) => spoken[1] <= spokenWords && spoken[0] < spoken[1] && written[0] < written[1],
      )
      .map(({ written, spoken }) => ({
        text: this.#written.slice(...written).join(' '),
        first: spoken[0],
        last: spoken[1] - 1,
      }))
  }
}

/** Returns the number of words of a text. */
export function wordCount(text: string): number {
  return wordsOf(text).length
}

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

/** Returns the pieces between and at the longest common subsequence of words. */
function pieces(written: readonly string[], spoken: readonly string[]): readonly Piece[] {
  const common = commonLengths(written, spoken)
  const found: Piece[] = []
  let [w, s, gapW, gapS] = [0, 0, 0, 0]
  const closeGap = (): void => {
    if (w > gapW || s > gapS) found.push({ written: [gapW, w], spoken: [gapS, s] })
  }
  while (w < written.length && s < spoken.length) {
    if (written[w] === spoken[s]) {
      closeGap()
      found.push({ written: [w, ++w], spoken: [s, ++s] })
      gapW = w
      gapS = s
    } else if ((common[w + 1]?.[s] ?? 0) >= (common[w]?.[s + 1] ?? 0)) w++
    else s++
  }
  w = written.length
  s = spoken.length
  closeGap()
  return found
}

/** Returns the length of the longest common subsequence of the words from each pair of positions on. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly (readonly number[])[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
  for (let i = a.length - 1; i >= 0; i--) {
    const row = lengths[i] ?? []
    const below = lengths[i + 1] ?? []
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  return lengths
}
