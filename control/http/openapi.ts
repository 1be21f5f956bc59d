import { z } from 'zod'
import { pathParameters, querySchema } from './mount.js'
import { inputSchema, nameResults, outputSchema } from './openapi-schemas.js'
import type { Audience, Operation } from './operation.js'
import { type ErrorCode, PROBLEMS } from './problem.js'

type JsonObject = Readonly<Record<string, unknown>>
type Results = ReadonlyMap<z.ZodType, string>

export interface ApiInfo {
  readonly version: string
  readonly operations: readonly Operation[]
}

/**
 * The OpenAPI 3.1 description of a list of operations, from the very schemas that validate at run
 * time. The same list gives the same document, byte for byte.
 */
export function openApiDocument({ version, operations }: ApiInfo): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {}
  const results = nameResults(operations)
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method]: describe(operation, results) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version,
      summary: 'Voice-agent calling service',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: [...new Set(operations.map((operation) => operation.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'svc_test_... for the sandbox, svc_live_... for real calls',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'svc_session',
          description:
            'Signed in by POST /v1/auth/login. Changes also need x-svc-csrf (the value of the cookie svc_csrf) and an Origin; x-svc-environment (test unless given) and x-svc-organization choose what is acted on.',
        },
        signature: {
          type: 'apiKey',
          in: 'header',
          name: 'x-svc-signature',
          description:
            'v1= and the hex HMAC-SHA256 over <x-svc-timestamp>.<raw body>; the timestamp in Unix seconds, at most 300 s off; good once',
        },
      },
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: { RequestId: { description: 'Name it when you ask for help', schema: { type: 'string' } } },
      schemas: {
        Error: ERROR_SCHEMA,
        Pagination: PAGINATION_SCHEMA,
        ...Object.fromEntries([...results].map(([schema, name]) => [name, outputSchema(schema)])),
      },
      responses: Object.fromEntries(
        [...errorStatuses()].map(([status, codes]) => errorResponse(status, codes)),
      ),
    },
  }
}

function describe(operation: Operation, results: Results): JsonObject {
  const parameters = [
    ...pathParameters(operation.path).map((name) =>
      parameter('path', name, operation.params?.shape[name], true),
    ),
    ...queryParameters(operation),
    ...(operation.idempotent === null
      ? []
      : [{ $ref: '#/components/parameters/IdempotencyKey', ...requiredMark(operation) }]),
  ]
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    security: SECURITY[operation.audience],
    ...(operation.roles === null ? {} : { 'x-roles': operation.roles }),
    ...(operation.scope === null ? {} : { 'x-scope': operation.scope }),
    ...(operation.environment === null ? {} : { 'x-environment': operation.environment }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === null ? {} : { requestBody: requestBody(operation.body) }),
    responses: { [operation.status]: success(operation, results), ...failures(operation) },
    'x-error-codes': errorCodes(operation),
  }
}

const SESSION = [{ session: [] }]

/** Any of the listed credentials is enough. */
const SECURITY: Readonly<Record<Audience, readonly JsonObject[]>> = {
  key: [{ apiKey: [] }, ...SESSION],
  session: SESSION,
  account: SESSION,
  staff: SESSION,
  signed: [{ signature: [] }],
  public: [],
}

function requiredMark(operation: Operation): JsonObject {
  return operation.idempotent === 'required' ? { description: 'Required here' } : {}
}

function queryParameters(operation: Operation): JsonObject[] {
  const schema = querySchema(operation)
  const required = inputSchema(schema).required
  return Object.entries(schema.shape).map(([name, member]) =>
    parameter('query', name, member, Array.isArray(required) && required.includes(name)),
  )
}

function parameter(place: string, name: string, schema: unknown, required: boolean): JsonObject {
  return {
    name,
    in: place,
    ...(required ? { required } : {}),
    schema: schema instanceof z.ZodType ? inputSchema(schema) : { type: 'string' },
  }
}

function requestBody(schema: z.ZodType): JsonObject {
  return {
    required: !schema.safeParse(undefined).success,
    content: { 'application/json': { schema: inputSchema(schema) } },
  }
}

function success(operation: Operation, results: Results): JsonObject {
  const headers = { 'x-request-id': { $ref: '#/components/headers/RequestId' } }
  if (operation.reply === 'empty') return { description: 'Done', headers }
  if (operation.reply === 'file' || operation.result === null) {
    return {
      description: 'The file; byte ranges are supported',
      headers,
      content: { [operation.contentType]: {} },
    }
  }
  const name = results.get(operation.result)
  const result =
    name === undefined ? outputSchema(operation.result) : { $ref: `#/components/schemas/${name}` }
  return {
    description: operation.status === 201 ? 'Created' : 'OK',
    headers,
    content: { 'application/json': { schema: envelope(operation, result) } },
  }
}

function envelope(operation: Operation, result: JsonObject): JsonObject {
  if (operation.reply === 'bare') return result
  if (operation.reply === 'data') {
    return { type: 'object', required: ['data'], properties: { data: result } }
  }
  return {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', items: result },
      meta: {
        type: 'object',
        required: ['pagination'],
        properties: { pagination: { $ref: '#/components/schemas/Pagination' } },
      },
    },
  }
}

function errorCodes(operation: Operation): ErrorCode[] {
  const codes = new Set<ErrorCode>([...operation.fails, 'bad_request', 'validation_error', 'internal_error'])
  if (operation.audience === 'key') {
    codes.add('unauthenticated').add('invalid_credentials').add('insufficient_scope').add('rate_limited')
  }
  if (operation.audience === 'key') codes.add('forbidden')
  if (['session', 'account', 'staff'].includes(operation.audience))
    codes.add('unauthenticated').add('forbidden')
  if (operation.audience === 'signed') codes.add('invalid_signature')
  if (operation.perMinute !== null) codes.add('rate_limited')
  if (operation.params !== null) codes.add('not_found')
  if (operation.idempotent !== null) {
    codes.add('idempotency_key_in_use').add('idempotency_key_reused_with_different_params')
  }
  return [...codes].sort()
}

function failures(operation: Operation): JsonObject {
  const statuses = new Set(errorCodes(operation).map((code) => PROBLEMS[code].status))
  // Declaring the fault every operation may have means answering `unavailable` (problem.ts).
  if (operation.fails.includes('internal_error')) statuses.add(503)
  return Object.fromEntries(
    [...statuses].map((status) => [status, { $ref: `#/components/responses/Error${status}` }]),
  )
}

function errorStatuses(): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>()
  const codes = Object.keys(PROBLEMS) as ErrorCode[]
  for (const code of codes) {
    const { status } = PROBLEMS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b))
}

function errorResponse(status: number, codes: readonly ErrorCode[]): [string, JsonObject] {
  return [
    `Error${status}`,
    {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].when}`).join('\n\n'),
      headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ]
}

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A retry with the same key and body within 24 hours gets the first answer again.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

const ERROR_SCHEMA: JsonObject = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['type', 'code', 'message', 'doc_url', 'request_id'],
      properties: {
        type: {
          type: 'string',
          'x-known-values': [...new Set(Object.values(PROBLEMS).map((problem) => problem.type))],
        },
        code: { type: 'string', 'x-known-values': Object.keys(PROBLEMS) },
        message: { type: 'string', description: 'For people; branch on code' },
        details: { type: 'object', description: 'Only where the code has some' },
        doc_url: { type: 'string', format: 'uri' },
        request_id: { type: 'string' },
      },
    },
  },
}

const PAGINATION_SCHEMA: JsonObject = {
  type: 'object',
  required: ['cursor', 'hasMore'],
  properties: {
    cursor: { type: ['string', 'null'], description: 'Send it, with the same filters, for the next page' },
    hasMore: { type: 'boolean' },
    total: { type: 'integer', minimum: 0, maximum: 10_000, description: 'On the first page of some lists' },
    totalCapped: { type: 'boolean', description: 'True when more than 10,000 match' },
  },
}
