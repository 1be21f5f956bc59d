import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import { seeded } from '../../fixtures/host/random.js'
import { dial } from '../../fixtures/sip/phone.js'
import { openSipPeer, type SipPeer } from '../../fixtures/sip/sip-peer.js'
import type { Condition } from '../../fixtures/speech/catalogue.js'
import { ambientNoise } from '../../fixtures/speech/conditions.js'
import { toInt16 } from '../../fixtures/speech/dsp.js'
import { TALKER_DBFS } from '../../fixtures/speech/make-clip.js'
import { CLIP_RATE, findClip, readClip } from '../../fixtures/speech/manifest.js'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { type LateWindows, NO_LATE_WINDOWS } from '../lib/judged-time.js'
import { raiseCallerPriority } from '../lib/priority.js'
import {
  type CallerJob,
  type CallerResult,
  callerNumber,
  type FaultSample,
  type FromCaller,
  type InterruptSample,
  type NonSpeechJob,
  type NonSpeechSample,
  type TurnSample,
} from './job.js'
import { Listener } from './listener.js'
import { playNonSpeech } from './non-speech.js'
import { summarise } from './summary.js'
import { type Caller, type Clip, pause, quiet, required, until } from './telephone.js'

/* The callers of the bench: telephones in a process of their own with real SIP and RTP; runs one job. */

const REPLY_DEADLINE_MS = 6_000
const ADMISSION_TRIES = 15
const ADMISSION_WAIT_MS = 1_000
const FAULT_TURNS = 2
const FAULT_WATCH_MS = 9_000
const PROGRESS_MS = 15_000
const NOISE_SAMPLES = 10 * CLIP_RATE
const CONDITIONS: readonly Condition[] = ['clean', 'car', 'office', 'far']
const CLEAN: readonly Condition[] = ['clean']
/** Half of the clips are clean: their labels are exact. */
const TURN_CONDITIONS: readonly Condition[] = ['clean', 'car', 'clean', 'office', 'clean', 'far']
/** The conditions in which the non-speech clips of the fixtures were rendered. */
const ASIDE_CONDITIONS: readonly Condition[] = ['clean', 'office']

const turns: TurnSample[] = []
const interrupts: Omit<InterruptSample, 'receivedWords' | 'stopsMs'>[] = []
const faults: FaultSample[] = []
const errors: string[] = []

async function run(job: CallerJob): Promise<CallerResult> {
  const clips = (job.kind === 'aside' ? [] : job.clips).map((name): Clip => {
    const entry = findClip(name)
    return { entry, pcm: readClip(entry) }
  })
  for (const condition of CONDITIONS) noiseOf(condition, job.seed)
  const peer = await openSipPeer()
  const callers: Caller[] = []
  let asides: readonly NonSpeechSample[] = []
  const of = job.kind === 'turns' || job.kind === 'interrupt' ? job.calls * job.turnsPerCall : 0
  const ticking = setInterval(() => {
    if (of > 0) send({ kind: 'progress', done: turns.length + interrupts.length, of })
  }, PROGRESS_MS)
  try {
    const talks: Promise<void>[] = []
    const spacingMs = job.kind === 'density' ? 1000 / job.callsPerSecond : 250
    let allUpMs = Number.POSITIVE_INFINITY
    for (let i = 0; i < job.calls; i++) {
      const caller = await ring(peer, job, i)
      // This number of calls fails in any case: the established ones are measured without further waiting.
      if (caller === null && job.kind === 'density') break
      if (caller !== null) {
        callers.push(caller)
        if (job.kind === 'aside') {
          await pause(spacingMs)
          continue
        }
        talks.push(
          converse(job, caller, clips, i, () => allUpMs).catch((error: unknown) => {
            errors.push(errorText(error))
          }),
        )
      }
      await pause(spacingMs)
    }
    allUpMs = systemClock.now()
    if (job.kind === 'density') {
      send({ kind: 'phase', phase: 'up', cpuMs: ownCpuMs() })
      await pause(job.holdMs)
      send({ kind: 'phase', phase: 'over', cpuMs: ownCpuMs() })
    }
    await Promise.all(talks)
    const hostLate = job.kind === 'density' ? await askHostLate() : NO_LATE_WINDOWS
    if (job.kind === 'aside') {
      asides = await playNonSpeech(callers, job, saying, (done) => {
        if (done % 5 === 0) send({ kind: 'progress', done, of: job.clips.length })
      })
    }
    return {
      turns,
      interrupts: interrupts.flatMap((sample) => {
        const listener = callers.find(({ from }) => from === sample.from)?.listener
        if (listener === undefined) return []
        // Only at this point has every stopped reply ended.
        const { onsetMs } = sample
        return { ...sample, receivedWords: listener.recital(onsetMs), stopsMs: listener.stops(onsetMs) }
      }),
      nonSpeech: asides,
      faults,
      speechStarts: Object.fromEntries(callers.map(({ from, listener }) => [from, listener.speechStartMs])),
      streams: job.kind === 'density' ? [] : callers.map(({ listener }) => listener.packets),
      density:
        job.kind === 'density'
          ? summarise(
              callers.map(({ listener }) => listener),
              turns,
              job.calls,
              allUpMs,
              hostLate,
            )
          : null,
      errors,
    }
  } finally {
    clearInterval(ticking)
    await Promise.all(callers.map(({ phone }) => phone.close()))
    await pause(200) // time for the responses to the BYEs
    await peer.close()
  }
}

const noises = new Map<Condition, Int16Array | null>()

/** Made once before the first call: it takes a tenth of a second, in which no caller could send. */
function noiseOf(condition: Condition, seed: number): Int16Array | null {
  const known = noises.get(condition)
  if (known !== undefined) return known
  const made = ambientNoise(condition, NOISE_SAMPLES, seed, CLIP_RATE, TALKER_DBFS)
  const noise = made === null ? null : toInt16(made)
  noises.set(condition, noise)
  return noise
}

async function ring(peer: SipPeer, job: CallerJob, index: number): Promise<Caller | null> {
  const listener = new Listener({ words: job.kind === 'interrupt' })
  const from = callerNumber(index)
  const conditions =
    job.kind === 'aside'
      ? ASIDE_CONDITIONS
      : job.kind === 'turns'
        ? TURN_CONDITIONS
        : job.kind === 'faults'
          ? CLEAN
          : CONDITIONS
  const condition =
    (job.kind === 'aside' && job.echo ? null : conditions[index % conditions.length]) ?? 'clean'
  const noise = noiseOf(condition, job.seed)
  for (let attempt = 1; ; attempt++) {
    try {
      const phone = await dial(peer, {
        uri: `sip:${job.to}@${job.target.address}:${job.target.port}`,
        target: job.target,
        from: `sip:${from}@127.0.0.1`,
        rtp: {
          codec: 'PCMA',
          keep: false,
          onPacket: listener.hear,
          ...(noise === null ? {} : { background: noise }),
          ...(job.kind === 'aside' && job.echo ? { echo: job.echo } : {}),
        },
      })
      return { from, condition, phone, listener, random: seeded(job.seed + index) }
    } catch (error) {
      // Admission depends on the frame clock's lateness in the last seconds: a noisy moment passes.
      if (attempt < ADMISSION_TRIES && /503/.test(errorText(error))) {
        await pause(ADMISSION_WAIT_MS)
        continue
      }
      errors.push(errorText(error))
      return null
    }
  }
}

async function converse(
  job: Exclude<CallerJob, NonSpeechJob>,
  caller: Caller,
  clips: readonly Clip[],
  index: number,
  allUpMs: () => number,
): Promise<void> {
  const own = clips.filter(({ entry }) => entry.condition === caller.condition)
  for (let turn = 0; ; turn++) {
    const over =
      job.kind === 'density'
        ? systemClock.now() > allUpMs() + job.holdMs
        : turn >= (job.kind === 'faults' ? FAULT_TURNS : job.turnsPerCall)
    if (over) return
    if (caller.phone.dialog.state === 'ended') {
      errors.push(`the call of ${caller.from} ended early`)
      return
    }
    const clip = own[(index + turn) % own.length]
    if (clip === undefined) throw new Error(`no clips in condition ${caller.condition}`)
    if (job.kind === 'interrupt') await interrupt(caller, clip)
    else if (job.kind === 'faults' && turn === FAULT_TURNS - 1) await askInVain(caller, clip)
    else await takeTurn(caller, clip)
  }
}

/** Waits for the end of the agent's speech, speaks, and waits for the reply. */
async function takeTurn(caller: Caller, clip: Clip): Promise<void> {
  const { listener, random } = caller
  await until(() => listener.loudMs.length > 0 && quiet(listener), 15_000)
  await pause(random.between(100, 400))
  const said = caller.phone.rtp.say(clip.pcm)
  await said.done
  const onsetMs = required(said.spokenAtMs(Math.round(clip.entry.onsetMs * 8)))
  const offsetMs = required(said.spokenAtMs(Math.round(clip.entry.offsetMs * 8) - 1))
  await until(() => listener.firstLoudAfter(offsetMs) !== null, REPLY_DEADLINE_MS)
  const early = (listener.firstLoudAfter(onsetMs) ?? Number.POSITIVE_INFINITY) < offsetMs
  turns.push({
    from: caller.from,
    clip: clip.entry.clip,
    onsetMs,
    offsetMs,
    replyMs: listener.firstLoudAfter(offsetMs),
    early,
  })
}

/** Asks a question that a vendor will fail, and listens for a while to what the agent says instead. */
async function askInVain(caller: Caller, clip: Clip): Promise<void> {
  const { listener } = caller
  await takeTurn(caller, clip)
  const offsetMs = turns.findLast(({ from }) => from === caller.from)?.offsetMs ?? systemClock.now()
  await until(() => systemClock.now() > offsetMs + FAULT_WATCH_MS, FAULT_WATCH_MS)
  faults.push({
    from: caller.from,
    offsetMs,
    loudMs: listener.loudMs.filter((atMs) => atMs >= offsetMs),
    untilMs: offsetMs + FAULT_WATCH_MS,
  })
}

/** Waits until the agent is well into its sentence, interrupts it and observes the stop. */
async function interrupt(caller: Caller, clip: Clip): Promise<void> {
  const { listener, random } = caller
  await until(() => !quiet(listener), REPLY_DEADLINE_MS)
  if (quiet(listener)) {
    // No speech is in progress: an ordinary question makes the agent speak.
    await caller.phone.rtp.say(clip.pcm).done
    return
  }
  const intoIt = systemClock.now() + random.between(800, 2_000)
  await until(() => systemClock.now() > intoIt, 5_000)
  if (quiet(listener)) return // the sentence had ended: nothing to interrupt
  const said = caller.phone.rtp.say(clip.pcm)
  const sample = Math.round(clip.entry.onsetMs * 8)
  await until(() => said.spokenAtMs(sample) !== null, 5_000)
  const onsetMs = required(said.spokenAtMs(sample))
  await until(() => listener.stoppedAfter(onsetMs, systemClock.now()) !== null, 3_000)
  const lastSpeechMs = listener.stoppedAfter(onsetMs, systemClock.now())
  await said.done
  interrupts.push({ from: caller.from, clip: clip.entry.clip, onsetMs, lastSpeechMs })
  // The reply to the interruption is interrupted next.
  await until(() => systemClock.now() - listener.lastLoudMs < 100, REPLY_DEADLINE_MS)
}

function send(message: FromCaller): void {
  process.send?.(message)
}

/** Resolves when the fake vendors know which clip is spoken next. */
function saying(clip: string | null): Promise<void> {
  return new Promise((resolve) => {
    process.once('message', () => resolve())
    send({ kind: 'saying', clip })
  })
}

/** Resolves with the windows of the held time in which the host was late. */
function askHostLate(): Promise<LateWindows> {
  return new Promise((resolve) => {
    process.once('message', (windows: readonly number[]) => resolve(new Set(windows)))
    send({ kind: 'host' })
  })
}

function tell(message: FromCaller): void {
  process.send?.(message, () => process.disconnect())
}

raiseCallerPriority()
process.once('message', (job: CallerJob) => {
  run(job).then(
    (result) => tell({ kind: 'result', result }),
    (error: unknown) => tell({ kind: 'failed', message: errorText(error) }),
  )
})
