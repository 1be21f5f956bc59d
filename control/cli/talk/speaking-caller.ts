import type { ScriptedUtterance } from '../../../media/agent/agent-spec.js'
import { VAD_START_MS, VAD_STOP_MS } from '../../../media/agent/turn/turn-policy.js'
import { FRAME_MS, type SessionRate } from '../../../media/base/frame.js'
import type { VadFactory } from '../../../media/vad/vad.js'

/** Silence of the agent before the caller speaks (ms). */
const LISTEN_MS = 600
/** Longest wait for an agent that stays silent (ms). */
const PATIENCE_MS = 15_000
/** Time after the last answer in which the agent can hang up (ms). */
const TAIL_MS = 2_000

/** A caller who plays recordings one after the other. */
export class SpeakingCaller {
  readonly #recordings: readonly Int16Array[]
  readonly #frame: number
  /** Plays everything at once, regardless of the agent. */
  readonly #ignoresAgent: boolean
  #next = 0
  /** Samples played of the current recording, or -1. */
  #at = -1
  #agentSpoke = false
  /** Session time (ms) since which both agent and caller have been silent. */
  #quietSinceMs = 0

  /** `recordings` are whole frames at the session's rate. */
  constructor(
    recordings: readonly Int16Array[],
    {
      rate,
      ignoreAgent,
      greeted,
    }: { readonly rate: SessionRate; readonly ignoreAgent: boolean; readonly greeted: boolean },
  ) {
    this.#recordings = recordings
    this.#frame = (rate / 1000) * FRAME_MS
    this.#ignoresAgent = ignoreAgent
    // Without a greeting the caller begins.
    this.#agentSpoke = !greeted
  }

  /** Returns whether all recordings were played and the agent had time to answer. */
  done(atMs: number): boolean {
    if (this.#next < this.#recordings.length || this.#at >= 0) return false
    const quietMs = atMs - this.#quietSinceMs
    return quietMs >= (this.#agentSpoke ? TAIL_MS : PATIENCE_MS)
  }

  /** Fills the caller's next frame. `agentSounds` tells whether the agent was audible in this frame. */
  speak(into: Int16Array, atMs: number, agentSounds: boolean): void {
    if (agentSounds) {
      this.#agentSpoke = true
      this.#quietSinceMs = atMs + FRAME_MS
    }
    if (this.#at < 0 && this.#mayBegin(atMs)) this.#at = 0
    const pcm = this.#recordings[this.#next]
    if (this.#at < 0 || pcm === undefined) {
      into.fill(0)
      return
    }
    into.set(pcm.subarray(this.#at, this.#at + this.#frame))
    this.#at += this.#frame
    this.#quietSinceMs = atMs + FRAME_MS
    if (this.#at < pcm.length) return
    this.#next++
    this.#at = -1
    this.#agentSpoke = false
  }

  #mayBegin(atMs: number): boolean {
    if (this.#next >= this.#recordings.length) return false
    const quietMs = atMs - this.#quietSinceMs
    return this.#ignoresAgent || quietMs >= (this.#agentSpoke ? LISTEN_MS : PATIENCE_MS)
  }
}

/**
 * Builds the script of a recording for the embedded recogniser, which knows words only from a script. The
 * words are spread over the voiced part by their length. Returns null when no speech is found.
 */
export function scriptUtterance(
  pcm: Int16Array,
  said: { readonly clip: string; readonly text: string; readonly language: string },
  rate: SessionRate,
  detectors: VadFactory,
): ScriptedUtterance | null {
  const detector = detectors.open({ rate, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
  const frame = (rate / 1000) * FRAME_MS
  const silence = new Int16Array(frame)
  let onsetMs: number | null = null
  let atMs = 0
  const hear = (piece: Int16Array): void => {
    if (detector.process(piece, atMs) === 'onset') onsetMs ??= detector.onsetMs
    atMs += FRAME_MS
  }
  for (let at = 0; at < pcm.length; at += frame) hear(pcm.subarray(at, at + frame))
  for (let ms = 0; ms < VAD_STOP_MS; ms += FRAME_MS) hear(silence)
  const offsetMs = detector.lastVoicedMs
  detector.close()
  if (onsetMs === null) return null
  const words = said.text.split(/\s+/).filter((word) => word !== '')
  const letters = words.reduce((sum, word) => sum + word.length, 0)
  const from: number = onsetMs
  let before = 0
  const timeAt = (chars: number): number => from + ((offsetMs - from) * chars) / Math.max(1, letters)
  return {
    ...said,
    onsetMs: from,
    offsetMs,
    words: words.map((text) => {
      const startMs = timeAt(before)
      before += text.length
      return { text, startMs, endMs: timeAt(before) }
    }),
  }
}
