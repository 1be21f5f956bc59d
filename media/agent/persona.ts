import type { AudioFrame, Digit, SessionRate } from '../base/frame.js'
import type { CloseReason, Endpoint } from '../session/endpoint.js'
import { Playout } from '../session/playout.js'
import type { Vad, VadFactory } from '../vad/vad.js'
import type { PersonaAct, PersonaCue, PersonaSpec } from './agent-spec.js'

/** Longest clip (ms) that a persona can play. */
const PLAYOUT_MS = 60_000
/** Sound of this length starts the agent's speech; silence of this length ends it. */
const START_MS = 60
const STOP_MS = 200

export interface PersonaOptions {
  readonly id: string
  readonly spec: PersonaSpec
  readonly rate: SessionRate
  readonly vad: VadFactory
  /** Loads a clip as samples at `rate`. */
  loadClip(name: string): Promise<Int16Array>
  press(digits: readonly Digit[]): void
  hangUp(): void
  stopMedia(): void
}

/** The simulated far end of a call. Plays its clips when their cues occur. */
export class Persona implements Endpoint {
  readonly id: string
  readonly kind = 'agent'
  readonly delivery = 'arrival'

  readonly #options: PersonaOptions
  readonly #playout: Playout
  readonly #detector: Vad
  #clips: readonly Int16Array[] | null = null
  #loading: Promise<void> | null = null
  #live = false
  #closed = false

  #step = 0
  /** Last playout id. Playout ids are never reused. */
  #utterances = 0
  #speaking = false
  /** Time at which the current step began to wait. Null before the first frame tick. */
  #armedAtMs: number | null = null
  /** The agent has spoken since then. */
  #agentSpoke = false
  /** Onset of the agent's speech that was last interrupted. Each is interrupted once. */
  #usedOnsetMs: number | null = null

  constructor(options: PersonaOptions) {
    this.id = options.id
    this.#options = options
    this.#playout = new Playout(options.rate, PLAYOUT_MS)
    this.#playout.onDrained = () => {
      this.#speaking = false
      // Speech of the agent during this clip does not count as the reply that the next step waits for.
      this.#armedAtMs = null
    }
    this.#detector = options.vad.open({ rate: options.rate, startMs: START_MS, stopMs: STOP_MS })
  }

  /** Loads the clips. Rejects when one is missing. */
  prepare(): Promise<void> {
    this.#loading ??= this.#load()
    return this.#loading
  }

  /** Starts when media is live. The first step waits for clips that still load; a missing clip hangs up. */
  start(): void {
    if (this.#closed) return
    this.#live = true
    // A persona without clips would leave the call silent.
    this.prepare().catch(() => this.#options.hangUp())
  }

  push(frame: AudioFrame): void {
    if (!this.#live || this.#closed) return
    this.#detector.process(frame.pcm, (frame.at * 1000) / frame.rate)
    if (this.#detector.speaking) this.#agentSpoke = true
  }

  pull(into: Int16Array, at: number): boolean {
    if (!this.#live || this.#closed) return false
    this.#advance((at * 1000) / this.#options.rate)
    return this.#playout.pull(into)
  }

  close(_why: CloseReason): void {
    if (this.#closed) return
    this.#closed = true
    this.#playout.flush()
    this.#detector.close()
  }

  /** Runs every step that is due at this frame tick. */
  #advance(nowMs: number): void {
    if (this.#clips === null || this.#speaking) return
    const { steps, loopFrom } = this.#options.spec
    if (this.#armedAtMs === null) this.#arm(nowMs)
    while (!this.#closed && !this.#speaking) {
      if (this.#step === steps.length && loopFrom !== null) this.#step = loopFrom
      const step = steps[this.#step]
      if (!step || !this.#due(step.cue, nowMs)) return
      if (step.cue.kind === 'agent_speaking') this.#usedOnsetMs = this.#detector.onsetMs
      this.#step++
      this.#act(step.act)
      if (!this.#speaking) this.#arm(nowMs)
      // One pass per tick: a loop whose cues are all due would never end.
      if (this.#step === steps.length) return
    }
  }

  #arm(nowMs: number): void {
    this.#armedAtMs = nowMs
    this.#agentSpoke = this.#detector.speaking
  }

  #due(cue: PersonaCue, nowMs: number): boolean {
    const detector = this.#detector
    switch (cue.kind) {
      case 'after':
        return nowMs - (this.#armedAtMs ?? nowMs) >= cue.ms
      case 'agent_silent':
        return this.#agentSpoke && nowMs - detector.lastVoicedMs >= cue.ms
      case 'agent_speaking':
        return (
          detector.speaking && detector.onsetMs !== this.#usedOnsetMs && nowMs - detector.onsetMs >= cue.ms
        )
      default:
        return cue satisfies never
    }
  }

  #act(act: PersonaAct): void {
    switch (act.kind) {
      case 'say': {
        const clip = this.#clips?.[act.utterance]
        if (!clip || clip.length === 0) return
        const id = ++this.#utterances
        this.#speaking = true
        this.#playout.enqueue(id, clip)
        this.#playout.end(id)
        return
      }
      case 'press':
        this.#options.press(digitsOf(act.digits))
        return
      case 'stop_media':
        this.#options.stopMedia()
        return
      case 'hang_up':
        this.#options.hangUp()
        return
      default:
        act satisfies never
    }
  }

  async #load(): Promise<void> {
    const { spec, loadClip } = this.#options
    this.#clips = await Promise.all(spec.script.utterances.map(({ clip }) => loadClip(clip)))
  }
}

const DIGIT = /^[0-9*#A-D]$/

function isDigit(char: string): char is Digit {
  return DIGIT.test(char)
}

function digitsOf(text: string): readonly Digit[] {
  return [...text].filter(isDigit)
}
