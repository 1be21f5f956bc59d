/** A word of a sentence and the sample of the utterance at which it begins to sound. */
export interface SpokenWord {
  readonly offset: number
  readonly length: number
  readonly sample: number
}

/** One sentence of an utterance as it was handed to the playout. */
export interface SpokenSentence {
  readonly text: string
  /** First sample in the utterance. */
  readonly start: number
  /** Samples so far. */
  readonly samples: number
  /** Samples up to its last audible one: voices end with a pause that nobody has to hear. */
  readonly voiced: number
  /** Its synthesis is over: no samples will be added. */
  readonly complete: boolean
  /** In order; empty when the vendor gives no word times. */
  readonly words: readonly SpokenWord[]
}

export interface HeardWord {
  readonly text: string
  readonly startSample: number
  readonly endSample: number
}

/** Characters a second of a brisk voice: the guess for a sentence whose length is not known yet. */
const CHARS_PER_SECOND = 14

/** The words of an utterance whose audio was sent to their end, given the samples sent. */
export function heardText(sentences: readonly SpokenSentence[], sent: number, rate: number): string {
  const parts: string[] = []
  for (const sentence of sentences) {
    if (sentence.complete && sentence.voiced === 0) continue // nothing of it could be sounded
    const heard = heardOf(sentence, sent, rate)
    if (heard !== '') parts.push(heard)
    if (heard.length < sentence.text.length) break
  }
  return parts.join(' ')
}

/** The heard words with their place, for sentences that have word times; null when one has none. */
export function heardWords(
  sentences: readonly SpokenSentence[],
  sent: number,
  rate: number,
): readonly HeardWord[] | null {
  const words: HeardWord[] = []
  for (const sentence of sentences) {
    if (sentence.complete && sentence.voiced === 0) continue
    const heard = heardOf(sentence, sent, rate)
    if (heard === '') break
    if (sentence.words.length === 0) return null
    for (const [index, word] of sentence.words.entries()) {
      if (word.offset >= heard.length) break
      words.push({
        text: sentence.text.slice(word.offset, word.offset + word.length),
        startSample: word.sample,
        endSample: sentence.words[index + 1]?.sample ?? sentence.start + sentence.voiced,
      })
    }
  }
  return words
}

/** Where in the text of a broken sentence to go on, when `samples` of it exist. A word's beginning. */
export function resumeOffset(sentence: SpokenSentence, rate: number): number {
  const heard = heardOf({ ...sentence, complete: false }, sentence.start + sentence.samples, rate)
  const rest = sentence.text.slice(heard.length)
  return heard.length + (rest.length - rest.trimStart().length)
}

function heardOf(sentence: SpokenSentence, sent: number, rate: number): string {
  const { text, start, samples, voiced, complete, words } = sentence
  if (sent <= start) return ''
  if (complete && sent >= start + voiced) return text
  if (words.length > 0) {
    let end = 0
    for (const index of words.keys()) {
      const next = words[index + 1]
      // The last word sounds until the voice ends, and that has not been sent.
      if (next === undefined || next.sample > sent) break
      end = next.offset
    }
    return text.slice(0, end).trimEnd()
  }
  const guess = (text.length / CHARS_PER_SECOND) * rate
  const total = complete ? voiced : Math.max(samples, guess)
  return wholeWords(text, Math.floor((text.length * (sent - start)) / Math.max(1, total)))
}

/** The text up to `length`, without a word that is cut by it. */
function wholeWords(text: string, length: number): string {
  if (length >= text.length) return text
  if (/\s/.test(text.charAt(length))) return text.slice(0, length).trimEnd()
  const blank = text.slice(0, length).search(/\s\S*$/)
  return blank < 0 ? '' : text.slice(0, blank).trimEnd()
}
