import { seeded } from '../../fixtures/host/random.js'
import { toneOf, wordIndex, wordMs } from './vocabulary.js'

/** One piece of audio as a vendor sends it: 100 ms. */
export const PIECE_MS = 100

/** A word and its start in seconds, as in vendors' word times. */
export interface TimedWord {
  readonly word: string
  readonly startSeconds: number
}

/** Makes voiced noise that varies like syllables by at most 10 dB: no silence can be taken for an end. */
export function noise(seconds: number, rate: number): Int16Array {
  const random = seeded(24)
  let smooth = 0
  let level = 1
  let towards = 1
  return Int16Array.from({ length: seconds * rate }, (_, at) => {
    smooth += ((0.15 * 24_000) / rate) * (random.normal() - smooth)
    // About six times a second the loudness changes, within 20 ms.
    if (random.next() < 6 / rate) towards = random.between(0.3, 1)
    level += (48 / rate) * (towards - level)
    return level * (5000 * Math.sin((2 * Math.PI * 160 * at) / rate) + 5000 * smooth)
  })
}

/** Renders the words of a text, each as its tone, without pauses; unknown words are silent. */
export function synthesiseWords(
  text: string,
  rate: number,
): { readonly pcm: Int16Array; readonly words: readonly TimedWord[] } {
  const said = text.split(/\s+/).flatMap((word) => {
    const index = wordIndex(word)
    return index < 0 ? [] : [{ word, index, samples: (wordMs(index) * rate) / 1000 }]
  })
  const pcm = new Int16Array(said.reduce((sum, { samples }) => sum + samples, 0))
  const words: TimedWord[] = []
  let at = 0
  for (const { word, index, samples } of said) {
    words.push({ word, startSeconds: at / rate })
    const step = (2 * Math.PI * toneOf(index)) / rate
    for (let i = 0; i < samples; i++) pcm[at + i] = 8000 * Math.sin(step * (i + 1))
    at += samples
  }
  return { pcm, words }
}

/** Splits audio into pieces, each as base64. */
export function pieces(pcm: Int16Array, rate: number): readonly string[] {
  const size = (rate * PIECE_MS) / 1000
  const all: string[] = []
  for (let at = 0; at < pcm.length; at += size) {
    const piece = pcm.subarray(at, at + size)
    all.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('base64'))
  }
  return all
}
