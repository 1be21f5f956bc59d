import type { Clock } from '../../base/clock.js'
import { type AudioFrame, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { EchoEstimator } from '../../detect/echo-estimator.js'
import type { DetectorEvent } from '../../detect/events.js'
import type { TurnDetector } from '../../vad/turn-detector.js'
import type { Vad, VadFactory } from '../../vad/vad.js'
import type { AgentSpec } from '../agent-spec.js'
import {
  AnsweringMachineDetector,
  type AnswerVerdict,
} from '../answering-machine/answering-machine-detector.js'
import type { CircuitBreakers } from '../circuit-breaker.js'
import type { TurnContext } from '../turn/turn-context.js'
import { VAD_START_MS, VAD_STOP_MS } from '../turn/turn-policy.js'
import type { SpeechToTextCapabilities, VendorFailure } from '../vendor-ports.js'
import { EndpointingDelay } from './endpointing-delay.js'
import { type AudioUsage, type RecogniserChoice, SttFailover } from './stt-failover.js'

/** Shorter than what makes the agent go on, and longer than the gaps of sound that is one. */
const LEAST_GAP_MS = 200

export interface CallerInputOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  /** The agent's own, then those that go on when it fails. */
  readonly recognisers: readonly RecogniserChoice[]
  readonly breakers: CircuitBreakers
  readonly vad: VadFactory
  readonly turnDetector: TurnDetector | null
  readonly clock: Clock
  readonly turnContext: TurnContext
  /** A recogniser failed; null: none goes on in its place. */
  recogniserFailed(error: VendorFailure, vendor: string, instead: string | null): void
  /** The capabilities are other ones now. */
  capabilitiesChanged(): void
}

/**
 * What is heard of the far side: its voice apart from our own echo, its words, who it is. Tells the
 * machine of all of it.
 */
export class CallerInput {
  readonly #rate: SessionRate
  readonly #turnContext: TurnContext
  readonly #stt: SttFailover
  readonly #detector: Vad
  readonly #endpointing: EndpointingDelay | null
  readonly #echo: EchoEstimator
  readonly #quiet: Int16Array
  #echoReported = false
  /** While it matters who answered. */
  #answeringMachine: AnsweringMachineDetector | null
  #lastOffsetMs: number | null = null
  /** The last voiced sound of one that holds the agent back. */
  #pausedVoicedMs: number | null = null
  #lastFinalMs: number | null = null

  constructor(options: CallerInputOptions) {
    const {
      spec,
      rate,
      recognisers,
      breakers,
      vad,
      turnDetector: ending,
      clock,
      turnContext: floor,
    } = options
    this.#rate = rate
    this.#turnContext = floor
    this.#answeringMachine = spec.voicemail.enabled
      ? new AnsweringMachineDetector(spec.voicemail.windowSeconds * 1000)
      : null
    this.#stt = new SttFailover({
      languages: spec.languages,
      language: spec.speechToText.language,
      rate,
      recognisers,
      breakers,
      clock,
      recogniserFailed: options.recogniserFailed,
      capabilitiesChanged: options.capabilitiesChanged,
      partial: (text) => {
        floor.feed({ type: 'partial', text, atMs: floor.now() })
        this.#reportAnsweredBy(this.#answeringMachine?.words(text, floor.now()))
      },
      final: (text, words, language) => {
        this.#lastFinalMs = floor.now()
        if (text !== '') floor.language.languageDetected(language)
        floor.feed({ type: 'final', text, words, atMs: floor.now() })
        this.#reportAnsweredBy(this.#answeringMachine?.words(text, floor.now(), true))
      },
      eagerEndOfTurn: (complete) => floor.feed({ type: 'eager', complete, atMs: floor.now() }),
      failed: ({ code, message }) => floor.feed({ type: 'deaf', code, message, atMs: floor.now() }),
    })
    this.#detector = vad.open({ rate, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
    this.#endpointing = ending === null ? null : new EndpointingDelay(ending, rate, floor)
    this.#echo = new EchoEstimator(rate)
    this.#quiet = new Int16Array((rate / 1000) * FRAME_MS)
  }

  get capabilities(): SpeechToTextCapabilities {
    return this.#stt.capabilities
  }

  /** When the detector last heard the caller stop, and when the last final text came. */
  get lastOffsetMs(): number | null {
    return this.#lastOffsetMs
  }

  get lastFinalMs(): number | null {
    return this.#lastFinalMs
  }

  /** Sound given to recognition since the last call of this. */
  takeAudioUsage(): readonly AudioUsage[] {
    return this.#stt.takeAudioUsage()
  }

  /** Returns why there is no recogniser, null when there is one. */
  open(): VendorFailure | null {
    return this.#stt.open()
  }

  reopen(): void {
    this.#stt.reopen()
  }

  /** The caller speaks this language now. */
  setLanguage(language: string): void {
    this.#stt.setLanguage(language)
  }

  learnNoise(): void {
    this.#detector.learnNoise()
  }

  push(frame: AudioFrame): void {
    const floor = this.#turnContext
    const atMs = (frame.at * 1000) / frame.rate
    const detector = this.#detector
    const echo = this.#echo
    echo.processReceived(frame.pcm, atMs)
    if (echo.delayMs !== null && !this.#echoReported) this.#reportEcho(echo.delayMs, echo.gain)
    // The recogniser must not take our own words for the caller's, nor the detector our voice for one.
    const pcm = echo.isOnlyEcho && !detector.speaking ? this.#quiet : frame.pcm
    this.#stt.write(pcm, atMs)
    const change = detector.process(frame.pcm, atMs, echo.echoPower)
    if (change === 'onset') {
      this.#answeringMachine?.onset(detector.onsetMs)
      floor.feed({ type: 'onset', fromMs: detector.onsetMs, atMs: floor.now() })
      this.#stt.utteranceStart(detector.onsetMs)
    } else if (change === 'offset') {
      this.#answeringMachine?.offset(detector.lastVoicedMs)
      this.#lastOffsetMs = floor.now()
      floor.feed({ type: 'offset', lastVoicedMs: detector.lastVoicedMs, atMs: floor.now() })
      this.#stt.utteranceEnd(detector.lastVoicedMs)
    }
    this.#endpointing?.process(pcm, atMs, detector)
    if (this.#answeringMachine !== null) this.#reportAnsweredBy(this.#answeringMachine.tick(atMs))
    if (floor.phase === 'paused') {
      this.#pausedVoicedMs = detector.lastVoicedMs
      floor.feed({
        type: 'voice',
        voicedMs: detector.voicedMs,
        quietMs: atMs + FRAME_MS - detector.lastVoicedMs,
        atMs: floor.now(),
      })
    } else if (this.#pausedVoicedMs !== null) this.#reportContinuedSpeech(atMs, this.#pausedVoicedMs)
  }

  /** What the far side is being sent: it may come back. */
  audioSent(pcm: Int16Array, at: number): void {
    this.#echo.processSent(pcm, (at * 1000) / this.#rate)
  }

  /** Of the far side beside speech. */
  detected(event: DetectorEvent): void {
    this.#reportAnsweredBy(this.#answeringMachine?.detected(event))
  }

  /** Idempotent; nothing is told afterwards. */
  close(): void {
    this.#endpointing?.close()
    this.#stt.close()
    this.#detector.close()
  }

  /**
   * The agent went on because the caller was quiet, too shortly for the detector to call it the end: no
   * onset follows when the caller goes on.
   */
  #reportContinuedSpeech(atMs: number, weighedMs: number): void {
    const detector = this.#detector
    if (detector.speaking && detector.lastVoicedMs === weighedMs) return
    this.#pausedVoicedMs = null
    if (!detector.speaking || atMs - weighedMs < LEAST_GAP_MS) return
    const { phase } = this.#turnContext
    if (phase !== 'speaking' && phase !== 'thinking') return
    this.#turnContext.feed({ type: 'onset', fromMs: detector.onsetMs, atMs: this.#turnContext.now() })
  }

  #reportEcho(delayMs: number, gain: number): void {
    this.#echoReported = true
    const gainDb = Math.round(20 * Math.log10(gain))
    const atMs = this.#turnContext.now()
    this.#turnContext.emit({ type: 'detected', event: { type: 'echo', delayMs, gainDb, atMs } })
  }

  /** Who answered, as soon as it is known. Nobody talks to a recorder. */
  #reportAnsweredBy(verdict: AnswerVerdict | null | undefined): void {
    const floor = this.#turnContext
    if (this.#answeringMachine?.settled) this.#answeringMachine = null
    if (!verdict || floor.phase === 'ended') return
    floor.emit({ type: 'answered_by', ...verdict, atMs: Math.round(floor.now()) })
    if (verdict.by === 'voicemail') floor.feed({ type: 'machine', why: 'voicemail', atMs: floor.now() })
    else if (verdict.by === 'fax') floor.feed({ type: 'machine', why: 'agent_hangup', atMs: floor.now() })
  }
}
