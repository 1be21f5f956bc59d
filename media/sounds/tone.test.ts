import t from 'tap'
import { levelDbfs, toneLevel } from '../../fixtures/audio/tones.js'
import type { Digit, SessionRate } from '../base/frame.js'
import { DtmfToneEndpoint, LoopEndpoint, makeSeamless, ToneEndpoint } from './endpoints.js'
import { TONES, ToneGenerator, type ToneSpec } from './tone.js'

/** Returns the output of a generator, pulled in frames of 20 ms. */
function played(spec: ToneSpec, ms: number, rate: SessionRate = 8000): { pcm: Int16Array; said: boolean[] } {
  const generator = new ToneGenerator(rate)
  generator.play(spec)
  const frame = rate / 50
  const pcm = new Int16Array((ms * rate) / 1000)
  const said: boolean[] = []
  for (let at = 0; at < pcm.length; at += frame) said.push(generator.pull(pcm.subarray(at, at + frame)))
  return { pcm, said }
}

/** Returns the starts and ends of sound (ms) in steps of 10 ms. */
function edges(pcm: Int16Array, rate = 8000): number[] {
  const step = rate / 100
  const found: number[] = []
  let on = false
  for (let at = 0; at < pcm.length; at += step) {
    const sounds = levelDbfs(pcm, at, at + step) > -60
    if (sounds !== on) found.push((at * 1000) / rate)
    on = sounds
  }
  return found
}

t.test('the tones of India have their cadences', (t) => {
  t.strictSame(edges(played(TONES.busy, 3400).pcm), [0, 750, 1500, 2250, 3000])
  t.strictSame(edges(played(TONES.congestion, 1400).pcm), [0, 250, 500, 750, 1000, 1250])
  t.strictSame(
    edges(played(TONES.ringback, 7000).pcm),
    [0, 400, 600, 1000, 3000, 3400, 3600, 4000, 6000, 6400, 6600],
  )
  t.strictSame(edges(played(TONES.unobtainable, 5600).pcm), [0, 2500, 3000, 5500])
  t.strictSame(edges(played(TONES.beep, 1000).pcm), [0, 200], 'a beep is one')
  t.end()
})

for (const rate of [8000, 16000] as const) {
  t.test(`frequencies and levels at ${rate} Hz`, (t) => {
    const busy = played(TONES.busy, 700, rate).pcm
    // -13 dBm0; a full-scale sine has +3.14 dBm0.
    const expected = 10 ** ((-13 - 3.14) / 20)
    t.ok(Math.abs(toneLevel(busy, 400, rate) / expected - 1) < 0.02)
    const ring = played(TONES.ringback, 400, rate).pcm
    for (const [hertz, share] of [
      [400, 0.5],
      [375, 0.25],
      [425, 0.25],
    ] as const) {
      const level = toneLevel(ring, hertz, rate) / expected
      t.ok(Math.abs(level - share) < 0.02, `${hertz} Hz: ${level.toFixed(3)} of it`)
    }
    t.ok(toneLevel(ring, 1200, rate) < expected / 300, 'no harmonics')
    t.end()
  })
}

t.test('no click: nothing steeper than the tone itself, across frames and edges', (t) => {
  const { pcm } = played(TONES.busy, 3400)
  let steepest = 0
  for (let i = 1; i < pcm.length; i++) {
    steepest = Math.max(steepest, Math.abs((pcm[i] ?? 0) - (pcm[i - 1] ?? 0)))
  }
  const amplitude = 32767 * 10 ** ((-13 - 3.14) / 20)
  t.ok(steepest <= 1.02 * amplitude * 2 * Math.sin((Math.PI * 400) / 8000), `${steepest}`)
  t.end()
})

t.test('a pause in a cadence is reported as silence', (t) => {
  const { said } = played(TONES.congestion, 1000)
  t.strictSame(
    said.map((sound, i) => (sound ? i : -1)).filter((i) => i >= 0),
    [...Array(13).keys(), ...[...Array(13).keys()].map((i) => i + 25)],
  )
  t.end()
})

t.test('digits are played as their two tones, in order', (t) => {
  const end = new DtmfToneEndpoint('keys', 8000)
  const frame = new Int16Array(160)
  t.notOk(end.pull(frame))
  t.ok(end.press(['5', '#']))
  const frames: Int16Array[] = []
  const sounding: boolean[] = []
  for (let i = 0; i < 30; i++) {
    sounding.push(end.pull(frame))
    frames.push(frame.slice())
  }
  const pcm = Int16Array.from(frames.flatMap((part) => [...part]))
  const first = pcm.subarray(0, 1280)
  t.ok(toneLevel(first, 770) > 0.2 && toneLevel(first, 1336) > 0.25)
  t.ok(toneLevel(first, 697) < 0.01 && toneLevel(first, 1477) < 0.01)
  t.equal(levelDbfs(pcm, 1280, 2080), -120, 'a pause of 100 ms')
  const second = pcm.subarray(2080, 3360)
  t.ok(toneLevel(second, 941) > 0.2 && toneLevel(second, 1477) > 0.25)
  t.strictSame(sounding.indexOf(false), 26, 'it holds through the pauses')
  t.notOk(end.press(Array.from({ length: 65 }, (): Digit => '1')))
  t.end()
})

t.test('digits have the requested length', (t) => {
  const end = new DtmfToneEndpoint('keys', 8000)
  const frame = new Int16Array(160)
  t.ok(end.press(['5', '5'], { toneMs: 60, gapMs: 80 }))
  const loud: boolean[] = []
  for (let i = 0; i < 14; i++) {
    end.pull(frame)
    loud.push(levelDbfs(frame) > -40)
  }
  const key = [true, true, true, false, false, false, false]
  t.strictSame(loud, [...key, ...key])
  t.notOk(end.pull(frame))
  t.end()
})

t.test('a tone can be stopped and restarted', (t) => {
  const end = new ToneEndpoint('tone', 8000, TONES.ringback)
  const frame = new Int16Array(160)
  t.ok(end.pull(frame))
  end.stop()
  t.notOk(end.pull(frame))
  t.ok(frame.every((sample) => sample === 0))
  end.play(TONES.beep)
  t.ok(end.playing)
  for (let i = 0; i < 11; i++) end.pull(frame)
  t.notOk(end.playing)
  t.end()
})

t.test('a loop advances with session time', (t) => {
  const samples = Int16Array.from({ length: 250 }, (_, i) => i)
  const end = new LoopEndpoint('loop', samples, 200)
  const frame = new Int16Array(160)
  end.pull(frame, 0)
  t.equal(frame[49], 249)
  t.equal(frame[50], 0)
  end.pull(frame, 160)
  t.equal(frame[0], 110)
  end.pull(frame, 5 * 160)
  t.equal(frame[0], 0, 'three beats were left out')
  t.notOk(new LoopEndpoint('none', new Int16Array(0)).pull(frame, 0))
  t.end()
})

t.test('makeSeamless joins the end of any clip to its beginning', (t) => {
  // The clip ends at the middle of an oscillation, where a plain loop would jump by twice its amplitude.
  const pcm = Int16Array.from({ length: 8000 }, (_, i) => Math.round(8000 * Math.sin(i / 7.3)))
  const loop = makeSeamless(pcm, 8000, 100)
  t.equal(loop.length, 7200)
  t.ok(Math.abs((loop[0] ?? 0) - (loop.at(-1) ?? 0)) < 8000 / 7.3 + 100)
  t.strictSame(loop.subarray(800), pcm.subarray(800, 7200), 'only the beginning is changed')
  t.strictSame(makeSeamless(pcm.subarray(0, 10), 8000), pcm.slice(0, 10))
  t.end()
})
