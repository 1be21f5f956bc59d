import type { ToolSpec } from '../agent-spec.js'
import type { Cancellable, ChatMessage, ToolCall, ToolDeclaration } from '../vendor-ports.js'
import { toolResultText } from './service-tools.js'
import { declaredArguments, failure } from './tool-arguments.js'

/** A tool that needs something outside the conversation. */
export interface ToolRequest {
  /** Name of a tool of the agent. */
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** A later result is ignored. */
  readonly timeoutMs: number
}

export interface ToolRunner {
  /**
   * Runs a request. Calls `done` once, never synchronously, with the text for the model, which also describes
   * a failure. Cancelling stops the wait, not the request.
   */
  run(request: ToolRequest, done: (result: string) => void): Cancellable
  /** Runs a preset of the service (service-tools.ts). Absent when no preset is available. */
  serve?(request: ToolRequest, done: (result: string) => void): Cancellable
  /** Sends DTMF to the far side. Returns false when that is impossible. */
  press(digits: string): boolean
}

export interface ToolOutcome {
  readonly call: ToolCall
  readonly result: string
}

export interface ToolRound {
  readonly outcomes: readonly ToolOutcome[]
  /** `again`: the model receives the results. `end`: the call ends after the words of this answer. */
  readonly next: 'nothing' | 'again' | 'end'
  /** The exchange as it enters the model's context. */
  readonly messages: readonly ChatMessage[]
}

/** Limit of one result (UTF-16 units). Every turn of the call would send a longer one again. */
const MAX_RESULT = 8000

/** Maximum length (UTF-16 units) of a name in a message. */
const MAX_NAME = 64

/** Timeout of a preset, which usually needs only a database. */
const SERVICE_TIMEOUT_MS = 8000

/** Stands for a result that was pending when the caller spoke. */
const UNFINISHED = 'No result yet: the caller spoke while this was still running. Do not call it again.'

export function toolDeclarations(tools: readonly ToolSpec[]): readonly ToolDeclaration[] {
  const callable = tools.filter(({ action }) => action.kind !== 'knowledge')
  return callable.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        tool.parameters.map(({ name, type, description, values }) => [
          name,
          { type, description, ...(values === undefined ? {} : { enum: values }) },
        ]),
      ),
      required: tool.parameters.filter(({ required }) => required).map(({ name }) => name),
      additionalProperties: false,
    },
  }))
}

/** The running tool calls of one answer. */
export interface RunningTools {
  /** Tools with pending results, in the order of the calls. */
  readonly pending: readonly ToolSpec[]
  /**
   * Detaches from the calls after a barge-in. Returns the messages for the model. Results that arrive later
   * go to `late`.
   */
  abandon(late: (outcome: ToolOutcome) => void): readonly ChatMessage[]
  /** Cancels all calls at the end of the call. */
  cancel(): void
}

/**
 * Runs the calls of one answer in parallel. Calls `done` once, synchronously when no result is pending.
 * Mistakes of the model (an unknown name, a wrong argument) are reported to the model and not thrown.
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

  /** Returns the result, or null when it follows later. */
  #begin(at: number, call: ToolCall, tools: readonly ToolSpec[], runner: ToolRunner): string | null {
    const tool = tools.find(({ name }) => name === call.name)
    if (!tool || tool.action.kind === 'knowledge')
      return `There is no tool named ${call.name.slice(0, MAX_NAME)}.`
    const { action, parameters } = tool
    if (call.unusable !== undefined) {
      return failure(`${call.unusable}; call the tool again with its parameters as one JSON object`)
    }
    const declared = declaredArguments(parameters, call.arguments)
    if (typeof declared === 'string') return declared
    switch (action.kind) {
      case 'mock':
        return action.response
      case 'end_call':
        this.#ends = true
        return 'The call ends after these words.'
      case 'send_dtmf':
        return pressed({ ...call.arguments, ...declared }, runner)
      case 'http': {
        const request = { tool: tool.name, arguments: declared, timeoutMs: action.request.timeoutMs }
        return this.#wait(at, call, tool, request, runner.run.bind(runner))
      }
      default: {
        if (runner.serve === undefined) return toolResultText(action.kind, { status: 'not_available' })
        // Presets accept the usual names besides the declared ones.
        const given = { ...call.arguments, ...declared }
        const request = { tool: tool.name, arguments: given, timeoutMs: SERVICE_TIMEOUT_MS }
        return this.#wait(at, call, tool, request, runner.serve.bind(runner))
      }
    }
  }

  #wait(at: number, call: ToolCall, tool: ToolSpec, request: ToolRequest, run: ToolRunner['run']): null {
    const waiting: { readonly tool: ToolSpec; job: Cancellable | null } = { tool, job: null }
    this.#waiting.set(at, waiting)
    waiting.job = run(request, (result) => this.#resultReceived(at, call, result))
    return null
  }

  #resultReceived(at: number, call: ToolCall, result: string): void {
    if (!this.#waiting.delete(at)) return
    const content = bounded(result)
    this.#results[at] = content
    if (this.#late !== null) this.#late({ call, result: content })
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
  if (result.length <= MAX_RESULT) return result
  const beginning = result.slice(0, MAX_RESULT).replace(/[\ud800-\udbff]$/, '')
  return `${beginning} [the rest of the result is left out]`
}

const KEYS = /^[0-9A-D*#]{1,32}$/i

/** Reads the keys from `digits`, or from the only argument. */
function pressed(args: ToolCall['arguments'], runner: ToolRunner): string {
  const values = Object.values(args)
  const given = args.digits ?? (values.length === 1 ? values[0] : null)
  const digits = String(given ?? '').replace(/[\s-]/g, '')
  if (!KEYS.test(digits)) return 'Failed: digits must be 1 to 32 of 0-9, A-D, * and #. Nothing was sent.'
  return runner.press(digits.toUpperCase())
    ? `The keys ${digits} are being sent.`
    : 'Failed: keys cannot be sent on this call. Nothing was sent.'
}

/**
 * Returns the filler for running tools: the first one that exists in the language. Null when there is none.
 */
export function fillerOf(pending: readonly ToolSpec[], language: string): string | null {
  for (const { speech } of pending) {
    const text = speech[language]?.trim()
    if (text) return text
  }
  return null
}
