import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { Phase } from '../turn/turn-types.js'
import type {
  SpeechToText,
  SpeechToTextCapabilities,
  SpeechToTextEvents,
  SpeechToTextStream,
  VendorFailure,
} from '../vendor-ports.js'
import type { CallerTranscripts } from './caller-transcripts.js'
import type { RealtimeConnection, RealtimeListener } from './realtime-connection.js'

/** Our own end of turn (ms), from the last sound. */
const OWN_END_MS = 600
/** When the vendor hears speech but does not end the turn, we end it after this time from the last sound. */
const LATEST_END_MS = 1800
/** Time after which speech that only our VAD detected counts as no speech. */
const NO_SPEECH_MS = 700
/** A shorter sound may be a cough or a "yes". Its words decide and are awaited for `SHORT_WORDS_MS`. */
const SHORT_MS = 300
const SHORT_WORDS_MS = 1000
/** Wait for words during the agent's turn. Without words the agent goes on. */
const ASIDE_WORDS_MS = 3000
/** Audio before the VAD onset that belongs to the speech. */
const PRE_ROLL_MS = 400

const AGENT_PHASES: ReadonlySet<Phase> = new Set(['thinking', 'speaking', 'paused', 'ending'])

export interface RealtimeTranscriberOptions {
  /** Id of the vendor. */
  readonly id: string
  /** All languages that may be spoken. The model detects them. */
  readonly languages: readonly string[]
  readonly connection: RealtimeConnection
  readonly transcripts: CallerTranscripts
  /** The vendor detects the end of the caller's turn. */
  readonly turnEnd: boolean
  readonly turnContext: TurnContext
  readonly clock: Clock
  /** Words of the caller became known. */
  transcriptResolved(): void
  /** Returns whether another recogniser has taken over. */
  modelGone(): boolean
  /** Returns whether answering-machine detection still runs, so that words are needed before an answer. */
  awaitWords(): boolean
}

/**
 * A recogniser made of a speech-to-speech model. An utterance is final at the end of the caller's turn,
 * before its transcript exists. A mark stands for the words (caller-transcripts.ts), unless the words decide
 * whether it is answered.
 */
export class RealtimeTranscriber implements SpeechToText {
  readonly id: string
  readonly #options: RealtimeTranscriberOptions
  #stream: TranscriberStream | null = null

  constructor(options: RealtimeTranscriberOptions) {
    this.id = options.id
    this.#options = options
  }

  open(options: { readonly rate: SessionRate }, events: SpeechToTextEvents): SpeechToTextStream {
    const { connection, modelGone } = this.#options
    if (modelGone()) throw new EngineError('vendor_unreachable', 'the realtime model was given up')
    const failure = connection.connect()
    if (failure !== null) throw failure
    const stream = new TranscriberStream(this.#options, options.rate, events, () => {
      if (this.#stream === stream) this.#stream = null
    })
    this.#stream = stream
    return stream
  }

  /** Records a reply of the model, which heard speech that it did not transcribe. */
  answered(): void {
    this.#stream?.answered()
  }

  /** Fails the stream because the model was given up. Listeners must use another recogniser. */
  giveUp(error: VendorFailure): void {
    this.#stream?.failed(error)
  }
}

class TranscriberStream implements SpeechToTextStream, RealtimeListener {
  readonly capabilities: SpeechToTextCapabilities
  readonly #options: RealtimeTranscriberOptions
  readonly #events: SpeechToTextEvents
  readonly #gate: PreRoll | null
  /** Items whose words decide, each with the timer for late words. */
  readonly #undecided = new Map<string, Timer>()
  #timer: Timer | null = null
  #speaking = false
  #startMs = 0
  /** Start of the speech without a final. */
  #firstMs = 0
  #endMs = 0
  /** Voiced time since the last final (ms). */
  #voicedMs = 0
  /** Ended utterances for which the turn machine waits. */
  #pendingFinals = 0
  /** A final was reported before the end of its sound. */
  #finalBeforeEnd = false
  #vendorHears = false
  /** The last committed speech, until it has a transcript or a reply. */
  #untranscribed: { readonly item: string; readonly startMs: number; readonly endMs: number } | null = null

  readonly #closed: () => void

  constructor(
    options: RealtimeTranscriberOptions,
    rate: SessionRate,
    events: SpeechToTextEvents,
    closed: () => void,
  ) {
    this.#options = options
    this.#events = events
    this.#closed = closed
    this.capabilities = {
      partials: false,
      endOfUtterance: true,
      wordTimes: false,
      understandsSpeech: true,
      finalDeadlineMs: 2200,
      ownFinalDeadline: true,
      understoodLanguages: options.languages,
    }
    this.#gate = options.turnEnd ? null : new PreRoll(options.connection, rate)
    options.connection.listen(this)
  }

  write(pcm: Int16Array): void {
    if (this.#gate === null) this.#options.connection.write(pcm)
    else this.#gate.write(pcm)
  }

  utteranceStart(atMs: number): void {
    this.#stop()
    this.#speaking = true
    this.#startMs = atMs
    if (this.#voicedMs === 0) this.#firstMs = atMs
    this.#gate?.open()
  }

  utteranceEnd(atMs: number): void {
    if (!this.#speaking) return
    this.#speaking = false
    this.#voicedMs += Math.max(0, atMs - this.#startMs)
    this.#endMs = atMs
    if (this.#finalBeforeEnd) {
      this.#finalBeforeEnd = false
      return
    }
    this.#pendingFinals++
    if (this.#gate !== null) this.#after(atMs + OWN_END_MS, () => this.#commit())
    else if (this.#vendorHears) this.#after(atMs + LATEST_END_MS, () => this.#commit())
    else if (this.#undecided.size === 0) {
      this.#after(this.#options.turnContext.now() + NO_SPEECH_MS, () => this.#final(''))
    }
  }

  untranscribed() {
    return this.#untranscribed
  }

  answered(): void {
    this.#untranscribed = null
  }

  close(): void {
    this.#stop()
    for (const timer of this.#undecided.values()) timer.cancel()
    this.#undecided.clear()
    this.#options.connection.listen(null)
    this.#closed()
  }

  // ---- events of the vendor

  callerStarted(): void {
    this.#vendorHears = true
    if (this.#timer === null || this.#speaking) return
    this.#after(this.#options.turnContext.now() + LATEST_END_MS, () => this.#commit())
  }

  callerStopped(): void {
    this.#vendorHears = false
  }

  committed(item: string): void {
    this.#vendorHears = false
    this.#stop()
    const { turnContext, transcripts } = this.#options
    const mark = transcripts.mark(item)
    this.#untranscribed = { item, startMs: this.#firstMs, endMs: Math.max(this.#endMs, this.#firstMs) }
    if (AGENT_PHASES.has(turnContext.phase)) {
      this.#decide(item, ASIDE_WORDS_MS, () => this.#final(''))
    } else if (this.#heardMs() < SHORT_MS || this.#options.awaitWords()) {
      this.#decide(item, SHORT_WORDS_MS, () => this.#final(mark))
    } else this.#final(mark)
  }

  transcript(item: string, text: string | null): void {
    const { transcripts, connection } = this.#options
    const timer = this.#undecided.get(item)
    if (this.#untranscribed?.item === item) this.#untranscribed = null
    transcripts.resolve(item, text)
    this.#options.transcriptResolved()
    if (timer === undefined) return
    timer.cancel()
    this.#undecided.delete(item)
    if (text === null) this.#final(transcripts.mark(item))
    else {
      // Noise must not be answered later.
      if (text === '') connection.deleteItem(item)
      this.#final(text === '' ? '' : transcripts.mark(item, text))
    }
  }

  failed(error: Parameters<SpeechToTextEvents['failed']>[0]): void {
    this.renewed()
    this.#events.failed(error)
  }

  renewed(): void {
    this.#vendorHears = false
    this.#options.transcripts.giveUp()
    this.#options.transcriptResolved()
    for (const timer of this.#undecided.values()) timer.cancel()
    this.#undecided.clear()
  }

  // ---- the end of a turn

  #heardMs(): number {
    const now = this.#options.turnContext.now()
    return this.#voicedMs + (this.#speaking ? Math.max(0, now - this.#startMs) : 0)
  }

  #commit(): void {
    this.#gate?.close()
    this.#options.connection.commit()
  }

  #decide(item: string, waitMs: number, onTimeout: () => void): void {
    const timer = this.#options.clock.after(waitMs, () => {
      this.#undecided.delete(item)
      onTimeout()
    })
    this.#undecided.set(item, timer)
  }

  /** Reports one final for all pending utterances. */
  #final(text: string): void {
    const pending = this.#pendingFinals
    this.#pendingFinals = 0
    this.#voicedMs = 0
    this.#finalBeforeEnd = pending === 0 && this.#speaking
    for (let n = 1; n < pending; n++) this.#events.final('', null)
    this.#events.final(text, null)
  }

  #after(atMs: number, run: () => void): void {
    this.#stop()
    const { clock, turnContext } = this.#options
    this.#timer = clock.after(Math.max(0, atMs - turnContext.now()), () => {
      this.#timer = null
      run()
    })
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }
}

/** Passes audio on while the caller speaks, with a pre-roll. For a vendor without a VAD. */
class PreRoll {
  readonly #connection: RealtimeConnection
  readonly #ring: Int16Array
  readonly #frame: number
  #at = 0
  #kept = 0
  #isOpen = false

  constructor(connection: RealtimeConnection, rate: SessionRate) {
    this.#connection = connection
    this.#frame = (rate * FRAME_MS) / 1000
    this.#ring = new Int16Array((PRE_ROLL_MS / FRAME_MS) * this.#frame)
  }

  write(pcm: Int16Array): void {
    if (this.#isOpen) {
      this.#connection.write(pcm)
      return
    }
    this.#ring.set(pcm.subarray(0, this.#frame), this.#at)
    this.#at = (this.#at + this.#frame) % this.#ring.length
    this.#kept = Math.min(this.#ring.length, this.#kept + this.#frame)
  }

  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    const { length } = this.#ring
    for (let left = this.#kept; left > 0; left -= this.#frame) {
      const from = (this.#at - left + length) % length
      this.#connection.write(this.#ring.subarray(from, from + this.#frame))
    }
    this.#kept = 0
  }

  close(): void {
    this.#isOpen = false
  }
}
