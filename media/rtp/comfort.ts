import { encodeAlaw, encodeUlaw } from '../codec/g711.js'

/** One second, so that no repetition can be heard. */
const FRAMES = 50
const FRAME = 160
/** Peak of the noise, about -66 dBFS: a line that is open, not one that is dead. */
const PEAK = 16

const pcm = new Int16Array(FRAMES * FRAME)
// A small linear congruential generator: the noise is the same in every run.
let state = 0x2f6e2b1
for (let i = 0; i < pcm.length; i++) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  pcm[i] = Math.round((state / 2 ** 32) * 2 * PEAK - PEAK)
}
const alaw = new Uint8Array(pcm.length)
const ulaw = new Uint8Array(pcm.length)
encodeAlaw(pcm, 0, pcm.length, alaw, 0)
encodeUlaw(pcm, 0, pcm.length, ulaw, 0)

/** Writes the comfort silence of a frame number into `into` from `offset`: 20 ms of G.711. */
export function writeComfort(law: 'PCMU' | 'PCMA', frame: number, into: Uint8Array, offset: number): void {
  const noise = law === 'PCMA' ? alaw : ulaw
  const start = (frame % FRAMES) * FRAME
  for (let i = 0; i < FRAME; i++) into[offset + i] = noise[start + i] as number
}
