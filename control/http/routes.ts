import { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import type { Operation } from '../api/operation.js'
import type { Method } from '../api/operation-spec.js'
import { integerParam } from '../base/schemas.js'

/** An operation and the schemas derived from it. */
export interface MountedOperation {
  readonly operation: Operation
  readonly params: z.ZodType
  readonly query: z.ZodType
  /** Schema of the JSON body. Null if JSON is rejected. */
  readonly body: z.ZodType | null
}

/** A path and its operations. */
export interface Route {
  readonly path: string
  readonly byMethod: ReadonlyMap<Method, MountedOperation>
  /** Value of the `Allow` header. */
  readonly allow: string
}

export const MAX_PAGE = 100

const NOTHING = z.strictObject({})

/**
 * Groups operations by path. Static segments come before parameters. Throws EngineError `internal` for
 * inconsistent operations, which are programming errors found at start.
 */
export function buildRoutes(operations: readonly Operation[]): readonly Route[] {
  const ids = new Set<string>()
  const paths = new Map<string, Map<Method, MountedOperation>>()
  for (const operation of operations) {
    checkOperation(operation)
    if (ids.has(operation.id)) throw inconsistent(operation, 'its id is used twice')
    ids.add(operation.id)
    const byMethod = paths.get(operation.path) ?? new Map<Method, MountedOperation>()
    if (byMethod.has(operation.method)) throw inconsistent(operation, 'its method and path are used twice')
    byMethod.set(operation.method, mounted(operation))
    paths.set(operation.path, byMethod)
  }
  return [...paths]
    .map(([path, byMethod]) => ({ path, byMethod, allow: allowed(byMethod) }))
    .sort((a, b) => compareSegments(a.path.split('/'), b.path.split('/')))
}

/** Returns the names of the `:name` segments of a path. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].flatMap((match) => match[1] ?? [])
}

/** Returns the query schema of an operation: its filters and, for lists, `limit` and `cursor`. */
export function querySchema(operation: Operation): z.ZodObject {
  const filters = operation.query ?? z.object({})
  if (operation.list === null || !operation.list.paged) return filters.strict()
  return filters
    .extend({
      limit: integerParam(1, MAX_PAGE)
        .default(operation.list.defaultLimit)
        .meta({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: operation.list.defaultLimit }),
      cursor: z.string().max(1024).optional(),
    })
    .strict()
}

function mounted(operation: Operation): MountedOperation {
  const takesJson = operation.upload === null && operation.method !== 'get' && operation.method !== 'delete'
  return {
    operation,
    params: operation.params ?? NOTHING,
    query: querySchema(operation),
    // Without a body schema the body may be missing or `{}`, which many clients send with every POST.
    body: operation.body ?? (takesJson ? NOTHING.optional() : null),
  }
}

function checkOperation(operation: Operation): void {
  const named = pathParameters(operation.path)
  const declared = Object.keys(operation.params?.shape ?? {})
  if ([...named].sort().join() !== [...declared].sort().join()) {
    throw inconsistent(operation, 'its params are not those of its path')
  }
  if ((operation.audience === 'key') !== (operation.scope !== null)) {
    throw inconsistent(operation, 'a key operation names a scope, any other does not')
  }
  if (operation.roles !== null && operation.audience !== 'session') {
    throw inconsistent(operation, 'roles belong to session operations')
  }
  if (operation.perMinute !== null && operation.audience !== 'public') {
    throw inconsistent(operation, 'a limit by address belongs to public operations')
  }
  if ((operation.audience === 'signed') !== (operation.signature !== null)) {
    throw inconsistent(operation, 'a signed operation names its signature scheme, any other does not')
  }
  if ((operation.audience === 'address') !== (operation.address !== null)) {
    throw inconsistent(operation, 'an operation with a signed address names its purpose, any other does not')
  }
  if (operation.audience === 'address' && !named.includes('token')) {
    throw inconsistent(operation, 'a signed address has the path parameter token')
  }
  if (operation.warning !== null && operation.reply !== 'data' && operation.reply !== 'list') {
    throw inconsistent(operation, 'warnings stand beside { data }')
  }
  if (operation.upload !== null && operation.method !== 'post' && operation.method !== 'put') {
    throw inconsistent(operation, 'only POST and PUT take an upload')
  }
  if (operation.mayExist && operation.status !== 201) {
    throw inconsistent(operation, 'only what a 201 answers may be there already')
  }
  if ((operation.status === 204) !== (operation.reply === 'empty')) {
    throw inconsistent(operation, 'exactly the 204 answers have no result')
  }
  const forOrganization = ['key', 'session', 'address'].includes(operation.audience)
  if (operation.idempotent !== null && !forOrganization) {
    throw inconsistent(operation, 'idempotency keys belong to an organization')
  }
}

function inconsistent(operation: Operation, what: string): EngineError {
  return new EngineError('internal', `operation ${operation.id} ${operation.path}: ${what}`)
}

function allowed(byMethod: ReadonlyMap<Method, unknown>): string {
  const methods = [...byMethod.keys()].map((method) => method.toUpperCase())
  return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).sort().join(', ')
}

function compareSegments(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left, right] = [a[i] ?? '', b[i] ?? '']
    const order = Number(left.startsWith(':')) - Number(right.startsWith(':'))
    if (order !== 0) return order
    if (left !== right) return left < right ? -1 : 1
  }
  return a.length - b.length
}
