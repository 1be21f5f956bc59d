import { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import type { Operation } from '../api/operation.js'

type JsonObject = Readonly<Record<string, unknown>>

/** Returns the JSON Schema (2020-12) of a request. */
export function inputSchema(schema: z.ZodType): JsonObject {
  return convert(schema, 'input')
}

/**
 * Returns the JSON Schema of a response. It is open, because responses may get more fields and values:
 * enumerations become `x-known-values`, and no object forbids additional members.
 */
export function outputSchema(schema: z.ZodType): JsonObject {
  return open(convert(schema, 'output'))
}

/**
 * Returns the component names of the results, derived from the first operation that returns each:
 * `createAgent` results in `Agent`, which `readAgent` and `listAgents` share.
 */
export function nameResults(operations: readonly Operation[]): ReadonlyMap<z.ZodType, string> {
  const names = new Map<z.ZodType, string>()
  const taken = new Set(['Error', 'Pagination'])
  const single = operations.filter(({ reply }) => reply === 'data' || reply === 'page')
  const lists = operations.filter(({ reply }) => reply === 'list')
  for (const { id, result } of [...single, ...lists]) {
    if (result === null || names.has(result)) continue
    const noun = id.replace(/^[a-z]+(?=[A-Z])/, '')
    const wanted = noun.charAt(0).toUpperCase() + noun.slice(1)
    const name = taken.has(wanted) ? `${id.charAt(0).toUpperCase()}${id.slice(1)}Result` : wanted
    taken.add(name)
    names.set(result, name)
  }
  return names
}

function convert(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _dialect, $defs, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  if ($defs === undefined) return rest
  const defs = $defs as JsonObject
  const recursive = Object.keys(defs).filter((name) => !isAnyJson(defs[name], name))
  if (recursive.length > 0) {
    throw new EngineError('internal', 'recursive schemas other than z.json() have no description yet')
  }
  // z.json() allows every value, as an empty schema does.
  return dropRefs(rest)
}

/** Returns true for the definition of `z.json()`: a scalar, or a list or record of itself. */
function isAnyJson(definition: unknown, name: string): boolean {
  const self = { $ref: `#/$defs/${name}` }
  const expected = [
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
    { type: 'array', items: self },
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: self },
  ]
  return JSON.stringify(definition) === JSON.stringify({ anyOf: expected })
}

function dropRefs(schema: JsonObject): JsonObject {
  return mapObject(schema, ([name, value]) => (name === '$ref' ? [] : [[name, value]]), dropRefs)
}

function open(schema: JsonObject): JsonObject {
  return mapObject(
    schema,
    ([name, value]) => {
      if (name === 'additionalProperties' && value === false) return []
      if (name === 'enum' && Array.isArray(value)) return [['x-known-values', value]]
      return [[name, value]]
    },
    open,
  )
}

/** Rewrites the members of an object with `change`, then all nested objects with `again`. */
function mapObject(
  object: JsonObject,
  change: (member: [string, unknown]) => [string, unknown][],
  again: (object: JsonObject) => JsonObject,
): JsonObject {
  const below = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(below)
    return typeof value === 'object' && value !== null ? again(value as JsonObject) : value
  }
  return Object.fromEntries(
    Object.entries(object)
      .flatMap(change)
      .map(([name, value]) => [name, below(value)]),
  )
}
