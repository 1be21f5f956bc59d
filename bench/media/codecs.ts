import type { Rate } from '../../media/base/frame.js'
import type { Decoder, Encoder } from '../../media/codec/codec.js'
import { CODEC_NAMES, codecOf } from '../../media/codec/registry.js'
import { openResampler } from '../../media/codec/resampler.js'
import type { Measured } from '../lib/figures.js'
import { cost, speechLike } from './frame-cost.js'

const RESAMPLINGS: readonly (readonly [Rate, Rate])[] = [
  [8000, 16_000],
  [16_000, 8000],
  [8000, 24_000],
  [24_000, 8000],
  [24_000, 16_000],
  [16_000, 24_000],
  [48_000, 16_000],
]

/**
 * Measures what one 20 ms frame costs one thread: CPU time of encoding, decoding and resampling speech-like
 * audio, and the bytes of garbage.
 */
export async function measureCodecs(): Promise<Measured[]> {
  const figures: Measured[] = []
  for (const name of CODEC_NAMES) {
    const codec = codecOf(name)
    const session = codec.wideband ? 16_000 : 8000
    const encoder = codec.openEncoder({ session, ptime: 20, parameters: {} })
    const frames = speechLike(encoder.rate)
    const payloads = encoded(encoder, frames, codec.maxBytes(20))
    const into = new Uint8Array(codec.maxBytes(20))
    figures.push(
      cost(`M_encode@${name}`, frames.length, (i) => encoder.encode(frames[i] as Int16Array, into, 0)),
    )
    const decoder = codec.openDecoder(session)
    figures.push(cost(`M_decode@${name}`, payloads.length, decoding(decoder, payloads)))
  }
  for (const [from, to] of RESAMPLINGS) {
    const resampler = openResampler(from, to)
    const frames = speechLike(from)
    figures.push(
      cost(`M_resample@${from}-${to}`, frames.length, (i) => resampler.process(frames[i] as Int16Array)),
    )
  }
  return figures
}

function decoding(decoder: Decoder, payloads: readonly Uint8Array[]): (i: number) => void {
  const pcm = new Int16Array(1920)
  return (i) => {
    const payload = payloads[i] as Uint8Array
    decoder.decode(payload, 0, payload.length, pcm)
  }
}

function encoded(encoder: Encoder, frames: readonly Int16Array[], maxBytes: number): Uint8Array[] {
  const into = new Uint8Array(maxBytes)
  return frames.map((frame) => into.slice(0, encoder.encode(frame, into, 0)))
}
