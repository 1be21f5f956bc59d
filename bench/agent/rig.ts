import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type ServiceProcess, startServiceProcess } from '../../fixtures/service/service-process.js'
import type { Fault, Profile } from '../vendors/messages.js'
import { BENCH_MODELS, type BenchVendors, openVendors, SPEECH, type VoiceVendor } from '../vendors/open.js'
import { RECITAL } from '../vendors/vocabulary.js'
import type { CallerJob, CallerResult, FromCaller } from './job.js'

/** A caller's job without the fields that the rig fills in. */
export type Job = CallerJob extends infer J
  ? J extends CallerJob
    ? Omit<J, 'target' | 'to' | 'seed'>
    : never
  : never

/** Progress callbacks of a running job. */
export interface JobProgress {
  /** Called before an `aside` job plays a clip. */
  saying?(clip: string | null): Promise<void>
  /** `callersMs`: CPU time of the callers' process since its start. */
  phase?(phase: 'up' | 'over', callersMs: number): void
  /** Numbers of the windows in which the host was late since the phase `up`. */
  hostLate?(): Promise<readonly number[]>
}

/** Engine, vendors and callers, each in a process of its own. */
export interface Rig {
  readonly service: ServiceProcess
  readonly vendors: BenchVendors
  call(job: Job, told?: JobProgress): Promise<CallerResult>
  close(): Promise<void>
}

const SEED = 20_250_115
/** Upper limit of a job's duration: a hanging caller must not hang the bench. */
const JOB_LIMIT_MS = 8 * 60_000

/**
 * Starts an engine with one media worker whose sandbox number is answered by an agent on the fake vendors.
 */
export async function openRig(options: {
  readonly profile: Profile
  readonly replySeconds: number
  readonly record: boolean
  readonly voice?: 'noise' | 'words'
  readonly speech?: VoiceVendor
  readonly faults?: Readonly<Record<string, Fault>>
}): Promise<Rig> {
  const vendors = await openVendors(options)
  let engine: ServiceProcess | null = null
  try {
    engine = await startServiceProcess({
      env: {
        ...vendors.env,
        PARLEY_MEDIA_WORKERS: '1',
        // The fake model returns no valid summaries; the engine would log a warning for every call.
        PARLEY_LOG_LEVEL: 'error',
        // A speculative model request would hide part of the subtracted recognition time.
        PARLEY_SPECULATE: 'false',
      },
      agentCalls: 1000,
    })
    const opening = options.voice === 'words' ? RECITAL.join(' ') : 'Hello, this is the bench.'
    const to = await prepare(engine, options.record, opening, SPEECH[options.speech ?? 'timed'])
    const running = engine
    return {
      service: engine,
      vendors,
      call: (job, told) =>
        runCaller(
          {
            ...job,
            to,
            target: { address: '127.0.0.1', port: running.sipPort },
            seed: SEED,
          },
          told ?? {},
        ),
      async close() {
        await running.close()
        await vendors.close()
      },
    }
  } catch (error) {
    await engine?.close()
    await vendors.close()
    throw error
  }
}

/** Creates and publishes the agent and assigns the number; returns the number. */
async function prepare(
  engine: ServiceProcess,
  record: boolean,
  opening: string,
  speech: (typeof SPEECH)[VoiceVendor],
): Promise<string> {
  const agent = await engine.api('POST', '/v1/agents', {
    name: 'Bench',
    // The vendors recognise the caller by this.
    systemPrompt: 'You are measured. Caller {{callerNumber}}.',
    llmModel: BENCH_MODELS.chat,
    voice: {
      languages: ['en-IN'],
      sttLanguage: 'en-IN',
      sttModel: BENCH_MODELS.transcription,
      ttsModel: speech.model,
      ttsVoice: speech.voice,
    },
    callSettings: {
      openingLine: { text: opening },
      maxCallSeconds: 3600,
      nudges: { enabled: false },
    },
  })
  const agentId = text(agent, 'data', 'id')
  await engine.api('POST', `/v1/agents/${agentId}/publish`, {})
  const numbers = await engine.api('GET', '/v1/numbers')
  const numberId = text(numbers, 'data', 0, 'id')
  await engine.api('PATCH', `/v1/numbers/${numberId}`, { agentId, recordCalls: record })
  return text(numbers, 'data', 0, 'e164')
}

async function runCaller(job: CallerJob, told: JobProgress): Promise<CallerResult> {
  const child = fork(fileURLToPath(new URL('./caller-process.js', import.meta.url)), {
    execArgv: ['--enable-source-maps'],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  let answer: FromCaller | null = null
  child.on('message', (message: FromCaller) => {
    if (message.kind === 'progress') process.stderr.write(`  ${message.done} of ${message.of}\n`)
    else if (message.kind === 'phase') told.phase?.(message.phase, message.cpuMs)
    else if (message.kind === 'host') {
      Promise.resolve(told.hostLate?.() ?? []).then(
        (windows) => child.send(windows),
        () => child.kill('SIGKILL'),
      )
    } else if (message.kind === 'saying') {
      // If the rig fails meanwhile, the waiting caller ends by itself.
      Promise.resolve(told.saying?.(message.clip)).then(
        () => child.send('told'),
        () => child.kill('SIGKILL'),
      )
    } else answer = message
  })
  child.send(job)
  const limit = setTimeout(() => child.kill('SIGKILL'), JOB_LIMIT_MS)
  await exited
  clearTimeout(limit)
  const said: FromCaller | null = answer
  return resultOf(said)
}

function resultOf(answer: FromCaller | null): CallerResult {
  if (answer === null) throw new Error('the caller process ended without a result')
  if (answer.kind === 'result') return answer.result
  throw new Error(`the caller failed: ${answer.kind === 'failed' ? answer.message : answer.kind}`)
}

/** Returns the text at `path` of an API response; throws an error with the path if it is missing. */
export function text(from: unknown, ...path: readonly (string | number)[]): string {
  let at = from
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !(step in at)) {
      throw new Error(`the API's answer has no ${path.join('.')}`)
    }
    at = (at as Record<string | number, unknown>)[step]
  }
  if (typeof at !== 'string') throw new Error(`${path.join('.')} of the API's answer is no text`)
  return at
}
