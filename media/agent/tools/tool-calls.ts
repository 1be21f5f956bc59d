import type { ToolSpec } from '../agent-spec.js'
import type { Cancellable, ChatMessage, ToolCall, ToolDeclaration } from '../vendor-ports.js'
import { toolResultText } from './service-tools.js'

/** A tool that needs something outside the conversation. */
export interface ToolRequest {
  /** Name of a tool of the agent. */
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** No result is waited for after it. */
  readonly timeoutMs: number
}

export interface ToolRunner {
  /**
   * Carries it out; `done` is called once, never before this returned, with what the model is told: a
   * failure too is told in words. Cancelling stops the waiting, not the request: it may have been taken.
   */
  run(request: ToolRequest, done: (result: string) => void): Cancellable
  /** The same for a preset of the service (service-tools.ts); absent: none of them is available. */
  serve?(request: ToolRequest, done: (result: string) => void): Cancellable
  /** Presses keys towards the far side; false when they cannot be sent. */
  press(digits: string): boolean
}

export interface ToolOutcome {
  readonly call: ToolCall
  readonly result: string
}

export interface ToolRound {
  readonly outcomes: readonly ToolOutcome[]
  /** `again`: the model gets the results. `end`: the call ends after the words of this answer. */
  readonly next: 'nothing' | 'again' | 'end'
  /** The exchange as the model has to see it afterwards. */
  readonly messages: readonly ChatMessage[]
}

/** Of one result, in UTF-16 units: a model uses no more, and every turn of the call would cost it again. */
const MOST_RESULT = 8000

/** Another part of the service answers from its own database, mostly; a slow one is not waited for longer. */
const SERVICE_TIMEOUT_MS = 8000

/** What stands for a result that had not come when the caller spoke. */
const UNFINISHED = 'No result yet: the caller spoke while this was still running. Do not call it again.'

export function toolDeclarations(tools: readonly ToolSpec[]): readonly ToolDeclaration[] {
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        tool.parameters.map(({ name, type, description }) => [name, { type, description }]),
      ),
      required: tool.parameters.filter(({ required }) => required).map(({ name }) => name),
      additionalProperties: false,
    },
  }))
}

/** The calls of one answer, while they run. */
export interface RunningTools {
  /** Tools whose result is still waited for, in the order of the calls. */
  readonly pending: readonly ToolSpec[]
  /**
   * The caller took the floor: what the model has to know of it now. A result that comes later goes to
   * `late`.
   */
  abandon(late: (outcome: ToolOutcome) => void): readonly ChatMessage[]
  /** The call is over. */
  cancel(): void
}

/**
 * Runs the calls of one answer, at once and beside each other. `done` is called once, before this
 * returns when nothing has to be waited for. What the model got wrong (a name, a missing argument) is
 * told to the model, not thrown.
 */
export function runTools(
  text: string,
  calls: readonly ToolCall[],
  tools: readonly ToolSpec[],
  runner: ToolRunner,
  done: (round: ToolRound) => void,
): RunningTools {
  const running = new Running(text, calls, done)
  running.start(tools, runner)
  return running
}

class Running implements RunningTools {
  readonly #text: string
  readonly #calls: readonly ToolCall[]
  readonly #done: (round: ToolRound) => void
  readonly #results: (string | null)[]
  readonly #waiting = new Map<number, { readonly tool: ToolSpec; job: Cancellable | null }>()
  #ends = false
  #late: ((outcome: ToolOutcome) => void) | null = null

  constructor(text: string, calls: readonly ToolCall[], done: (round: ToolRound) => void) {
    this.#text = text
    this.#calls = calls
    this.#done = done
    this.#results = calls.map(() => null)
  }

  start(tools: readonly ToolSpec[], runner: ToolRunner): void {
    for (const [at, call] of this.#calls.entries()) {
      const result = this.#begin(at, call, tools, runner)
      if (result !== null) this.#results[at] = bounded(result)
    }
    if (this.#waiting.size === 0) this.#finish()
  }

  get pending(): readonly ToolSpec[] {
    return [...this.#waiting.values()].map(({ tool }) => tool)
  }

  abandon(late: (outcome: ToolOutcome) => void): readonly ChatMessage[] {
    this.#late = late
    return this.#messages()
  }

  cancel(): void {
    for (const { job } of this.#waiting.values()) job?.cancel()
    this.#waiting.clear()
  }

  /** The result, or null when it comes later. */
  #begin(at: number, call: ToolCall, tools: readonly ToolSpec[], runner: ToolRunner): string | null {
    const tool = tools.find(({ name }) => name === call.name)
    if (!tool) return `There is no tool named ${call.name}.`
    const missing = tool.parameters.find(({ name, required }) => required && !(name in call.arguments))
    if (missing) return `The parameter ${missing.name} is missing.`
    const { action } = tool
    switch (action.kind) {
      case 'mock':
        return action.response
      case 'end_call':
        this.#ends = true
        return 'The call ends after these words.'
      case 'send_dtmf':
        return pressed(call, runner)
      case 'http':
        return this.#wait(at, call, tool, action.request.timeoutMs, runner.run.bind(runner))
      default:
        if (runner.serve === undefined) return toolResultText(action.kind, { status: 'not_available' })
        return this.#wait(at, call, tool, SERVICE_TIMEOUT_MS, runner.serve.bind(runner))
    }
  }

  #wait(at: number, call: ToolCall, tool: ToolSpec, timeoutMs: number, run: ToolRunner['run']): null {
    const waiting: { readonly tool: ToolSpec; job: Cancellable | null } = { tool, job: null }
    this.#waiting.set(at, waiting)
    const request = { tool: tool.name, arguments: call.arguments, timeoutMs }
    waiting.job = run(request, (result) => this.#resultReceived(at, call, result))
    return null
  }

  #resultReceived(at: number, call: ToolCall, result: string): void {
    if (!this.#waiting.delete(at)) return
    const told = bounded(result)
    this.#results[at] = told
    if (this.#late !== null) this.#late({ call, result: told })
    else if (this.#waiting.size === 0) this.#finish()
  }

  #finish(): void {
    const outcomes = this.#calls.map((call, at) => ({ call, result: this.#results[at] ?? UNFINISHED }))
    const next = this.#calls.length === 0 ? 'nothing' : this.#ends ? 'end' : 'again'
    this.#done({ outcomes, next, messages: this.#messages() })
  }

  #messages(): readonly ChatMessage[] {
    if (this.#calls.length === 0) return []
    return [
      { role: 'assistant', content: this.#text === '' ? null : this.#text, toolCalls: this.#calls },
      ...this.#calls.map(
        (call, at): ChatMessage => ({
          role: 'tool',
          toolCallId: call.id,
          content: this.#results[at] ?? UNFINISHED,
        }),
      ),
    ]
  }
}

function bounded(result: string): string {
  if (result.length <= MOST_RESULT) return result
  const beginning = result.slice(0, MOST_RESULT).replace(/[\ud800-\udbff]$/, '')
  return `${beginning} [the rest of the result is left out]`
}

const KEYS = /^[0-9A-D*#]{1,32}$/i

/** The keys stand in `digits`, or in the only argument there is. */
function pressed(call: ToolCall, runner: ToolRunner): string {
  const values = Object.values(call.arguments)
  const given = call.arguments.digits ?? (values.length === 1 ? values[0] : null)
  const digits = String(given ?? '').replace(/[\s-]/g, '')
  if (!KEYS.test(digits)) return 'Failed: digits must be 1 to 32 of 0-9, A-D, * and #. Nothing was sent.'
  return runner.press(digits.toUpperCase())
    ? `The keys ${digits} are being sent.`
    : 'Failed: keys cannot be sent on this call. Nothing was sent.'
}

/** What is said while tools run: the first text that one of them has for the language. */
export function fillerOf(pending: readonly ToolSpec[], language: string): string | null {
  for (const { speech } of pending) {
    const text = speech[language]?.trim()
    if (text) return text
  }
  return null
}
