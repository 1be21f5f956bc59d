import t from 'tap'
import { addNoise, amplitudeOf, type KeyTone, keyTone } from '../../fixtures/audio/dtmf.js'
import { decodeG711, encodeG711 } from '../../fixtures/audio/g711.js'
import { joined } from '../../fixtures/audio/tones.js'
import { seeded } from '../../fixtures/host/random.js'
import { readClip, readManifest } from '../../fixtures/speech/manifest.js'
import type { SessionRate } from '../base/frame.js'
import { Detectors } from './detectors.js'

const KEYS = '1234567890*#ABCD'

interface Heard {
  readonly digit: string
  readonly startMs: number
  readonly durationMs: number
}

/** Processes a sound that begins `shift` samples into a frame, and a second of silence after it. */
function listen(sound: Int16Array, rate: SessionRate = 8000, shift = 0): Heard[] {
  const heard: Heard[] = []
  const detectors = new Detectors(rate, ['dtmf'], (event) => {
    if (event.type === 'digit') heard.push(event)
  })
  const pcm = joined(new Int16Array(rate / 10 + shift), sound, new Int16Array(rate))
  const frame = rate / 50
  for (let at = 0; at + frame <= pcm.length; at += frame) {
    detectors.process(pcm.subarray(at, at + frame), (at * 1000) / rate)
  }
  return heard
}

const digits = (sound: Int16Array, rate: SessionRate = 8000, shift = 0): string =>
  listen(sound, rate, shift)
    .map(({ digit }) => digit)
    .join('')

const quiet = (ms: number, rate = 8000) => new Int16Array((ms * rate) / 1000)

/** Returns the digits that were detected exactly once and correctly, at four positions within a frame. */
function taken(options: KeyTone, rate: SessionRate = 8000): number {
  let right = 0
  for (const key of KEYS) {
    for (const shift of [0, 37, 85, 123]) {
      if (digits(keyTone(key, { ...options, rate }), rate, (shift * rate) / 8000) === key) right++
    }
  }
  return right / (4 * KEYS.length)
}

for (const rate of [8000, 16000] as const) {
  t.test(`at ${rate} Hz`, (t) => {
    t.test('every digit of ordinary length is detected with its time and length', (t) => {
      for (const key of KEYS) {
        const [only, ...more] = listen(keyTone(key, { rate }), rate, rate / 400)
        t.equal(only?.digit, key)
        t.same(more, [])
        t.ok(Math.abs((only?.startMs ?? 0) - 102.5) <= 15, `${key} begins at ${only?.startMs}`)
        t.ok(Math.abs((only?.durationMs ?? 0) - 100) <= 10, `${key} lasts ${only?.durationMs}`)
      }
      t.end()
    })

    t.test('Q.24: tones that must be accepted', (t) => {
      const must: Record<string, KeyTone> = {
        '40 ms': { ms: 40 },
        '45 ms, 1.5 % high': { ms: 45, lowOff: 1.5, highOff: 1.5 },
        '45 ms, 1.5 % low': { ms: 45, lowOff: -1.5, highOff: -1.5 },
        '1.5 % apart': { ms: 50, lowOff: -1.5, highOff: 1.5 },
        '1.5 % together': { ms: 50, lowOff: 1.5, highOff: -1.5 },
        'high tone 4 dB above': { ms: 45, twistDb: 4, dbm0: -14 },
        'high tone 8 dB below': { ms: 45, twistDb: -8, dbm0: -8 },
        '0 dBm0 each, clipped': { ms: 60, dbm0: -0.5 },
        '-25 dBm0': { ms: 45, dbm0: -25 },
        'soft, twisted, off and short': { ms: 45, dbm0: -17, twistDb: -8, lowOff: 1.4, highOff: -1.4 },
        'ten seconds': { ms: 10_000 },
      }
      for (const [what, options] of Object.entries(must)) t.equal(taken(options, rate), 1, what)
      t.end()
    })

    t.test('Q.24: tones that must be rejected', (t) => {
      const never: Record<string, KeyTone> = {
        '23 ms': { ms: 23 },
        '20 ms, loud': { ms: 20, dbm0: -4 },
        'low tone 3.5 % high': { lowOff: 3.5 },
        'low tone 3.5 % low': { lowOff: -3.5 },
        'high tone 3.5 % high': { highOff: 3.5 },
        'high tone 3.5 % low': { highOff: -3.5 },
        'high tone 5 % high': { highOff: 5 },
        '-55 dBm0': { dbm0: -55 },
        'high tone 12 dB above': { dbm0: -20, twistDb: 12 },
        'high tone 15 dB below': { dbm0: -8, twistDb: -15 },
      }
      for (const [what, options] of Object.entries(never)) t.equal(taken(options, rate), 0, what)
      t.end()
    })

    t.test('one press is one event: a break of 10 ms does not split it, a pause of 40 ms does', (t) => {
      for (let shift = 0; shift < rate / 50; shift += rate / 400) {
        const press = joined(keyTone('5', { rate, ms: 50 }), quiet(10, rate), keyTone('5', { rate, ms: 50 }))
        t.equal(digits(press, rate, shift), '5', `broken at ${shift}`)
        const two = joined(keyTone('5', { rate, ms: 45 }), quiet(42, rate), keyTone('5', { rate, ms: 45 }))
        t.equal(digits(two, rate, shift), '55', `twice at ${shift}`)
      }
      const typed = joined(...[...KEYS].flatMap((key) => [keyTone(key, { rate, ms: 50 }), quiet(50, rate)]))
      t.equal(digits(typed, rate), KEYS)
      t.end()
    })

    t.test('digits in white noise 15 dB below, and beside a dial tone', (t) => {
      const random = seeded(7)
      let right = 0
      const rounds = 12
      for (let round = 0; round < rounds; round++) {
        for (const key of KEYS) {
          const sound = joined(quiet(100, rate), keyTone(key, { rate, ms: 60 }), quiet(100, rate))
          if (digits(addNoise(sound, -22, random), rate, round * 11) === key) right++
        }
      }
      t.ok(right / (rounds * KEYS.length) >= 0.99, `${right} of ${rounds * KEYS.length} in noise`)
      for (const key of KEYS) {
        const sound = keyTone(key, { rate, ms: 100 })
        const hum = amplitudeOf(-30)
        for (let i = 0; i < sound.length; i++) {
          sound[i] = (sound[i] ?? 0) + Math.round(hum * Math.sin((2 * Math.PI * 400 * i) / rate))
        }
        t.equal(digits(sound, rate), key)
      }
      t.end()
    })

    t.test('noise, single tones and network tones are not digits', (t) => {
      const random = seeded(11)
      t.equal(digits(addNoise(quiet(20_000, rate), -10, random), rate), '')
      for (const hertz of [400, 440, 697, 941, 1000, 1209, 1633, 2100]) {
        const sine = Int16Array.from({ length: rate }, (_, i) =>
          Math.round(8000 * Math.sin((2 * Math.PI * hertz * i) / rate)),
        )
        t.equal(digits(sine, rate), '', `${hertz} Hz`)
      }
      t.end()
    })
    t.end()
  })
}

t.test('both laws of G.711 carry digits of every level', (t) => {
  for (const law of ['PCMA', 'PCMU'] as const) {
    for (const dbm0 of [-25, -12, -3]) {
      for (const key of KEYS) {
        const wire = decodeG711(law, encodeG711(law, keyTone(key, { ms: 45, dbm0 })))
        t.equal(digits(wire), key, `${law} ${dbm0} ${key}`)
      }
    }
  }
  t.end()
})

t.test('talk-off: half an hour of speech at several pitches contains no digit', (t) => {
  let seconds = 0
  let false_ = 0
  for (const entry of readManifest().filter(({ kind }) => kind !== 'tone')) {
    const clip = readClip(entry)
    // Faster and slower playback makes the voices higher and lower.
    for (const speed of [1, 0.75, 0.82, 0.9, 1.1, 1.2, 1.3]) {
      const sound = speed === 1 ? clip : atSpeed(clip, speed)
      seconds += sound.length / 8000
      const heard = digits(sound)
      false_ += heard.length
      if (heard !== '') t.comment(`${entry.clip} x ${speed}: ${heard}`)
    }
  }
  t.comment(`${Math.round(seconds)} s of speech, ${false_} keys`)
  t.ok(seconds > 1800)
  t.equal(false_, 0)
  t.end()
})

/** Linear interpolation: the images it adds above 3 kHz are speech-like as well. */
function atSpeed(pcm: Int16Array, speed: number): Int16Array {
  return Int16Array.from({ length: Math.floor((pcm.length - 1) / speed) }, (_, i) => {
    const at = Math.floor(i * speed)
    const part = i * speed - at
    return Math.round((pcm[at] ?? 0) * (1 - part) + (pcm[at + 1] ?? 0) * part)
  })
}
