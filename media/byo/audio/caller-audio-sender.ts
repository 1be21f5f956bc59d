import { base64Length, encodeBase64 } from '../../base/base64.js'
import { type AudioFrame, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import type { WireFormat } from '../dialects/wire-format.js'
import type { BotConnection } from '../transport/bot-connection.js'
import { type AudioFormat, encodeAudio } from './audio-format.js'

/**
 * Audio on its way to the bot (ms): some in the buffers of the sockets, the rest held here, where the oldest
 * can be dropped. A stall is noticed after UNREAD_MS and one interval of the confirmations.
 */
const SOCKET_MS = 250
const UNREAD_MS = 150
const HELD_MS = 750
/** Longest gap in the caller's frames that silence fills (ms); the time line jumps over a longer one. */
const MAX_FILL_MS = 1_000
/** Bytes of a message besides its payload, estimated. */
const ENVELOPE_BYTES = 200
/** Room for counters that grow during the call. */
const SPARE_BYTES = 32

/**
 * Encodes the caller's frames and sends them to the bot as messages. Their time line follows the positions of
 * the frames: silence fills gaps. A bot that stops reading loses all but the last second.
 */
export class CallerAudioSender {
  /** Audio dropped because the bot did not read (ms). */
  droppedMs = 0
  readonly #wireFormat: WireFormat
  readonly #format: AudioFormat
  readonly #resampler: Resampler | null
  readonly #framesPerMessage: number
  readonly #messageMs: number
  /** Largest number of bytes to keep in the socket's buffer. */
  readonly #limit: number
  /** Length of the header before the audio of a message (bytes). */
  readonly #headerBytes: number
  readonly #message: Buffer
  /** The last audio message as text. */
  #text = Buffer.alloc(0)
  readonly #held: { bytes: Buffer; atMs: number }[]
  #heldFrom = 0
  #heldCount = 0
  /** Bytes and frames of audio in the message so far. */
  #filled = 0
  #frames = 0
  /** Start of the message being filled, relative to the start of the stream (ms). */
  #atMs = 0
  /** Position (samples) at which the next frame is expected, or NaN before the first one. */
  #expected = Number.NaN
  readonly #silence: Int16Array

  constructor(wireFormat: WireFormat, format: AudioFormat, rate: SessionRate) {
    this.#wireFormat = wireFormat
    this.#format = format
    this.#resampler = format.rate === rate ? null : openResampler(rate, format.rate as 8000 | 16000 | 24000)
    this.#silence = new Int16Array(rate / 50)
    const { audioHeader, framesPerMessage, coder } = wireFormat
    this.#framesPerMessage = framesPerMessage
    this.#messageMs = FRAME_MS * framesPerMessage
    const messageBytes = (coder?.maxBytes ?? format.frameBytes) * framesPerMessage
    this.#headerBytes = audioHeader?.length ?? 0
    this.#message = Buffer.alloc(this.#headerBytes + messageBytes)
    audioHeader?.copy(this.#message)
    const wireBytes = audioHeader === null ? (messageBytes * 4) / 3 : messageBytes
    this.#limit = Math.ceil(((wireBytes + ENVELOPE_BYTES) * SOCKET_MS) / this.#messageMs)
    this.#held = Array.from({ length: Math.ceil(HELD_MS / this.#messageMs) }, () => ({
      bytes: Buffer.alloc(0),
      atMs: 0,
    }))
  }

  /** Audio accepted so far (ms), dropped audio included. */
  get acceptedMs(): number {
    return this.#atMs + this.#frames * FRAME_MS
  }

  send(frame: AudioFrame, connection: BotConnection): void {
    const { pcm, at } = frame
    const size = pcm.length
    if (Number.isNaN(this.#expected)) this.#expected = at
    if (this.#expected - at >= size && isSilent(pcm)) return
    // Gaps need not be whole frames: the rest of one adds to the next.
    const missing = Math.max(0, Math.floor((at - this.#expected) / size))
    if (missing > MAX_FILL_MS / FRAME_MS) this.#atMs += missing * FRAME_MS
    else for (let i = 0; i < missing; i++) this.#append(this.#silence, connection)
    this.#append(pcm, connection)
    this.#expected += (missing + 1) * size
  }

  #append(frame: Int16Array, connection: BotConnection): void {
    const pcm = this.#resampler === null ? frame : this.#resampler.process(frame)
    const at = this.#headerBytes + this.#filled
    const { coder } = this.#wireFormat
    this.#filled += coder
      ? coder.encode(pcm, this.#message, at)
      : encodeAudio(this.#format.encoding, pcm, this.#message, at)
    this.#frames++
    if (this.#frames < this.#framesPerMessage) return
    const message = coder ? this.#message.subarray(0, this.#headerBytes + this.#filled) : this.#message
    this.#filled = 0
    this.#frames = 0
    if (this.#heldCount > 0) this.#release(connection)
    if (this.#heldCount > 0 || this.#isBehind(connection)) this.#hold(message)
    else this.#send(message, this.#atMs, connection)
    this.#atMs += this.#messageMs
  }

  #isBehind(connection: BotConnection): boolean {
    return connection.bufferedBytes > this.#limit || connection.unreadMs > UNREAD_MS
  }

  #hold(message: Buffer): void {
    if (this.#heldCount === this.#held.length) {
      this.#heldFrom = (this.#heldFrom + 1) % this.#held.length
      this.#heldCount--
      this.droppedMs += this.#messageMs
    }
    const bytes = Buffer.from(message)
    this.#held[(this.#heldFrom + this.#heldCount) % this.#held.length] = { bytes, atMs: this.#atMs }
    this.#heldCount++
  }

  #release(connection: BotConnection): void {
    while (this.#heldCount > 0 && !this.#isBehind(connection)) {
      const held = this.#held[this.#heldFrom]
      if (held !== undefined) this.#send(held.bytes, held.atMs, connection)
      this.#heldFrom = (this.#heldFrom + 1) % this.#held.length
      this.#heldCount--
    }
  }

  #send(bytes: Buffer, atMs: number, connection: BotConnection): void {
    const format = this.#wireFormat
    if (format.mediaHead === undefined) {
      connection.send(bytes)
      return
    }
    const head = format.mediaHead(atMs)
    const { mediaTail = '' } = format
    const longest = head.length + base64Length(this.#message.length) + mediaTail.length
    if (this.#text.length < longest) this.#text = Buffer.alloc(longest + SPARE_BYTES)
    const text = this.#text
    const end = encodeBase64(bytes, text, text.write(head, 'latin1'))
    connection.send(text.subarray(0, end + text.write(mediaTail, end, 'latin1')), true)
  }
}

function isSilent(pcm: Int16Array): boolean {
  for (let i = 0; i < pcm.length; i++) if (pcm[i] !== 0) return false
  return true
}
