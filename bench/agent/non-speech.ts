import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { systemClock } from '../../media/base/clock.js'
import type { NonSpeechJob, NonSpeechSample } from './job.js'
import { type Caller, type Clip, pause, required, until } from './telephone.js'

/** Sounds played during one long reply; then the callers ask for the next one. */
const PER_REPLY = 5
const REPLY_DEADLINE_MS = 8_000
/** The agent is well into its sentence. */
const INTO_MS = 1_200
/** Observation time after each sound: longer than any pause the engine makes. */
const WATCH_MS = 2_400

/**
 * All callers play the same non-speech sound at the same time while the agent speaks, and observe the agent.
 * `saying` announces the sound first, because the fake recogniser does not analyse audio.
 */
export async function playNonSpeech(
  callers: readonly Caller[],
  job: NonSpeechJob,
  saying: (clip: string | null) => Promise<void>,
  progress: (done: number, of: number) => void,
): Promise<NonSpeechSample[]> {
  const samples: NonSpeechSample[] = []
  const prompt = load(job.prompt)
  for (const [step, name] of job.clips.entries()) {
    if (step % PER_REPLY === 0) {
      await saying(null)
      await Promise.all(callers.map((caller) => ask(caller, prompt)))
    }
    await saying(name)
    samples.push(...(await Promise.all(callers.map((caller) => aside(caller, name)))))
    progress(step + 1, job.clips.length)
  }
  return samples
}

async function ask({ phone, listener }: Caller, prompt: Clip): Promise<void> {
  await phone.rtp.say(prompt.pcm).done
  const endMs = systemClock.now()
  await until(() => listener.firstLoudAfter(endMs) !== null, REPLY_DEADLINE_MS)
  await pause(INTO_MS)
}

async function aside(
  { from, condition, phone, listener, random }: Caller,
  name: string,
): Promise<NonSpeechSample> {
  await pause(random.between(0, 300))
  let onsetMs = systemClock.now()
  let endMs = onsetMs
  // An echo needs no clip: it is the agent's own speech.
  if (name !== 'echo') {
    const { entry, pcm } = load(`${name}-${condition}`)
    const said = phone.rtp.say(pcm)
    await said.done
    onsetMs = required(said.spokenAtMs(Math.round(entry.onsetMs * 8)))
    endMs = required(said.spokenAtMs(Math.round(entry.offsetMs * 8) - 1))
  }
  await pause(WATCH_MS)
  const untilMs = systemClock.now()
  const spoken = listener.speakingAt(onsetMs)
  const resumedMs = listener.resumedAfter(onsetMs, endMs)
  return { from, clip: name, onsetMs, endMs, untilMs, spoken, resumedMs }
}

function load(name: string): Clip {
  const entry = findClip(name)
  return { entry, pcm: readClip(entry) }
}
