import { humanClips } from '../../fixtures/speech/human-speech.js'
import { findClip, readManifest } from '../../fixtures/speech/manifest.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged, type LateWindows } from '../lib/judged-time.js'
import { rounded } from '../lib/statistics.js'
import { PROFILES } from '../vendors/messages.js'
import { callers, sessionStart } from './barge-in.js'
import { spread } from './engine-share.js'
import type { NonSpeechSample } from './job.js'
import { openRig, type Rig } from './rig.js'

const CALLS = 12
const REPLY_SECONDS = 30
const ECHOES = 4
/** A speakerphone whose echo canceller leaves this residual echo. */
const ECHO = { delayMs: 60, gainDb: -30 }
const PROMPT = 'test-u06-clean'
/** Largest error of the engine's clock as calibrated here. */
const SLACK_MS = 40

type Kind = 'cough' | 'backchannel' | 'echo'

interface Judged extends NonSpeechSample {
  readonly kind: Kind
  readonly ended: boolean
}

/**
 * B_false: measures the share (percent) of non-interrupting sounds that end the agent's speech. @resume: how
 * long after the end of such a sound a paused agent resumes. @human: short words of recorded people, which the
 * recogniser takes for backchannels. Half of the callers are in an office.
 */
export async function measureFalseStops(probe: Probe): Promise<Measured[]> {
  const names = [
    ...new Set(
      readManifest()
        .filter(({ set, kind }) => set === 'test' && (kind === 'cough' || kind === 'backchannel'))
        .map(({ clip, condition }) => clip.slice(0, -condition.length - 1)),
    ),
  ]
  const sounds = await measure(names, null)
  const echoes = await measure(
    Array.from({ length: ECHOES }, () => 'echo'),
    ECHO,
  )
  const people = await measure(humanWords(), null)
  const { late } = await probe.judge()
  const all = [...sounds.judged, ...echoes.judged]
  const context = { calls: CALLS, echo: ECHO, errors: [...sounds.errors, ...echoes.errors] }
  return [
    row('B_false', all, context),
    resumeRow(all, context, late),
    row('B_false@human', people.judged, { ...context, errors: people.errors }),
    ...(['cough', 'backchannel', 'echo'] as const).map((kind) =>
      row(
        `B_false@${kind}`,
        all.filter((sample) => sample.kind === kind),
        context,
      ),
    ),
  ]
}

/** Returns the short words of the recorded people, by name without condition. */
function humanWords(): string[] {
  const words = humanClips().filter(({ kind, condition }) => kind === 'backchannel' && condition === 'clean')
  return words.map(({ clip }) => clip.slice(0, -'-clean'.length))
}

async function measure(
  clips: readonly string[],
  echo: typeof ECHO | null,
): Promise<{ readonly judged: readonly Judged[]; readonly errors: readonly string[] }> {
  const rig = await openRig({ profile: PROFILES.zero, replySeconds: REPLY_SECONDS, record: false })
  try {
    const result = await rig.call(
      { kind: 'aside', calls: CALLS, clips, prompt: PROMPT, echo },
      { saying: (clip) => rig.vendors.setTranscript(clip === null ? null : textOf(clip)) },
    )
    const stops = await interruptions(rig, result.speechStarts)
    const judged = result.nonSpeech.map(
      (sample): Judged => ({
        ...sample,
        kind:
          sample.clip === 'echo'
            ? 'echo'
            : findClip(`${sample.clip}-clean`).kind === 'cough'
              ? 'cough'
              : 'backchannel',
        ended: (stops.get(sample.from) ?? []).some(
          (atMs) => atMs > sample.onsetMs - SLACK_MS && atMs < sample.untilMs,
        ),
      }),
    )
    return { judged, errors: result.errors }
  } finally {
    await rig.close()
  }
}

/** Returns the times of the engine's interruptions on the bench's clock, by caller. */
async function interruptions(
  rig: Rig,
  speechStarts: Readonly<Record<string, readonly number[]>>,
): Promise<Map<string, number[]>> {
  const stops = new Map<string, number[]>()
  for (const [callId, from] of await callers(rig)) {
    const events = rig.service.events.filter((event) => event.callId === callId)
    const offset = sessionStart(events, speechStarts[from] ?? [])
    if (offset === null) throw new Error(`the clock of the call of ${from} is not known`)
    stops.set(
      from,
      events.flatMap((event) => (event.type === 'interrupted' ? [event.atMs + offset] : [])),
    )
  }
  return stops
}

function row(id: string, all: readonly Judged[], context: Readonly<Record<string, unknown>>): Measured {
  const samples = all.filter(({ spoken }) => spoken)
  const ended = samples.filter((sample) => sample.ended)
  return figure(
    id,
    {
      n: samples.length,
      value: samples.length === 0 ? Number.NaN : rounded((100 * ended.length) / samples.length),
    },
    {
      ...context,
      // After a false stop the agent may still be silent at the next sound.
      agentWasSilent: all.length - samples.length,
      endedBy: [...new Set(ended.map(({ clip }) => clip))],
    },
  )
}

/** Returns the row of how long the agent stayed silent after a sound for which it paused. */
function resumeRow(
  all: readonly Judged[],
  context: Readonly<Record<string, unknown>>,
  hostLate: LateWindows,
): Measured {
  const gaps = all.flatMap(({ spoken, ended, resumedMs, endMs }) =>
    !spoken || ended || resumedMs === null || !isJudged(hostLate, endMs, resumedMs)
      ? []
      : [resumedMs - endMs],
  )
  return figure('B_false@resume', spread(gaps), context)
}

function textOf(clip: string): string {
  return clip === 'echo' ? '' : findClip(`${clip}-clean`).text
}
