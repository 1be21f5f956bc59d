import { FRAME_MS, type SessionRate } from '../base/frame.js'

/** One second, so that no repetition can be heard. */
const FRAMES = 50
/** Peak of the noise, about -66 dBFS: a line that is open, not one that is dead. */
const PEAK = 16

const noises = new Map<SessionRate, readonly Int16Array[]>()

/** Comfort silence of a session of that rate, a second of it in frames of 20 ms, to be sent in turn. */
export function idleNoiseFrames(rate: SessionRate): readonly Int16Array[] {
  let frames = noises.get(rate)
  if (frames === undefined) {
    // A small linear congruential generator: the noise is the same in every run.
    let state = 0x2f6e2b1
    frames = Array.from({ length: FRAMES }, () =>
      Int16Array.from({ length: (rate / 1000) * FRAME_MS }, () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return Math.round((state / 2 ** 32) * 2 * PEAK - PEAK)
      }),
    )
    noises.set(rate, frames)
  }
  return frames
}
