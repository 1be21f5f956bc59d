import { VendorHttpError } from '../shared/vendor-http.js'
import { refusesOrder } from './message-order.js'

/** JSON body of a request for chat completions. */
export type ChatBody = Readonly<Record<string, unknown>>

/** Fields without which no server can answer; a rejection of one of them cannot be mended. */
const REQUIRED = new Set(['model', 'messages', 'stream', 'tools'])

/**
 * Models that reason unless told otherwise, and that refuse function tools while they do.
 * https://help.openai.com/en/articles/20001600
 */
const REASONING_BY_DEFAULT = /^gpt-(5\.[6-9]|[6-9])/

/** Ollama and vLLM refuse tools that a model or a start without its option does not take. */
const ABOUT_TOOLS = /\btools?\b/i

/** Returns the fields that a model needs besides the usual ones. */
export function modelExtra(model: string): ChatBody {
  return REASONING_BY_DEFAULT.test(model) ? { reasoning_effort: 'none' } : {}
}

/** The model's template demands a strict order of roles. */
export const STRICT_ORDER = { parameter: 'messages', value: 'strict order' } as const

/** Lesson of a refusal about one parameter: leave it out, or send this value. */
export type Lesson = { readonly parameter: string; readonly value?: string }

/**
 * Returns what the refusal teaches about the body, or null when it has another reason. OpenAI names the
 * parameter in `error.param`; other servers name it in the text, and some name nothing: then
 * `stream_options`, which old servers do not know, is left out.
 */
export function lessonOf(error: unknown, body: ChatBody): Lesson | null {
  if (!(error instanceof VendorHttpError)) return null
  // llama.cpp answers 500 when a template refuses.
  if (refusesOrder(error.message)) return STRICT_ORDER
  if (error.status !== 400 && error.status !== 422) return null
  // The error names another reason.
  if (error.context.reason !== undefined) return null
  const effort = 'reasoning_effort'
  if (names(error.message, effort) && /["'`]?none["'`]?/.test(error.message) && body[effort] !== 'none') {
    return { parameter: effort, value: 'none' }
  }
  const optional = Object.keys(body).filter((name) => !REQUIRED.has(name))
  const named =
    optional.find((name) => name === error.parameter || error.parameter?.startsWith(`${name}.`)) ??
    optional.find((name) => names(error.message, name))
  if (named !== undefined) return { parameter: named }
  if (error.parameter !== null || !('stream_options' in body) || ABOUT_TOOLS.test(error.message)) return null
  return { parameter: 'stream_options' }
}

function names(text: string, parameter: string): boolean {
  return new RegExp(`(^|[^\\w])${parameter}([^\\w]|$)`).test(text)
}

/** Applies the lessons to a body. */
export function taught(body: ChatBody, lessons: readonly Lesson[]): ChatBody {
  const fields = { ...body }
  for (const { parameter, value } of lessons) {
    // The order of the messages is not a field.
    if (parameter === STRICT_ORDER.parameter) continue
    if (value === undefined) delete fields[parameter]
    else fields[parameter] = value
  }
  return fields
}
