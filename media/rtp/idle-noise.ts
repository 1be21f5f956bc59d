import { FRAME_MS, type SessionRate } from '../base/frame.js'

/** One second of noise, so that its repetition is inaudible. */
const FRAMES = 50
/** Peak of the noise, about -66 dBFS: the idle noise of an open line. */
const PEAK = 16

const noises = new Map<SessionRate, readonly Int16Array[]>()

/** Returns one second of idle noise in frames of 20 ms. A silent sender sends them in turn. */
export function idleNoiseFrames(rate: SessionRate): readonly Int16Array[] {
  let frames = noises.get(rate)
  if (frames === undefined) {
    // A small linear congruential generator, so that the noise is the same in every run.
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
