import type { AgentSpec, SpeakerScript } from '../../../media/agent/agent-spec.js'
import { CircuitBreakers } from '../../../media/agent/circuit-breaker.js'
import { openAgent } from '../../../media/agent/realtime/realtime-conversation.js'
import { PhraseCache } from '../../../media/agent/tts/phrase-cache.js'
import { type Clock, systemClock } from '../../../media/base/clock.js'
import { FRAME_MS, type SessionRate } from '../../../media/base/frame.js'
import { silentLog } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import { StepClock } from '../../../media/base/step-clock.js'
import { NoiseSuppression } from '../../../media/vad/noise-suppressor.js'
import { loadVad, type VadFactory } from '../../../media/vad/vad.js'
import { EMBEDDED } from '../../../media/vendors/catalogue.js'
import { withSandboxScript } from '../../../media/vendors/embedded/stt.js'
import type { SynthesisPort } from '../../../media/vendors/espeak/synthesis-port.js'
import { openVendors } from '../../../media/vendors/open-vendors.js'
import { SynthesisJobs } from '../../../workers/jobs/synthesis-jobs.js'
import { turnTable } from '../../calls/report/turn-table.js'
import type { Settings } from '../../config/settings.js'
import { openEgress } from '../../net/egress.js'
import { UsageError } from '../options.js'
import { Printer } from './printer.js'
import { ConversationFile, type Recording, readRecording, toFrames } from './sound-files.js'
import { SpeakingCaller, scriptUtterance } from './speaking-caller.js'
import { openTalkTools } from './tools.js'

/** Longest conversation (ms), regardless of the agent's own limit. */
const LONGEST_MS = 3_600_000
/** Limit of one synthesis while the session waits for it and no caller does. The first one starts its thread. */
const SYNTHESIS_LIMIT_MS = 60_000

export interface AudioTalkOptions {
  readonly inputs: readonly Recording[]
  readonly out: string | null
  readonly agentOnly: boolean
  readonly ignoreAgent: boolean
  /** The words of each input, for the embedded recogniser. Empty when unknown. */
  readonly said: readonly string[]
}

/** Reads all files, so that errors show before the conversation starts. Throws UsageError. */
export function readInputs(paths: readonly string[]): readonly Recording[] {
  return paths.map(readRecording)
}

/**
 * Runs a conversation in audio: the agent's recogniser hears the recordings, and its voice is written to a
 * file. Runs in real time, or as fast as possible when all vendors of the agent are embedded. Returns exit
 * status 0, or 1 when a provider failed.
 */
export async function talkInAudio(
  spec: AgentSpec,
  settings: Settings,
  options: AudioTalkOptions,
  write: (text: string) => void,
): Promise<number> {
  const rate: SessionRate = options.inputs.some((input) => input.rate >= 16_000) ? 16_000 : 8_000
  const recordings = options.inputs.map((input) => toFrames(input, rate))
  const vad = await loadVad()
  const script = scriptOf(spec, options, recordings, rate, vad)
  const printer = new Printer({ write, trace: true, times: true })
  if (script === null && spec.speechToText.vendor === EMBEDDED) {
    printer.line(
      '!      parley-sandbox cannot understand recordings: give the words with --said, once for each --in',
    )
  }
  const scope = new Scope()
  try {
    const file =
      options.out === null
        ? null
        : new ConversationFile(
            options.out,
            rate,
            options.agentOnly,
            options.inputs.map(({ path }) => path),
          )
    const steps = isEmbedded(spec) ? new StepClock(systemClock.wall()) : null
    const jobs = new SynthesisJobs({
      ...(steps === null ? {} : { deadlineMs: SYNTHESIS_LIMIT_MS }),
      clock: systemClock,
      log: silentLog,
    })
    scope.own(() => jobs.close())
    const synthesis = new Awaited(jobs)
    const clock: Clock = steps ?? systemClock
    const egress = scope.add(openEgress({ allowPrivate: settings.allowPrivateUrls }))
    const vendors = openVendors({ providers: settings.providers, synthesis, clock, log: silentLog })
    const conversation = openAgent({
      id: 'agent',
      spec,
      rate,
      vendors: withSandboxScript(vendors, () => script),
      breakers: new CircuitBreakers(clock),
      phrases: new PhraseCache(),
      vad,
      noiseSuppression: new NoiseSuppression(),
      clock,
      emit: (event) => printer.event(event),
      log: silentLog,
      tools: openTalkTools(spec, { egress, clock, printer }),
      onFault: (error) => printer.fault(error),
    })
    const caller = new SpeakingCaller(recordings, {
      rate,
      ignoreAgent: options.ignoreAgent,
      greeted: spec.openingLine !== null,
    })
    const heard = new Int16Array((rate / 1000) * FRAME_MS)
    const said = new Int16Array(heard.length)
    try {
      await conversation.prepare()
      conversation.start()
      const pace = steps === null ? realTime() : fast(steps, synthesis)
      for (let at = 0; !printer.ended; at += heard.length) {
        const atMs = (at * 1000) / rate
        if (caller.done(atMs) || atMs >= LONGEST_MS) break
        caller.speak(said, atMs, conversation.pull(heard, at))
        conversation.push({ pcm: said, rate, at })
        file?.add(said, heard)
        await pace()
      }
    } finally {
      conversation.close('hangup')
      const seconds = file?.close()
      if (file !== null) printer.line(`       ${seconds?.toFixed(2)} s written to ${file.path}`)
    }
  } finally {
    await scope.close()
  }
  write(`\n${turnTable({ turns: printer.turns, usage: printer.usage })}`)
  return printer.hasFailed ? 1 : 0
}

/** Returns null for a recogniser that needs no script. */
function scriptOf(
  spec: AgentSpec,
  { inputs, said }: AudioTalkOptions,
  recordings: readonly Int16Array[],
  rate: SessionRate,
  vad: VadFactory,
): SpeakerScript | null {
  if (said.length === 0) return null
  if (spec.speechToText.vendor !== EMBEDDED) {
    throw new UsageError(
      `--said is for parley-sandbox; ${spec.speechToText.model ?? 'this model'} recognises speech itself`,
    )
  }
  if (said.length !== inputs.length) {
    throw new UsageError(`--said was given ${said.length} times, --in ${inputs.length} times`)
  }
  return {
    utterances: recordings.map((pcm, i) => {
      const clip = inputs[i]?.path ?? ''
      const text = said[i] ?? ''
      const utterance = scriptUtterance(pcm, { clip, text, language: spec.speechToText.language }, rate, vad)
      if (utterance === null) throw new UsageError(`${clip}: no speech was found in it`)
      return utterance
    }),
  }
}

/** Returns whether all vendors of the agent are embedded, so that the session need not run in real time. */
function isEmbedded(spec: AgentSpec): boolean {
  const vendors = [spec.speechToText.vendor, spec.textToSpeech.vendor, spec.languageModel.vendor]
  return (
    vendors.every((vendor) => vendor === EMBEDDED) && spec.tools.every(({ action }) => action.kind !== 'http')
  )
}

/** Waits for the next frame. Missed frames follow at once. */
function realTime(): () => Promise<void> {
  let dueMs = systemClock.now()
  return () => {
    dueMs += FRAME_MS
    return new Promise((resolve) => systemClock.after(Math.max(0, dueMs - systemClock.now()), resolve))
  }
}

/** Advances the virtual time after all real work has finished. */
function fast(clock: StepClock, synthesis: Awaited): () => Promise<void> {
  return async () => {
    clock.advance(FRAME_MS)
    await synthesis.idle()
  }
}

/** Synthesis whose completion can be awaited. */
class Awaited implements SynthesisPort {
  readonly #port: SynthesisPort
  readonly #running = new Set<Promise<unknown>>()

  constructor(port: SynthesisPort) {
    this.#port = port
  }

  synthesize(...asked: Parameters<SynthesisPort['synthesize']>): ReturnType<SynthesisPort['synthesize']> {
    const work = this.#port.synthesize(...asked)
    this.#running.add(work)
    const over = (): void => void this.#running.delete(work)
    work.then(over, over)
    return work
  }

  /** Resolves when no synthesis is running and its results were delivered. */
  async idle(): Promise<void> {
    do {
      await Promise.allSettled(this.#running)
      await new Promise<void>((resolve) => setImmediate(resolve))
    } while (this.#running.size > 0)
  }
}
