import { boundedCalls, toolCall } from '../tools/given-arguments.js'
import type { ToolCall } from '../vendor-ports.js'

/** A call of a tool as the model wrote it in its text. */
export interface WrittenCall {
  /** Name in its mark. Null if the text contains the name. */
  readonly name: string | null
  readonly text: string
}

const FUNCTION = /<function[=\s](?:name=)?"?([\w.-]+)"?\s*>/
const PARAMETER = /<parameter[=\s](?:name=)?"?([\w.-]+)"?\s*>/
const END_OF_PARAMETER = '</parameter>'
const FENCE = /^```\w*\n?|\n?```$/g

/**
 * Reads the calls that a model wrote into its text because its server does not read them: a JSON object with the name
 * and the arguments, several objects, or elements with parameters. Leaves out tools that are not declared. Throws
 * EngineError `vendor_failed` when the calls exceed a bound.
 */
export function writtenCalls(written: readonly WrittenCall[], tools: readonly string[]): readonly ToolCall[] {
  const found = written.flatMap(({ name, text }) => (name === null ? named(text) : [given(name, text)]))
  const declared = found.filter(({ name }) => tools.includes(name))
  return boundedCalls(
    declared.map(({ name, args }, position) => toolCall(`call_text_${position}`, name, args)),
  )
}

interface Found {
  readonly name: string
  readonly args: unknown
}

/** Reads a text that contains the name of its tool. */
function named(text: string): readonly Found[] {
  const body = text.trim().replace(FENCE, '').trim()
  const element = FUNCTION.exec(body)
  if (element !== null) return [given(element[1] ?? '', body.slice(element.index + element[0].length))]
  const whole = jsonOf(body)
  if (whole !== undefined) return fromJson(whole)
  return body.split('\n').flatMap((line) => {
    const value = jsonOf(line)
    return value === undefined ? [] : fromJson(value)
  })
}

/** Reads the arguments of a named tool: JSON, or elements that each hold a value. */
function given(name: string, text: string): Found {
  const body = text.replace(/<\/function>\s*$/, '').trim()
  const tool = name.replace(/^functions?\./, '')
  if (!PARAMETER.test(body)) return { name: tool, args: body }
  const args: [string, unknown][] = []
  for (let rest = body; ; ) {
    const start = PARAMETER.exec(rest)
    if (start === null) return { name: tool, args: Object.fromEntries(args) }
    const value = rest.slice(start.index + start[0].length)
    const end = value.indexOf(END_OF_PARAMETER)
    args.push([start[1] ?? '', (end < 0 ? value : value.slice(0, end)).trim()])
    rest = end < 0 ? '' : value.slice(end + END_OF_PARAMETER.length)
  }
}

/** Reads `{"name", "arguments"}` under the names that models use, alone, in a list or below `tool_calls`. */
function fromJson(value: unknown): readonly Found[] {
  if (Array.isArray(value)) return value.flatMap(fromJson)
  if (typeof value !== 'object' || value === null) return []
  const {
    name,
    function: inner,
    tool_calls: calls,
    arguments: args,
    parameters,
  } = value as Record<string, unknown>
  if (Array.isArray(calls)) return calls.flatMap(fromJson)
  if (typeof inner === 'object' && inner !== null) return fromJson(inner)
  const tool = typeof name === 'string' ? name : inner
  return typeof tool === 'string' ? [{ name: tool, args: args ?? parameters }] : []
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
