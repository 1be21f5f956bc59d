import type { Clock } from '../../base/clock.js'
import { type AudioFrame, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { EchoEstimator } from '../../detect/echo-estimator.js'
import type { DetectorEvent } from '../../detect/events.js'
import type { NoiseSuppression, NoiseSuppressor } from '../../vad/noise-suppressor.js'
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
import { type AudioUsage, SttFailover } from './stt-failover.js'
import type { RecogniserChoice } from './stt-stream.js'

/** After a greeting without a beep a voicemail records when it was silent for this long. */
const NO_BEEP_MS = 4000

/** Shorter than the silence that resumes the agent, longer than the gaps within speech. */
const MIN_GAP_MS = 200

export interface CallerInputOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  /** The agent's own recogniser, then its fallbacks. */
  readonly recognisers: readonly RecogniserChoice[]
  readonly breakers: CircuitBreakers
  readonly vad: VadFactory
  readonly turnDetector: TurnDetector | null
  /** Used when the agent asks for it. */
  readonly noiseSuppression: NoiseSuppression | null
  readonly clock: Clock
  readonly turnContext: TurnContext
  /** Receives unfinished words as they are recognised. */
  heard(text: string): void
  /** A recogniser failed. `instead` is null when none takes over. */
  recogniserFailed(error: VendorFailure, vendor: string, instead: string | null): void
}

/**
 * Processes the caller's audio: echo, VAD, recognition and answering-machine detection. Feeds the turn
 * machine.
 */
export class CallerInput {
  readonly #rate: SessionRate
  readonly #turnContext: TurnContext
  readonly #stt: SttFailover
  readonly #openVad: () => Vad
  #detector: Vad
  readonly #noiseSuppression: NoiseSuppression | null
  /** Null until it is loaded, and when the agent does not ask for it. */
  #suppressor: NoiseSuppressor | null = null
  readonly #endpointing: EndpointingDelay | null
  readonly #echo: EchoEstimator
  readonly #quiet: Int16Array
  #echoReported = false
  /** Null once it no longer matters who answered. */
  #answeringMachine: AnsweringMachineDetector | null
  /** True if a voicemail gets a message. `#awaitsBeepMs` is the time since which its beep is awaited. */
  readonly #leavesMessage: boolean
  #awaitsBeepMs: number | null = null
  #lastOffsetMs: number | null = null
  /** Last voiced sample of a sound that paused the agent. Null when there is none. */
  #pausedVoicedMs: number | null = null
  #lastFinalMs: number | null = null
  #closed = false

  constructor(options: CallerInputOptions) {
    const { spec, rate, recognisers, breakers, vad, turnDetector, clock, turnContext } = options
    this.#rate = rate
    this.#noiseSuppression = spec.noiseSuppression ? options.noiseSuppression : null
    this.#turnContext = turnContext
    this.#leavesMessage = (spec.voicemail.message ?? null) !== null
    this.#answeringMachine = spec.voicemail.enabled
      ? new AnsweringMachineDetector(spec.voicemail.windowSeconds * 1000)
      : null
    this.#stt = new SttFailover({
      languages: spec.languages,
      vocabulary: spec.vocabulary ?? [],
      language: spec.speechToText.language,
      rate,
      recognisers,
      breakers,
      clock,
      recogniserFailed: options.recogniserFailed,
      capabilitiesChanged: () => turnContext.policyChanged(),
      partial: (text) => {
        turnContext.feed({ type: 'partial', text, atMs: turnContext.now() })
        options.heard(text)
        this.#reportAnsweredBy(this.#answeringMachine?.words(text, turnContext.now()))
      },
      final: (text, words, language) => {
        this.#lastFinalMs = turnContext.now()
        if (text !== '') turnContext.language.languageDetected(language)
        turnContext.feed({ type: 'final', text, words, atMs: turnContext.now() })
        this.#reportAnsweredBy(this.#answeringMachine?.words(text, turnContext.now(), true))
      },
      eagerEndOfTurn: (complete) =>
        turnContext.feed({ type: 'eagerEndOfTurn', complete, atMs: turnContext.now() }),
      failed: ({ code, message }) =>
        turnContext.feed({ type: 'recognitionFailed', code, message, atMs: turnContext.now() }),
    })
    this.#openVad = () => vad.open({ rate, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
    this.#detector = this.#openVad()
    this.#endpointing = turnDetector === null ? null : new EndpointingDelay(turnDetector, rate, turnContext)
    this.#echo = new EchoEstimator(rate)
    this.#quiet = new Int16Array((rate / 1000) * FRAME_MS)
  }

  get capabilities(): SpeechToTextCapabilities {
    return this.#stt.capabilities
  }

  /** Session time (ms) at which the VAD last reported the end of speech. */
  get lastOffsetMs(): number | null {
    return this.#lastOffsetMs
  }

  get lastFinalMs(): number | null {
    return this.#lastFinalMs
  }

  /** Returns the audio given to recognition since the last call. */
  takeAudioUsage(): readonly AudioUsage[] {
    return this.#stt.takeAudioUsage()
  }

  /** Loads noise suppression if the agent asks for it. Throws EngineError `internal` when that fails. */
  async prepare(): Promise<void> {
    if (this.#noiseSuppression === null) return
    await this.#noiseSuppression.load()
    if (!this.#closed) this.#suppressor = this.#noiseSuppression.open(this.#rate)
  }

  /** Opens the recogniser. Returns the failure, or null on success. */
  open(): VendorFailure | null {
    return this.#stt.open()
  }

  reopen(): void {
    this.#stt.reopen()
  }

  /** Forgets the sound in progress and recognises nothing until `reopen`. */
  suspend(): void {
    this.#stt.suspend()
    this.#detector.close()
    this.#detector = this.#openVad()
    this.#pausedVoicedMs = null
  }

  /** Switches recognition to the caller's new language. */
  setLanguage(language: string): void {
    this.#stt.setLanguage(language)
  }

  /** Tells recognition whether the agent asked for a number. */
  expectNumber(expected: boolean): void {
    this.#stt.expectNumber(expected)
  }

  learnNoise(): void {
    this.#detector.learnNoise()
  }

  push(frame: AudioFrame): void {
    const turnContext = this.#turnContext
    const atMs = (frame.at * 1000) / frame.rate
    const detector = this.#detector
    const echo = this.#echo
    echo.processReceived(frame.pcm, atMs)
    if (echo.delayMs !== null && !this.#echoReported) this.#reportEcho(echo.delayMs, echo.gain)
    // The recogniser must not transcribe our own words, and the VAD must not take the echo for a caller.
    const pcm = echo.isOnlyEcho && !detector.speaking ? this.#quiet : frame.pcm
    this.#stt.write(pcm, atMs)
    // Only detection: recognisers are trained on noise and lose accuracy with suppressed audio
    // (developers.deepgram.com/guides/deep-dives/audio-preprocessing-barge-in).
    const suppressor = this.#suppressor
    const change =
      suppressor === null
        ? detector.process(frame.pcm, atMs, echo.echoPower)
        : detector.process(suppressor.process(frame.pcm), atMs - suppressor.delayMs, echo.echoPower)
    if (change === 'onset') {
      this.#answeringMachine?.onset(detector.onsetMs)
      turnContext.feed({ type: 'onset', fromMs: detector.onsetMs, atMs: turnContext.now() })
      this.#stt.utteranceStart(detector.onsetMs)
    } else if (change === 'offset') {
      this.#answeringMachine?.offset(detector.lastVoicedMs)
      this.#lastOffsetMs = turnContext.now()
      turnContext.feed({ type: 'offset', lastVoicedMs: detector.lastVoicedMs, atMs: turnContext.now() })
      this.#stt.utteranceEnd(detector.lastVoicedMs)
    }
    this.#endpointing?.process(pcm, atMs, detector)
    if (this.#answeringMachine !== null) this.#reportAnsweredBy(this.#answeringMachine.tick(atMs))
    if (this.#awaitsBeepMs !== null && !detector.speaking) {
      if (atMs - Math.max(detector.lastVoicedMs, this.#awaitsBeepMs) >= NO_BEEP_MS) this.#reportRecording()
    }
    if (turnContext.phase === 'paused') {
      this.#pausedVoicedMs = detector.lastVoicedMs
      turnContext.feed({
        type: 'voice',
        voicedMs: detector.voicedMs,
        quietMs: atMs + FRAME_MS - detector.lastVoicedMs,
        atMs: turnContext.now(),
      })
    } else if (this.#pausedVoicedMs !== null) this.#reportContinuedSpeech(atMs, this.#pausedVoicedMs)
  }

  /** Records audio sent to the far side, which may return as echo. */
  audioSent(pcm: Int16Array, at: number): void {
    this.#echo.processSent(pcm, (at * 1000) / this.#rate)
  }

  /** Handles a detected sound of the far side other than speech. */
  detected(event: DetectorEvent): void {
    if (event.type === 'beep' && this.#awaitsBeepMs !== null) this.#reportRecording()
    else this.#reportAnsweredBy(this.#answeringMachine?.detected(event))
  }

  /** Closes the detectors and the recogniser. Nothing is reported after that. Idempotent. */
  close(): void {
    this.#closed = true
    this.#suppressor?.close()
    this.#endpointing?.close()
    this.#stt.close()
    this.#detector.close()
  }

  /**
   * Reports speech that continues after the agent resumed. The silence was too short for a VAD offset, so the
   * VAD reports no new onset.
   */
  #reportContinuedSpeech(atMs: number, pausedVoicedMs: number): void {
    const detector = this.#detector
    if (detector.speaking && detector.lastVoicedMs === pausedVoicedMs) return
    this.#pausedVoicedMs = null
    if (!detector.speaking || atMs - pausedVoicedMs < MIN_GAP_MS) return
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

  /** Reports the party that answered. A fax ends the conversation, and a voicemail unless it gets a message. */
  #reportAnsweredBy(verdict: AnswerVerdict | null | undefined): void {
    const turnContext = this.#turnContext
    if (this.#answeringMachine?.settled) this.#answeringMachine = null
    if (!verdict || turnContext.phase === 'ended') return
    turnContext.emit({ type: 'answered_by', ...verdict, atMs: Math.round(turnContext.now()) })
    turnContext.feed({ type: 'answeredBy', by: verdict.by, atMs: turnContext.now() })
    if (verdict.by !== 'voicemail' || !this.#leavesMessage) return
    this.#awaitsBeepMs = turnContext.now()
    // A beep is reported at its end.
    if (verdict.evidence === 'beep') this.#reportRecording()
  }

  #reportRecording(): void {
    this.#awaitsBeepMs = null
    this.#turnContext.feed({ type: 'recording', atMs: this.#turnContext.now() })
  }
}
