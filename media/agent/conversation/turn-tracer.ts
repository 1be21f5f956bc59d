import type { TurnId, TurnRecord, TurnTrace } from '../conversation-events.js'
import type { TokenCount, Usage } from './usage-meter.js'
import { UsageMeter } from './usage-meter.js'

/** Timing of the caller's words that a reply answers. All times are session ms. */
export interface AnsweredWords {
  readonly startMs: number
  readonly endMs: number
  /** Latest offset and final of the call. Ignored when they are older than the words. */
  readonly lastOffsetMs: number | null
  readonly lastFinalMs: number | null
}

type Times = {
  -readonly [K in Extract<keyof TurnRecord, `${string}Ms`>]: TurnRecord[K]
}
/** Moments that are recorded once, at their first occurrence. */
type Moment = 'modelRequestMs' | 'modelFirstTokenMs' | 'firstSentenceMs' | 'ttsRequestMs' | 'ttsFirstAudioMs'

interface Open {
  readonly turnId: TurnId
  readonly kind: TurnRecord['kind']
  readonly times: Times
  speculation: TurnRecord['speculation']
}

/**
 * Records the latency and the cost of each agent utterance. Usage between two utterances, such as a discarded
 * request, belongs to the later one.
 */
export class TurnTracer {
  readonly #now: () => number
  readonly #turn = new UsageMeter()
  readonly #call = new UsageMeter()
  #open: Open | null = null
  #failures = 0
  #speculationDropped = false

  constructor(now: () => number) {
    this.#now = now
  }

  /** Starts a record. A repeated call for the current utterance has no effect. */
  begin(turnId: TurnId, kind: TurnRecord['kind'], words: AnsweredWords | null): void {
    if (this.#open?.turnId === turnId) return
    const { startMs = null, endMs = null, lastOffsetMs = null, lastFinalMs = null } = words ?? {}
    const since = (at: number | null) => (at !== null && endMs !== null && at >= endMs ? at : null)
    this.#open = {
      turnId,
      kind,
      speculation: this.#speculationDropped ? 'dropped' : null,
      times: {
        onsetMs: startMs,
        offsetMs: endMs,
        vadStopMs: since(lastOffsetMs),
        sttFinalMs: since(lastFinalMs),
        decidedMs: this.#now(),
        modelRequestMs: null,
        modelFirstTokenMs: null,
        firstSentenceMs: null,
        ttsRequestMs: null,
        ttsFirstAudioMs: null,
        firstPacketMs: null,
        interruptedMs: null,
        endMs: 0,
      },
    }
    this.#speculationDropped = false
  }

  /** Records a moment at `atMs` (session ms), by default now. */
  mark(turnId: TurnId, moment: Moment, atMs = this.#now()): void {
    const open = this.#of(turnId)
    if (open) open.times[moment] ??= atMs
  }

  /** Records that the first packet of the utterance is being sent. */
  sent(turnId: TurnId): void {
    const open = this.#of(turnId)
    if (open) open.times.firstPacketMs ??= this.#now()
  }

  /** Records that the utterance uses the speculative answer. */
  speculationKept(turnId: TurnId): void {
    const open = this.#of(turnId)
    if (open) open.speculation = 'kept'
  }

  /** Records that a speculative answer was discarded. */
  speculationDropped(): void {
    if (this.#open) this.#open.speculation = 'dropped'
    else this.#speculationDropped = true
  }

  providerFailure(): void {
    this.#failures++
  }

  audioRecognised(vendor: string, model: string | null, audioMs: number): void {
    this.#turn.audioRecognised(vendor, model, audioMs)
    this.#call.audioRecognised(vendor, model, audioMs)
  }

  modelRequested(vendor: string, model: string): void {
    this.#turn.modelRequested(vendor, model)
    this.#call.modelRequested(vendor, model)
  }

  modelAnswered(vendor: string, model: string, tokens: TokenCount | null): void {
    this.#turn.modelAnswered(vendor, model, tokens)
    this.#call.modelAnswered(vendor, model, tokens)
  }

  /** Counts synthesised text. With `turnId` null, the text of a prepared phrase counts for the call only. */
  textSynthesised(turnId: TurnId | null, vendor: string, model: string | null, characters: number): void {
    if (turnId !== null) {
      this.#turn.textSynthesised(vendor, model, characters)
      this.mark(turnId, 'ttsRequestMs')
    }
    this.#call.textSynthesised(vendor, model, characters)
  }

  /**
   * Returns the latency trace once the reply is audible. Returns null for an utterance that answers no caller
   * words.
   */
  traceOf(turnId: TurnId): TurnTrace | null {
    const open = this.#of(turnId)
    if (open === null || open.times.offsetMs === null) return null
    const { offsetMs, vadStopMs, sttFinalMs, decidedMs, modelFirstTokenMs, firstSentenceMs } = open.times
    return {
      turnId,
      speechEndMs: offsetMs,
      vadStopMs,
      sttFinalMs,
      decidedMs,
      modelFirstTokenMs,
      firstSentenceMs,
      ttsFirstAudioMs: open.times.ttsFirstAudioMs,
      firstPacketMs: open.times.firstPacketMs,
    }
  }

  /** Ends the record of the utterance. Returns null when `turnId` is not the current utterance. */
  end(turnId: TurnId, ending: TurnRecord['ending'], interruptedMs: number | null): TurnRecord | null {
    const open = this.#of(turnId)
    if (open === null) return null
    this.#open = null
    const troubles = this.#failures
    this.#failures = 0
    return {
      turnId,
      kind: open.kind,
      ending,
      speculation: open.speculation,
      troubles,
      ...open.times,
      interruptedMs,
      endMs: this.#now(),
      usage: this.#turn.take(),
    }
  }

  /** Returns the usage of the whole call. Call once, at the end. */
  total(): Usage {
    return this.#call.take()
  }

  #of(turnId: TurnId): Open | null {
    return this.#open?.turnId === turnId ? this.#open : null
  }
}
