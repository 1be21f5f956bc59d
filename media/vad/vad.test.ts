import t from 'tap'
import { joined, tone } from '../../fixtures/audio/tones.js'
import { seeded } from '../../fixtures/host/random.js'
import type { ClipSet, Condition } from '../../fixtures/speech/catalogue.js'
import { ambientNoise } from '../../fixtures/speech/conditions.js'
import { toInt16 } from '../../fixtures/speech/dsp.js'
import { TALKER_DBFS } from '../../fixtures/speech/make-clip.js'
import { type ClipEntry, findClip, readClip, readManifest } from '../../fixtures/speech/manifest.js'
import type { SessionRate } from '../base/frame.js'
import { resample } from '../codec/resampler.js'
import { loadVad, type Vad, type VadFactory } from './vad.js'

const LEAD_MS = 1000
const factory = await loadVad()

interface Stretch {
  readonly onsetMs: number
  readonly toldMs: number
  offsetMs: number
  offsetToldMs: number
}

/** Runs a sound through a detector, 20 ms at a time. */
function listen(
  pcm: Int16Array,
  options: { rate?: SessionRate; startMs?: number; stopMs?: number; from?: VadFactory } = {},
) {
  const rate = options.rate ?? 8000
  const { from = factory } = options
  const vad = from.open({ rate, startMs: options.startMs ?? 60, stopMs: options.stopMs ?? 300 })
  const heard: Stretch[] = []
  const frame = rate / 50
  for (let at = 0; at + frame <= pcm.length; at += frame) {
    const atMs = (at / rate) * 1000
    const result = vad.process(pcm.subarray(at, at + frame), atMs)
    if (result === 'onset') {
      heard.push({ onsetMs: vad.onsetMs, toldMs: atMs + 20, offsetMs: -1, offsetToldMs: -1 })
    }
    const last = heard.at(-1)
    if (result === 'offset' && last) {
      last.offsetMs = vad.lastVoicedMs
      last.offsetToldMs = atMs + 20
    }
  }
  vad.close()
  return heard
}

/** The clip within its own noise: the noise before it is repeated backwards and forwards. */
function inItsNoise(entry: ClipEntry): Int16Array {
  const clip = readClip(entry)
  const lead = new Int16Array(LEAD_MS * 8)
  const trail = new Int16Array(8000)
  if (entry.condition !== 'clean') {
    const before = clip.subarray(0, Math.floor(entry.onsetMs * 8))
    const after = clip.subarray(-2000)
    for (let i = 0; i < lead.length; i++) lead[lead.length - 1 - i] = swinging(before, i)
    for (let i = 0; i < trail.length; i++) trail[i] = swinging(after, after.length + i)
  }
  return joined(lead, clip, trail)
}

function swinging(pcm: Int16Array, index: number): number {
  const period = 2 * pcm.length - 2
  const at = index % period
  return pcm[at < pcm.length ? at : period - at] ?? 0
}

const noise = (ms: number, amplitude: number, seed: number): Int16Array => {
  const random = seeded(seed)
  return Int16Array.from({ length: ms * 8 }, () => Math.round(random.normal() * amplitude))
}

const speech = readManifest().filter(({ kind, set }) => set === 'test' && kind !== 'cough' && kind !== 'tone')

t.test('clean speech: onset within 5 ms of the label, reported 60 ms after it; end within 100 ms', (t) => {
  for (const entry of speech.filter(({ condition }) => condition === 'clean')) {
    const heard = listen(inItsNoise(entry))
    const [first] = heard
    const last = heard.at(-1)
    if (first === undefined || last === undefined) {
      t.fail(`${entry.clip} not heard`)
      continue
    }
    const onsetError = first.onsetMs - LEAD_MS - entry.onsetMs
    const latency = first.toldMs - LEAD_MS - entry.onsetMs
    const endError = last.offsetMs - LEAD_MS - entry.offsetMs
    t.ok(Math.abs(onsetError) <= 5, `${entry.clip}: onset off by ${onsetError}`)
    t.ok(latency <= 100, `${entry.clip}: reported after ${latency}`)
    t.ok(endError > -120 && endError < 20, `${entry.clip}: end off by ${endError}`)
    t.ok(last.offsetToldMs - last.offsetMs <= 320, `${entry.clip}: end reported in time`)
  }
  t.end()
})

t.test('speech in car, office and distant noise: no miss, no false alarm before it', (t) => {
  const latencies: number[] = []
  for (const entry of speech.filter(({ condition }) => condition !== 'clean')) {
    const heard = listen(inItsNoise(entry))
    const first = heard.find(({ offsetMs }) => offsetMs > LEAD_MS + entry.onsetMs || offsetMs === -1)
    if (first === undefined) {
      t.fail(`${entry.clip} not heard`)
      continue
    }
    t.equal(heard.indexOf(first), 0, `${entry.clip}: nothing before it`)
    latencies.push(first.toldMs - LEAD_MS - entry.onsetMs)
    t.ok(Math.abs(first.onsetMs - LEAD_MS - entry.onsetMs) <= 120, `${entry.clip}: onset near its label`)
  }
  latencies.sort((a, b) => a - b)
  const median = latencies[Math.floor(latencies.length / 2)] ?? 0
  t.ok(median <= 120, `reported ${median} ms after the onset, in the middle`)
  t.ok((latencies.at(-1) ?? 0) <= 200, `at most ${latencies.at(-1)}`)
  t.end()
})

/** Returns the detected end of each utterance of a set in calls full of its noise, and the false alarms. */
function inCalls(set: ClipSet, condition: Condition, seeds: readonly number[]) {
  const clips = readManifest().filter(
    (entry) => entry.set === set && entry.kind === 'speech' && entry.condition === condition,
  )
  const lateMs: number[] = []
  let missed = 0
  let other = 0
  for (const seed of seeds) {
    const random = seeded(seed)
    const noise = ambientNoise(condition, 80_000, seed, 8000, TALKER_DBFS)
    const background = noise === null ? new Int16Array(80_000) : toInt16(noise)
    let at = 0
    const pieces: Int16Array[] = []
    const labels: { onsetMs: number; offsetMs: number }[] = []
    const add = (pcm: Int16Array) => {
      pieces.push(pcm)
      at += pcm.length
    }
    const quiet = (ms: number) => {
      const from = Math.floor(random.next() * (background.length - ms * 8))
      add(background.slice(from, from + ms * 8))
    }
    quiet(3000)
    for (const entry of clips) {
      labels.push({ onsetMs: at / 8 + entry.onsetMs, offsetMs: at / 8 + entry.offsetMs })
      add(readClip(entry))
      quiet(1500 + Math.floor(random.next() * 2000))
    }
    const heard = new Set(listen(joined(...pieces)))
    for (const { onsetMs, offsetMs } of labels) {
      const own = [...heard].filter(
        (stretch) =>
          stretch.onsetMs < offsetMs && (stretch.offsetToldMs === -1 || stretch.offsetToldMs > onsetMs),
      )
      const last = own.at(-1)
      if (last === undefined) missed++
      else lateMs.push((last.offsetToldMs === -1 ? Infinity : last.offsetToldMs) - offsetMs - 300)
      for (const stretch of own) heard.delete(stretch)
    }
    other += heard.size
  }
  return { latestMs: Math.max(...lateMs), missed, other }
}

for (const set of ['tuning', 'test'] as const) {
  t.test(`in a noisy call the end of speech is reported in time, without false alarms: ${set} set`, (t) => {
    for (const condition of ['clean', 'car', 'office', 'far'] as const) {
      const { latestMs, missed, other } = inCalls(set, condition, [11, 12, 13, 14])
      t.equal(missed, 0, `${condition}: none missed`)
      t.ok(latestMs <= 100, `${condition}: an end reported ${latestMs} ms late`)
      t.ok(other <= 1, `${condition}: ${other} times noise was speech`)
    }
    t.end()
  })
}

t.test('in the babble of six real voices the detector detects the end again', (t) => {
  const clips = readManifest().filter(
    ({ set, kind, condition }) => set === 'tuning' && kind === 'speech' && condition === 'clean',
  )
  for (const seed of [1, 2, 3]) {
    const random = seeded(seed)
    const babble = new Float64Array(20 * 8000)
    for (let voice = 0; voice < 6; voice++) {
      for (let at = Math.floor(random.next() * 4000); at < babble.length; ) {
        const entry = clips[Math.floor(random.next() * clips.length)] ?? findClip('hello')
        const said = readClip(entry).subarray(Math.round(entry.onsetMs * 8), Math.round(entry.offsetMs * 8))
        // Each is 23 dB below the talker, together 15 dB.
        for (let i = 0; i < said.length && at < babble.length; i++) {
          babble[at] = (babble[at] ?? 0) + 0.07 * (said[i] ?? 0)
          at++
        }
      }
    }
    const heard = listen(Int16Array.from(babble, Math.round))
    const openMs = heard.reduce(
      (sum, { onsetMs, offsetToldMs }) => sum + (offsetToldMs === -1 ? 20_000 : offsetToldMs) - onsetMs,
      0,
    )
    t.ok(openMs < 6000, `open for ${openMs} of 20,000 ms`)
  }
  t.end()
})

t.test('a steady tone of any level is learned, and a talker is detected soon after it', (t) => {
  for (const amplitude of [0.05, 0.3, 0.9]) {
    const heard = listen(joined(tone(440, 6000, 8000, amplitude), new Int16Array(0)))
    t.ok(heard.length <= 1, `${amplitude}: one stretch at most`)
    for (const { offsetToldMs } of heard) {
      t.ok(offsetToldMs !== -1 && offsetToldMs <= 2000, `${amplitude}: over at ${offsetToldMs}`)
    }
    const clip = findClip('tell-me-more')
    const after = listen(joined(tone(440, 6000, 8000, amplitude), new Int16Array(4800), readClip(clip)))
    const reported = after.at(-1)?.toldMs ?? 0
    t.ok(
      Math.abs(reported - 6600 - clip.onsetMs) <= 100,
      `${amplitude}: the talker is reported at ${reported}`,
    )
  }
  t.end()
})

t.test('learnNoise ends the speech, and louder sound is speech again', (t) => {
  const vad = factory.open({ rate: 8000, startMs: 60, stopMs: 300 })
  const long = joined(readClip(findClip('forever-1')))
  const clip = joined(readClip(findClip('forever-2')))
  const reported: [what: string, atMs: number][] = []
  let atMs = 0
  const hear = (pcm: Int16Array, gain: number) => {
    for (let at = 0; at + 160 <= pcm.length; at += 160) {
      const result = vad.process(
        pcm.subarray(at, at + 160).map((sample) => sample * gain),
        atMs,
      )
      atMs += 20
      if (result !== null) reported.push([result, atMs])
    }
  }
  hear(long.subarray(0, 3 * 8000), 0.2)
  t.equal(vad.speaking, true)
  vad.learnNoise()
  hear(long.subarray(3 * 8000, 5 * 8000), 0.2)
  t.equal(reported[1]?.[0], 'offset')
  t.ok((reported[1]?.[1] ?? Infinity) <= 3700, 'over soon after the order')
  t.equal(reported.length, 2, 'and it does not begin again at once')
  hear(clip, 1)
  t.equal(reported[2]?.[0], 'onset', 'a talker louder than it is heard')
  vad.close()
  t.end()
})

t.test('a cough is a short stretch, speech a long one', (t) => {
  for (const entry of readManifest().filter(
    ({ kind, condition }) => kind === 'cough' && condition === 'clean',
  )) {
    const [only, ...more] = listen(inItsNoise(entry), { stopMs: 200 })
    if (only === undefined) continue // not detected at all, which is even better
    const length = only.offsetMs - only.onsetMs
    t.ok(Math.abs(length - (entry.offsetMs - entry.onsetMs)) <= 60, `${entry.clip}: ${length} ms long`)
    t.equal(more.length, 0)
  }
  // A fit of coughing lasts as long as a sentence, but most of it is breath between the coughs.
  const fit: Int16Array[] = [noise(1000, 30, 6)]
  const burst = seeded(5)
  for (let i = 0; i < 4; i++) {
    fit.push(
      Int16Array.from({ length: 2400 }, (_, at) =>
        Math.round(burst.normal() * (9000 * Math.exp(-at / 200) + 30)),
      ),
    )
  }
  const vad = factory.open({ rate: 8000, startMs: 60, stopMs: 300 })
  const sound = joined(...fit)
  for (let at = 0; at + 160 <= sound.length; at += 160) vad.process(sound.subarray(at, at + 160), at / 8)
  t.ok(vad.lastVoicedMs - vad.onsetMs > 900, 'as long as a sentence')
  t.ok(vad.voicedMs > 0 && vad.voicedMs < 550, `${vad.voicedMs} ms of it voiced`)
  vad.close()
  const random = seeded(4)
  for (const ms of [150, 200, 250, 300]) {
    const burst = Int16Array.from({ length: ms * 8 }, (_, i) =>
      Math.round(random.normal() * 9000 * Math.exp(-i / (ms * 4))),
    )
    const heard = listen(joined(noise(1000, 8, ms), burst, noise(1000, 8, ms + 1)), { stopMs: 200 })
    t.ok(heard.length <= 1)
    for (const { onsetMs, offsetMs } of heard) {
      t.ok(Math.abs(onsetMs - 1000) <= 5, `burst of ${ms}: begins at ${onsetMs}`)
      t.ok(offsetMs - 1000 <= ms + 5, `burst of ${ms}: ends at ${offsetMs}`)
    }
  }
  t.end()
})

t.test('silence and steady noise of any level are not speech', (t) => {
  t.strictSame(listen(new Int16Array(8000 * 5)), [])
  for (const amplitude of [4, 20, 100, 500]) {
    t.strictSame(listen(noise(10_000, amplitude, amplitude)), [], `white noise of ${amplitude}`)
  }
  const [loudest, ...more] = listen(noise(10_000, 2000, 7))
  t.ok((loudest?.offsetMs ?? 0) < 2500, 'even as loud as speech it is learned')
  t.strictSame(more, [])
  t.end()
})

t.test('noise that begins during a call is learned within two seconds', (t) => {
  const clip = readClip(findClip('tell-me-more'))
  const heard = listen(joined(noise(1000, 10, 1), noise(6000, 300, 2), noise(1000, 10, 3)))
  t.ok(
    heard.every(({ offsetMs }) => offsetMs !== -1 && offsetMs < 3000),
    JSON.stringify(heard),
  )
  const loud = joined(noise(4000, 150, 4), new Int16Array(0))
  const mixed = noise(4000 + clip.length / 8, 150, 5)
  for (let i = 0; i < clip.length; i++) mixed[32_000 + i] = (mixed[32_000 + i] ?? 0) + (clip[i] ?? 0)
  t.strictSame(listen(loud), [])
  t.ok(listen(mixed).length >= 1, 'and speech is still heard in it')
  t.end()
})

t.test('at 16 kHz the same speech is the same stretch', (t) => {
  const pcm = inItsNoise(findClip('book-tomorrow'))
  const [narrow] = listen(pcm)
  const [wide] = listen(resample(pcm, 8000, 16000), { rate: 16000 })
  t.ok(narrow && wide)
  t.ok(Math.abs((narrow?.onsetMs ?? 0) - (wide?.onsetMs ?? 0)) <= 20)
  t.ok(Math.abs((narrow?.offsetMs ?? 0) - (wide?.offsetMs ?? 0)) <= 60)
  t.end()
})

t.test('startMs and stopMs are respected', (t) => {
  const pcm = inItsNoise(findClip('hello'))
  for (const startMs of [40, 60, 120]) {
    const [heard] = listen(pcm, { startMs })
    t.ok(heard && heard.toldMs - heard.onsetMs >= startMs && heard.toldMs - heard.onsetMs <= startMs + 40)
  }
  for (const stopMs of [100, 200, 500]) {
    const last = listen(pcm, { stopMs }).at(-1)
    t.ok(
      last && last.offsetToldMs - last.offsetMs >= stopMs && last.offsetToldMs - last.offsetMs <= stopMs + 20,
    )
  }
  t.end()
})

t.test('a frame that is a view into a larger buffer, and several detectors in parallel', (t) => {
  const pcm = inItsNoise(findClip('hello'))
  const open = (): Vad => factory.open({ rate: 8000, startMs: 60, stopMs: 300 })
  const [one, two] = [open(), open()]
  const large = new Int16Array(10_000)
  for (let at = 0; at + 160 <= pcm.length; at += 160) {
    large.set(pcm.subarray(at, at + 160), 5000)
    one.process(large.subarray(5000, 5160), at / 8)
    two.process(new Int16Array(160), at / 8)
  }
  t.equal(two.lastVoicedMs, 0)
  t.equal(two.speaking, false)
  t.ok(one.onsetMs > LEAD_MS && one.onsetMs < LEAD_MS + 120)
  t.equal(one.process(new Int16Array(80), 0), null, 'a wrong length is nothing')
  one.close()
  one.close()
  t.equal(one.process(new Int16Array(160), 0), null)
  two.close()
  t.end()
})

t.test('a thousand detectors are opened and closed in the same memory', (t) => {
  const loud = noise(100, 5000, 9)
  for (let i = 0; i < 1000; i++) {
    const vad = factory.open({ rate: 8000, startMs: 60, stopMs: 300 })
    for (let at = 0; at + 160 <= loud.length; at += 160) vad.process(loud.subarray(at, at + 160), at / 8)
    vad.close()
  }
  t.pass('no exhaustion')
  t.end()
})

t.test('a model that answers late does not make the first syllables the noise', async (t) => {
  const LATE_FRAMES = 10
  for (const entry of speech.filter(({ condition }) => condition === 'clean')) {
    const firstFrame = Math.floor((LEAD_MS + entry.onsetMs) / 20) + LATE_FRAMES
    const late = await loadVad({
      open: () => {
        let frame = 0
        return { process: () => (frame++ >= firstFrame ? 1 : 0), close: () => {} }
      },
    })
    const [first] = listen(inItsNoise(entry), { from: late })
    const afterModelMs = (first?.toldMs ?? Number.POSITIVE_INFINITY) - firstFrame * 20
    t.ok(afterModelMs <= 200, `${entry.clip}: reported ${afterModelMs} ms after the model`)
  }
})
