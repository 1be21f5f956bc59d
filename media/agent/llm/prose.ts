import { ProseFilter, type ReasoningForm } from '../language/prose-filter.js'
import { writtenCalls } from '../language/written-calls.js'
import { toVendorFailure } from '../tts/synthesis.js'
import type {
  Cancellable,
  GenerateEvents,
  GenerateRequest,
  LanguageModel,
  ToolCall,
} from '../vendor-ports.js'

export interface ProseEvents extends GenerateEvents {
  /** Withdraws all text so far, because it was reasoning. */
  withdrawn(): void
}

/** Names of models whose template contains the first mark of their reasoning. */
const REASONS_FIRST = /(?:^|[^a-z])(?:r1|qwq|qvq)(?:[^a-z]|$)|thinking|reason|magistral/i

/**
 * Asks a model and delivers the words for people alone, without reasoning and marks of templates. Delivers tool calls
 * that the model wrote into its text as calls. The first answers of a model show how it separates its reasoning. That is
 * kept for all callers.
 */
export function generateProse(
  model: LanguageModel,
  request: GenerateRequest,
  events: ProseEvents,
): Cancellable {
  const known = model.reasoning?.get(request.model)
  const tools = request.tools.map(({ name }) => name)
  let filter = new ProseFilter(known ?? formOf(model, request.model), tools.length > 0)
  let closed = false
  let began = false
  let job: Cancellable | null = null
  const cancel = (): void => {
    closed = true
    job?.cancel()
    job = null
  }
  const fail = (error: unknown): void => {
    if (closed) return
    cancel()
    events.failed(toVendorFailure(error))
  }
  const pass = ({ text, withdrawn, worked }: ReturnType<ProseFilter['push']>): void => {
    if (withdrawn && !closed) events.withdrawn()
    if (text !== '' && !closed) events.text(text)
    else if (worked && !closed) events.progress?.()
  }
  /** Keeps what the answer taught, unless another answer taught something meanwhile. */
  const teach = (learnt: ProseFilter['learnt']): void => {
    const { reasoning } = model
    if (learnt === null || reasoning?.get(request.model) !== known) return
    if (learnt === 'unknown') reasoning?.forget(request.model)
    else reasoning?.set(request.model, learnt)
  }
  /** Ends the text. Returns the calls that it contains. */
  const endText = (made: readonly ToolCall[], cut: boolean): readonly ToolCall[] => {
    pass(filter.end(cut))
    const written = made.length > 0 ? [] : writtenCalls(filter.written, tools)
    const words = written.length > 0 ? '' : filter.releaseJson()
    if (words !== '' && !closed) events.text(words)
    teach(filter.learnt)
    return [...made, ...written]
  }
  let calls: readonly ToolCall[] = []
  const started = model.generate(request, {
    text: (delta) => {
      if (closed || delta === '') return
      began = true
      try {
        pass(filter.push(delta))
        if (filter.learnt === 'implicit') teach('implicit')
      } catch (error) {
        fail(error)
      }
    },
    progress: () => {
      // The server separates the reasoning itself, so that the text need not wait.
      if (!began && known === undefined) filter = new ProseFilter('plain', tools.length > 0)
      if (!closed) events.progress?.()
    },
    toolCalls: (made) => {
      calls = made
    },
    done: (usage, cut = false) => {
      if (closed) return
      let all: readonly ToolCall[]
      try {
        all = endText(calls, cut)
      } catch (error) {
        fail(error)
        return
      }
      if (all.length > 0 && !closed) events.toolCalls(all)
      if (closed) return
      closed = true
      events.done(usage)
    },
    failed: fail,
  })
  if (closed) started.cancel()
  else job = started
  return { cancel }
}

/**
 * Returns the form that the name of a model suggests. The text of a model without a memory of its answers does not
 * wait.
 */
function formOf(model: LanguageModel, name: string): ReasoningForm {
  if (REASONS_FIRST.test(name)) return 'guessed'
  return model.reasoning === undefined ? 'plain' : 'unknown'
}
