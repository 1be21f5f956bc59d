import { humanClips } from '../../fixtures/speech/human-speech.js'
import { readManifest } from '../../fixtures/speech/manifest.js'
import { VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { percentile } from '../lib/statistics.js'
import { PROFILES, type Profile } from '../vendors/messages.js'
import { drawWaterfall, type Stage } from './conversation-plot.js'
import { engineShare, partRows, replyRow, type Share, spread } from './engine-share.js'
import { openRig } from './rig.js'

/** Six of them clean, two in each noise. */
const CALLS = 12
const TURNS = 8
const REPLY_SECONDS = 0.8

interface ProfileRun {
  readonly shares: readonly Share[]
  readonly context: Readonly<Record<string, unknown>>
}

/**
 * R_engine: measures the end of the caller's speech to the agent's first sound, without silence policy and
 * vendors: clean callers in three parts and by vendor profile, then callers in noise. In noise a value may be
 * below zero, because the label is set on the clean signal, whose soft end the noise covers. @human: the same with
 * recordings of people. R_caller: all that a clean caller waits for, with vendors that stream and one that gets uploads.
 */
export async function measureReplies(probe: Probe): Promise<Measured[]> {
  const runs = {
    zero: await measureProfile('zero', probe),
    typical: await measureProfile('typical', probe),
    tail: await measureProfile('tail', probe),
    upload: await measureProfile('upload', probe),
  }
  const human = await measureProfile('typical', probe, humanSentences())
  const all = [...runs.zero.shares, ...runs.typical.shares, ...runs.tail.shares]
  const those = (shares: readonly Share[], condition: string): Share[] =>
    shares.filter(({ clip }) => clip.endsWith(`-${condition}`))
  const clean = those(all, 'clean')
  drawWaterfall(
    (['zero', 'typical', 'tail'] as const).map((profile) => ({
      name: profile,
      stages: stagesOf(those(runs[profile].shares, 'clean')),
    })),
  )
  const context = { calls: CALLS, silencePolicyMs: VAD_STOP_MS, vendors: 'JSON and base64 over TLS' }
  return [
    replyRow('R_engine', clean, context),
    ...partRows('R_engine', clean, context),
    ...(['zero', 'typical', 'tail'] as const).map((profile) =>
      replyRow(`R_engine@${profile}`, those(runs[profile].shares, 'clean'), {
        ...context,
        ...runs[profile].context,
      }),
    ),
    replyRow('R_engine@human', human.shares, { ...context, ...human.context }),
    waitRow('R_caller@streaming', those(runs.typical.shares, 'clean'), runs.typical.context),
    waitRow('R_caller@upload', those(runs.upload.shares, 'clean'), runs.upload.context),
    waitRow('R_caller@human', human.shares, human.context),
    ...['car', 'office', 'far'].map((condition) =>
      replyRow(`R_engine@${condition}`, those(all, condition), context),
    ),
  ]
}

/** Returns medians in order of time. */
function stagesOf(shares: readonly Share[]): readonly Stage[] {
  const median = (value: (share: Share) => number): number => percentile(shares.map(value), 0.5)
  return [
    { name: 'silence', of: 'policy', ms: VAD_STOP_MS },
    { name: 'ingest', of: 'engine', ms: median(({ ingestMs }) => ingestMs) },
    { name: 'text', of: 'vendor', ms: median(({ transcriptionMs }) => transcriptionMs) },
    { name: 'decide', of: 'engine', ms: median(({ askMs }) => askMs) },
    { name: 'model', of: 'vendor', ms: median(({ modelMs }) => modelMs) },
    { name: 'sentence', of: 'engine', ms: median(({ decideMs, askMs }) => decideMs - askMs) },
    { name: 'speech', of: 'vendor', ms: median(({ speechMs }) => speechMs) },
    { name: 'emit', of: 'engine', ms: median(({ emitMs }) => emitMs) },
  ]
}

/** Returns the row of all that the caller waits for: silence policy, vendors and engine. */
function waitRow(id: string, shares: readonly Share[], context: ProfileRun['context']): Measured {
  return figure(id, spread(shares.map(({ totalMs }) => totalMs)), {
    ...context,
    silencePolicyMs: VAD_STOP_MS,
  })
}

async function measureProfile(
  name: Profile['name'],
  probe: Probe,
  clips = judgingClips(),
): Promise<ProfileRun> {
  const profile = PROFILES[name]
  const rig = await openRig({ profile, replySeconds: REPLY_SECONDS, record: true })
  try {
    const result = await rig.call({ kind: 'turns', calls: CALLS, turnsPerCall: TURNS, clips })
    const { turns: waits } = await rig.vendors.report()
    const { late } = await probe.judge()
    const shares = result.turns.flatMap((turn) => engineShare(turn, waits, late) ?? [])
    return {
      shares,
      context: {
        vendorWaits: profile,
        turns: result.turns.length,
        unanswered: result.turns.filter((turn) => turn.replyMs === null).length,
        // The reply began while the caller still spoke: the end of turn was detected too early.
        early: result.turns.filter((turn) => turn.early).length,
        notCounted: result.turns.length - shares.length,
        errors: result.errors,
      },
    }
  } finally {
    await rig.close()
  }
}

/** Returns the sentences of the recorded people, without noise. */
function humanSentences(): string[] {
  return humanClips()
    .filter(({ kind, condition }) => kind === 'speech' && condition === 'clean')
    .map(({ clip }) => clip)
}

/** Returns the speech clips of the test set in all conditions. */
export function judgingClips(): string[] {
  return readManifest()
    .filter((entry) => entry.set === 'test' && entry.kind === 'speech')
    .map((entry) => entry.clip)
}
