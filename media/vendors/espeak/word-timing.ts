import type { SynthesisedWord } from './synthesis-port.js'

/** A word event of eSpeak NG: position in the text (code points, from 1) and in the audio (ms). */
export interface WordMark {
  readonly position: number
  readonly atMs: number
}

const MARKUP = /[<>&[\]]/u
const PICTURE = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F/u

/**
 * Returns the text with blanks instead of emoji, control characters and characters that eSpeak NG would read
 * as SSML, entities or phoneme input. The number of code points stays the same, so that positions remain
 * valid.
 */
export function plainText(text: string): string {
  let plain = ''
  for (const symbol of text) {
    const point = symbol.codePointAt(0) ?? 0
    const control = point < 0x20 && symbol !== '\n' && symbol !== '\t'
    const lone = point >= 0xd800 && point <= 0xdfff
    plain += control || lone || MARKUP.test(symbol) || PICTURE.test(symbol) ? ' ' : symbol
  }
  return plain
}

/**
 * Aligns marks to whole written words with UTF-16 offsets, in order, each word once. eSpeak NG marks the
 * parts of a number or abbreviation separately and sometimes out of order; a written word is delimited by
 * blanks.
 */
export function alignWords(text: string, marks: readonly WordMark[]): SynthesisedWord[] {
  const unitOfPoint: number[] = []
  let unit = 0
  for (const symbol of text) {
    unitOfPoint.push(unit)
    unit += symbol.length
  }
  const written = [...text.matchAll(/\S+/gu)].map((match) => ({
    start: match.index,
    length: match[0].length,
  }))
  const words: SynthesisedWord[] = []
  let next = 0
  let lastMs = 0
  for (const mark of marks) {
    const at = unitOfPoint[mark.position - 1]
    if (at === undefined) continue
    // The mark may be at the blank before its word.
    const found = written.findIndex((word) => at < word.start + word.length)
    const word = written[found]
    if (word === undefined || found < next) continue
    lastMs = Math.max(lastMs, mark.atMs)
    words.push({ textOffset: word.start, length: word.length, atMs: lastMs })
    next = found + 1
  }
  return words
}
