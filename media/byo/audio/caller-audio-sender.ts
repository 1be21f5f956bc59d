import { type AudioFrame, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import type { Dialect } from '../dialects/dialect.js'
import type { BotConnection } from '../transport/bot-connection.js'
import { type AudioFormat, encodeAudio } from './audio-format.js'

/** Sound on its way to the bot: some in the socket, the rest here, where the oldest can be dropped. */
const SOCKET_MS = 250
const HELD_MS = 750
/** Of a message beside its payload. */
const ENVELOPE_BYTES = 200

/**
 * Says to the bot what the caller says: encodes frames and makes messages of them. A bot that does not
 * read loses the oldest of the last second.
 */
export class CallerAudioSender {
  /** Sound the bot never got. */
  droppedMs = 0
  readonly #dialect: Dialect
  readonly #sound: AudioFormat
  readonly #resampler: Resampler | null
  readonly #messageBytes: number
  readonly #messageMs: number
  /** Most bytes in the socket. */
  readonly #limit: number
  /** Bytes before the sound of a message. */
  readonly #head: number
  readonly #message: Buffer
  readonly #held: Buffer[]
  #heldFrom = 0
  #heldCount = 0
  #heldAtMs = 0
  #filled = 0
  /** Where the message being filled begins, since the start of the stream. */
  #atMs = 0

  constructor(dialect: Dialect, sound: AudioFormat, rate: SessionRate) {
    this.#dialect = dialect
    this.#sound = sound
    this.#resampler = sound.rate === rate ? null : openResampler(rate, sound.rate as 8000 | 16000 | 24000)
    this.#messageMs = FRAME_MS * dialect.framesPerMessage
    this.#messageBytes = sound.frameBytes * dialect.framesPerMessage
    const { audioHeader: soundHead } = dialect
    this.#head = soundHead?.length ?? 0
    this.#message = Buffer.alloc(this.#head + this.#messageBytes)
    soundHead?.copy(this.#message)
    const wireBytes = soundHead === null ? (this.#messageBytes * 4) / 3 : this.#messageBytes
    this.#limit = Math.ceil(((wireBytes + ENVELOPE_BYTES) * SOCKET_MS) / this.#messageMs)
    this.#held = Array.from({ length: Math.ceil(HELD_MS / this.#messageMs) }, () => Buffer.alloc(0))
  }

  /** Sound handed to the bot so far, dropped or not. */
  get acceptedMs(): number {
    return this.#atMs
  }

  send(frame: AudioFrame, line: BotConnection): void {
    const pcm = this.#resampler === null ? frame.pcm : this.#resampler.process(frame.pcm)
    this.#filled += encodeAudio(this.#sound.encoding, pcm, this.#message, this.#head + this.#filled)
    if (this.#filled < this.#messageBytes) return
    this.#filled = 0
    if (this.#heldCount > 0) this.#release(line)
    if (this.#heldCount > 0 || line.bufferedBytes > this.#limit) this.#hold()
    else this.#send(this.#message, this.#atMs, line)
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

  #release(line: BotConnection): void {
    while (this.#heldCount > 0 && line.bufferedBytes <= this.#limit) {
      this.#send(this.#held[this.#heldFrom] as Buffer, this.#heldAtMs, line)
      this.#heldFrom = (this.#heldFrom + 1) % this.#held.length
      this.#heldCount--
      this.#heldAtMs += this.#messageMs
    }
  }

  #send(bytes: Buffer, atMs: number, line: BotConnection): void {
    const { audioHeader: soundHead } = this.#dialect
    line.send(soundHead === null ? this.#dialect.media(bytes.toString('base64'), atMs) : bytes)
  }
}
