import type { Clock } from '../../base/clock.js'
import { type AudioFrame, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { EchoEstimator } from '../../detect/echo-estimator.js'
import type { DetectorEvent } from '../../detect/events.js'
import type { TurnDetector } from '../../vad/turn-detector.js'
import type { Vad, VadFactory } from '../../vad/vad.js'
import type { AgentSpec, SpeakerScript } from '../agent-spec.js'
import { AnswerListener, type AnswerVerdict } from '../answering-machine/answering-machine-detector.js'
import type { Breakers } from '../circuit-breaker.js'
import type { Floor } from '../turn/turn-context.js'
import { VAD_START_MS, VAD_STOP_MS } from '../turn/turn-policy.js'
import type { SpeechToTextCapabilities, VendorFailure } from '../vendor-ports.js'
import { PauseJudge } from './endpointing-delay.js'
import { Ears, type RecogniserChoice, type SoundGiven } from './stt-failover.js'

/** Shorter than what makes the agent go on, and longer than the gaps of sound that is one. */
const LEAST_GAP_MS = 200

export interface CallerEarOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  /** The agent's own, then those that go on when it fails. */
  readonly recognisers: readonly RecogniserChoice[]
  readonly breakers: Breakers
  readonly vad: VadFactory
  readonly ending: TurnDetector | null
  readonly clock: Clock
  readonly floor: Floor
  /** A recogniser failed; null: none goes on in its place. */
  replaced(error: VendorFailure, vendor: string, instead: string | null): void
  /** The capabilities are other ones now. */
  changed(): void
}

/**
 * What is heard of the far side: its voice apart from our own echo, its words, who it is. Tells the
 * machine of all of it.
 */
export class CallerEar {
  readonly #rate: SessionRate
  readonly #floor: Floor
  readonly #ears: Ears
  readonly #detector: Vad
  readonly #judge: PauseJudge | null
  readonly #echo: EchoEstimator
  readonly #quiet: Int16Array
  #echoTold = false
  /** While it matters who answered. */
  #answer: AnswerListener | null
  #lastOffsetMs: number | null = null
  /** The last voiced sound of one that holds the agent back. */
  #weighedMs: number | null = null
  #lastFinalMs: number | null = null

  constructor(options: CallerEarOptions) {
    const { spec, rate, recognisers, breakers, vad, ending, clock, floor } = options
    this.#rate = rate
    this.#floor = floor
    this.#answer = spec.voicemail.enabled ? new AnswerListener(spec.voicemail.windowSeconds * 1000) : null
    this.#ears = new Ears({
      languages: spec.languages,
      language: spec.speechToText.language,
      rate,
      recognisers,
      breakers,
      clock,
      replaced: options.replaced,
      changed: options.changed,
      partial: (text) => {
        floor.feed({ on: 'partial', text, at: floor.now() })
        this.#answered(this.#answer?.words(text, floor.now()))
      },
      final: (text, words, language) => {
        this.#lastFinalMs = floor.now()
        if (text !== '') floor.language.heard(language)
        floor.feed({ on: 'final', text, words, at: floor.now() })
        this.#answered(this.#answer?.words(text, floor.now(), true))
      },
      eager: (complete) => floor.feed({ on: 'eager', complete, at: floor.now() }),
      failed: ({ code, message }) => floor.feed({ on: 'deaf', code, message, at: floor.now() }),
    })
    this.#detector = vad.open({ rate, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
    this.#judge = ending === null ? null : new PauseJudge(ending, rate, floor)
    this.#echo = new EchoEstimator(rate)
    this.#quiet = new Int16Array((rate / 1000) * FRAME_MS)
  }

  get capabilities(): SpeechToTextCapabilities {
    return this.#ears.capabilities
  }

  /** When the detector last heard the caller stop, and when the last final text came. */
  get lastOffsetMs(): number | null {
    return this.#lastOffsetMs
  }

  get lastFinalMs(): number | null {
    return this.#lastFinalMs
  }

  /** Sound given to recognition since the last call of this. */
  takeGiven(): readonly SoundGiven[] {
    return this.#ears.takeGiven()
  }

  /** Returns why there is no recogniser, null when there is one. */
  open(script: SpeakerScript | null): VendorFailure | null {
    return this.#ears.open(script)
  }

  reopen(): void {
    this.#ears.reopen()
  }

  /** The caller speaks this language now. */
  listenFor(language: string): void {
    this.#ears.listenFor(language)
  }

  learnNoise(): void {
    this.#detector.learnNoise()
  }

  push(frame: AudioFrame): void {
    const floor = this.#floor
    const atMs = (frame.at * 1000) / frame.rate
    const detector = this.#detector
    const echo = this.#echo
    echo.processReceived(frame.pcm, atMs)
    if (echo.delayMs !== null && !this.#echoTold) this.#tellEcho(echo.delayMs, echo.gain)
    // The recogniser must not take our own words for the caller's, nor the detector our voice for one.
    const pcm = echo.isOnlyEcho && !detector.speaking ? this.#quiet : frame.pcm
    this.#ears.write(pcm, atMs)
    const change = detector.process(frame.pcm, atMs, echo.echoPower)
    if (change === 'onset') {
      this.#answer?.onset(detector.onsetMs)
      floor.feed({ on: 'onset', fromMs: detector.onsetMs, at: floor.now() })
      this.#ears.utteranceStart(detector.onsetMs)
    } else if (change === 'offset') {
      this.#answer?.offset(detector.lastVoicedMs)
      this.#lastOffsetMs = floor.now()
      floor.feed({ on: 'offset', lastVoicedMs: detector.lastVoicedMs, at: floor.now() })
      this.#ears.utteranceEnd(detector.lastVoicedMs)
    }
    this.#judge?.hear(pcm, atMs, detector)
    if (this.#answer !== null) this.#answered(this.#answer.tick(atMs))
    if (floor.phase === 'paused') {
      this.#weighedMs = detector.lastVoicedMs
      floor.feed({
        on: 'voice',
        voicedMs: detector.voicedMs,
        quietMs: atMs + FRAME_MS - detector.lastVoicedMs,
        at: floor.now(),
      })
    } else if (this.#weighedMs !== null) this.#goesOn(atMs, this.#weighedMs)
  }

  /** What the far side is being sent: it may come back. */
  sent(pcm: Int16Array, at: number): void {
    this.#echo.processSent(pcm, (at * 1000) / this.#rate)
  }

  /** Of the far side beside speech. */
  heard(event: DetectorEvent): void {
    this.#answered(this.#answer?.heard(event))
  }

  /** Idempotent; nothing is told afterwards. */
  close(): void {
    this.#judge?.close()
    this.#ears.close()
    this.#detector.close()
  }

  /**
   * The agent went on because the caller was quiet, too shortly for the detector to call it the end: no
   * onset follows when the caller goes on.
   */
  #goesOn(atMs: number, weighedMs: number): void {
    const detector = this.#detector
    if (detector.speaking && detector.lastVoicedMs === weighedMs) return
    this.#weighedMs = null
    if (!detector.speaking || atMs - weighedMs < LEAST_GAP_MS) return
    const { phase } = this.#floor
    if (phase !== 'speaking' && phase !== 'thinking') return
    this.#floor.feed({ on: 'onset', fromMs: detector.onsetMs, at: this.#floor.now() })
  }

  #tellEcho(delayMs: number, gain: number): void {
    this.#echoTold = true
    const gainDb = Math.round(20 * Math.log10(gain))
    const atMs = this.#floor.now()
    this.#floor.emit({ type: 'detected', event: { type: 'echo', delayMs, gainDb, atMs } })
  }

  /** Who answered, as soon as it is known. Nobody talks to a recorder. */
  #answered(verdict: AnswerVerdict | null | undefined): void {
    const floor = this.#floor
    if (this.#answer?.over) this.#answer = null
    if (!verdict || floor.phase === 'ended') return
    floor.emit({ type: 'answered_by', ...verdict, atMs: Math.round(floor.now()) })
    if (verdict.by === 'voicemail') floor.feed({ on: 'machine', why: 'voicemail', at: floor.now() })
    else if (verdict.by === 'fax') floor.feed({ on: 'machine', why: 'agent_hangup', at: floor.now() })
  }
}
