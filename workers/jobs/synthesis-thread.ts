/*
 * The synthesis thread (a worker of `synthesis-jobs.ts`). It answers every message, so that no error stays
 * uncaught: the pool library would respawn the thread without a pause.
 */
import { parentPort } from 'node:worker_threads'
import { EngineError, type EngineErrorCode, errorText } from '../../media/base/errors.js'
import type { Synthesis, SynthesisRequest } from '../../media/vendors/espeak/synthesis-port.js'
import type { EspeakSynthesizer } from '../../media/vendors/espeak/synthesizer.js'
import { resetThreadPriority } from '../thread/thread-priority.js'

export interface SynthesisJob {
  readonly request: SynthesisRequest
  readonly limitMs: number
}

export type SynthesisReply =
  | { readonly ok: true; readonly synthesis: Synthesis }
  | {
      readonly ok: false
      readonly code: EngineErrorCode
      readonly message: string
      readonly retryable: boolean
    }

// Loaded at once, so that the first sentence need not wait. Each job reports a failure to load.
let engine: Promise<EspeakSynthesizer> | null = null

function loadEngine(): Promise<EspeakSynthesizer> {
  engine ??= import('../../media/vendors/espeak/synthesizer.js').then((module) => module.openEspeak())
  return engine
}

async function answer(job: SynthesisJob): Promise<SynthesisReply> {
  try {
    const loaded = await loadEngine()
    return { ok: true, synthesis: loaded.synthesize(job.request, job.limitMs) }
  } catch (error) {
    const { code, retryable } =
      error instanceof EngineError ? error : new EngineError('vendor_failed', errorText(error))
    return { ok: false, code, retryable, message: errorText(error) }
  }
}

loadEngine().catch(() => {
  // Every job reports it.
})

// The media thread that started this one has priority.
resetThreadPriority()

parentPort?.on('message', (job: SynthesisJob) => {
  void answer(job).then((reply) => {
    parentPort?.postMessage(reply, reply.ok ? [reply.synthesis.pcm.buffer as ArrayBuffer] : [])
  })
})
