import type { AgentSpec, ToolSpec } from '../agent-spec.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { ChatMessage, ToolCall } from '../vendor-ports.js'
import { type RunningTools, runTools, type ToolRound, type ToolRunner } from './tool-calls.js'

export interface ToolRoundsEvents {
  /** A tool has a result, also after its reply was over. */
  completed(call: ToolCall, result: string): void
  /** A result arrived after its reply was over. */
  late(call: ToolCall, result: string): void
}

/**
 * The tools of one conversation: those of the current reply, and those whose reply ended before their results
 * arrived. Completed tools stay in the model's context when a reply is dropped unheard, so that the model
 * does not run them twice.
 */
export class ToolRounds {
  readonly #tools: readonly ToolSpec[]
  readonly #runner: ToolRunner
  readonly #events: ToolRoundsEvents
  #messages: ChatMessage[] = []
  #running: RunningTools | null = null
  readonly #detached = new Set<RunningTools>()

  constructor(tools: readonly ToolSpec[], runner: ToolRunner, events: ToolRoundsEvents) {
    this.#tools = tools
    this.#runner = runner
    this.#events = events
  }

  /** The rounds since the last `take`, as they enter the model's context. */
  get messages(): readonly ChatMessage[] {
    return this.#messages
  }

  /**
   * Runs the calls of one answer. Returns the tools with pending results, or null when `done` was called
   * already.
   */
  run(
    text: string,
    calls: readonly ToolCall[],
    done: (next: ToolRound['next']) => void,
  ): readonly ToolSpec[] | null {
    let finished = false
    const running = runTools(text, calls, this.#tools, this.#runner, ({ outcomes, messages, next }) => {
      finished = true
      this.#running = null
      this.#messages.push(...messages)
      for (const { call, result } of outcomes) this.#events.completed(call, result)
      done(next)
    })
    if (finished) return null
    this.#running = running
    return running.pending
  }

  /** Detaches from the running tools because the reply is over. Their results are reported as late. */
  detach(): void {
    const running = this.#running
    if (running === null) return
    this.#running = null
    this.#detached.add(running)
    const messages = running.abandon(({ call, result }) => {
      this.#detached.delete(running)
      this.#events.completed(call, result)
      this.#events.late(call, result)
    })
    this.#messages.push(...messages)
  }

  /** Returns the rounds, which become part of the conversation's history. */
  take(): readonly ChatMessage[] {
    const messages = this.#messages
    this.#messages = []
    return messages
  }

  /** Cancels all tools at the end of the call. Nothing is reported after that. */
  close(): void {
    this.#running?.cancel()
    this.#running = null
    for (const running of this.#detached) running.cancel()
    this.#detached.clear()
  }
}

/**
 * Returns the tools of a speaking agent. Results become events, and speech is held back while DTMF is sent.
 */
export function openToolRounds(
  spec: AgentSpec,
  runner: ToolRunner,
  speech: AgentSpeech,
  turnContext: TurnContext,
  late: (name: string, result: string) => void,
): ToolRounds {
  const holdingRunner: ToolRunner = {
    run: (request, done) => runner.run(request, done),
    ...(runner.serve && { serve: runner.serve.bind(runner) }),
    press: (digits) => {
      const sent = runner.press(digits)
      if (sent) speech.holdForDtmf(digits.length)
      return sent
    },
  }
  return new ToolRounds(spec.tools, holdingRunner, {
    completed: ({ name, arguments: given }, result) =>
      turnContext.emit({ type: 'tool', name, arguments: given, result, atMs: turnContext.now() }),
    late: ({ name }, result) => late(name, result),
  })
}
