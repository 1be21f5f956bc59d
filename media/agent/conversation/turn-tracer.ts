import type { TurnId, TurnRecord, TurnTrace } from '../conversation-events.js'
import type { TokenCount, Usage } from './usage-meter.js'
import { UsageMeter } from './usage-meter.js'

/** The words of the caller that a reply answers, and when it was known that they were over. */
export interface AnsweredWords {
  readonly startMs: number
  readonly endMs: number
  /** The latest ones of the call; older than the words they do not count. */
  readonly lastOffsetMs: number | null
  readonly lastFinalMs: number | null
}

type Times = {
  -readonly [K in Extract<keyof TurnRecord, `${string}Ms`>]: TurnRecord[K]
}
/** Moments that count once, the first time. */
type Moment = 'modelRequestMs' | 'modelFirstTokenMs' | 'firstSentenceMs' | 'ttsRequestMs' | 'ttsFirstAudioMs'

interface Open {
  readonly turnId: TurnId
  readonly kind: TurnRecord['kind']
  readonly times: Times
  speculation: TurnRecord['speculation']
}

/**
 * Where the time of each utterance of the agent goes and what it costs. What is used between two
 * utterances, a request thrown away for instance, counts to the later one.
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

  /** The utterance begins; told again while it lasts, it changes nothing. */
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

  /** `atMs`: when it happened, when that is not now. */
  mark(turnId: TurnId, moment: Moment, atMs = this.#now()): void {
    const open = this.#of(turnId)
    if (open) open.times[moment] ??= atMs
  }

  /** The first packet of the utterance is being sent. */
  sent(turnId: TurnId): void {
    const open = this.#of(turnId)
    if (open) open.times.firstPacketMs ??= this.#now()
  }

  /** The answer begun before the turn was decided is the one that is used. */
  speculationKept(turnId: TurnId): void {
    const open = this.#of(turnId)
    if (open) open.speculation = 'kept'
  }

  /** An answer was begun, and is not used. */
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

  /** `turnId` null: a line that is prepared counts to the call, whether it is ever said or not. */
  textSynthesised(turnId: TurnId | null, vendor: string, model: string | null, characters: number): void {
    if (turnId !== null) {
      this.#turn.textSynthesised(vendor, model, characters)
      this.mark(turnId, 'ttsRequestMs')
    }
    this.#call.textSynthesised(vendor, model, characters)
  }

  /** What the caller waited for, as soon as the wait is over; null when nobody asked for the utterance. */
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

  /** The utterance is over; null when it is not the one that was begun. */
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

  /** Of the whole call; once, at its end. */
  total(): Usage {
    return this.#call.take()
  }

  #of(turnId: TurnId): Open | null {
    return this.#open?.turnId === turnId ? this.#open : null
  }
}
