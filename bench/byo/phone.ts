import type { Socket } from 'node:dgram'
import type { SipDialog } from '../../fixtures/sip/sip-dialog.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import type { Echo } from './job.js'

/*
 * One telephone of bench/byo/caller-process.ts, as cheap as possible: silence with an occasional loud frame,
 * whose return is timed.
 */

const FRAME = 160
const PACKET = 12 + FRAME
const SILENCE = 0xd5
/** Loud frames are square waves of this many different levels, as A-law codes. */
const HEIGHTS = 32
const LOUD_CODE = 0x40
const NEVER = Number.NaN
/** A loud frame that is sent this shortly before the end of the measured time may still be on its way (ms). */
const ON_ITS_WAY_MS = 1_000

export class Phone {
  readonly echoes: Echo[] = []
  /** Difference between the spacing of neighbouring packets and that of their timestamps. */
  readonly gaps: number[] = []
  packets = 0
  lost = 0
  dialog: SipDialog | null = null
  /** Start of the measured time (ms); NaN outside of it. */
  #sinceMs = NEVER
  readonly #socket: Socket
  readonly #exact: boolean
  readonly #clock: Clock
  readonly #quiet = Buffer.alloc(PACKET, SILENCE)
  readonly #loud = Buffer.alloc(PACKET, SILENCE)
  #talking = false
  #sequence = 0
  /** When the loud frame of each level was sent; NaN after its return. */
  readonly #sentMs = new Float64Array(HEIGHTS).fill(NEVER)
  #height = 0
  #lastSequence = -1
  #lastMs = 0
  #lastTimestamp = 0
  #frames: number

  /** @param exact each loud frame is identified by its samples. */
  constructor(socket: Socket, index: number, exact: boolean, clock: Clock = systemClock) {
    this.#socket = socket
    this.#clock = clock
    this.#exact = exact
    this.#frames = index
    for (const packet of [this.#quiet, this.#loud]) {
      packet[0] = 0x80
      packet[1] = 8
      packet.writeUInt32BE(index + 1, 8)
    }
    socket.on('message', (bytes) => this.#heard(bytes))
    socket.on('error', () => {}) // the far end closes its socket when the call ends
  }

  get port(): number {
    return this.#socket.address().port
  }

  start(remote: { readonly address: string; readonly port: number }): void {
    this.#socket.connect(remote.port, remote.address, () => {
      this.#talking = true
    })
  }

  /** Begins the measured time: frames that are sent from now on count. */
  begin(): void {
    this.#sinceMs = this.#clock.now()
  }

  /** Ends the measured time. Loud frames that should have come back, and did not, are recorded as missing. */
  end(): void {
    const dueMs = this.#clock.now() - ON_ITS_WAY_MS
    for (const sentMs of this.#sentMs) if (sentMs <= dueMs) this.#record(sentMs, null)
    this.#sinceMs = NEVER
  }

  send(everyFrames: number): void {
    if (!this.#talking) return
    const loud = this.#frames++ % everyFrames === 0
    if (loud) this.#raise()
    const packet = loud ? this.#loud : this.#quiet
    this.#sequence = (this.#sequence + 1) & 0xffff
    packet.writeUInt16BE(this.#sequence, 2)
    packet.writeUInt32BE((this.#frames * FRAME) >>> 0, 4)
    if (loud) this.#sentMs[this.#height] = this.#clock.now()
    this.#socket.send(packet)
  }

  close(): void {
    this.#talking = false
    this.dialog?.bye()
    this.#socket.close()
  }

  #heard(bytes: Buffer): void {
    if (bytes.length !== PACKET) return
    const atMs = this.#clock.now()
    if (!Number.isNaN(this.#sinceMs)) this.#count(bytes, atMs)
    // The bot's resampling spreads a loud frame over two packets: one with few loud samples is its edge.
    let loud = 0
    let height = this.#height
    for (let i = 12; i < PACKET; i += 8) {
      const code = ((bytes[i] as number) ^ 0x55) & 0x7f
      if (code < LOUD_CODE) continue
      loud++
      if (this.#exact) height = (code - LOUD_CODE) % HEIGHTS
    }
    const sentMs = this.#sentMs[height] ?? NEVER
    if (loud < 5 || Number.isNaN(sentMs)) return
    this.#record(sentMs, atMs - sentMs)
    this.#sentMs[height] = NEVER
  }

  /** Records the return of a loud frame if the frame was sent in the measured time. */
  #record(sentMs: number, delayMs: number | null): void {
    if (sentMs >= this.#sinceMs) this.echoes.push({ sentMs, delayMs })
  }

  #count(bytes: Buffer, atMs: number): void {
    const sequence = bytes.readUInt16BE(2)
    const timestamp = bytes.readUInt32BE(4)
    if (this.#lastSequence >= 0) {
      this.lost += ((sequence - this.#lastSequence - 1) << 16) >> 16
      const spokenMs = ((timestamp - this.#lastTimestamp) | 0) / 8
      this.gaps.push(Math.abs(atMs - this.#lastMs - spokenMs))
    }
    this.packets++
    this.#lastSequence = sequence
    this.#lastTimestamp = timestamp
    this.#lastMs = atMs
  }

  /** Sends the next loud frame; an outstanding one of the same level is given up. */
  #raise(): void {
    this.#height = (this.#height + 1) % HEIGHTS
    const before = this.#exact ? this.#height : (this.#height + HEIGHTS - 1) % HEIGHTS
    const lostMs = this.#sentMs[before] ?? NEVER
    this.#record(lostMs, null)
    this.#sentMs[before] = NEVER
    for (let i = 0; i < FRAME; i++) {
      this.#loud[12 + i] = ((LOUD_CODE + this.#height) ^ 0x55) | (((i >> 3) & 1) << 7)
    }
  }
}
