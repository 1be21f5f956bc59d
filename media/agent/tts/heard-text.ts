import { WrittenForm, wordCount } from '../language/written-form.js'

/** A word of a sentence and the sample of the utterance at which it starts. */
export interface SpokenWord {
  readonly offset: number
  readonly length: number
  readonly sample: number
}

/** One sentence of an utterance in playout. */
export interface SpokenSentence {
  /** As it is spoken. */
  readonly text: string
  /** As the model or the customer wrote it. Null: the same text. */
  readonly written: string | null
  /** First sample within the utterance. */
  readonly start: number
  /** Samples so far. */
  readonly samples: number
  /** Samples up to the last audible one. Voices end with silence. */
  readonly voiced: number
  /** Its synthesis is over and adds no more samples. */
  readonly complete: boolean
  /** In order. Empty when the vendor gives no word times. */
  readonly words: readonly SpokenWord[]
}

export interface HeardWord {
  readonly text: string
  readonly startSample: number
  readonly endSample: number
}

/** Characters per second of a fast voice, to estimate a sentence of unknown length. */
const CHARS_PER_SECOND = 14

/**
 * Returns the words of an utterance whose audio was sent completely, given the number of samples sent. The words are those
 * that were written: a number counts when all its spoken words were sent.
 */
export function heardText(sentences: readonly SpokenSentence[], sent: number, rate: number): string {
  const parts: string[] = []
  for (const sentence of sentences) {
    if (sentence.complete && sentence.voiced === 0) continue // no audio exists for it
    const heard = heardOf(sentence, sent, rate)
    const written = writtenPart(sentence, heard)
    if (written !== '') parts.push(written)
    if (heard.length < sentence.text.length) break
  }
  return parts.join(' ')
}

/** Returns the heard words, as written, with their times. Returns null when a heard sentence has no word times. */
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
    const spoken: HeardWord[] = []
    for (const [index, word] of sentence.words.entries()) {
      if (word.offset >= heard.length) break
      const next = sentence.words[index + 1]
      // Vendors leave out words, so the text up to the next mark belongs to this one.
      const from = index === 0 ? 0 : word.offset
      const end = next?.sample ?? sentence.start + sentence.voiced
      spoken.push(...spread(heard.slice(from, next?.offset), word.sample, end))
    }
    words.push(...writtenWords(sentence, spoken))
  }
  return words
}

/** Returns the written form of the first words of a sentence. */
export function writtenPart(
  { text, written }: Pick<SpokenSentence, 'text' | 'written'>,
  heard: string,
): string {
  if (written === null) return heard
  return heard === text ? written : new WrittenForm(written, text).upTo(wordCount(heard))
}

/** Returns the times of the written words: a written piece lasts as long as the spoken words that say it. */
function writtenWords(
  { text, written }: Pick<SpokenSentence, 'text' | 'written'>,
  spoken: readonly HeardWord[],
): readonly HeardWord[] {
  if (written === null) return spoken
  return new WrittenForm(written, text).piecesUpTo(spoken.length).flatMap((piece) => {
    const start = spoken[piece.first]?.startSample ?? 0
    return spread(piece.text, start, spoken[piece.last]?.endSample ?? start)
  })
}

/** Distributes the time of a piece of text among its words by their lengths. */
function spread(text: string, startSample: number, endSample: number): readonly HeardWord[] {
  const words = text.split(/\s+/).filter((word) => word !== '')
  const letters = words.reduce((sum, word) => sum + word.length, 0)
  let before = 0
  const at = (): number => startSample + Math.round(((endSample - startSample) * before) / letters)
  return words.map((word) => {
    const start = at()
    before += word.length
    return { text: word, startSample: start, endSample: at() }
  })
}

/** Returns the offset of the word at which to continue a broken sentence after `samples` of its audio. */
export function resumeOffset(sentence: Omit<SpokenSentence, 'written'>, rate: number): number {
  const heard = heardOf({ ...sentence, complete: false }, sentence.start + sentence.samples, rate)
  const rest = sentence.text.slice(heard.length)
  return heard.length + (rest.length - rest.trimStart().length)
}

function heardOf(sentence: Omit<SpokenSentence, 'written'>, sent: number, rate: number): string {
  const { text, start, samples, voiced, complete, words } = sentence
  if (sent <= start) return ''
  if (complete && sent >= start + voiced) return text
  if (words.length > 0) {
    let end = 0
    for (const index of words.keys()) {
      const next = words[index + 1]
      // The last word lasts until the voice ends, which was not sent.
      if (next === undefined || next.sample > sent) break
      end = next.offset
    }
    return text.slice(0, end).trimEnd()
  }
  const guess = (text.length / CHARS_PER_SECOND) * rate
  const total = complete ? voiced : Math.max(samples, guess)
  return wholeWords(text, Math.floor((text.length * (sent - start)) / Math.max(1, total)))
}

/** Returns the text up to `length` without a partial word. */
function wholeWords(text: string, length: number): string {
  if (length >= text.length) return text
  if (/\s/.test(text.charAt(length))) return text.slice(0, length).trimEnd()
  const space = text.slice(0, length).search(/\s\S*$/)
  return space < 0 ? '' : text.slice(0, space).trimEnd()
}
