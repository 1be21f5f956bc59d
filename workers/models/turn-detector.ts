import { ESTIMATE_AFTER_MS } from '../../media/agent/stt/endpointing-delay.js'
import { VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import type { Clock } from '../../media/base/clock.js'
import type { SessionRate } from '../../media/base/frame.js'
import type { Log } from '../../media/base/log.js'
import {
  TURN_DETECTOR_MS,
  type TurnDetector,
  type TurnDetectorStats,
  type TurnDetectorStream,
} from '../../media/vad/turn-detector.js'
import { ModelThread, type OnnxModelOptions } from './model-thread.js'
import type { TurnDetectorReady, TurnDetectorRequest, TurnDetectorResult } from './turn-detector-request.js'

/**
 * A model that needs longer for one question (ms) answers after the VAD has reported the end of speech: turns
 * whose words are complete are then decided without it.
 */
export const TURN_DETECTOR_SLOW_MS = VAD_STOP_MS - ESTIMATE_AFTER_MS
/** More would not be answered before their pauses are over. */
const MAX_WAITING = 16
/** The ring holds the audio of a question far longer than the question may wait. */
const RING_MS = TURN_DETECTOR_MS + 1000

/**
 * Starts the thread and loads the model. Throws EngineError `config_invalid` with the reason when that fails.
 * After later failures only the words of a caller's pause decide until a new thread is ready.
 */
export async function openTurnDetector(options: OnnxModelOptions): Promise<OnnxTurnDetector> {
  const model = new OnnxTurnDetector(options)
  await model.start()
  return model
}

/** Logs the time that one question takes: a warning with its effect when that is too long. */
export function reportSpeed(questionMs: number, log: Pick<Log, 'info' | 'warn'>): void {
  const ms = Math.round(questionMs)
  if (ms <= TURN_DETECTOR_SLOW_MS) {
    log.info({ ms }, 'turn_model.measured')
    return
  }
  const effect = 'turns with complete words are decided without it: use a smaller model or a faster host'
  log.warn({ ms, atMostMs: TURN_DETECTOR_SLOW_MS, effect }, 'turn_model.slow')
}

interface Waiting {
  readonly question: TurnDetectorRequest
  readonly atMs: number
  readonly stream: RingStream
}

/** A turn detector of ONNX format in a thread of its own. */
export class OnnxTurnDetector implements TurnDetector {
  readonly #thread: ModelThread<TurnDetectorReady, TurnDetectorRequest, TurnDetectorResult>
  readonly #clock: Clock
  readonly #log: Log
  readonly #waiting: Waiting[] = []
  #running: Waiting | null = null
  #next = 1
  #asked = 0
  #answered = 0
  #late = 0
  #refused = 0

  constructor(options: OnnxModelOptions) {
    this.#clock = options.clock
    this.#log = options.log
    this.#thread = new ModelThread(options, {
      name: 'turn model',
      setting: 'PARLEY_TURN_MODEL',
      withoutModel: 'the words alone decide',
      onAnswer: (answer) => this.#answerReceived(answer),
      onLost: () => {
        this.#late += this.#waiting.length + (this.#running === null ? 0 : 1)
        this.#waiting.length = 0
        this.#running = null
      },
    })
  }

  async start(): Promise<void> {
    const ready = await this.#thread.start()
    if (ready !== null) reportSpeed(ready.ms, this.#log)
  }

  open(rate: SessionRate): TurnDetectorStream {
    const stream: RingStream = new RingStream(rate, {
      number: () => this.#next++,
      ask: (question) => this.#ask(stream, question),
    })
    return stream
  }

  stats(): TurnDetectorStats {
    return {
      asked: this.#asked,
      answered: this.#answered,
      late: this.#late,
      refused: this.#refused,
      restarts: this.#thread.restarts,
    }
  }

  /** Ends the thread. Idempotent. */
  close(): Promise<void> {
    return this.#thread.close()
  }

  #ask(stream: RingStream, question: TurnDetectorRequest): void {
    this.#asked++
    if (!this.#thread.running || this.#waiting.length === MAX_WAITING) {
      this.#refused++
      return
    }
    this.#waiting.push({ question, atMs: this.#clock.now(), stream })
    this.#send()
  }

  #send(): void {
    while (this.#thread.free) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      if (!next.stream.isPending(next.question.id)) {
        this.#missed(next)
        continue
      }
      this.#running = next
      this.#thread.ask(next.question)
    }
  }

  #answerReceived({ id, probability }: TurnDetectorResult): void {
    const running = this.#running
    this.#running = null
    if (running !== null && running.question.id === id) {
      if (!running.stream.isPending(id)) this.#missed(running)
      else {
        this.#answered++
        running.stream.answered(probability)
      }
    }
    this.#send()
  }

  /** Counts a result that arrived after the caller gave up. The first one is logged; the metrics count them all. */
  #missed({ atMs }: Waiting): void {
    if (this.#late++ === 0) this.#log.warn({ ms: Math.round(this.#clock.now() - atMs) }, 'turn_model.late')
  }
}

interface Questions {
  number(): number
  ask(question: TurnDetectorRequest): void
}

/** The latest audio of one party in memory shared with the thread, and its one pending question. */
class RingStream implements TurnDetectorStream {
  readonly rate: SessionRate
  readonly #questions: Questions
  readonly #ring: Int16Array
  #end = 0
  #filled = 0
  #asked = 0
  #answered: ((likely: number) => void) | null = null
  #closed = false

  constructor(rate: SessionRate, questions: Questions) {
    this.rate = rate
    this.#questions = questions
    const samples = (rate / 1000) * RING_MS
    this.#ring = new Int16Array(new SharedArrayBuffer(samples * Int16Array.BYTES_PER_ELEMENT))
  }

  push(pcm: Int16Array): void {
    const ring = this.#ring
    let end = this.#end
    for (let i = 0; i < pcm.length; i++) {
      ring[end++] = pcm[i] as number
      if (end === ring.length) end = 0
    }
    this.#end = end
    this.#filled = Math.min(ring.length, this.#filled + pcm.length)
  }

  ask(ms: number, answered: (likely: number) => void): void {
    if (this.#closed) return
    const wanted = Math.floor((Math.min(ms, TURN_DETECTOR_MS) * this.rate) / 1000)
    const samples = Math.max(0, Math.min(wanted, this.#filled))
    const id = this.#questions.number()
    this.#answered = answered
    this.#asked = id
    this.#questions.ask({ id, rate: this.rate, ring: this.#ring, end: this.#end, samples })
  }

  withdraw(): void {
    this.#answered = null
  }

  /** Returns whether the question is still pending. */
  isPending(id: number): boolean {
    return !this.#closed && id === this.#asked && this.#answered !== null
  }

  answered(likely: number): void {
    const answered = this.#answered
    this.#answered = null
    answered?.(likely)
  }

  close(): void {
    this.#closed = true
    this.#answered = null
  }
}
