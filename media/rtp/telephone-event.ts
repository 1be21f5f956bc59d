import { type Digit, type DtmfTiming, FRAME_MS } from '../base/frame.js'
import type { RtpPacket } from './packet.js'
import { timestampDelta } from './receive/sequence.js'
import { type EventPacket, type LastKey, MAX_DURATION, relationOf } from './telephone-event-key.js'

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
/** Receives digits in telephone-event packets, each once, in spite of loss, duplicates and reordering. */
export class DtmfReceiver {
  readonly #onDigit: (digit: Digit, durationMs: number) => void
  readonly #key: LastKey = {
    exists: false,
    event: 0,
    ssrc: 0,
    sequence: 0,
    timestamp: 0,
    duration: 0,
    endedBy: null,
  }
  readonly #packet: EventPacket = {
    event: 0,
    ended: false,
    marker: false,
    duration: 0,
    timestamp: 0,
    sequence: 0,
    ssrc: 0,
  }
  #perMs = 8
  /** Distance of the first and last timestamp of a key (units of the clock rate). 0 unless its timestamp moves. */
  #moved = 0
  /** Duration of the earlier segments of a long event. */
  #earlierSegments = 0
  #lastMs = 0
  /** True if the key continues one of the source before, which was reported. */
  #isHandedOver = false
  /** True if the next packet has a new numbering. */
  #isRestarted = false

  constructor(onDigit: (digit: Digit, durationMs: number) => void) {
    this.#onDigit = onDigit
  }

  /**
   * Takes the telephone-event payload of an RTP packet, with a duration in ticks of `clockRate`. Returns false when it
   * is malformed, or not a DTMF digit (events above 15).
   */
  packet(
    data: Uint8Array,
    rtp: Pick<RtpPacket, 'payloadOffset' | 'payloadLength' | 'timestamp' | 'sequence' | 'ssrc' | 'marker'>,
    nowMs: number,
    clockRate = 8000,
  ): boolean {
    const { payloadOffset: offset } = rtp
    if (rtp.payloadLength < DTMF_PAYLOAD_BYTES) return false
    const event = data[offset] as number
    if (event > 15) return false
    const packet = this.#packet
    packet.event = event
    packet.ended = ((data[offset + 1] as number) & END) !== 0
    packet.duration = ((data[offset + 2] as number) << 8) | (data[offset + 3] as number)
    packet.marker = rtp.marker
    packet.timestamp = rtp.timestamp
    packet.sequence = rtp.sequence
    packet.ssrc = rtp.ssrc
    this.#perMs = clockRate / 1000
    this.#take(packet, nowMs)
    return true
  }

  /** Ends an event whose end packets were lost. Call it on every tick. */
  tick(nowMs: number): void {
    if (this.#isHeld && nowMs - this.#lastMs >= SILENCE_MS) this.#end('silence')
  }

  /** Ends the key that is held, because the sequence numbers of the next packet begin anew. */
  restart(): void {
    if (this.#isHeld) this.#end('silence')
    this.#isRestarted = true
  }

  get #isHeld(): boolean {
    return this.#key.exists && this.#key.endedBy === null
  }

  #take(packet: EventPacket, nowMs: number): void {
    const key = this.#key
    const gapMs = nowMs - this.#lastMs
    const relation = this.#isRestarted ? 'next' : relationOf(key, packet, gapMs, this.#perMs)
    if (relation === 'old') return
    this.#lastMs = nowMs
    if (relation === 'next') {
      if (this.#isHeld) this.#end('silence')
      const isOtherSource = key.exists && (this.#isRestarted || packet.ssrc !== key.ssrc)
      this.#isHandedOver = isOtherSource && packet.event === key.event && gapMs < HANDOVER_MS
      this.#isRestarted = false
      key.exists = true
      key.event = packet.event
      key.ssrc = packet.ssrc
      key.duration = 0
      key.endedBy = null
      this.#moved = 0
      this.#earlierSegments = 0
    } else if (relation === 'segment') {
      this.#earlierSegments += MAX_DURATION
      key.duration = 0
    } else if (relation === 'same') this.#moved += timestampDelta(packet.timestamp, key.timestamp)
    key.sequence = packet.sequence
    // The timestamp of an echo does not count: the next key begins behind the key, not behind its last echo.
    if (relation !== 'echo') key.timestamp = packet.timestamp
    if (packet.duration > key.duration) key.duration = packet.duration
    if (packet.ended && key.endedBy === null) this.#end('packet')
  }

  #end(by: 'packet' | 'silence'): void {
    const key = this.#key
    key.endedBy = by
    if (this.#isHandedOver) return
    const ticks = this.#earlierSegments + Math.max(key.duration, this.#moved)
    this.#onDigit(DIGITS[key.event] as Digit, Math.round(ticks / this.#perMs))
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
