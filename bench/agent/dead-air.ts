import { figure, type Measured, part } from '../lib/figures.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import { FAULTS, type Fault, type FaultMoment, PROFILES } from '../vendors/messages.js'
import { spread } from './engine-share.js'
import { callerNumber, type FaultSample } from './job.js'
import { judgingClips } from './reply-time.js'
import { openRig } from './rig.js'

const CALLS_PER_FAULT = 3
const REPLY_SECONDS = 2
/** Silence that counts as dead air, from the caller's or the agent's last sound (ms). */
const SILENCE_MS = 2000
/** Two missing frames are a pause; the synthetic voice itself has none. */
const PAUSE_MS = 60

interface Recovered {
  readonly fault: Fault
  /** From the fault to the agent's next sound; null if there was none. */
  readonly ms: number | null
  /** From the caller's last sound to the agent's first, including vendors and silence policy. */
  readonly waitedMs: number
  /** Silences on the call that were longer than `SILENCE_MS`. */
  readonly silences: readonly number[]
}

/**
 * Dead_air: measures how long a caller waits for any sound after a vendor failed, for each kind of fault, all
 * in one engine at the same time. A fault in the middle of speech first lets the delivered audio play: the
 * wait is the gap in the speech.
 */
export async function measureDeadAir(): Promise<Measured[]> {
  const calls = FAULTS.length * CALLS_PER_FAULT
  const faults = Object.fromEntries(
    Array.from({ length: calls }, (_, i) => [callerNumber(i), FAULTS[i % FAULTS.length] ?? 'stt_silent']),
  )
  const rig = await openRig({ profile: PROFILES.typical, replySeconds: REPLY_SECONDS, record: true, faults })
  try {
    const result = await rig.call({ kind: 'faults', calls, clips: judgingClips() })
    const { faults: moments } = await rig.vendors.report()
    const all = result.faults.flatMap((sample) => {
      const moment = moments.find(({ from }) => from === sample.from)
      return moment === undefined ? [] : [recovery(sample, moment)]
    })
    const context = {
      calls,
      vendorWaits: PROFILES.typical,
      notFailed: result.faults.length - all.length,
      errors: result.errors,
    }
    return [
      row('Dead_air', all, context),
      part('Dead_air@silence', spread(all.map(({ waitedMs }) => waitedMs / 1000)), context),
      ...FAULTS.map((fault) =>
        row(
          `Dead_air@${fault}`,
          all.filter((one) => one.fault === fault),
          context,
        ),
      ),
    ]
  } finally {
    await rig.close()
  }
}

function row(id: string, all: readonly Recovered[], context: Readonly<Record<string, unknown>>): Measured {
  const waits = all.flatMap(({ ms }) => (ms === null ? [] : [ms / 1000]))
  const never = all.length - waits.length
  const silences = all.flatMap((one) => one.silences)
  return figure(
    id,
    {
      n: all.length,
      p50: rounded(percentile(waits, 0.5)),
      p99: rounded(percentile(waits, 0.99)),
      max: never > 0 ? Number.POSITIVE_INFINITY : rounded(maximum(waits)),
    },
    {
      ...context,
      neverRecovered: never,
      silencesOver2s: silences.length,
      longestSilenceMs: silences.length === 0 ? 0 : Math.round(maximum(silences)),
    },
  )
}

function recovery(sample: FaultSample, { fault, atMs }: FaultMoment): Recovered {
  const { offsetMs, loudMs, untilMs } = sample
  const heard = [offsetMs, ...loudMs]
  const gaps = heard
    .slice(1)
    .map((at, i) => ({ fromMs: heard[i] ?? offsetMs, ms: at - (heard[i] ?? offsetMs) }))
  const silences = gaps.map(({ ms }) => ms).filter((ms) => ms > SILENCE_MS)
  const [first] = loudMs
  if (first === undefined) {
    const waitedMs = untilMs - offsetMs
    return { fault, ms: null, waitedMs, silences: [waitedMs] }
  }
  const waitedMs = first - offsetMs
  if (fault === 'tts_stalls' || fault === 'tts_fails') {
    const broken = gaps.slice(1).map(({ ms }) => ms)
    const longest = broken.length === 0 ? 0 : maximum(broken)
    return { fault, ms: longest > PAUSE_MS ? longest : 0, waitedMs, silences }
  }
  return { fault, ms: Math.max(0, first - Math.max(offsetMs, atMs)), waitedMs, silences }
}
