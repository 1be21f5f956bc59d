import type { Clock } from '../../media/base/clock.js'
import {
  type AudioFrame,
  type Digit,
  type DtmfTiming,
  FRAME_MS,
  type SessionRate,
} from '../../media/base/frame.js'
import { type DetectorName, Detectors } from '../../media/detect/detectors.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import { type DigitSource, DtmfMerger } from './dtmf-merger.js'

/** Detectors that run during the whole call. */
const ALWAYS: readonly DetectorName[] = ['clipping', 'oneWay', 'silence']
/** Sounds of answering machines, networks and fax machines, for the detection of what answered. */
export const ANSWER_SOUNDS: readonly DetectorName[] = ['beep', 'progress', 'informationTone', 'fax']
/** They are useful in the first minute only (ms). */
const AT_FIRST_MS = 60_000
const TRAFFIC_FRAMES = 50
/** Duration (ms) of a digit that we send as tone, pause included; and the longest delay of its echo. */
const OWN_KEY_MS = 260
const ECHO_MS = 1000

export interface LegDetectorsOptions {
  readonly rate: SessionRate
  readonly clock: Clock
  /** Receives digits that did not arrive as RTP events; null to ignore them. */
  readonly onDigit: ((digit: Digit, durationMs: number, source: DigitSource) => void) | null
  /** Receives all other detector events; null to ignore them. */
  readonly onEvent: ((event: DetectorEvent) => void) | null
  /** Detectors besides those of every call, for the first minute. */
  readonly atFirst?: readonly DetectorName[]
  /** Returns whether telephone-event is part of the session. */
  readonly telephoneEventNegotiated: () => boolean
  /** Returns packet counts, and whether the far side should send now. Asked once a second. */
  readonly traffic: () => { readonly sent: number; readonly received: number; readonly expected: boolean }
}

/**
 * Detects everything but speech on a leg: DTMF from every source, and the sounds of networks and machines.
 */
export class LegDetectors {
  readonly #options: LegDetectorsOptions
  readonly #digits: DtmfMerger
  readonly #detectors: Detectors
  #frames = 0
  #ownTonesUntil = Number.NEGATIVE_INFINITY

  constructor(options: LegDetectorsOptions) {
    this.#options = options
    const { rate, clock, onDigit: onKey, onEvent, atFirst = [] } = options
    this.#digits = new DtmfMerger(clock, onKey ?? (() => {}))
    const names = onEvent === null ? [] : [...ALWAYS, ...atFirst]
    this.#detectors = new Detectors(rate, onKey === null ? names : ['dtmf', ...names], (event) =>
      this.#detected(event),
    )
  }

  /** Processes received audio of the leg. */
  process(frame: AudioFrame): void {
    if (this.#frames++ % TRAFFIC_FRAMES === 0 && this.#options.onEvent !== null) {
      const { sent, received, expected } = this.#options.traffic()
      this.#detectors.traffic(sent, received, expected)
    }
    const atMs = (frame.at * 1000) / frame.rate
    this.#detectors.process(frame.pcm, atMs)
    if (this.#frames === AT_FIRST_MS / FRAME_MS) this.#stopFirst()
  }

  /** Takes a digit that arrived by SIP INFO. */
  onInfoDigit(digit: Digit, durationMs: number): void {
    this.#digits.onInfo(digit, durationMs, this.#options.telephoneEventNegotiated())
    this.#detectors.stop('dtmf')
  }

  /** Notes a digit that arrived as RTP event and was delivered. */
  onRtpDigit(): void {
    this.#digits.onRtpEvent()
    this.#detectors.stop('dtmf')
  }

  /** Notes that we send `keys` digits as tones: what is detected of them meanwhile is echo. */
  onTonesSent(keys: number, timing?: DtmfTiming): void {
    const now = this.#options.clock.now()
    const keyMs = timing === undefined ? OWN_KEY_MS : timing.toneMs + timing.gapMs
    this.#ownTonesUntil = Math.max(now + ECHO_MS, this.#ownTonesUntil) + keys * keyMs
  }

  close(): void {
    this.#digits.close()
  }

  #stopFirst(): void {
    for (const name of this.#options.atFirst ?? []) this.#detectors.stop(name)
  }

  #detected(event: DetectorEvent): void {
    if (event.type !== 'digit') {
      this.#options.onEvent?.(event)
      return
    }
    if (this.#options.clock.now() < this.#ownTonesUntil) return
    this.#digits.onTone(event.digit, event.durationMs, this.#options.telephoneEventNegotiated())
  }
}
