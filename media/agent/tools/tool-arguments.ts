import type { ToolSpec } from '../agent-spec.js'

type Parameter = ToolSpec['parameters'][number]
type Value = string | number | boolean

/** Maximum length (UTF-16 units) of the reason that the model gets. */
const MAX_HINT = 400

/**
 * Returns the declared arguments of a tool in their declared types, or a message for the model when they do not
 * satisfy the declaration: the tool then does not run. Leaves out arguments that are not declared, because a caller
 * may persuade the model to add some. Leaves out a blank text for an optional parameter that does not allow it.
 */
export function declaredArguments(
  parameters: readonly Parameter[],
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, Value>> | string {
  const entries: [string, Value][] = []
  for (const { name, type, required, values } of parameters) {
    const raw = Object.hasOwn(given, name) ? (given[name] ?? null) : null
    if (raw === null) {
      if (required) return failure(`the parameter ${name} is missing`)
      continue
    }
    const value = convert(raw, type)
    const chosen = value === null || values === undefined ? value : (oneOf(values, value) ?? null)
    if (chosen === null) {
      // Models write a blank text for an optional parameter that they do not use.
      if (!required && typeof raw === 'string' && raw.trim() === '') continue
      if (value === null) return failure(`the parameter ${name} must be ${TYPE[type]}`)
      return failure(`the parameter ${name} must be one of: ${values?.join(', ')}`)
    }
    entries.push([name, chosen])
  }
  return Object.fromEntries(entries)
}

/** Returns the message for the model that a tool did not run. */
export function failure(reason: string): string {
  const short = reason.length > MAX_HINT ? `${reason.slice(0, MAX_HINT)} ...` : reason
  return `Failed: ${short}. Nothing was sent.`
}

/** Returns the declared value that the model means: it may have changed the case. */
function oneOf(values: readonly string[], given: Value): string | undefined {
  const text = String(given).trim()
  return (
    values.find((value) => value === text) ??
    values.find((value) => value.toLowerCase() === text.toLowerCase())
  )
}

const TYPE: Readonly<Record<Parameter['type'], string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** Returns null if the value does not have the type. Models often write numbers and flags as text. */
function convert(raw: unknown, type: Parameter['type']): Value | null {
  switch (type) {
    case 'string':
      return typeof raw === 'object' ? null : String(raw)
    case 'number':
      return numberOf(raw)
    case 'integer': {
      const value = numberOf(raw)
      return Number.isSafeInteger(value) ? value : null
    }
    case 'boolean': {
      const text = typeof raw === 'string' ? raw.trim().toLowerCase() : raw
      if (text === true || text === 'true') return true
      return text === false || text === 'false' ? false : null
    }
  }
}

function numberOf(raw: unknown): number | null {
  const value = typeof raw === 'string' && DECIMAL.test(raw.trim()) ? Number(raw) : raw
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
