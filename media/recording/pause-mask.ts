import type { WavFormat } from './wav-header.js'

/** A range of session samples that must not be recorded. `to` is infinite until the pause ends. */
export interface RecordingPause {
  readonly from: number
  to: number
}

/**
 * A soft beep at the start of a pause and every three seconds tells listeners of the recording that it is
 * paused.
 */
const EVERY_MS = 3000
const BEEP_MS = 150
const BEEP_HERTZ = 1000
/** -36 dBFS. */
const BEEP_LEVEL = 0.016 * 32767
const EDGE_MS = 10

/**
 * Overwrites recorded audio with the beeps of its pauses, in place. `samples` holds `frames` frames from
 * session sample `from` on. A mono track gets silence instead of beeps.
 */
export function maskPauses(
  pauses: readonly RecordingPause[],
  { rate, channels }: WavFormat,
  from: number,
  samples: Int16Array,
  frames: number,
): void {
  for (let p = 0; p < pauses.length; p++) {
    const pause = pauses[p] as RecordingPause
    const first = Math.max(from, pause.from)
    const last = Math.min(from + frames, pause.to)
    for (let at = first; at < last; at++) {
      const sample = channels === 1 ? 0 : beep(at - pause.from, rate)
      for (let channel = 0; channel < channels; channel++) samples[(at - from) * channels + channel] = sample
    }
  }
}

function beep(at: number, rate: number): number {
  const ms = ((at * 1000) / rate) % EVERY_MS
  if (ms >= BEEP_MS) return 0
  const edge = Math.min(1, ms / EDGE_MS, (BEEP_MS - ms) / EDGE_MS)
  return Math.round(BEEP_LEVEL * edge * Math.sin((2 * Math.PI * BEEP_HERTZ * ms) / 1000))
}
