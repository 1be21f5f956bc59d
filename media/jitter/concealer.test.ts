import t from 'tap'
import { distance } from '../../fixtures/audio/audio-distance.js'
import { seeded } from '../../fixtures/host/random.js'
import { readClip, readManifest } from '../../fixtures/speech/manifest.js'
import { Concealer } from './concealer.js'

const FRAME = 160

/** Clean and noisy speakers of the test set, one after the other. */
function speech(): Int16Array {
  const clips = readManifest().filter(
    ({ set, kind, condition }) => set === 'test' && kind === 'speech' && condition !== 'far',
  )
  const parts = clips.map(readClip)
  const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole.subarray(0, whole.length - (whole.length % FRAME))
}

const SPEECH = speech()

type Filler = (lost: (frame: number) => boolean) => Int16Array

const silence: Filler = (lost) => {
  const out = SPEECH.slice()
  for (let f = 0; f * FRAME < out.length; f++) if (lost(f)) out.fill(0, f * FRAME, (f + 1) * FRAME)
  return out
}

/** For comparison: repeats the last frame, fading over three frames. */
const repetition: Filler = (lost) => {
  const out = SPEECH.slice()
  let run = 0
  let last = new Int16Array(FRAME)
  for (let f = 0; f * FRAME < out.length; f++) {
    const frame = out.subarray(f * FRAME, (f + 1) * FRAME)
    if (!lost(f)) {
      last = frame.slice()
      run = 0
      continue
    }
    for (let i = 0; i < FRAME; i++) {
      frame[i] = (Math.max(0, 3 * FRAME - run * FRAME - i) / (3 * FRAME)) * (last[i] ?? 0)
    }
    run++
  }
  return out
}

const concealment: Filler = (lost) => {
  const out = SPEECH.slice()
  const concealer = new Concealer(8000)
  for (let f = 0; f * FRAME < out.length; f++) {
    if (lost(f)) concealer.conceal(out, f * FRAME, FRAME)
    else concealer.played(out, f * FRAME, FRAME)
  }
  return out
}

const bridged: Filler = (lost) => {
  const out = SPEECH.slice()
  const concealer = new Concealer(8000)
  for (let f = 0; f * FRAME < out.length; f++) {
    if (lost(f) && !lost(f + 1)) {
      concealer.interpolate(out, f * FRAME, FRAME, SPEECH.subarray((f + 1) * FRAME, (f + 2) * FRAME), FRAME)
    } else if (lost(f)) concealer.conceal(out, f * FRAME, FRAME)
    else concealer.played(out, f * FRAME, FRAME)
  }
  return out
}

function randomLoss(share: number, seed: number): (frame: number) => boolean {
  const random = seeded(seed)
  const lost = Array.from({ length: SPEECH.length / FRAME }, () => random.next() < share)
  return (frame) => lost[frame] === true
}

/** Bursts of three to five packets, about one per second. */
function bursts(seed: number): (frame: number) => boolean {
  const random = seeded(seed)
  const lost = new Set<number>()
  for (let f = 20; f * FRAME < SPEECH.length; f += 30 + Math.floor(random.next() * 40)) {
    const length = 3 + Math.floor(random.next() * 3)
    for (let i = 0; i < length; i++) lost.add(f + i)
  }
  return (frame) => lost.has(frame)
}

interface Bound {
  /** Gain over silence in spectral distance (dB). The segmental SNR of silence is 0 by definition. */
  readonly overSilence: number
  readonly snr: number
  /** Gain over repetition in segmental SNR and in spectral distance (dB). */
  readonly overRepetition: readonly [number, number]
}

for (const [name, lost, oneSided, twoSided] of [
  [
    '1 % lost',
    randomLoss(0.01, 1),
    { overSilence: 5, snr: -0.7, overRepetition: [1.5, -0.2] },
    { overSilence: 6, snr: 1, overRepetition: [3, 0.5] },
  ],
  [
    '3 % lost',
    randomLoss(0.03, 2),
    { overSilence: 5, snr: -0.7, overRepetition: [1.5, -0.2] },
    { overSilence: 6, snr: 1, overRepetition: [3, 0.5] },
  ],
  [
    '10 % lost',
    randomLoss(0.1, 3),
    { overSilence: 5, snr: -0.7, overRepetition: [1.5, -0.2] },
    { overSilence: 6, snr: 1, overRepetition: [3, 0.5] },
  ],
  [
    'bursts of 3 to 5',
    bursts(4),
    { overSilence: 3, snr: -0.4, overRepetition: [0.6, -0.2] },
    { overSilence: 4.5, snr: -0.4, overRepetition: [0.7, 0.9] },
  ],
] as const satisfies readonly [string, unknown, Bound, Bound][]) {
  t.test(`${name}: closer to the original than silence and repetition`, (t) => {
    const [none, again, made, both] = [silence, repetition, concealment, bridged].map((fill) =>
      distance(SPEECH, fill(lost), { include: lost }),
    )
    if (!none || !again || !made || !both) throw new Error('four ways')
    t.ok(none.frames > 25, `${none.frames} frames judged`)
    for (const [what, got, bound] of [
      ['one side known', made, oneSided],
      ['both sides known', both, twoSided],
    ] as const) {
      const gained = none.spectralDb - got.spectralDb
      const snr = got.segmentalSnrDb - again.segmentalSnrDb
      const spectral = again.spectralDb - got.spectralDb
      t.ok(gained >= bound.overSilence, `${what}: ${gained.toFixed(1)} dB nearer in spectrum than silence`)
      const own = got.segmentalSnrDb
      t.ok(own >= bound.snr, `${what}: segmental SNR ${own.toFixed(1)} dB by 0 of silence`)
      t.ok(snr >= bound.overRepetition[0], `${what}: ${snr.toFixed(1)} dB more SNR than repetition`)
      t.ok(spectral >= bound.overRepetition[1], `${what}: ${spectral.toFixed(1)} dB nearer than repetition`)
    }
    t.end()
  })
}

for (const rate of [8000, 16000] as const) {
  const size = rate / 50
  const wave = (frames: number) =>
    Int16Array.from({ length: frames * size }, (_, i) => 8000 * Math.sin((2 * Math.PI * 230 * i) / rate))
  const sine = wave(30)
  /** The largest step between neighbouring samples. A sine alone needs `8000 * 2 pi * 230 / rate`. */
  const steepest = (pcm: Int16Array) =>
    pcm.reduce((most, value, i) => (i === 0 ? 0 : Math.max(most, Math.abs(value - (pcm[i - 1] ?? 0)))), 0)
  const natural = (8000 * 2 * Math.PI * 230) / rate
  const frame = (pcm: Int16Array, index: number) => pcm.subarray(index * size, (index + 1) * size)

  t.test(`no clicks at ${rate} Hz: at the start, inside and at the end of a gap`, (t) => {
    for (const gap of [1, 2, 3, 5]) {
      for (const known of [false, true]) {
        const concealer = new Concealer(rate)
        const out = sine.slice()
        for (let f = 0; f < 30; f++) {
          if (f < 10 || f >= 10 + gap) concealer.played(out, f * size, size)
          else if (known && f === 9 + gap) {
            t.ok(concealer.interpolate(out, f * size, size, frame(sine, f + 1), size))
          } else t.equal(concealer.conceal(out, f * size, size), f < 13)
        }
        const steps = steepest(out)
        t.ok(
          steps < 1.5 * natural,
          `gap ${gap}, after it ${known}: steps of ${steps} by ${natural.toFixed(0)}`,
        )
        if (known) t.strictSame(frame(out, 10 + gap), frame(sine, 10 + gap), 'what follows is as it was')
      }
    }
    t.end()
  })

  t.test(`a steady tone continues for 10 ms and has faded out after 60, at ${rate} Hz`, (t) => {
    const concealer = new Concealer(rate)
    concealer.played(sine.slice(), 0, 10 * size)
    const made = new Int16Array(4 * size)
    t.equal(concealer.conceal(made, 0, 3 * size), true)
    t.equal(concealer.conceal(made, 3 * size, size), false)
    let worst = 0
    for (let i = 0; i < size / 2; i++) {
      worst = Math.max(worst, Math.abs((made[i] ?? 0) - (sine[10 * size + i] ?? 0)))
    }
    t.ok(worst < 1200, `off by ${worst} of 8000`)
    t.ok(frame(made, 3).every((value) => value === 0))
    t.end()
  })

  t.test(`a cut is cross-faded, at ${rate} Hz`, (t) => {
    const concealer = new Concealer(rate)
    const before = sine.slice(0, 10 * size + 17)
    concealer.played(before, 0, before.length)
    concealer.crossfadeNext()
    const next = sine.slice(3 * size, 5 * size)
    concealer.played(next, 0, next.length)
    const seam = new Int16Array([...before.subarray(-5), ...next])
    t.ok(steepest(seam) < 1.5 * natural, `${steepest(seam)}`)
    t.notOk(concealer.fading)
    t.end()
  })
}

t.test('without history nothing is concealed', (t) => {
  const concealer = new Concealer(8000)
  const out = new Int16Array(FRAME).fill(9)
  t.equal(concealer.conceal(out, 0, FRAME), false)
  t.ok(out.every((value) => value === 0))
  const first = new Int16Array(FRAME).fill(500)
  concealer.played(first, 0, FRAME)
  t.ok(
    first.every((value) => value === 500),
    'and the first sound is not changed',
  )
  t.end()
})
