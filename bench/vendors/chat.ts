import type { IncomingMessage, ServerResponse } from 'node:http'
import { chatFrames, errorBody } from '../../fixtures/vendors/openai-frames.js'
import { systemClock } from '../../media/base/clock.js'
import type { Ledger } from './ledger.js'
import { RECITAL } from './vocabulary.js'

/** Chunks before the one that completes the first sentence: role and three pieces. */
const FIRST_SENTENCE = 4
const STALL_EVERY = 4

const recital = RECITAL.map((sentence, at) => (at === 0 ? sentence : ` ${sentence}`))

/** Chat completions over server-sent events: two sentences per question, the first one with a number. */
export class Chat {
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const number = lastNumber(body)
    const from = /Caller (\+\d+)/.exec(body)?.[1] ?? ''
    this.#ledger.asked(number, from)
    const fault = this.#ledger.faultOf(from, number)
    if (fault === 'llm_429' || fault === 'llm_500') {
      this.#ledger.recordFault(from, fault)
      response.writeHead(fault === 'llm_429' ? 429 : 500, { 'content-type': 'application/json' })
      response.end(errorBody('not now'))
      return
    }
    const { profile, voice } = this.#ledger.options
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    if (fault === 'llm_stalls') return this.#ledger.recordFault(from, fault)
    await pause(profile.modelMs)
    const frames = chatFrames(voice === 'words' ? recital : numbered(number))
    for (const [at, frame] of frames.entries()) {
      if (response.destroyed) return
      if (at === FIRST_SENTENCE - 1) {
        if (fault === 'llm_stops') return this.#ledger.recordFault(from, fault)
        if (fault === 'llm_dies') {
          this.#ledger.recordFault(from, fault)
          response.socket?.destroy()
          return
        }
        if (profile.stallMs > 0 && number % STALL_EVERY === 0) await pause(profile.stallMs)
      }
      response.write(frame)
      if (at === FIRST_SENTENCE) this.#ledger.note(number, { sentenceMs: systemClock.now() })
    }
    response.end()
  }
}

function numbered(number: number): readonly string[] {
  return ['Certainly', ', this is', ` offer ${number} of today.`, ' There is more', ' of it to be told.']
}

/** Returns the number after the last `offer`, or 0. */
export function lastNumber(text: string): number {
  return Number([...text.matchAll(/offer (\d+)/g)].at(-1)?.[1] ?? 0)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) resolve()
    else systemClock.after(ms, resolve)
  })
}
