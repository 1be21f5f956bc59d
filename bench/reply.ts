import { readManifest } from '../fixtures/speech/manifest.js'
import { VAD_STOP_MS } from '../media/agent/turn-policy.js'
import { figure, type Measured } from './figures.js'
import type { TurnSample } from './job.js'
import { PROFILES, type Profile, type TurnWaits } from './providers.js'
import { openRig } from './rig.js'
import { maximum, percentile, rounded } from './statistics.js'

const CALLS = 4
const TURNS = 25
const REPLY_SECONDS = 0.8

/** R_engine: end of the caller's speech to the agent's first sound, without policy and providers. */
export async function measureReplies(profile: Profile['name']): Promise<Measured[]> {
  const rig = await openRig({ profile: PROFILES[profile], replySeconds: REPLY_SECONDS, record: true })
  try {
    const result = await rig.call({ kind: 'turns', calls: CALLS, turnsPerCall: TURNS, clips: judgingClips() })
    const waits = rig.providers.waits()
    const samples = result.turns.flatMap((turn) => engineShare(turn, waits))
    const values = samples.map((sample) => sample.ms)
    const conditions = Object.fromEntries(
      ['clean', 'car', 'office', 'far'].map((condition) => {
        const of = samples.filter((sample) => sample.clip.endsWith(`-${condition}`)).map(({ ms }) => ms)
        return [
          condition,
          { n: of.length, p50: rounded(percentile(of, 0.5)), p99: rounded(percentile(of, 0.99)) },
        ]
      }),
    )
    return [
      figure(
        `R_engine@${profile}`,
        {
          n: values.length,
          p50: rounded(percentile(values, 0.5)),
          p99: rounded(percentile(values, 0.99)),
          max: rounded(maximum(values)),
        },
        {
          calls: CALLS,
          silencePolicyMs: VAD_STOP_MS,
          providers: PROFILES[profile],
          totalP50: rounded(
            percentile(
              samples.map(({ totalMs }) => totalMs),
              0.5,
            ),
          ),
          conditions,
          unanswered: result.turns.filter((turn) => turn.replyMs === null).length,
          // The reply began while the caller still spoke: the end was taken too early.
          early: result.turns.filter((turn) => turn.early).length,
          errors: result.errors,
        },
      ),
    ]
  } finally {
    await rig.close()
  }
}

/** Speech of the judging set, in all conditions. */
export function judgingClips(): string[] {
  return readManifest()
    .filter((entry) => entry.set === 'test' && entry.kind === 'speech')
    .map((entry) => entry.clip)
}

function engineShare(
  turn: TurnSample,
  waits: readonly TurnWaits[],
): { readonly clip: string; readonly ms: number; readonly totalMs: number }[] {
  if (turn.replyMs === null || turn.early) return []
  const { replyMs } = turn
  // The reply's speech is the last one that left a provider before it was heard.
  const own = waits.findLast(({ speechSentMs }) => speechSentMs <= replyMs)
  if (own === undefined || own.speechSentMs < turn.offsetMs) return []
  const totalMs = replyMs - turn.offsetMs
  const providersMs = own.transcriptionMs + own.modelMs + own.speechMs
  return [{ clip: turn.clip, totalMs, ms: totalMs - VAD_STOP_MS - providersMs }]
}
