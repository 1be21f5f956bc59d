import type { ToolSpec } from '../agent-spec.js'

type Parameter = ToolSpec['parameters'][number]
type Value = string | number | boolean

/**
 * Returns the declared arguments of an HTTP tool in their declared types, or a message for the model. Arguments
 * that the tool does not declare are left out: a caller may persuade the model to add some.
 */
export function declaredArguments(
  parameters: readonly Parameter[],
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, Value>> | string {
  const values: [string, Value][] = []
  for (const { name, type, required } of parameters) {
    const raw = Object.hasOwn(given, name) ? (given[name] ?? null) : null
    if (raw === null) {
      if (required) return missingArgument(name)
      continue
    }
    const value = convert(raw, type)
    if (value === null) return `Failed: the parameter ${name} must be ${TYPE[type]}. Nothing was sent.`
    values.push([name, value])
  }
  return Object.fromEntries(values)
}

export function missingArgument(name: string): string {
  return `The parameter ${name} is missing.`
}

const TYPE: Readonly<Record<Parameter['type'], string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

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
