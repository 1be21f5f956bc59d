import type { Clock, Timer } from '../../media/base/clock.js'
import type { Digit } from '../../media/base/frame.js'

/**
 * While keys may also come as RTP events, how long one that came by another way waits for its twin.
 * Longer than a key is held: a peer may tell at its beginning, RTP tells at its end.
 */
export const DUPLICATE_WAIT_MS = 600
const MAX_SOUNDS = 16

interface Waiting {
  readonly digit: Digit
  readonly by: 'info' | 'sound'
  readonly timer: Timer
}

/**
 * Keys of a leg that do not come as RTP events (RFC 4733): by SIP INFO, or as the sound of their tones.
 * Some peers send each key by several of these ways; it counts once. What came by a better way (RTP
 * before INFO before sound) makes the worse ones unheard from then on.
 */
export class DtmfMerger {
  readonly #clock: Clock
  readonly #deliver: (digit: Digit, durationMs: number) => void
  readonly #waiting = new Set<Waiting>()
  /** Keys told of by their sound, in case an INFO follows. */
  readonly #sounds: { readonly digit: Digit; readonly atMs: number }[] = []
  #best: 'sound' | 'info' | 'rtp' = 'sound'

  constructor(clock: Clock, deliver: (digit: Digit, durationMs: number) => void) {
    this.#clock = clock
    this.#deliver = deliver
  }

  /** Whether the sound of keys is worth listening for. */
  get acceptsTones(): boolean {
    return this.#best === 'sound'
  }

  /** An INFO came. `negotiated`: telephone-event is part of the session, a twin may follow. */
  onInfo(digit: Digit, durationMs: number, negotiated: boolean): void {
    if (this.#best === 'rtp') return
    this.#best = 'info'
    for (const waiting of this.#waiting) if (waiting.by === 'sound') this.#forget(waiting)
    const now = this.#clock.now()
    const twin = this.#sounds.findIndex(
      (sound) => sound.digit === digit && now - sound.atMs <= DUPLICATE_WAIT_MS,
    )
    if (twin !== -1) this.#sounds.splice(0, twin + 1)
    else this.#take('info', digit, durationMs, negotiated)
  }

  /** A key was heard as tones. */
  onTone(digit: Digit, durationMs: number, negotiated: boolean): void {
    if (this.#best !== 'sound') return
    if (!negotiated) {
      if (this.#sounds.length === MAX_SOUNDS) this.#sounds.shift()
      this.#sounds.push({ digit, atMs: this.#clock.now() })
    }
    this.#take('sound', digit, durationMs, negotiated)
  }

  /** A key came as RTP event, and was delivered: those that wait are twins of it and of the next. */
  onRtpEvent(): void {
    this.#best = 'rtp'
    this.close()
  }

  close(): void {
    for (const waiting of this.#waiting) this.#forget(waiting)
    this.#sounds.length = 0
  }

  #take(by: Waiting['by'], digit: Digit, durationMs: number, negotiated: boolean): void {
    if (!negotiated) {
      this.#deliver(digit, durationMs)
      return
    }
    const waiting: Waiting = {
      digit,
      by,
      timer: this.#clock.after(DUPLICATE_WAIT_MS, () => {
        this.#waiting.delete(waiting)
        this.#deliver(digit, durationMs)
      }),
    }
    this.#waiting.add(waiting)
  }

  #forget(waiting: Waiting): void {
    waiting.timer.cancel()
    this.#waiting.delete(waiting)
  }
}
