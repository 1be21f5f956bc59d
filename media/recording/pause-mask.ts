import type { WavFormat } from './wav-header.js'

/** A stretch of session samples that must not be recorded; `to` is open while it lasts. */
export interface RecordingPause {
  readonly from: number
  to: number
}

/** A soft beep at the beginning of a pause and every three seconds: who listens knows why nobody speaks. */
const EVERY_MS = 3000
const BEEP_MS = 150
const BEEP_HERTZ = 1000
/** -36 dBFS. */
const BEEP_LEVEL = 0.016 * 32767
const EDGE_MS = 10

/**
 * Puts the mark of a pause over what was recorded during it, in place. `samples` holds `frames` frames
 * from session sample `from` on. A second channel beeps too; a track of its own only falls silent.
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
