import { wholeAnswer } from '../../media/agent/llm/whole-answer.js'
import type { LanguageModel } from '../../media/agent/vendor-ports.js'
import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { Db } from '../db/database.js'
import type { ClaimedJob, JobHandler, JobOutcome } from '../jobs/runner.js'
import { extractionMessages, parseExtraction } from './extraction.js'
import {
  announceCompleted,
  COMPLETION_JOB,
  RESULT_JOB,
  readExtractionInput,
  storeResult,
  storeResultFailure,
} from './store.js'

const ATTEMPTS = 3
const RETRY_MS = 5000
/** Timeout of the model (ms). Three attempts and their pauses take less than `RESULT_WAIT_MS`. */
const ANSWER_MS = 25_000
const MAX_ANSWER = 100_000
/** Concurrent extractions, in total and per organization. */
const MAX_CONCURRENT = 8
const MAX_CONCURRENT_PER_ORGANIZATION = 4

/**
 * Returns the handlers that extract call results with a language model and announce `call.completed` when
 * the result is late.
 */
export function resultHandlers(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** Returns a model by its name in agents, or null if its vendor is not configured. */
  model(name: string): LanguageModel | null
}): readonly JobHandler[] {
  const { db, clock, log } = options

  function failed(job: ClaimedJob, error: unknown): JobOutcome {
    const callId = job.payload
    const retry = job.attempts < ATTEMPTS && (!(error instanceof EngineError) || error.retryable)
    const text = errorText(error)
    log.warn({ callId, attempt: job.attempts, error: text, retry }, 'call_result.failed')
    return async (trx) => {
      if (retry) return clock.wall() + RETRY_MS
      await storeResultFailure(trx, callId, text, clock.wall())
      return null
    }
  }

  return [
    {
      kind: RESULT_JOB,
      concurrency: MAX_CONCURRENT,
      laneLimit: () => MAX_CONCURRENT_PER_ORGANIZATION,
      async run(job) {
        const callId = job.payload
        const material = await readExtractionInput(db, callId)
        if (material === null) return async () => null
        const { config, segments } = material
        const model = options.model(config.llmModel)
        try {
          if (model === null) {
            throw new EngineError('config_invalid', `the model ${config.llmModel} is not configured`)
          }
          const { text } = await wholeAnswer(
            model,
            { model: config.llmModel, messages: extractionMessages(config, segments) },
            { clock, signal: job.signal, timeoutMs: ANSWER_MS, maxLength: MAX_ANSWER },
          )
          const result = parseExtraction(text, config)
          if (result === null) {
            throw new EngineError('vendor_failed', 'the answer has not the form asked for', {
              retryable: true,
            })
          }
          return async (trx) => {
            await storeResult(trx, callId, result, clock.wall())
            return null
          }
        } catch (error) {
          // The service is stopping. Another run of the job repeats the extraction.
          if (job.signal.aborted) throw error
          return failed(job, error)
        }
      },
      unstored: failed,
    },
    {
      kind: COMPLETION_JOB,
      concurrency: 4,
      async run(job) {
        return async (trx) => {
          await announceCompleted(trx, job.payload, clock.wall())
          return null
        }
      },
    },
  ]
}
