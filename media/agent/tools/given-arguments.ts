import { EngineError } from '../../base/errors.js'
import { parseForeignJson } from '../../base/foreign-text.js'
import type { ToolCall } from '../vendor-ports.js'

/** Maximum number of calls in one answer. */
export const MAX_CALLS = 32
/** Maximum length (UTF-16 units) of the arguments of one call. */
export const MAX_ARGUMENTS = 65_536

const NOT_JSON = 'the arguments are not valid JSON'
const NO_OBJECT = 'the arguments are not a JSON object'

/**
 * Returns a call with the arguments that a model gave: an object, JSON of one, or JSON within a JSON string. Nothing,
 * `null` and an empty list count as an empty object. Any other value makes the call `unusable`, with the reason for
 * the model. Throws EngineError `vendor_failed` when the arguments are longer than 65,536 UTF-16 units.
 */
export function toolCall(id: string, name: string, given: unknown): ToolCall {
  const text = typeof given === 'string' ? given : null
  if (text !== null && text.length > MAX_ARGUMENTS) throw tooLong()
  if (isRecord(given) && JSON.stringify(given).length > MAX_ARGUMENTS) throw tooLong()
  const unusable = (reason: string): ToolCall => ({ id, name, arguments: {}, unusable: reason })
  let value: unknown = given ?? null
  // Some servers encode the JSON a second time.
  for (let layers = 2; typeof value === 'string'; layers--) {
    if (value.trim() === '') value = null
    else if (layers === 0) return unusable(NO_OBJECT)
    else {
      try {
        value = parseForeignJson(value)
      } catch {
        return unusable(NOT_JSON)
      }
    }
  }
  // PHP encodes an empty object as a list.
  if (value === null || (Array.isArray(value) && value.length === 0)) return { id, name, arguments: {} }
  return isRecord(value) ? { id, name, arguments: value } : unusable(NO_OBJECT)
}

/** Returns the calls. Throws EngineError `vendor_failed` when they are more than 32. */
export function boundedCalls(calls: readonly ToolCall[]): readonly ToolCall[] {
  if (calls.length > MAX_CALLS) throw tooMany()
  return calls
}

export function tooMany(): EngineError {
  return new EngineError('vendor_failed', 'the model called too many tools at once')
}

export function tooLong(): EngineError {
  return new EngineError('vendor_failed', 'the model sent tool arguments that are too long')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
