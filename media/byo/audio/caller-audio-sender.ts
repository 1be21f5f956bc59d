import { type AudioFrame, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import type { WireFormat } from '../dialects/wire-format.js'
import type { BotConnection } from '../transport/bot-connection.js'
import { type AudioFormat, encodeAudio } from './audio-format.js'

/**
 * Audio on its way to the bot (ms): some in the socket's buffer, the rest held here, where the oldest can be
 * dropped.
 */
const SOCKET_MS = 250
const HELD_MS = 750
/** Bytes of a message besides its payload, estimated. */
const ENVELOPE_BYTES = 200

/**
 * Encodes the caller's frames and sends them to the bot as messages. A bot that stops reading loses the
 * oldest part of the last second.
 */
export class CallerAudioSender {
  /** Audio dropped because the bot did not read (ms). */
  droppedMs = 0
  readonly #wireFormat: WireFormat
  readonly #format: AudioFormat
  readonly #resampler: Resampler | null
  readonly #messageBytes: number
  readonly #messageMs: number
  /** Largest number of bytes to keep in the socket's buffer. */
  readonly #limit: number
  /** Length of the header before the audio of a message (bytes). */
  readonly #headerBytes: number
  readonly #message: Buffer
  readonly #held: Buffer[]
  #heldFrom = 0
  #heldCount = 0
  #heldAtMs = 0
  #filled = 0
  /** Start of the message being filled, relative to the start of the stream (ms). */
  #atMs = 0

  constructor(wireFormat: WireFormat, format: AudioFormat, rate: SessionRate) {
    this.#wireFormat = wireFormat
    this.#format = format
    this.#resampler = format.rate === rate ? null : openResampler(rate, format.rate as 8000 | 16000 | 24000)
    this.#messageMs = FRAME_MS * wireFormat.framesPerMessage
    this.#messageBytes = format.frameBytes * wireFormat.framesPerMessage
    const { audioHeader } = wireFormat
    this.#headerBytes = audioHeader?.length ?? 0
    this.#message = Buffer.alloc(this.#headerBytes + this.#messageBytes)
    audioHeader?.copy(this.#message)
    const wireBytes = audioHeader === null ? (this.#messageBytes * 4) / 3 : this.#messageBytes
    this.#limit = Math.ceil(((wireBytes + ENVELOPE_BYTES) * SOCKET_MS) / this.#messageMs)
    this.#held = Array.from({ length: Math.ceil(HELD_MS / this.#messageMs) }, () => Buffer.alloc(0))
  }

  /** Audio accepted so far (ms), dropped audio included. */
  get acceptedMs(): number {
    return this.#atMs
  }

  send(frame: AudioFrame, connection: BotConnection): void {
    const pcm = this.#resampler === null ? frame.pcm : this.#resampler.process(frame.pcm)
    this.#filled += encodeAudio(this.#format.encoding, pcm, this.#message, this.#headerBytes + this.#filled)
    if (this.#filled < this.#messageBytes) return
    this.#filled = 0
    if (this.#heldCount > 0) this.#release(connection)
    if (this.#heldCount > 0 || connection.bufferedBytes > this.#limit) this.#hold()
    else this.#send(this.#message, this.#atMs, connection)
    this.#atMs += this.#messageMs
  }

  #hold(): void {
    if (this.#heldCount === this.#held.length) {
      this.#heldFrom = (this.#heldFrom + 1) % this.#held.length
      this.#heldCount--
      this.#heldAtMs += this.#messageMs
      this.droppedMs += this.#messageMs
    }
    if (this.#heldCount === 0) this.#heldAtMs = this.#atMs
    this.#held[(this.#heldFrom + this.#heldCount) % this.#held.length] = Buffer.from(this.#message)
    this.#heldCount++
  }

  #release(connection: BotConnection): void {
    while (this.#heldCount > 0 && connection.bufferedBytes <= this.#limit) {
      this.#send(this.#held[this.#heldFrom] as Buffer, this.#heldAtMs, connection)
      this.#heldFrom = (this.#heldFrom + 1) % this.#held.length
      this.#heldCount--
      this.#heldAtMs += this.#messageMs
    }
  }

  #send(bytes: Buffer, atMs: number, connection: BotConnection): void {
    const { audioHeader } = this.#wireFormat
    connection.send(audioHeader === null ? this.#wireFormat.media(bytes.toString('base64'), atMs) : bytes)
  }
}
