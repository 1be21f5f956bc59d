import type { WebSocket } from 'ws'
import { systemClock } from '../../media/base/clock.js'
import { lastNumber } from './chat.js'
import type { Ledger } from './ledger.js'
import { noise, pieces, synthesiseWords, type TimedWord } from './word-tones.js'

/** A piece of 100 ms every 20 ms: synthesis is faster than real time. */
const TICK_MS = 20
/** Pieces sent before a fault in the middle. */
const BEFORE_FAULT = 6

interface Job {
  readonly socket: WebSocket
  readonly context: string
  readonly parts: readonly string[]
  at: number
  /** The message after the last piece; null: nothing is ever sent. */
  end: string | null
  readonly wrap: (piece: string) => string
}

interface Asked {
  readonly socket: WebSocket
  readonly context: string
  readonly text: string
  readonly rate: number
  /** Wraps a piece into the vendor's message. */
  readonly wrap: (piece: string) => string
  readonly times: ((words: readonly TimedWord[]) => string) | null
  readonly done: string
  readonly failure: string
  /** Faults concern the agent's own vendor; its fallback works. */
  readonly fallback: boolean
}

/** Synthesis in Cartesia's protocol (many texts per connection, word times) and in Sarvam's (neither). */
export class Speech {
  readonly #ledger: Ledger
  readonly #jobs = new Set<Job>()
  readonly #noise = new Map<number, readonly string[]>()
  #ticking = false

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  cartesia(socket: WebSocket): void {
    this.#accept(socket, (message) => {
      const context = String(message.context_id)
      if (message.cancel === true)
        return this.#stop((job) => job.socket === socket && job.context === context)
      // The end of a sentence is told without the flush that asks for it.
      if (message.flush === true) return
      const flushed = `{"type":"flush_done","context_id":"${context}","flush_id":1,"flush_done":true}`
      const done = `{"type":"done","done":true,"status_code":200,"context_id":"${context}"}`
      if (message.transcript === '') {
        const running = [...this.#jobs].find((job) => job.socket === socket && job.context === context)
        if (running === undefined) socket.send(done)
        else if (running.end === flushed) running.end = done
        return
      }
      const format = message.output_format as { sample_rate: number }
      this.#speak({
        socket,
        context,
        text: String(message.transcript),
        rate: format.sample_rate,
        wrap: (piece) =>
          `{"type":"chunk","data":"${piece}","done":false,"status_code":206,"step_time":12.3,"context_id":"${context}"}`,
        times: (words) =>
          JSON.stringify({
            type: 'timestamps',
            context_id: context,
            word_timestamps: {
              words: words.map(({ word }) => word),
              start: words.map(({ startSeconds }) => startSeconds),
              end: words.map(({ startSeconds }) => startSeconds),
            },
          }),
        done: message.continue === true ? flushed : done,
        failure: `{"type":"error","context_id":"${context}","done":true,"status_code":500,"error":"broken"}`,
        fallback: false,
      })
    })
  }

  sarvam(socket: WebSocket): void {
    let rate = 8000
    let text = ''
    this.#accept(socket, (message) => {
      const data = (message.data ?? {}) as { speech_sample_rate?: number; text?: string }
      if (message.type === 'config') rate = data.speech_sample_rate ?? rate
      else if (message.type === 'text') text += data.text ?? ''
      else if (message.type === 'flush') {
        this.#speak({
          socket,
          context: '',
          text,
          rate,
          wrap: (piece) =>
            `{"type":"audio","data":{"content_type":"audio/wav","audio":"${piece}","request_id":"r1"}}`,
          times: null,
          done: '{"type":"event","data":{"event_type":"final","message":"done","timestamp":"t"}}',
          failure: '{"type":"error","data":{"message":"broken","code":500,"details":{},"request_id":"r1"}}',
          fallback: true,
        })
        text = ''
      }
    })
  }

  #accept(socket: WebSocket, take: (message: Record<string, unknown>) => void): void {
    socket.on('message', (data: Buffer) => take(JSON.parse(data.toString('utf8'))))
    socket.on('close', () => this.#stop((job) => job.socket === socket))
    socket.on('error', () => {})
  }

  #stop(which: (job: Job) => boolean): void {
    for (const job of this.#jobs) if (which(job)) this.#jobs.delete(job)
  }

  #speak(asked: Asked): void {
    const { socket, text, rate } = asked
    const number = lastNumber(text)
    this.#ledger.note(number, { speakMs: systemClock.now() })
    const from = this.#ledger.callerOf(number)
    const fault = asked.fallback ? null : this.#ledger.faultOf(from, number)
    if (from !== null && fault?.startsWith('tts_')) this.#ledger.recordFault(from, fault)
    if (fault === 'tts_silent') return
    if (fault === 'tts_refuses') return void socket.send(asked.failure)
    const { words, parts } = this.#sound(text, rate)
    const broken = fault === 'tts_stalls' || fault === 'tts_fails'
    const job: Job = {
      socket,
      context: asked.context,
      parts: broken ? parts.slice(0, BEFORE_FAULT) : parts,
      at: 0,
      end: fault === 'tts_stalls' ? null : fault === 'tts_fails' ? asked.failure : asked.done,
      wrap: asked.wrap,
    }
    this.#jobs.add(job)
    const begin = (): void => {
      if (!this.#jobs.has(job)) return
      if (asked.times !== null && words.length > 0) socket.send(asked.times(words))
      this.#ledger.note(number, { audioMs: systemClock.now() })
      this.#send(job)
      this.#tick()
    }
    const { speechMs } = this.#ledger.options.profile
    if (speechMs === 0) begin()
    else systemClock.after(speechMs, begin)
  }

  #sound(text: string, rate: number): { words: readonly TimedWord[]; parts: readonly string[] } {
    const { voice, replySeconds } = this.#ledger.options
    if (voice === 'words') {
      const { pcm, words } = synthesiseWords(text, rate)
      // A text of other words (the opening) is a little noise.
      if (words.length > 0) return { words, parts: pieces(pcm, rate) }
    }
    // The second sentence of a reply is short: one length of speech is requested per reply.
    const seconds = voice === 'words' || /^There is more/.test(text) ? 0.4 : replySeconds
    return { words: [], parts: this.#noiseOf(seconds, rate) }
  }

  #noiseOf(seconds: number, rate: number): readonly string[] {
    const key = seconds * 100_000 + rate
    const known = this.#noise.get(key)
    if (known !== undefined) return known
    const made = pieces(noise(seconds, rate), rate)
    this.#noise.set(key, made)
    return made
  }

  /** One timer for all texts in synthesis. */
  #tick(): void {
    if (this.#ticking || this.#jobs.size === 0) return
    this.#ticking = true
    systemClock.after(TICK_MS, () => {
      this.#ticking = false
      for (const job of this.#jobs) if (job.at > 0) this.#send(job)
      this.#tick()
    })
  }

  #send(job: Job): void {
    const piece = job.parts[job.at]
    if (piece !== undefined) {
      job.socket.send(job.wrap(piece))
      job.at++
    }
    if (job.at < job.parts.length) return
    this.#jobs.delete(job)
    if (job.end !== null) job.socket.send(job.end)
  }
}
