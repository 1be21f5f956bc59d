import type { TurnTracer } from '../conversation/turn-tracer.js'
import {
  type Cancellable,
  type ChatMessage,
  PROMPT_TOO_LONG,
  type ToolDeclaration,
  type VendorFailure,
} from '../vendor-ports.js'
import { countTokens, DEFAULT_WINDOW_TOKENS, fitMessages, promptBudget } from './context-window.js'
import type { ModelChoice } from './model-chain.js'
import { type ModelJobEvents, startModelJob } from './model-job.js'

/**
 * Sends a conversation's requests to its models. Fits the messages into the model's window; after a rejection
 * for length, sends half of them, once. Counts usage.
 */
export class ModelRequests {
  readonly #tracer: TurnTracer
  /** Token limits after a rejection for length. They apply for the rest of the call. */
  readonly #known = new Map<ModelChoice, number>()

  constructor(tracer: TurnTracer) {
    this.#tracer = tracer
  }

  start(
    choice: ModelChoice,
    messages: readonly ChatMessage[],
    tools: readonly ToolDeclaration[],
    events: ModelJobEvents,
  ): Cancellable {
    const window = promptBudget(choice.windowTokens ?? DEFAULT_WINDOW_TOKENS, messages, tools)
    const first = fitMessages(messages, Math.min(window, this.#known.get(choice) ?? window))
    let job = this.#send(choice, first, tools, events, (error) => {
      const half = Math.floor(countTokens(first) / 2)
      const shorter = fitMessages(messages, half)
      if (!isTooLong(error) || countTokens(shorter) >= countTokens(first)) {
        events.failed(error)
        return
      }
      this.#known.set(choice, half)
      job = this.#send(choice, shorter, tools, events, (again) => events.failed(again))
    })
    return { cancel: () => job.cancel() }
  }

  #send(
    choice: ModelChoice,
    messages: readonly ChatMessage[],
    tools: readonly ToolDeclaration[],
    events: ModelJobEvents,
    failed: (error: VendorFailure) => void,
  ): Cancellable {
    const { model } = choice
    const vendor = choice.vendor.id
    this.#tracer.modelRequested(vendor, model)
    return startModelJob(
      choice.vendor,
      { model, messages, tools },
      {
        token: () => events.token(),
        progress: () => events.progress(),
        sentence: (text) => events.sentence(text),
        withdrawn: () => events.withdrawn(),
        done: (text, calls, usage) => {
          this.#tracer.modelAnswered(vendor, model, usage)
          events.done(text, calls, usage)
        },
        failed,
      },
    )
  }
}

function isTooLong({ code, context }: VendorFailure): boolean {
  return code === 'vendor_rejected' && context.reason === PROMPT_TOO_LONG
}
