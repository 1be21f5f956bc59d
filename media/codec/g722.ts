import { type Codec, type Decoder, type Encoder, PTIMES } from './codec.js'
import { G722Band, HIGH_BAND, LOW_BAND, saturate } from './g722-band.js'

/*
 * ITU-T G.722 at 64 kbit/s: two sub-bands sampled at 8 kHz, with six bits for the lower and two for the upper
 * one in every byte. Bit-exact integer arithmetic of the Recommendation.
 */

const RATE = 16000
/** Coefficients of the quadrature mirror filters. They are symmetric, so half of them are stored. */
const QMF = new Int32Array([3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11])
const TAPS = 24
/** 120 ms. */
const MAX_SAMPLES = 1920

/**
 * Decision levels of the lower band's 6-bit quantizer from the second one on. A value above the last level
 * has the last code.
 */
const LEVELS = new Int32Array([
  35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121, 1219,
  1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919,
])
/** Output values of the lower band for the 6-bit codes 0 to 63. */
const LOW6 = new Int32Array([
  -136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360,
  -8576, -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688,
  -1360, -1040, -728, 24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192,
  6576, 6000, 5456, 4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432,
  -136,
])
/** Output values for its four upper bits, which adapt the predictor. */
const LOW4 = new Int32Array([
  0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0,
])
const HIGH = new Int32Array([-7408, -1616, 7408, 1616])
/** Decision level of the upper band. */
const HIGH_LEVEL = 564

class G722Encoder implements Encoder {
  readonly rate = RATE
  readonly #low = new G722Band(LOW_BAND)
  readonly #high = new G722Band(HIGH_BAND)
  /** The last samples of the previous packet, then this packet. */
  readonly #delayLine = new Int32Array(TAPS - 2 + MAX_SAMPLES)

  encode(pcm: Int16Array, into: Uint8Array, offset: number): number {
    const delayLine = this.#delayLine
    const bytes = pcm.length >> 1
    delayLine.set(pcm, TAPS - 2)
    for (let i = 0; i < bytes; i++) {
      let odd = 0
      let even = 0
      let at = i * 2
      for (let k = 0; k < 12; k++) {
        odd = (odd + Math.imul(delayLine[at] as number, QMF[k] as number)) | 0
        even = (even + Math.imul(delayLine[at + 1] as number, QMF[11 - k] as number)) | 0
        at += 2
      }
      const low = lowCode(this.#low, (even + odd) >> 14)
      const high = highCode(this.#high, (even - odd) >> 14)
      into[offset + i] = (high << 6) | low
    }
    delayLine.copyWithin(0, bytes * 2, bytes * 2 + TAPS - 2)
    return bytes
  }
}

class G722Decoder implements Decoder {
  readonly rate = RATE
  readonly #low = new G722Band(LOW_BAND)
  readonly #high = new G722Band(HIGH_BAND)
  readonly #delayLine = new Int32Array(TAPS - 2 + MAX_SAMPLES)

  decode(data: Uint8Array, offset: number, length: number, into: Int16Array): number {
    const delayLine = this.#delayLine
    const bytes = Math.min(length, into.length >> 1, MAX_SAMPLES / 2)
    for (let i = 0; i < bytes; i++) {
      const code = data[offset + i] as number
      const low = half(this.#low.predicted + ((this.#low.step * (LOW6[code & 63] as number)) >> 15))
      const four = (code & 63) >> 2
      this.#low.adapt(four, (this.#low.step * (LOW4[four] as number)) >> 15)
      const two = code >> 6
      const difference = (this.#high.step * (HIGH[two] as number)) >> 15
      const high = half(this.#high.predicted + difference)
      this.#high.adapt(two, difference)
      const newest = TAPS - 2 + i * 2
      delayLine[newest] = low + high
      delayLine[newest + 1] = low - high
      let first = 0
      let second = 0
      let at = i * 2
      for (let k = 0; k < 12; k++) {
        second = (second + Math.imul(delayLine[at] as number, QMF[k] as number)) | 0
        first = (first + Math.imul(delayLine[at + 1] as number, QMF[11 - k] as number)) | 0
        at += 2
      }
      into[i * 2] = saturate(first >> 11)
      into[i * 2 + 1] = saturate(second >> 11)
    }
    delayLine.copyWithin(0, bytes * 2, bytes * 2 + TAPS - 2)
    return bytes * 2
  }
}

/** Quantizes a sample of the lower band (SUBTRA, QUANTL) and adapts the band. */
function lowCode(band: G722Band, sample: number): number {
  const error = saturate(sample - band.predicted)
  const size = error >= 0 ? error : -(error + 1)
  const { step } = band
  // A binary search finds the first level above the error.
  let level = 0
  let end = LEVELS.length
  while (level < end) {
    const middle = (level + end) >> 1
    if (size >= Math.imul(LEVELS[middle] as number, step) >> 12) level = middle + 1
    else end = middle
  }
  // Codes of both signs count down from the quietest. The two quietest negative codes are an exception.
  const code = error >= 0 ? 61 - level : level < 2 ? 63 - level : 33 - level
  const four = code >> 2
  band.adapt(four, Math.imul(step, LOW4[four] as number) >> 15)
  return code
}

/** Quantizes a sample of the upper band (SUBTRA, QUANTH) and adapts the band. */
function highCode(band: G722Band, sample: number): number {
  const error = saturate(sample - band.predicted)
  const size = error >= 0 ? error : -(error + 1)
  const loud = size >= (HIGH_LEVEL * band.step) >> 12
  const code = (error >= 0 ? 2 : 0) + (loud ? 0 : 1)
  band.adapt(code, Math.imul(band.step, HIGH[code] as number) >> 15)
  return code
}

/** Saturates to 15 bits (LIMIT). */
function half(value: number): number {
  return Math.max(-16384, Math.min(16383, value))
}

/**
 * G.722 in RTP. Its RTP clock is 8000 although it samples at 16 kHz, by a historical error (RFC 3551 section
 * 4.5.2).
 */
export const g722: Codec = {
  name: 'G722',
  encoding: 'G722',
  clockRate: 8000,
  channels: 1,
  staticPayloadType: 9,
  offeredPayloadType: 9,
  wideband: true,
  statefulDecoder: true,
  ptimes: PTIMES,
  fmtp: null,
  maxBytes: (ptime) => ptime * 8,
  openEncoder: () => new G722Encoder(),
  openDecoder: () => new G722Decoder(),
  // In RTP the bit rate is always 64 kbit/s.
  readFmtp: () => ({}),
}
