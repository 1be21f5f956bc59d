import { createHash } from 'node:crypto'
import t from 'tap'
import { bytesOf, ffmpeg, ffmpegInstalled, samplesOf } from '../../fixtures/audio/ffmpeg.js'
import { seeded } from '../../fixtures/host/random.js'
import { g722 } from './g722.js'

const OPTIONS = { session: 16000, ptime: 20, parameters: {} } as const

/** Two seconds that exercise all paths: gliding tones, growing noise, full scale, then silence. */
function material(): Int16Array {
  const random = seeded(722)
  return Int16Array.from({ length: 32_000 }, (_, i) => {
    if (i >= 28_000) return 0
    const loud = i > 20_000 ? 40_000 : 2000
    const value = 8000 * Math.sin(i * 0.2) + 6000 * Math.sin(i * (1 + i / 32_000))
    return Math.max(-32_768, Math.min(32_767, Math.round(value + (random.next() - 0.5) * loud)))
  })
}

function encode(pcm: Int16Array): Uint8Array {
  const encoder = g722.openEncoder(OPTIONS)
  const out = new Uint8Array(pcm.length / 2)
  for (let at = 0; at < pcm.length; at += 320) {
    encoder.encode(pcm.slice(at, at + 320), out, at / 2)
  }
  return out
}

function decode(bytes: Uint8Array, packet = 160): Int16Array {
  const decoder = g722.openDecoder(16000)
  const pcm = new Int16Array(bytes.length * 2)
  for (let at = 0; at < bytes.length; at += packet) {
    const length = Math.min(packet, bytes.length - at)
    const samples = decoder.decode(bytes, at, length, pcm.subarray(at * 2))
    if (samples !== length * 2) throw new Error(`${samples} samples of ${length} bytes`)
  }
  return pcm
}

t.test(
  'both directions are bit-exact with ffmpeg',
  { skip: !ffmpegInstalled && 'ffmpeg is not installed' },
  async (t) => {
    const pcm = material()
    const ours = encode(pcm)
    const theirs = await ffmpeg(
      ['-f', 's16le', '-ar', '16000', '-ac', '1', '-i', 'pipe:0', '-c:a', 'g722', '-f', 'g722'],
      bytesOf(pcm),
    )
    t.equal(theirs.length, ours.length)
    t.ok(theirs.equals(ours), 'encoded')
    const back = samplesOf(await ffmpeg(['-f', 'g722', '-i', 'pipe:0', '-f', 's16le'], ours))
    t.strictSame(back, decode(ours), 'decoded')
    // Including codes that no encoder produces.
    const random = seeded(1)
    const noise = Uint8Array.from({ length: 8000 }, () => Math.floor(random.next() * 256))
    const heard = samplesOf(await ffmpeg(['-f', 'g722', '-i', 'pipe:0', '-f', 's16le'], noise))
    t.strictSame(heard, decode(noise), 'any bytes')
  },
)

t.test('the output equals the recorded output that was compared with ffmpeg', async (t) => {
  const bytes = encode(material())
  const hash = (data: Uint8Array) => createHash('sha256').update(data).digest('hex').slice(0, 16)
  t.equal(hash(bytes), '18179e7dd7557f6c')
  t.equal(hash(bytesOf(decode(bytes))), '94e3211a376f69c8')
})

t.test('packets of any length decode to the same stream', async (t) => {
  const bytes = encode(material())
  const whole = decode(bytes, 160)
  for (const packet of [1, 80, 240, 480, 960]) t.strictSame(decode(bytes, packet), whole, `${packet} bytes`)
})

t.test('decoded audio equals the encoded audio', async (t) => {
  const pcm = Int16Array.from({ length: 16_000 }, (_, i) =>
    Math.round(
      6000 * Math.sin((2 * Math.PI * 440 * i) / 16_000) + 3000 * Math.sin((2 * Math.PI * 5200 * i) / 16_000),
    ),
  )
  const back = decode(encode(pcm))
  let noise = 0
  let signal = 0
  // The two half-band filters delay by 22 samples.
  for (let i = 1600; i < pcm.length; i++) {
    const sample = pcm[i - 22] ?? 0
    signal += sample ** 2
    noise += ((back[i] ?? 0) - sample) ** 2
  }
  const snr = 10 * Math.log10(signal / noise)
  t.ok(snr > 20, `SNR ${snr.toFixed(1)} dB`)
})
