import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { levelDbfs, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { writeWav } from '../../fixtures/audio/wav.js'
import { openSoundLibrary } from './sound-library.js'

/** Returns the largest step between two samples. */
const jump = (pcm: Int16Array, at: number): number =>
  Math.abs((pcm[(at + 1) % pcm.length] ?? 0) - (pcm[at] ?? 0))

for (const rate of [8000, 16000] as const) {
  for (const name of ['office', 'cafe', 'call_center', 'hold'] as const) {
    t.test(`${name} at ${rate} Hz is level and goes round without a seam`, async (t) => {
      const pcm = await openSoundLibrary({ holdMusic: null }).load(name, rate)
      t.equal(pcm.length % (rate / 50), 0)
      t.ok(pcm.length >= 12 * rate)
      const level = levelDbfs(pcm)
      t.ok(level > -28 && level < -21, `${level.toFixed(1)} dBFS`)
      const jumps = Array.from({ length: pcm.length }, (_, i) => jump(pcm, i)).sort((a, b) => a - b)
      const usual = jumps[Math.floor(jumps.length * 0.99)] ?? 0
      for (let i = pcm.length - 3; i < pcm.length + 2; i++) {
        t.ok(jump(pcm, i % pcm.length) <= usual, 'the seam is like any other place')
      }
      const seconds = Array.from({ length: pcm.length / rate }, (_, s) =>
        levelDbfs(pcm, s * rate, (s + 1) * rate),
      )
      t.ok(Math.min(...seconds) > -40, 'never dead')
    })
  }
}

t.test('a sound file is read once and shared', async (t) => {
  const sounds = openSoundLibrary({ holdMusic: null })
  t.equal(await sounds.load('cafe', 8000), await sounds.load('cafe', 8000))
})

t.test("the operator's own file is played", async (t) => {
  const folder = t.testdir()
  for (const rate of [44_100, 48_000, 16_000, 22_050]) {
    const path = join(folder, `${rate}.wav`)
    // Ends in the middle of an oscillation, with different channels.
    const left = tone(440, 2210, rate, 0.4)
    await writeFile(path, writeWav({ rate, channels: [left, new Int16Array(left.length)] }))
    const pcm = await openSoundLibrary({ holdMusic: path }).load('hold', 8000)
    t.ok(Math.abs(pcm.length - (2210 - 250) * 8) <= 1)
    const level = toneLevel(pcm.subarray(3000, 13_000), 440)
    t.ok(Math.abs(level - 0.2) < 0.01, `both channels, averaged: ${level}`)
    t.ok(jump(pcm, pcm.length - 1) < 6554 * 2 * Math.sin((Math.PI * 440) / 8000) * 1.3, 'no seam')
  }
})

t.test('files that are not audio are refused', async (t) => {
  const folder = t.testdir({ 'text.wav': 'la la la', 'short.wav': 'RIFF....WAVE' })
  const strange = join(folder, 'strange.wav')
  await writeFile(strange, writeWav({ rate: 11_025, channels: [tone(400, 100, 11_025)] }))
  const empty = join(folder, 'empty.wav')
  await writeFile(empty, writeWav({ rate: 8000, channels: [new Int16Array(0)] }))
  for (const path of [
    join(folder, 'none.wav'),
    join(folder, 'text.wav'),
    join(folder, 'short.wav'),
    strange,
    empty,
  ]) {
    await t.rejects(
      openSoundLibrary({ holdMusic: path }).load('hold', 8000),
      { code: 'config_invalid' },
      path,
    )
  }
})
