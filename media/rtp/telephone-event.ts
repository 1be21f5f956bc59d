import { type Digit, type DtmfTiming, FRAME_MS } from '../base/frame.js'
import { timestampDelta } from './receive/sequence.js'

/*
 * RFC 4733, section 2.3:
 *
 *    0                   1                   2                   3
 *    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *   |     event     |E|R| volume    |          duration             |
 *   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */

export const DTMF_PAYLOAD_BYTES = 4

const DIGITS: readonly Digit[] = [
  '0',
  '1',
  '2',
  '3',
  '4',
  '5',
  '6',
  '7',
  '8',
  '9',
  '*',
  '#',
  'A',
  'B',
  'C',
  'D',
]
const END = 0x80
/** An event whose end packets were lost ends after this silence (ms). */
const SILENCE_MS = 200
/**
 * A key that another source goes on with this soon (ms) after its end is the same key: Asterisk sends it from the
 * beginning when a hold ends its direct bridge. No person presses it again within that time.
 */
const HANDOVER_MS = 200
/** An event that fills the duration field continues as a new event directly behind it (section 2.5.1.3). */
const MAX_DURATION = 0xffff

/** Receives digits in telephone-event packets, each once, in spite of loss, duplicates and reordering. */
export class DtmfReceiver {
  readonly #onDigit: (digit: Digit, durationMs: number) => void
  #active = false
  #event = 0
  #timestamp = 0
  #duration = 0
  #perMs = 8
  /** Duration of the earlier segments of a long event. */
  #earlierSegments = 0
  #lastMs = 0
  /** Timestamp of the last reported event. This event and all earlier ones are over. */
  #lastTimestamp = 0
  #hasEmitted = false
  /** The last event of the source before; -1 without one, or once its time is over. */
  #formerEvent = -1
  /** The event goes on with one of the source before, which was reported. */
  #isHandedOver = false

  constructor(onDigit: (digit: Digit, durationMs: number) => void) {
    this.#onDigit = onDigit
  }

  /**
   * Takes a telephone-event payload with a duration in ticks of `clockRate`. Returns false when it is
   * malformed, or not a DTMF digit (events above 15).
   */
  packet(
    data: Uint8Array,
    offset: number,
    length: number,
    timestamp: number,
    nowMs: number,
    clockRate = 8000,
  ): boolean {
    if (length < DTMF_PAYLOAD_BYTES) return false
    const event = data[offset] as number
    if (event > 15) return false
    const ended = ((data[offset + 1] as number) & END) !== 0
    const duration = ((data[offset + 2] as number) << 8) | (data[offset + 3] as number)
    if (this.#hasEmitted && timestampDelta(timestamp, this.#lastTimestamp) <= 0) return true
    if (this.#active && timestamp !== this.#timestamp) {
      // The timestamp identifies an event, not the marker bit, because the marked packet may be lost.
      if (timestampDelta(timestamp, this.#timestamp) < 0) return true
      if (this.#continues(event, timestamp)) {
        this.#earlierSegments += MAX_DURATION
        this.#timestamp = timestamp
        this.#duration = 0
      } else {
        this.#emitDigit()
      }
    }
    if (!this.#active) {
      this.#active = true
      this.#isHandedOver = event === this.#formerEvent && nowMs - this.#lastMs < HANDOVER_MS
      this.#formerEvent = -1
      this.#event = event
      this.#timestamp = timestamp
      this.#duration = 0
      this.#earlierSegments = 0
    }
    this.#lastMs = nowMs
    this.#perMs = clockRate / 1000
    if (duration > this.#duration) this.#duration = duration
    if (ended) this.#emitDigit()
    return true
  }

  /** Ends an event whose end packets were lost. Call it on every tick. */
  tick(nowMs: number): void {
    if (this.#active && nowMs - this.#lastMs >= SILENCE_MS) this.#emitDigit()
  }

  /** Begins a new stream, whose timestamps are unrelated to the old ones. */
  restart(): void {
    if (this.#active) this.#emitDigit()
    if (this.#hasEmitted) this.#formerEvent = this.#event
    this.#hasEmitted = false
  }

  #continues(event: number, timestamp: number): boolean {
    return (
      event === this.#event &&
      this.#duration > 0x8000 &&
      timestampDelta(timestamp, this.#timestamp) === MAX_DURATION
    )
  }

  #emitDigit(): void {
    this.#active = false
    this.#hasEmitted = true
    this.#lastTimestamp = this.#timestamp
    if (this.#isHandedOver) return
    this.#onDigit(
      DIGITS[this.#event] as Digit,
      Math.round((this.#earlierSegments + this.#duration) / this.#perMs),
    )
  }
}

/** One packet of a digit. `payload` belongs to the sender until the next call of `next`. */
export interface DtmfPacket {
  readonly payload: Uint8Array
  /** Set only on the first packet of an event, whose timestamp is used for the whole event. */
  readonly marker: boolean
}

/**
 * Well above the 40 ms of ITU-T Q.24, for slow receivers, and short enough to enter an extension. The end
 * packet and its two repetitions (section 2.5.1.4) are sent during the pause.
 */
export const DTMF_TIMING: DtmfTiming = { toneMs: 160, gapMs: 160 }
const END_FRAMES = 3
/** Limits (ms) of a digit that is passed on: 40 ms of ITU-T Q.24, and what the duration field holds at every clock rate. */
const RELAY_MS = { min: 2 * FRAME_MS, max: 1_000 }
const MAX_QUEUED = 64
/** -10 dBm0, the usual level. */
const VOLUME = 10

/** Returns the timing of a digit that another leg held for `durationMs`, with the shortest pause behind it. */
export function relayTiming(durationMs: number): DtmfTiming {
  const toneMs = Math.round(durationMs / FRAME_MS) * FRAME_MS
  return {
    toneMs: Math.min(Math.max(toneMs, RELAY_MS.min), RELAY_MS.max),
    gapMs: END_FRAMES * FRAME_MS,
  }
}

/** Sends queued digits, one packet per tick instead of audio. */
export class DtmfSender {
  readonly #queue = new Uint8Array(MAX_QUEUED)
  /** Tone and pause of each queued digit (frames). */
  readonly #tones = new Uint8Array(MAX_QUEUED)
  readonly #gaps = new Uint8Array(MAX_QUEUED)
  readonly #packet = { payload: new Uint8Array(DTMF_PAYLOAD_BYTES), marker: false }
  #size = 0
  #read = 0
  /** Frames since the start of the current digit; -1 without one. */
  #frame = -1

  /** Queues digits. Returns false, and queues none, when they do not all fit. */
  press(digits: readonly Digit[], { toneMs, gapMs } = DTMF_TIMING): boolean {
    if (this.#size + digits.length > MAX_QUEUED) return false
    for (const digit of digits) {
      const at = (this.#read + this.#size) % MAX_QUEUED
      this.#queue[at] = DIGITS.indexOf(digit)
      this.#tones[at] = toneMs / FRAME_MS
      this.#gaps[at] = gapMs / FRAME_MS
      this.#size++
    }
    return true
  }

  get busy(): boolean {
    return this.#frame >= 0 || this.#size > 0
  }

  /** Returns the packet to send on this tick instead of audio, or null when no digit is being sent. */
  next(clockRate = 8000): DtmfPacket | null {
    if (this.#frame === -1) {
      if (this.#size === 0) return null
      this.#frame = 0
    }
    const frame = this.#frame++
    const at = this.#read
    const tone = this.#tones[at] as number
    if (frame === tone + (this.#gaps[at] as number) - 1) {
      this.#frame = -1
      this.#read = (at + 1) % MAX_QUEUED
      this.#size--
    }
    if (frame >= tone + END_FRAMES) return null
    const ended = frame >= tone
    const duration = Math.min(frame + 1, tone) * (clockRate / 1000) * FRAME_MS
    const payload = this.#packet.payload
    payload[0] = this.#queue[at] as number
    payload[1] = (ended ? END : 0) | VOLUME
    payload[2] = duration >> 8
    payload[3] = duration & 0xff
    this.#packet.marker = frame === 0
    return this.#packet
  }
}
