import { seeded } from '../../fixtures/host/random.js'
import type { Condition } from '../../fixtures/speech/catalogue.js'
import { ambientNoise } from '../../fixtures/speech/conditions.js'
import { toInt16 } from '../../fixtures/speech/dsp.js'
import { TALKER_DBFS } from '../../fixtures/speech/make-clip.js'
import { readClip, readManifest } from '../../fixtures/speech/manifest.js'
import { VAD_START_MS, VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { loadVad, type VadFactory } from '../../media/vad/vad.js'
import { figure, type Measured } from '../lib/figures.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'

const CONDITIONS: readonly Condition[] = ['clean', 'car', 'office', 'far']
const SEEDS = [21, 22, 23, 24, 25, 26]
const NOISE_SAMPLES = 80_000

interface Outcome {
  /** Labelled onset to its detection; labelled end to its detection, less the hangover time. */
  readonly onsetMs: number[]
  readonly endMs: number[]
  missed: number
  falseAlarms: number
  minutes: number
}

/**
 * Vad_onset and Vad_end@condition: measures how soon the detector reports begin and end of speech of the test
 * set, mixed into calls with the condition's noise. The result does not depend on the host.
 */
export async function measureVad(): Promise<Measured[]> {
  const factory = await loadVad()
  return CONDITIONS.flatMap((condition) => {
    const all: Outcome = { onsetMs: [], endMs: [], missed: 0, falseAlarms: 0, minutes: 0 }
    for (const seed of SEEDS) oneCall(factory, condition, seed, all)
    const { missed, falseAlarms, minutes } = all
    const context = { missed, falseAlarms, minutes: rounded(minutes) }
    return [row('Vad_onset', condition, all.onsetMs, context), row('Vad_end', condition, all.endMs, context)]
  })
}

function row(id: string, condition: Condition, times: readonly number[], context: object): Measured {
  return figure(
    `${id}@${condition}`,
    {
      n: times.length,
      p50: rounded(percentile(times, 0.5)),
      p99: rounded(percentile(times, 0.99)),
      max: rounded(maximum(times)),
    },
    { ...context },
  )
}

function oneCall(factory: VadFactory, condition: Condition, seed: number, all: Outcome): void {
  const clips = readManifest().filter(
    (entry) => entry.set === 'test' && entry.kind === 'speech' && entry.condition === condition,
  )
  const random = seeded(seed)
  const noise = ambientNoise(condition, NOISE_SAMPLES, seed, 8000, TALKER_DBFS)
  const background = noise === null ? new Int16Array(NOISE_SAMPLES) : toInt16(noise)
  const pieces: Int16Array[] = []
  const labels: { readonly onsetMs: number; readonly offsetMs: number }[] = []
  let samples = 0
  const add = (pcm: Int16Array): void => {
    pieces.push(pcm)
    samples += pcm.length
  }
  const quiet = (ms: number): void => {
    const from = Math.floor(random.next() * (background.length - ms * 8))
    add(background.slice(from, from + ms * 8))
  }
  quiet(3000)
  for (const entry of clips) {
    labels.push({ onsetMs: samples / 8 + entry.onsetMs, offsetMs: samples / 8 + entry.offsetMs })
    add(readClip(entry))
    quiet(1500 + Math.floor(random.next() * 2000))
  }
  const stretches = listen(factory, pieces)
  all.minutes += samples / 8000 / 60
  for (const { onsetMs, offsetMs } of labels) {
    const own = stretches.filter((one) => one.onsetMs < offsetMs && one.endToldMs > onsetMs)
    const [first] = own
    const last = own.at(-1)
    if (first === undefined || last === undefined) {
      all.missed++
      continue
    }
    all.onsetMs.push(first.toldMs - onsetMs)
    all.endMs.push(last.endToldMs - offsetMs - VAD_STOP_MS)
    for (const one of own) one.belongs = true
  }
  all.falseAlarms += stretches.filter((one) => !one.belongs).length
}

function listen(factory: VadFactory, pieces: readonly Int16Array[]) {
  const vad = factory.open({ rate: 8000, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
  const stretches: { onsetMs: number; toldMs: number; endToldMs: number; belongs: boolean }[] = []
  const frame = new Int16Array(160)
  let filled = 0
  let atMs = 0
  for (const piece of pieces) {
    for (const sample of piece) {
      frame[filled++] = sample
      if (filled < 160) continue
      filled = 0
      const change = vad.process(frame, atMs)
      atMs += 20
      if (change === 'onset') {
        const endToldMs = Number.POSITIVE_INFINITY
        stretches.push({ onsetMs: vad.onsetMs, toldMs: atMs, endToldMs, belongs: false })
      }
      const last = stretches.at(-1)
      if (change === 'offset' && last !== undefined) last.endToldMs = atMs
    }
  }
  vad.close()
  return stretches
}
