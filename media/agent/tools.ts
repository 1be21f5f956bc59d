import type { ChatMessage, ToolCall, ToolDeclaration } from './ports.js'
import type { ServicePreset, ToolSpec } from './spec.js'

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

/**
 * What the model is told when it calls what this release cannot do yet: it can say so to the caller.
 * Whoever builds one takes its line out.
 */
const NOT_AVAILABLE: Readonly<Record<'http' | ServicePreset, string>> = {
  http: 'Failed: requests to other systems are not available in this release. Nothing was sent.',
  transfer_call: 'Failed: calls cannot be transferred in this release. The caller is still with you.',
  send_dtmf: 'Failed: key presses cannot be sent in this release. Nothing was sent.',
  opt_out: 'Failed: opt-outs cannot be recorded in this release. Nothing was recorded.',
  schedule_callback: 'Failed: callbacks cannot be scheduled in this release. Nothing was scheduled.',
}

export function declarations(tools: readonly ToolSpec[]): readonly ToolDeclaration[] {
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

/** Runs the calls of one answer. A name the agent does not have is told to the model, not thrown. */
export function runTools(text: string, calls: readonly ToolCall[], tools: readonly ToolSpec[]): ToolRound {
  if (calls.length === 0) return { outcomes: [], next: 'nothing', messages: [] }
  let ends = false
  const outcomes = calls.map((call): ToolOutcome => {
    const tool = tools.find(({ name }) => name === call.name)
    if (!tool) return { call, result: `There is no tool named ${call.name}.` }
    const missing = tool.parameters.find(({ name, required }) => required && !(name in call.arguments))
    if (missing) return { call, result: `The parameter ${missing.name} is missing.` }
    const { action } = tool
    if (action.kind === 'mock') return { call, result: action.response }
    if (action.kind !== 'end_call') return { call, result: NOT_AVAILABLE[action.kind] }
    ends = true
    return { call, result: 'The call ends after these words.' }
  })
  return {
    outcomes,
    next: ends ? 'end' : 'again',
    messages: [
      { role: 'assistant', content: text === '' ? null : text, toolCalls: calls },
      ...outcomes.map(
        ({ call, result }): ChatMessage => ({ role: 'tool', toolCallId: call.id, content: result }),
      ),
    ],
  }
}
