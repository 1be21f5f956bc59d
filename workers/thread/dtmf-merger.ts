import type { Clock, Timer } from '../../media/base/clock.js'
import type { Digit } from '../../media/base/frame.js'

/**
 * How long (ms) a digit from INFO or tones waits for its RTP event when telephone-event is negotiated. Longer
 * than a key is held: a peer may send INFO at its start, RTP reports its end.
 */
export const DUPLICATE_WAIT_MS = 600
const MAX_TONE_DIGITS = 16

/** Source of a digit: a SIP INFO, or a tone in the audio. */
export type DigitSource = 'info' | 'tone'

type Deliver = (digit: Digit, durationMs: number, source: DigitSource) => void

interface Waiting {
  readonly digit: Digit
  readonly source: DigitSource
  readonly timer: Timer
}

/**
 * Merges the DTMF digits of a leg from RTP events (RFC 4733), SIP INFO and in-band tones. Some peers send
 * each digit in several of these ways; it counts once. A better source (RTP before INFO before tones)
 * disables the worse ones from then on.
 */
export class DtmfMerger {
  readonly #clock: Clock
  readonly #deliver: Deliver
  readonly #waiting = new Set<Waiting>()
  /** Digits delivered from tones, in case an INFO follows. */
  readonly #toneDigits: { readonly digit: Digit; readonly atMs: number }[] = []
  #best: 'tone' | 'info' | 'rtp' = 'tone'

  constructor(clock: Clock, deliver: Deliver) {
    this.#clock = clock
    this.#deliver = deliver
  }

  /** True while tone detection is useful. */
  get acceptsTones(): boolean {
    return this.#best === 'tone'
  }

  /**
   * Takes a digit from INFO. `negotiated`: telephone-event is part of the session, so an RTP event may
   * follow.
   */
  onInfo(digit: Digit, durationMs: number, negotiated: boolean): void {
    if (this.#best === 'rtp') return
    this.#best = 'info'
    for (const waiting of this.#waiting) if (waiting.source === 'tone') this.#forget(waiting)
    const now = this.#clock.now()
    const twin = this.#toneDigits.findIndex(
      (tone) => tone.digit === digit && now - tone.atMs <= DUPLICATE_WAIT_MS,
    )
    if (twin !== -1) this.#toneDigits.splice(0, twin + 1)
    else this.#take('info', digit, durationMs, negotiated)
  }

  /** Takes a digit detected in the audio. */
  onTone(digit: Digit, durationMs: number, negotiated: boolean): void {
    if (this.#best !== 'tone') return
    if (!negotiated) {
      if (this.#toneDigits.length === MAX_TONE_DIGITS) this.#toneDigits.shift()
      this.#toneDigits.push({ digit, atMs: this.#clock.now() })
    }
    this.#take('tone', digit, durationMs, negotiated)
  }

  /** Notes a delivered RTP event: waiting digits are duplicates of it or of the next one. */
  onRtpEvent(): void {
    this.#best = 'rtp'
    this.close()
  }

  close(): void {
    for (const waiting of this.#waiting) this.#forget(waiting)
    this.#toneDigits.length = 0
  }

  #take(source: DigitSource, digit: Digit, durationMs: number, negotiated: boolean): void {
    if (!negotiated) {
      this.#deliver(digit, durationMs, source)
      return
    }
    const waiting: Waiting = {
      digit,
      source,
      timer: this.#clock.after(DUPLICATE_WAIT_MS, () => {
        this.#waiting.delete(waiting)
        this.#deliver(digit, durationMs, source)
      }),
    }
    this.#waiting.add(waiting)
  }

  #forget(waiting: Waiting): void {
    waiting.timer.cancel()
    this.#waiting.delete(waiting)
  }
}
