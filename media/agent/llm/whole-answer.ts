import type { Clock } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { TokenCount } from '../conversation/usage-meter.js'
import type { ChatMessage, LanguageModel } from '../vendor-ports.js'
import { generateProse } from './prose.js'

export interface WholeAnswer {
  readonly text: string
  /** Null when the vendor does not tell. */
  readonly usage: TokenCount | null
}

/**
 * Asks a model outside of a conversation and resolves with its complete answer, without its reasoning. Rejects with
 * EngineError on failure, after `timeoutMs`, when the answer is longer than `maxLength` (UTF-16 units), and with
 * `closed` after a cancellation.
 */
export function wholeAnswer(
  model: LanguageModel,
  request: { readonly model: string; readonly messages: readonly ChatMessage[] },
  {
    clock,
    signal,
    timeoutMs,
    maxLength,
  }: {
    readonly clock: Clock
    readonly signal: AbortSignal
    readonly timeoutMs: number
    readonly maxLength: number
  },
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    let text = ''
    const stop = (error: EngineError): void => {
      timer.cancel()
      signal.removeEventListener('abort', aborted)
      running.cancel()
      reject(error)
    }
    const aborted = (): void => stop(new EngineError('closed', 'the service stops'))
    const timer = clock.after(timeoutMs, () =>
      stop(new EngineError('timeout', 'the model did not answer in time', { retryable: true })),
    )
    signal.addEventListener('abort', aborted, { once: true })
    const running = generateProse(
      model,
      { ...request, tools: [] },
      {
        withdrawn: () => {
          text = ''
        },
        text: (delta) => {
          text += delta
          if (text.length > maxLength) stop(new EngineError('vendor_failed', 'the answer does not end'))
        },
        toolCalls: () => {},
        done: (usage) => {
          timer.cancel()
          signal.removeEventListener('abort', aborted)
          resolve({ text, usage })
        },
        failed: stop,
      },
    )
  })
}
