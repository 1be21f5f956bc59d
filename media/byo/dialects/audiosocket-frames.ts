/*
 * Frames of Asterisk's AudioSocket in a byte stream: a kind (8 bits), the length of the payload (16 bits,
 * big-endian) and the payload. https://docs.asterisk.org/Configuration/Channel-Drivers/AudioSocket/
 */

export const HANG_UP = 0x00
/** First frame of the Asterisk side; the payload is 16 bytes. */
export const UUID = 0x01
/** The payload is one ASCII character. */
export const DTMF = 0x03
/** The payload may be an error code. */
export const ERROR = 0xff

const HEAD = 3

/**
 * Frame kinds of linear16 audio and their rates (Hz). Only the first is known to old versions of Asterisk.
 */
const SOUNDS: readonly (readonly [number, number])[] = [
  [0x10, 8_000],
  [0x11, 12_000],
  [0x12, 16_000],
  [0x13, 24_000],
  [0x14, 32_000],
  [0x15, 44_100],
  [0x16, 48_000],
  [0x17, 96_000],
  [0x18, 192_000],
]

/** Returns the rate (Hz) of an audio frame, or null for any other kind. */
export function audioRateOf(kind: number): number | null {
  return SOUNDS.find(([sound]) => sound === kind)?.[1] ?? null
}

/**
 * Returns the frame header before `bytes` bytes of audio. Throws TypeError for a rate without a frame kind.
 */
export function audioHeader(rate: number, bytes: number): Buffer {
  const kind = SOUNDS.find(([, hz]) => hz === rate)?.[0]
  if (kind === undefined) throw new TypeError(`no frames of ${rate} Hz`)
  return head(kind, bytes)
}

export function encodeFrame(kind: number, payload: Uint8Array): Buffer {
  return Buffer.concat([head(kind, payload.length), payload])
}

export function kindOf(frame: Buffer): number {
  return frame[0] as number
}

export function payloadOf(frame: Buffer): Buffer {
  return frame.subarray(HEAD)
}

function head(kind: number, bytes: number): Buffer {
  return Buffer.of(kind, bytes >> 8, bytes & 0xff)
}

/**
 * Splits a byte stream into frames, however it was fragmented. Buffers at most one frame, which its length
 * field bounds to 64 KiB. The receiver owns the frames.
 */
export class FrameSplitter {
  readonly #head = Buffer.alloc(HEAD)
  #headFilled = 0
  /** An incomplete frame. */
  #frame: Buffer | null = null
  #filled = 0

  /** Returns the number of complete frames. */
  split(chunk: Buffer, deliver: (frame: Buffer) => void): number {
    let frames = 0
    let at = 0
    while (at < chunk.length) {
      if (this.#frame === null) {
        if (this.#headFilled === 0 && chunk.length - at >= HEAD) {
          const end = at + HEAD + chunk.readUInt16BE(at + 1)
          if (end <= chunk.length) {
            deliver(chunk.subarray(at, end))
            frames++
            at = end
            continue
          }
        }
        const taken = chunk.copy(this.#head, this.#headFilled, at, at + HEAD - this.#headFilled)
        this.#headFilled += taken
        at += taken
        if (this.#headFilled < HEAD) break
        this.#headFilled = 0
        this.#frame = Buffer.alloc(HEAD + this.#head.readUInt16BE(1))
        this.#filled = this.#head.copy(this.#frame)
      }
      const taken = chunk.copy(this.#frame, this.#filled, at)
      this.#filled += taken
      at += taken
      if (this.#filled < this.#frame.length) break
      const whole = this.#frame
      this.#frame = null
      deliver(whole)
      frames++
    }
    return frames
  }
}
