import t from 'tap'
import { bytesOf, ffmpeg, ffmpegInstalled, samplesOf } from '../../fixtures/audio/ffmpeg.js'
import { decodeAlaw, decodeUlaw, encodeAlaw, encodeUlaw } from './g711.js'

const codes = Uint8Array.from({ length: 256 }, (_, i) => i)
const values = Int16Array.from({ length: 65536 }, (_, i) => i - 32768)

// The expansion of ITU-T G.711 tables 1 and 2 in its own terms: segment, interval, decision values.
// Left-aligned to 16 bits: A-law has 13 significant bits (x 8), mu-law 14 (x 4).
function alawOutput(code: number): number {
  const bits = code ^ 0x55
  const segment = (bits & 0x70) / 16
  const interval = bits & 15
  const step = segment < 2 ? 2 : 2 ** segment
  const base = segment === 0 ? 0 : 32 * 2 ** (segment - 1)
  const value = (base + interval * step + step / 2) * 8
  return bits >= 128 ? value : -value
}

function ulawOutput(code: number): number {
  const bits = 255 - code
  const segment = (bits & 0x70) / 16
  const interval = bits & 15
  const value = ((33 + 2 * interval) * 2 ** segment - 33) * 4
  return bits >= 128 ? -value : value
}

t.test('every code decodes to the output value of G.711', (t) => {
  const alaw = new Int16Array(256)
  const ulaw = new Int16Array(256)
  decodeAlaw(codes, 0, 256, alaw, 0)
  decodeUlaw(codes, 0, 256, ulaw, 0)
  t.strictSame(Array.from(alaw), Array.from(codes, alawOutput))
  // -0 of code 0x7f is 0 in an integer.
  t.strictSame(
    Array.from(ulaw),
    Array.from(codes, (code) => ulawOutput(code) + 0),
  )
  t.equal(alaw[0xd5], 8)
  t.equal(ulaw[0xff], 0)
  t.equal(Math.max(...alaw), 32256)
  t.equal(Math.max(...ulaw), 32124)
  t.end()
})

t.test('every value is encoded into the interval that contains it', (t) => {
  const alaw = new Uint8Array(65536)
  const ulaw = new Uint8Array(65536)
  encodeAlaw(values, 0, 65536, alaw, 0)
  encodeUlaw(values, 0, 65536, ulaw, 0)
  let wrong = 0
  for (let i = 0; i < 65536; i++) {
    const value = values[i] as number
    const aCode = alaw[i] as number
    const uCode = ulaw[i] as number
    const aSegment = ((aCode ^ 0x55) & 0x70) / 16
    const aHalf = ((aSegment < 2 ? 2 : 2 ** aSegment) * 8) / 2
    const uSegment = ((255 - uCode) & 0x70) / 16
    const uHalf = 2 ** uSegment * 4
    const aClipped = Math.max(-32768, Math.min(32767, value))
    const uClipped = Math.max(-32636, Math.min(32635, value))
    // Decision values belong to the interval above; a negative value mirrors with one's complement.
    if (Math.abs(alawOutput(aCode) - aClipped) > aHalf) wrong++
    if (Math.abs(ulawOutput(uCode) - uClipped) > uHalf) wrong++
    if (value > 0 && (aCode ^ 0x55) < 128) wrong++
    if (value > 0 && uCode < 128) wrong++
    if (value < 0 && (aCode ^ 0x55) >= 128) wrong++
    if (value < 0 && uCode >= 128) wrong++
  }
  t.equal(wrong, 0)
  t.end()
})

t.test('re-encoding decoded audio is lossless, except for the negative zero of mu-law', (t) => {
  const pcm = new Int16Array(256)
  const again = new Uint8Array(256)
  decodeAlaw(codes, 0, 256, pcm, 0)
  encodeAlaw(pcm, 0, 256, again, 0)
  t.strictSame(again, codes)
  decodeUlaw(codes, 0, 256, pcm, 0)
  encodeUlaw(pcm, 0, 256, again, 0)
  const expected = codes.slice()
  expected[0x7f] = 0xff
  t.strictSame(again, expected)
  t.end()
})

t.test('offsets are kept on both sides', (t) => {
  const dst = new Int16Array(5).fill(99)
  decodeAlaw(Uint8Array.of(0, 0xd5, 0x55, 0), 1, 2, dst, 2)
  t.strictSame(Array.from(dst), [99, 99, 8, -8, 99])
  const out = new Uint8Array(4)
  encodeUlaw(Int16Array.of(5, 0, 32767), 1, 2, out, 1)
  t.strictSame(Array.from(out), [0, 0xff, 0x80, 0])
  t.end()
})

t.test(
  'the codes equal those of ffmpeg, except at segment borders',
  { skip: !ffmpegInstalled && 'ffmpeg is not installed' },
  async (t) => {
    const raw = (format: string) => ['-f', format, '-ar', '8000', '-ac', '1']
    const laws = [
      ['alaw', decodeAlaw, encodeAlaw],
      ['mulaw', decodeUlaw, encodeUlaw],
    ] as const
    for (const [law, decode, encode] of laws) {
      const pcm = new Int16Array(256)
      decode(codes, 0, 256, pcm, 0)
      const heard = samplesOf(await ffmpeg([...raw(law), '-i', 'pipe:0', '-f', 's16le'], codes))
      t.strictSame(heard, pcm, `${law}: all codes`)
      const ours = new Uint8Array(values.length)
      encode(values, 0, values.length, ours, 0)
      const theirs = await ffmpeg([...raw('s16le'), '-i', 'pipe:0', '-f', law], bytesOf(values))
      const back = new Int16Array(values.length)
      const theirBack = new Int16Array(values.length)
      decode(ours, 0, ours.length, back, 0)
      decode(theirs, 0, theirs.length, theirBack, 0)
      // At the borders of segments ffmpeg takes the nearer output value, the Recommendation the interval.
      const outputs = [...new Set(pcm)].sort((a, b) => a - b)
      let other = 0
      for (let i = 0; i < values.length; i++) {
        if (back[i] === theirBack[i]) continue
        other++
        const apart = outputs.indexOf(back[i] as number) - outputs.indexOf(theirBack[i] as number)
        if (Math.abs(apart) !== 1) t.fail(`${law} ${values[i]}: ${back[i]}, not ${theirBack[i]}`)
      }
      t.ok(other < values.length / 50, `${law}: ${other} of 65536 values differ`)
    }
  },
)
