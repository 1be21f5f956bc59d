import t from 'tap'
import { addNoise } from '../../fixtures/audio/dtmf.js'
import { decodeG711, encodeG711 } from '../../fixtures/audio/g711.js'
import { cadenced, sound } from '../../fixtures/audio/network-tones.js'
import { joined } from '../../fixtures/audio/tones.js'
import { seeded } from '../../fixtures/host/random.js'
import { findClip, readClip, readManifest } from '../../fixtures/speech/manifest.js'
import type { SessionRate } from '../base/frame.js'
import { type DetectorName, Detectors } from './detectors.js'
import type { DetectorEvent } from './events.js'
import { ToneBank, ToneBlock } from './tone-bank.js'
import { TONE_PLANS } from './tone-plans.js'

const ALL: readonly DetectorName[] = ['dtmf', 'beep', 'progress', 'informationTone', 'fax']

/**
 * Returns the events of a sound that begins `shiftMs` into a frame, after 0.1 s and before 1 s of silence.
 */
function listen(
  pcm: Int16Array,
  options: { rate?: SessionRate; shiftMs?: number; names?: readonly DetectorName[] } = {},
): DetectorEvent[] {
  const { rate = 8000, shiftMs = 0, names = ALL } = options
  const events: DetectorEvent[] = []
  const detectors = new Detectors(rate, names, (event) => events.push(event))
  const whole = joined(new Int16Array((rate / 1000) * (100 + shiftMs)), pcm, new Int16Array(rate))
  const frame = rate / 50
  for (let at = 0; at + frame <= whole.length; at += frame) {
    detectors.process(whole.subarray(at, at + frame), (at * 1000) / rate)
  }
  return events
}

const kinds = (events: readonly DetectorEvent[]): string[] =>
  events.map((event) =>
    event.type === 'progress'
      ? `${event.plan} ${event.tone}`
      : event.type === 'information_tone'
        ? event.meaning
        : event.type === 'fax'
          ? `fax ${event.side}`
          : event.type,
  )

const quiet = (ms: number, rate = 8000) => new Int16Array((ms * rate) / 1000)

for (const rate of [8000, 16000] as const) {
  t.test(`the tones of every plan, at ${rate} Hz`, (t) => {
    for (const { plan, tone, hertz, modulated, cadence } of TONE_PLANS) {
      for (const shiftMs of [0, 7, 13]) {
        const pcm = cadenced({ hertz, ...(modulated ? { modulatedBy: 25 } : {}) }, cadence, 3, rate)
        const [only, ...more] = listen(pcm, { rate, shiftMs })
        t.same(kinds(only ? [only] : []), [`${plan} ${tone}`], `${plan} ${tone} ${cadence}`)
        t.same(kinds(more), [], 'once, and nothing else')
        const startMs = only?.type === 'progress' ? only.startMs : -1
        t.ok(Math.abs(startMs - 100 - shiftMs) <= 20, `begins at ${startMs}`)
      }
    }
    t.end()
  })

  t.test(`beeps of answering machines, at ${rate} Hz`, (t) => {
    for (const hertz of [440, 620, 852, 1000, 1400, 1850]) {
      for (const ms of [130, 200, 400, 1000]) {
        const events = listen(sound({ hertz: [hertz], ms }, rate), { rate, shiftMs: 9 })
        const [only, ...more] = events
        if (only?.type !== 'beep') {
          t.fail(`${hertz} Hz, ${ms} ms: ${kinds(events)}`)
          continue
        }
        t.same(more, [])
        t.ok(Math.abs(only.hertz - hertz) <= hertz * 0.01, `${only.hertz} Hz`)
        t.ok(Math.abs(only.startMs - 109) <= 8, `begins at ${only.startMs}`)
        t.ok(Math.abs(only.durationMs - ms) <= 15, `lasts ${only.durationMs} of ${ms}`)
      }
    }
    t.end()
  })

  t.test(`fax machines, at ${rate} Hz`, (t) => {
    const calling = cadenced({ hertz: [1110] }, [500, 3000], 2, rate)
    t.same(kinds(listen(calling, { rate })), ['fax calling'], 'once, and no beep')
    t.same(kinds(listen(sound({ hertz: [2103], ms: 3000 }, rate), { rate })), ['fax answering'])
    // ANSam of V.8: amplitude modulation of one fifth at 15 Hz, and a phase reversal every 450 ms.
    const turning = sound({ hertz: [2100], ms: 3000 }, rate).map((sample, i) => {
      const seconds = i / rate
      const sign = Math.floor(seconds / 0.45) % 2 === 0 ? 1 : -1
      return sample * sign * (1 + 0.2 * Math.sin(2 * Math.PI * 15 * seconds))
    })
    for (const shiftMs of [0, 5, 10, 15]) {
      t.same(kinds(listen(turning, { rate, shiftMs })), ['fax answering'], `turning, ${shiftMs}`)
    }
    t.same(kinds(listen(sound({ hertz: [2160], ms: 3000 }, rate), { rate })), [], '2160 Hz is none')
    t.end()
  })

  t.test(`special information tones, at ${rate} Hz`, (t) => {
    const three = (hertz: readonly number[], lengths: readonly number[]) =>
      joined(...hertz.map((f, i) => sound({ hertz: [f], ms: lengths[i] ?? 0 }, rate)))
    const cases: [string, number[], number[]][] = [
      ['unknown', [950, 1400, 1800], [330, 330, 330]],
      ['intercept', [913.8, 1370.6, 1776.7], [276, 276, 380]],
      ['vacant_number', [985.2, 1370.6, 1776.7], [380, 276, 380]],
      ['reorder', [913.8, 1428.5, 1776.7], [276, 380, 380]],
      ['no_circuit', [985.2, 1428.5, 1776.7], [380, 380, 380]],
    ]
    for (const [meaning, hertz, lengths] of cases) {
      for (const shiftMs of [0, 11]) {
        t.same(kinds(listen(three(hertz, lengths), { rate, shiftMs })), [meaning])
      }
    }
    const withGaps = joined(
      ...[950, 1400, 1800].flatMap((f) => [sound({ hertz: [f], ms: 330 }, rate), quiet(30, rate)]),
    )
    t.same(kinds(listen(withGaps, { rate })), ['unknown'], 'with the gaps E.180 allows')
    t.same(kinds(listen(three([1800, 1400, 950], [330, 330, 330]), { rate })), [], 'falling is none')
    t.end()
  })
}

t.test('soft tones through both laws of G.711 in line noise', (t) => {
  const random = seeded(3)
  for (const law of ['PCMA', 'PCMU'] as const) {
    const wire = (pcm: Int16Array) => decodeG711(law, encodeG711(law, addNoise(pcm, -52, random)))
    const soft = { amplitude: 0.03 }
    const ringing = cadenced({ ...soft, hertz: [400], modulatedBy: 25 }, [400, 200, 400, 2000], 2, 8000)
    t.same(kinds(listen(wire(ringing))), ['in ringback'])
    t.same(kinds(listen(wire(cadenced({ ...soft, hertz: [400] }, [750, 750], 3, 8000)))), ['in busy'])
    t.same(
      kinds(listen(wire(joined(quiet(200), sound({ ...soft, hertz: [1000], ms: 300 }, 8000), quiet(500))))),
      ['beep'],
    )
  }
  t.end()
})

t.test('busy after ringback is a new tone; each tone is reported once', (t) => {
  const events = listen(
    joined(
      cadenced({ hertz: [400], modulatedBy: 25 }, [400, 200, 400, 2000], 3, 8000),
      cadenced({ hertz: [400] }, [750, 750], 4, 8000),
      quiet(6000),
      cadenced({ hertz: [400] }, [750, 750], 4, 8000),
    ),
  )
  t.same(kinds(events), ['in ringback', 'in busy', 'in busy'])
  t.end()
})

t.test('two tones, melodies, clicks and very long tones are not a beep', (t) => {
  const none: Record<string, Int16Array> = {
    'two tones': sound({ hertz: [620, 1100], ms: 400 }, 8000),
    melody: joined(...[523, 659, 784].map((f) => sound({ hertz: [f], ms: 250 }, 8000))),
    click: sound({ hertz: [1000], ms: 40 }, 8000),
    long: sound({ hertz: [1000], ms: 4000 }, 8000),
    soft: sound({ hertz: [1000], ms: 400, amplitude: 0.005 }, 8000),
    noise: addNoise(quiet(5000), -15, seeded(5)),
  }
  for (const [what, pcm] of Object.entries(none)) t.same(kinds(listen(pcm)), [], what)
  t.end()
})

t.test('a greeting and its beep: one beep at the right position', (t) => {
  const greeting = readClip(findClip('voicemail-greeting'))
  const beep = readClip(findClip('beep'))
  const entry = findClip('beep')
  const [only, ...more] = listen(joined(greeting, beep))
  if (only?.type !== 'beep') t.fail('not heard')
  else {
    t.equal(only.hertz, 1000)
    t.ok(Math.abs(only.durationMs - (entry.offsetMs - entry.onsetMs)) <= 15, `${only.durationMs} ms`)
    t.ok(Math.abs(only.startMs - 100 - greeting.length / 8 - entry.onsetMs) <= 10)
  }
  t.same(more, [])
  t.end()
})

t.test('speech, coughs and background noise contain no tone', (t) => {
  let seconds = 0
  for (const entry of readManifest().filter(({ kind }) => kind !== 'tone')) {
    const clip = readClip(entry)
    seconds += clip.length / 8000
    t.same(kinds(listen(clip)), [], entry.clip)
  }
  t.ok(seconds > 300)
  t.end()
})

t.test('silence is reported, and sound after it', (t) => {
  const names = ['silence'] as const
  const clip = readClip(findClip('hello'))
  const events = listen(joined(clip, quiet(12_000), clip), { names })
  t.same(
    events.map((event) => event.type === 'silence' && event.over),
    [false, true],
  )
  const from = 100 + clip.length / 8
  const [first] = events
  t.ok(first?.type === 'silence' && first.startMs < from && first.startMs > from - 300)
  t.same(listen(joined(clip, quiet(8500), clip), { names }), [], 'a pause is none')
  t.end()
})

t.test('clipped audio is reported, loud audio is not', (t) => {
  const names = ['clipping'] as const
  const clip = readClip(findClip('forever-1'))
  const peak = clip.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  const louder = (factor: number) =>
    clip.map((sample) => Math.max(-32768, Math.min(32767, Math.round((sample * factor * 32767) / peak))))
  for (const law of ['PCMA', 'PCMU'] as const) {
    const wire = (pcm: Int16Array) => decodeG711(law, encodeG711(law, pcm))
    t.same(listen(wire(louder(1)), { names }), [], 'full scale')
    const cut = listen(wire(louder(6)), { names })
    t.equal(cut.length, 1, 'cut by 15 dB: reported once')
    t.ok(cut[0]?.type === 'clipping' && cut[0].share >= 0.1)
  }
  t.same(listen(sound({ hertz: [300], ms: 3000, amplitude: 0.99 }, 8000), { names }), [])
  t.end()
})

t.test('one-way audio: no packets, dead audio, and the end of both', (t) => {
  const events: DetectorEvent[] = []
  const detectors = new Detectors(8000, ['oneWay'], (event) => events.push(event))
  let atMs = 0
  let sent = 0
  let received = 0
  const run = (ms: number, options: { comes: boolean; level: number; expected?: boolean }) => {
    for (const end = atMs + ms; atMs < end; atMs += 20) {
      sent++
      if (options.comes) received++
      detectors.traffic(sent, received, options.expected ?? true)
      detectors.process(new Int16Array(160).fill(options.level), atMs)
    }
  }
  const reported = () =>
    events
      .splice(0)
      .map((event) => event.type === 'one_way' && `${event.what} ${event.over ? 'over' : 'now'}`)
  run(5000, { comes: true, level: 300 })
  t.same(reported(), [])
  run(4000, { comes: false, level: 0 })
  t.same(reported(), ['nothing_comes now'])
  run(4000, { comes: false, level: 0 })
  t.same(reported(), [], 'once')
  run(1000, { comes: true, level: 300 })
  t.same(reported(), ['nothing_comes over'])
  run(9000, { comes: true, level: 0 })
  t.same(reported(), [])
  run(3000, { comes: true, level: 0 })
  t.same(reported(), ['only_silence now'])
  run(1000, { comes: true, level: 300 })
  t.same(reported(), ['only_silence over'])
  run(20_000, { comes: false, level: 0, expected: false })
  t.same(reported(), [], 'a held call is silent by agreement')
  t.end()
})

t.test('amplitudes of a block are those of a correlation, however many are asked for at once', (t) => {
  const random = seeded(11)
  const hertz = [450, 697, 941, 1336, 1633]
  const bank = new ToneBank(hertz, 8000, 80)
  const [parts, whole] = [new ToneBlock(bank), new ToneBlock(bank)]
  for (let round = 0; round < 20; round++) {
    const pcm = Int16Array.from({ length: 160 }, () => Math.round(random.between(-10_000, 10_000)))
    parts.load(pcm, 80)
    whole.load(pcm, 80)
    for (const count of [2, 1, 2, 4]) parts.measure(count)
    parts.measure()
    whole.measure()
    t.same([parts.re, parts.im, parts.energy], [whole.re, whole.im, whole.energy])
    hertz.forEach((f, k) => {
      let [re, im] = [0, 0]
      pcm.subarray(80).forEach((sample, n) => {
        const angle = (2 * Math.PI * f * (n - 39.5)) / 8000
        re += sample * Math.cos(angle)
        im -= sample * Math.sin(angle)
      })
      t.ok(Math.hypot(re - (whole.re[k] ?? 0), im - (whole.im[k] ?? 0)) < 1e-3, `${f} Hz`)
    })
  }
  parts.load(new Int16Array(160).fill(1), 0, 81)
  parts.measure()
  t.same([parts.energy, Math.max(...parts.re), Math.max(...parts.im)], [80, 0, 0], 'too soft to be a tone')
  t.end()
})
