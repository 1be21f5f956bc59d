import type { AgentSpec, ToolSpec } from '../agent-spec.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { ChatMessage, ToolCall } from '../vendor-ports.js'
import { type RunningTools, runTools, type ToolRound, type ToolRunner } from './tool-calls.js'

export interface ToolRoundsEvents {
  /** A tool of the agent has its result, whenever that comes. */
  completed(call: ToolCall, result: string): void
  /** A result came after its reply was over. */
  late(call: ToolCall, result: string): void
}

/**
 * The tools of one conversation: those of the running reply, and those whose reply ended before their
 * results came. What was done stays known to the model also when the reply is dropped unheard: it must
 * not be done twice.
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

  /** The rounds since the last `take`, as the model has to see them. */
  get messages(): readonly ChatMessage[] {
    return this.#messages
  }

  /**
   * Runs the calls of one answer. Returns the tools that are waited for, or null when `done` was called
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

  /** The reply is over: results that are still to come are told when they do. */
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

  /** Hands over the rounds, which then belong to the conversation's past. */
  take(): readonly ChatMessage[] {
    const messages = this.#messages
    this.#messages = []
    return messages
  }

  /** The call is over; nothing is told any more. */
  close(): void {
    this.#running?.cancel()
    this.#running = null
    for (const running of this.#detached) running.cancel()
    this.#detached.clear()
  }
}

/** The tools of an agent that talks: told as events, and its voice waits for keys that are sent. */
export function openToolRounds(
  spec: AgentSpec,
  runner: ToolRunner,
  voice: AgentSpeech,
  floor: TurnContext,
  late: (name: string, result: string) => void,
): ToolRounds {
  const heard: ToolRunner = {
    run: (request, done) => runner.run(request, done),
    ...(runner.serve && { serve: runner.serve.bind(runner) }),
    press: (digits) => {
      const sent = runner.press(digits)
      if (sent) voice.holdForDtmf(digits.length)
      return sent
    },
  }
  return new ToolRounds(spec.tools, heard, {
    completed: ({ name, arguments: given }, result) =>
      floor.emit({ type: 'tool', name, arguments: given, result, atMs: floor.now() }),
    late: ({ name }, result) => late(name, result),
  })
}
