import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { writeWav } from '../../fixtures/audio/wav.js'
import { MAX_PEAKS, readPeaks } from './peaks.js'

t.test('each pixel has the lowest and highest sample of its time, channel by channel', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const left = new Int16Array(1000)
  const right = new Int16Array(1000)
  left[170] = 32_767
  left[399] = -32_768
  right[0] = -256
  right[999] = 512
  await writeFile(path, writeWav({ rate: 8000, channels: [left, right] }))
  const peaks = await readPeaks(path, 50)
  t.match(peaks, { version: 2, channels: 2, sample_rate: 8000, samples_per_pixel: 160, bits: 8, length: 7 })
  t.equal(peaks.data.length, 7 * 2 * 2)
  t.strictSame(peaks.data.slice(0, 12), [0, 0, -1, 0, 0, 127, 0, 0, -128, 0, 0, 0])
  t.strictSame(peaks.data.slice(-4), [0, 0, 0, 2], 'the last pixel is a short one')
})

t.test('a long call has no more pixels than allowed', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const silence = new Int16Array(8000 * 400)
  silence.fill(1000, -8000)
  await writeFile(path, writeWav({ rate: 8000, channels: [silence, silence] }))
  const peaks = await readPeaks(path, 1000)
  t.ok(peaks.length <= MAX_PEAKS && peaks.length > MAX_PEAKS / 2, `${peaks.length}`)
  t.equal(peaks.data.at(-1), 1000 >> 8)
  t.equal(peaks.data[0], 0)
})

t.test('a file that is not a recording is rejected', async (t) => {
  const folder = t.testdir({ 'text.wav': 'x'.repeat(100), 'empty.wav': '' })
  await t.rejects(readPeaks(join(folder, 'text.wav'), 50), { code: 'internal' })
  await t.rejects(readPeaks(join(folder, 'empty.wav'), 50), { code: 'internal' })
  await t.rejects(readPeaks(join(folder, 'none.wav'), 50), { code: 'ENOENT' })
})
