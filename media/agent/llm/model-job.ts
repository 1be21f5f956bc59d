import type { TokenCount } from '../conversation/usage-meter.js'
import { SentenceSplitter } from '../language/sentence-splitter.js'
import { speakable } from '../language/speakable.js'
import { toVendorFailure } from '../tts/synthesis.js'
import type { Cancellable, GenerateRequest, LanguageModel, ToolCall, VendorFailure } from '../vendor-ports.js'
import { generateProse } from './prose.js'

export interface ModelJobEvents {
  /** The model sent words or a tool call, not only reasoning or blanks. */
  token(): void
  /** The model works and sent no words: reasoning, or a part of a tool call. */
  progress(): void
  /** A sentence is ready to be spoken. */
  sentence(text: string): void
  /** Withdraws all sentences so far, because they were reasoning. Those that were not spoken yet must not be spoken. */
  withdrawn(): void
  /** The answer is complete: its full text, its tool calls, and its token usage if the vendor reports it. */
  done(text: string, calls: readonly ToolCall[], usage: TokenCount | null): void
  failed(error: VendorFailure): void
}

/** Runs one request and delivers its text as sentences. No event follows `cancel` or a final event. */
export function startModelJob(
  model: LanguageModel,
  request: GenerateRequest,
  events: ModelJobEvents,
): Cancellable {
  let splitter = new SentenceSplitter()
  const calls: ToolCall[] = []
  let text = ''
  let closed = false
  let job: Cancellable | null = null
  const cancel = () => {
    closed = true
    job?.cancel()
    job = null
  }
  const emitSentences = (sentences: readonly string[]) => {
    for (const sentence of sentences) {
      const spoken = speakable(sentence)
      if (spoken !== '' && !closed) events.sentence(spoken)
    }
  }
  const append = (said: string) => {
    if (said.trim() !== '') events.token()
    if (closed) return
    text += said
    emitSentences(splitter.push(said))
  }
  const fail = (error: VendorFailure) => {
    if (closed) return
    cancel()
    events.failed(error)
  }
  const start = () => {
    if (closed) return
    const started = generateProse(model, request, {
      text: (delta) => {
        if (!closed && delta !== '') append(delta)
      },
      progress: () => {
        if (!closed) events.progress()
      },
      withdrawn: () => {
        if (closed) return
        text = ''
        splitter = new SentenceSplitter()
        events.withdrawn()
      },
      toolCalls: (made) => {
        if (closed) return
        calls.push(...made)
        events.token()
      },
      done: (usage) => {
        if (closed) return
        emitSentences(splitter.end())
        if (closed) return
        cancel()
        events.done(text, calls, usage)
      },
      failed: fail,
    })
    if (closed) started.cancel()
    else job = started
  }
  // Deferred so that the caller has the handle before the first event.
  queueMicrotask(() => {
    try {
      start()
    } catch (error) {
      fail(toVendorFailure(error))
    }
  })
  return { cancel }
}
