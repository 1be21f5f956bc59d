import t from 'tap'
import { writeWav } from '../../fixtures/audio/wav.js'
import { MAX_PEAKS, readPeaks } from './peaks.js'

/** The content in chunks of this many bytes. */
async function* chunks(content: Uint8Array, size: number) {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}
const peaksOf = (content: Uint8Array, perSecond: number, size = 65_536, bytes = content.length) =>
  readPeaks(chunks(content, size), bytes, { perSecond, most: MAX_PEAKS })

function recording(): Uint8Array {
  const left = new Int16Array(1000)
  const right = new Int16Array(1000)
  left[170] = 32_767
  left[399] = -32_768
  right[0] = -256
  right[999] = 512
  return writeWav({ rate: 8000, channels: [left, right] })
}

t.test('each pixel has the lowest and highest sample of its time, channel by channel', async (t) => {
  for (const size of [65_536, 1, 3, 7, 45]) {
    const peaks = await peaksOf(recording(), 50, size)
    t.match(peaks, { version: 2, channels: 2, sample_rate: 8000, samples_per_pixel: 160, bits: 8, length: 7 })
    t.equal(peaks.data.length, 7 * 2 * 2)
    t.strictSame(peaks.data.slice(0, 12), [0, 0, -1, 0, 0, 127, 0, 0, -128, 0, 0, 0])
    t.strictSame(peaks.data.slice(-4), [0, 0, 0, 2], 'the last pixel is a short one')
  }
})

t.test('a long call has no more pixels than allowed', async (t) => {
  const silence = new Int16Array(8000 * 400)
  silence.fill(1000, -8000)
  const peaks = await peaksOf(writeWav({ rate: 8000, channels: [silence, silence] }), 1000)
  t.ok(peaks.length <= MAX_PEAKS && peaks.length > MAX_PEAKS / 2, `${peaks.length}`)
  t.equal(peaks.data.at(-1), 1000 >> 8)
  t.equal(peaks.data[0], 0)
})

t.test('content of another length than told', async (t) => {
  const content = recording()
  const short = await peaksOf(content.subarray(0, 44 + 4 * 170), 50, 100, content.length)
  t.equal(short.length, 7)
  t.strictSame(short.data.slice(8), Array(20).fill(0), 'what is missing is silence')
  const long = await peaksOf(content, 50, 100, 44 + 4 * 170)
  t.equal(long.length, 2)
  t.strictSame(long.data.slice(4, 6), [0, 127])
})

t.test('content that is no recording is rejected', async (t) => {
  await t.rejects(peaksOf(Buffer.from('x'.repeat(100)), 50), { code: 'internal' })
  await t.rejects(peaksOf(Buffer.alloc(0), 50), { code: 'internal' })
  await t.rejects(peaksOf(recording().subarray(0, 40), 50), { code: 'internal' })
})
