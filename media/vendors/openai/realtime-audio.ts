import type { Rate, SessionRate } from '../../base/frame.js'
import { decodeUlaw, encodeUlaw } from '../../codec/g711.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import { samplesOf, viewBytes } from '../shared/pcm-bytes.js'

/**
 * Audio format of the realtime WebSocket: mu-law for narrowband calls, linear PCM at 24 kHz (the only linear
 * rate of the API) for wideband calls.
 */
export interface RealtimeAudio {
  readonly format: Readonly<Record<string, unknown>>
  /** Rate of decoded audio. */
  readonly rate: Rate
  /** Returns the audio to send, until the next call. */
  encode(pcm: Int16Array): Uint8Array
  /** Returns a decoder for one item, because a message may end in the middle of a sample. */
  decoder(): (bytes: Uint8Array) => Int16Array
}

export function openRealtimeAudio(rate: SessionRate): RealtimeAudio {
  return rate === 8000 ? new Ulaw() : new Linear(rate)
}

class Ulaw implements RealtimeAudio {
  readonly format = { type: 'audio/pcmu' }
  readonly rate = 8000
  #bytes = Buffer.alloc(0)

  encode(pcm: Int16Array): Uint8Array {
    if (this.#bytes.length !== pcm.length) this.#bytes = Buffer.alloc(pcm.length)
    encodeUlaw(pcm, 0, pcm.length, this.#bytes, 0)
    return this.#bytes
  }

  decoder(): (bytes: Uint8Array) => Int16Array {
    return (bytes) => {
      const pcm = new Int16Array(bytes.length)
      decodeUlaw(bytes, 0, bytes.length, pcm, 0)
      return pcm
    }
  }
}

class Linear implements RealtimeAudio {
  readonly format = { type: 'audio/pcm', rate: 24_000 }
  readonly rate = 24_000
  readonly #up: Resampler

  constructor(rate: SessionRate) {
    this.#up = openResampler(rate, 24_000)
  }

  encode(pcm: Int16Array): Uint8Array {
    return viewBytes(this.#up.process(pcm))
  }

  decoder(): (bytes: Uint8Array) => Int16Array {
    let rest = Buffer.alloc(0)
    return (piece) => {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      const whole = bytes.length - (bytes.length % 2)
      rest = Buffer.from(bytes.subarray(whole))
      return samplesOf(bytes.subarray(0, whole))
    }
  }
}
