import type { WebSocket } from 'ws'
import { systemClock } from '../../media/base/clock.js'
import type { Ledger } from './ledger.js'

/** Delay of the vendor's own endpointing for an utterance without a flush (ms). */
const OWN_END_MS = 600

/**
 * The legacy recognition socket of Sarvam: audio arrives as base64 in JSON and is ignored; a flush returns
 * the final text.
 */
export class Recognition {
  readonly #ledger: Ledger
  #fixed: string | null = null
  /** Broken connections that will be reopened with audio that is never flushed. */
  #broken = 0

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  setTranscript(text: string | null): void {
    this.#fixed = text
  }

  accept(socket: WebSocket): void {
    let last: number | null = null
    let unflushed = this.#broken > 0
    if (unflushed) this.#broken--
    const answer = (delayMs: number): void => {
      const number = this.#ledger.flushed(systemClock.now())
      const from = this.#ledger.callerOf(last)
      last = number
      const fault = this.#ledger.faultOf(from, number)
      if (from !== null && fault === 'stt_silent') {
        this.#ledger.recordFault(from, fault)
        return
      }
      if (from !== null && fault === 'stt_dies' && delayMs !== OWN_END_MS) {
        this.#ledger.recordFault(from, fault)
        this.#broken++
        socket.terminate()
        return
      }
      this.#later(delayMs, () => {
        this.#ledger.note(number, { finalMs: systemClock.now() })
        const text = this.#fixed ?? `Please tell me more about offer ${number} today.`
        socket.send(finalText(text))
      })
    }
    socket.on('message', (data: Buffer) => {
      // Thousands of audio messages per second: only the other ones are parsed.
      if (data.length > 200) {
        if (!unflushed) return
        unflushed = false
        answer(OWN_END_MS)
      } else if (data.includes('"flush"')) answer(this.#ledger.options.profile.transcriptionMs)
    })
    socket.on('error', () => {})
  }

  #later(ms: number, run: () => void): void {
    if (ms === 0) run()
    else systemClock.after(ms, run)
  }
}

function finalText(text: string): string {
  return `{"type":"data","data":{"request_id":"r1","transcript":${JSON.stringify(text)},"language_code":"en-IN","language_probability":null,"timestamps":null,"diarized_transcript":null,"metrics":{"audio_duration":1.9,"processing_latency":0.21}}}`
}
