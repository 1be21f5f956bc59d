import { readManifest } from '../fixtures/speech/manifest.js'
import { VAD_STOP_MS } from '../media/agent/turn-policy.js'
import { figure, type Measured } from './figures.js'
import type { TurnSample } from './job.js'
import { PROFILES, type Profile, type TurnWaits } from './providers.js'
import { openRig } from './rig.js'
import { maximum, percentile, rounded } from './statistics.js'

const CALLS = 4
const TURNS = 24 // each caller says each of its twelve clips twice
const REPLY_SECONDS = 0.8

type Sample = {
  readonly clip: string
  readonly profile: Profile['name']
  readonly ms: number
  readonly totalMs: number
}

interface ProfileRun {
  readonly samples: readonly Sample[]
  readonly context: Readonly<Record<string, unknown>>
}

/**
 * R_engine: end of the caller's speech to the agent's first sound, without policy and providers;
 * over everything, and by the providers' profile and the caller's condition. In noise a value may be
 * below zero: the label is set on the clean signal, whose last breath the noise covers.
 */
export async function measureReplies(): Promise<Measured[]> {
  const runs = { typical: await measureProfile('typical'), zero: await measureProfile('zero') }
  const all = [...runs.typical.samples, ...runs.zero.samples]
  const context = { calls: CALLS, silencePolicyMs: VAD_STOP_MS }
  return [
    row('R_engine', all, context),
    ...(['typical', 'zero'] as const).map((profile) =>
      row(`R_engine@${profile}`, runs[profile].samples, { ...context, ...runs[profile].context }),
    ),
    ...['clean', 'car', 'office', 'far'].map((condition) =>
      row(
        `R_engine@${condition}`,
        all.filter((sample) => sample.clip.endsWith(`-${condition}`)),
        context,
      ),
    ),
  ]
}

async function measureProfile(profile: Profile['name']): Promise<ProfileRun> {
  const rig = await openRig({ profile: PROFILES[profile], replySeconds: REPLY_SECONDS, record: true })
  try {
    const result = await rig.call({ kind: 'turns', calls: CALLS, turnsPerCall: TURNS, clips: judgingClips() })
    const waits = rig.providers.waits()
    return {
      samples: result.turns.flatMap((turn) => engineShare(turn, waits, profile)),
      context: {
        providers: PROFILES[profile],
        turns: result.turns.length,
        unanswered: result.turns.filter((turn) => turn.replyMs === null).length,
        // The reply began while the caller still spoke: the end was taken too early.
        early: result.turns.filter((turn) => turn.early).length,
        errors: result.errors,
      },
    }
  } finally {
    await rig.close()
  }
}

function row(id: string, samples: readonly Sample[], context: Readonly<Record<string, unknown>>): Measured {
  const values = samples.map(({ ms }) => ms)
  return figure(
    id,
    {
      n: values.length,
      p50: rounded(percentile(values, 0.5)),
      p99: rounded(percentile(values, 0.99)),
      max: rounded(maximum(values)),
    },
    {
      ...context,
      // A label is set on the clean signal: in noise its softest end is not there to be heard, and an
      // end that is told earlier than the label counts below zero.
      labels: 'clean signal',
      belowZero: values.filter((value) => value < 0).length,
      totalP50: rounded(
        percentile(
          samples.map(({ totalMs }) => totalMs),
          0.5,
        ),
      ),
    },
  )
}

/** Speech of the judging set, in all conditions. */
export function judgingClips(): string[] {
  return readManifest()
    .filter((entry) => entry.set === 'test' && entry.kind === 'speech')
    .map((entry) => entry.clip)
}

function engineShare(turn: TurnSample, waits: readonly TurnWaits[], profile: Profile['name']): Sample[] {
  if (turn.replyMs === null || turn.early) return []
  const { replyMs } = turn
  // The reply's speech is the last one that left a provider before it was heard.
  const own = waits.findLast(({ speechSentMs }) => speechSentMs <= replyMs)
  if (own === undefined || own.speechSentMs < turn.offsetMs) return []
  const totalMs = replyMs - turn.offsetMs
  const providersMs = own.transcriptionMs + own.modelMs + own.speechMs
  return [{ clip: turn.clip, profile, totalMs, ms: totalMs - VAD_STOP_MS - providersMs }]
}
