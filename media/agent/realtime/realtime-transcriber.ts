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

/** Our own end of a turn, from the last sound. */
const OWN_END_MS = 600
/** The vendor hears speech and does not end the turn: then we do, this long after the last sound. */
const LATEST_END_MS = 1800
/** The vendor has heard no speech in what our detector took for some. */
const NO_SPEECH_MS = 700
/** A sound so short may be a cough or a "yes": its words decide, and are waited for so long. */
const SHORT_MS = 300
const SHORT_WORDS_MS = 1000
/** The same while the agent has the floor: without words it goes on speaking. */
const ASIDE_WORDS_MS = 3000
/** Sound before the detector's onset that belongs to it. */
const PRE_ROLL_MS = 400

const AGENT_PHASES: ReadonlySet<Phase> = new Set(['thinking', 'speaking', 'paused', 'ending'])

export interface RealtimeTranscriberOptions {
  /** Of the vendor. */
  readonly id: string
  /** All that is spoken: the model needs not be told which. */
  readonly languages: readonly string[]
  readonly connection: RealtimeConnection
  readonly transcripts: CallerTranscripts
  /** The vendor says when the caller's turn is over. */
  readonly turnEnd: boolean
  readonly turnContext: TurnContext
  readonly clock: Clock
  /** Words of the caller became known. */
  transcriptResolved(): void
  /** Others hear the caller from now on. */
  modelGone(): boolean
  /** Who answered is still a question: what they say is wanted before they are answered. */
  awaitWords(): boolean
}

/**
 * A recogniser made of a model that hears by itself. An utterance is final when the caller's turn is
 * over, not when it was written down: a mark stands for its words (realtime-words.ts), unless they decide
 * whether it is answered at all.
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
    const { connection: link, modelGone: over } = this.#options
    if (over()) throw new EngineError('vendor_unreachable', 'the model is gone')
    const failure = link.connect()
    if (failure !== null) throw failure
    const stream = new TranscriberStream(this.#options, options.rate, events, () => {
      if (this.#stream === stream) this.#stream = null
    })
    this.#stream = stream
    return stream
  }

  /** The model has answered: it has heard what it did not write down. */
  answered(): void {
    this.#stream?.answered()
  }

  /** It is over with the model: whoever listens by it has to listen by another. */
  giveUp(error: VendorFailure): void {
    this.#stream?.failed(error)
  }
}

class TranscriberStream implements SpeechToTextStream, RealtimeListener {
  readonly capabilities: SpeechToTextCapabilities
  readonly #options: RealtimeTranscriberOptions
  readonly #events: SpeechToTextEvents
  readonly #gate: PreRoll | null
  /** Items whose words decide, with what happens when they are late. */
  readonly #undecided = new Map<string, Timer>()
  #timer: Timer | null = null
  #speaking = false
  #startMs = 0
  /** Of what no final was told of. */
  #firstMs = 0
  #endMs = 0
  /** Voiced time since the last final. */
  #voicedMs = 0
  /** Ends of utterances that the machine waits for. */
  #pendingFinals = 0
  /** A final was told before the end of its sound. */
  #finalBeforeEnd = false
  #vendorHears = false
  /** The last that was taken for said, until there are words for it or an answer to it. */
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

  // ---- what the vendor hears

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
    const { turnContext: floor, transcripts: words } = this.#options
    const mark = words.mark(item)
    this.#untranscribed = { item, startMs: this.#firstMs, endMs: Math.max(this.#endMs, this.#firstMs) }
    if (AGENT_PHASES.has(floor.phase)) {
      this.#decide(item, ASIDE_WORDS_MS, () => this.#final(''))
    } else if (this.#heardMs() < SHORT_MS || this.#options.awaitWords()) {
      this.#decide(item, SHORT_WORDS_MS, () => this.#final(mark))
    } else this.#final(mark)
  }

  transcript(item: string, text: string | null): void {
    const { transcripts: words, connection: link } = this.#options
    const late = this.#undecided.get(item)
    if (this.#untranscribed?.item === item) this.#untranscribed = null
    words.resolve(item, text)
    this.#options.transcriptResolved()
    if (late === undefined) return
    late.cancel()
    this.#undecided.delete(item)
    if (text === null) this.#final(words.mark(item))
    else {
      // Noise is nothing that the model should answer one day.
      if (text === '') link.deleteItem(item)
      this.#final(text === '' ? '' : words.mark(item, text))
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

  #decide(item: string, waitMs: number, late: () => void): void {
    const timer = this.#options.clock.after(waitMs, () => {
      this.#undecided.delete(item)
      late()
    })
    this.#undecided.set(item, timer)
  }

  /** One final for everything that the machine waits for. */
  #final(text: string): void {
    const owed = this.#pendingFinals
    this.#pendingFinals = 0
    this.#voicedMs = 0
    this.#finalBeforeEnd = owed === 0 && this.#speaking
    for (let i = 1; i < owed; i++) this.#events.final('', null)
    this.#events.final(text, null)
  }

  #after(atMs: number, run: () => void): void {
    this.#stop()
    const { clock, turnContext: floor } = this.#options
    this.#timer = clock.after(Math.max(0, atMs - floor.now()), () => {
      this.#timer = null
      run()
    })
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }
}

/** Lets sound through while the caller speaks, from a little before: a vendor without a detector. */
class PreRoll {
  readonly #connection: RealtimeConnection
  readonly #ring: Int16Array
  readonly #frame: number
  #at = 0
  #kept = 0
  #isOpen = false

  constructor(link: RealtimeConnection, rate: SessionRate) {
    this.#connection = link
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
