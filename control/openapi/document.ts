import { z } from 'zod'
import type { Audience } from '../api/actor.js'
import type { Operation } from '../api/operation.js'
import { type ErrorCode, PROBLEMS } from '../api/problem.js'
import { pathParameters, querySchema } from '../http/routes.js'
import { bodyExample, exampleOf } from './document-examples.js'
import { inputSchema, nameResults, outputSchema } from './document-schemas.js'
import { describeWebhooks, type WebhookDescription } from './document-webhooks.js'
import { EXAMPLE_BODIES } from './example-bodies.js'

type JsonObject = Readonly<Record<string, unknown>>
type Results = ReadonlyMap<z.ZodType, string>

export interface ApiInfo {
  readonly version: string
  readonly operations: readonly Operation[]
  readonly webhooks: readonly WebhookDescription[]
}

/**
 * Returns the OpenAPI 3.1 description of operations, based on the schemas that validate requests. The same
 * operations result in the same document, byte for byte.
 */
export function openApiDocument({ version, operations, webhooks }: ApiInfo): JsonObject {
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
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: [...new Set([...operations.map((operation) => operation.tag), 'Webhooks'])].map((name) => ({
      name,
    })),
    paths,
    webhooks: describeWebhooks(webhooks, results),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'svc_test_... for the sandbox, svc_live_... for real calls.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'svc_session',
          description:
            'Cookie set by POST /v1/auth/login. Requests that change data also need the header x-svc-csrf (the value of the cookie svc_csrf) and an Origin header. The headers x-svc-environment (default: test) and x-svc-organization select the environment and the organization.',
        },
        operator: {
          type: 'http',
          scheme: 'bearer',
          description: 'Token of the operator, set with PARLEY_OPS_TOKEN.',
        },
        signature: {
          type: 'apiKey',
          in: 'header',
          name: 'x-svc-signature',
          description:
            '"v1=" followed by the hexadecimal HMAC-SHA256 of "<x-svc-timestamp>.<raw body>". The timestamp is in Unix seconds and may differ from the server time by at most 300 s. Each signature is accepted once.',
        },
      },
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: HEADERS,
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

/** Shown above the operations at `/docs` (Markdown). */
const INTRODUCTION = `
The API places and answers telephone calls that voice agents conduct, and reports what happened.

**Keys.** Send \`Authorization: Bearer <key>\`. A key that starts with \`svc_test_\` reaches the sandbox only: no telephone
rings and nothing is charged. A key that starts with \`svc_live_\` places real calls. The first start of the service prints
one key of each kind. \`parley keys create\` makes more.

**First call.** Create an agent (\`POST /v1/agents\`), publish it (\`POST /v1/agents/{id}/publish\`), find your test number
(\`GET /v1/numbers\`), bind the agent to it (\`PATCH /v1/numbers/{id}\` with \`agentId\`), and call a simulated person
(\`POST /v1/calls\` with \`to: "+919000000010"\`). \`GET /v1/calls/{id}\` shows the result.

**Objects and lists.** An object is returned as \`{ "data": ... }\`, a list as \`{ "data": [...], "meta": { "pagination": ... } }\`.
Get the next page with \`cursor\` from \`meta.pagination\` and the same filters. Unknown fields and parameters are refused.

**Errors.** Branch on \`error.code\`, never on \`error.message\`. [The error page](docs/errors) explains each code. Send an
\`Idempotency-Key\` with a request that must not happen twice, and repeat the request with the same key after a timeout.

**Changes.** The API grows only by additions. Accept fields, codes, event types and values that you do not know.
`.trim()

function describe(operation: Operation, results: Results): JsonObject {
  const parameters = [
    ...pathParameters(operation.path).map((name) =>
      parameter('path', name, operation.params?.shape[name], true),
    ),
    ...queryParameters(operation),
    ...(operation.events === null ? [] : [LAST_EVENT_ID]),
    ...(operation.idempotent === null
      ? []
      : [{ $ref: '#/components/parameters/IdempotencyKey', ...requiredMark(operation) }]),
  ]
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === null ? {} : { description: operation.description }),
    // Senders with schemes of their own sign as their documentation says.
    security: typeof operation.signature === 'function' ? [] : SECURITY[operation.audience],
    ...(operation.roles === null ? {} : { 'x-roles': operation.roles }),
    ...(operation.scope === null ? {} : { 'x-scope': operation.scope }),
    ...(operation.environment === null ? {} : { 'x-environment': operation.environment }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === null && operation.upload === null ? {} : { requestBody: requestBody(operation) }),
    responses: {
      ...(operation.mayExist
        ? { 200: { ...success(operation, results), description: 'It was there already.' } }
        : {}),
      [operation.status]: success(operation, results),
      ...failures(operation),
    },
    'x-error-codes': errorCodes(operation),
  }
}

const SESSION = [{ session: [] }]

const LAST_EVENT_ID = {
  name: 'last-event-id',
  in: 'header',
  description: 'Id of the last event that the client received. The stream continues after it.',
  schema: { type: 'string', maxLength: 200 },
}

/** One of the listed credentials is required. */
const SECURITY: Readonly<Record<Audience, readonly JsonObject[]>> = {
  key: [{ apiKey: [] }, ...SESSION],
  session: SESSION,
  account: SESSION,
  staff: SESSION,
  signed: [{ signature: [] }],
  // The signed address is the path itself.
  address: [],
  operator: [{ operator: [] }],
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

function requestBody({ id, body, upload }: Operation): JsonObject {
  if (upload !== null) {
    // Of raw bytes, maxLength is the largest number (OpenAPI 3.1, 4.8.14.3).
    const example = EXAMPLE_BODIES[id]
    const media = { schema: { maxLength: upload.maxBytes }, ...(example === undefined ? {} : { example }) }
    return { required: true, content: Object.fromEntries(upload.accepts.map((type) => [type, media])) }
  }
  if (body === null) return {}
  const schema = inputSchema(body)
  const example = EXAMPLE_BODIES[id] ?? bodyExample(schema)
  return {
    required: !body.safeParse(undefined).success,
    content: { 'application/json': { schema, example } },
  }
}

function success(operation: Operation, results: Results): JsonObject {
  const headers = operation.audience === 'key' ? KEYED_HEADERS : REQUEST_ID
  if (operation.reply === 'empty') return { description: 'No content.', headers }
  if (operation.events !== null) {
    const events = Object.entries(operation.events).map(([name, schema]) => [name, outputSchema(schema)])
    const media = { schema: { type: 'string' }, 'x-events': Object.fromEntries(events) }
    return {
      description:
        'Server-sent events, as long as the client stays connected. x-events describes the data of each.',
      headers,
      content: { [operation.contentType]: media },
    }
  }
  if (operation.result === null) {
    const ranges = operation.reply === 'file' ? ' Byte ranges are supported.' : ''
    const media = operation.csvColumns === null ? {} : csvMedia(operation.csvColumns)
    return { description: `The content.${ranges}`, headers, content: { [operation.contentType]: media } }
  }
  const name = results.get(operation.result)
  const result =
    name === undefined ? outputSchema(operation.result) : { $ref: `#/components/schemas/${name}` }
  return {
    description: operation.status === 201 ? 'Created.' : 'OK.',
    headers,
    content: {
      'application/json': {
        schema: envelope(operation, result),
        example: resultExample(operation, operation.result),
      },
      ...(operation.reply === 'page' ? { 'text/html; charset=utf-8': { schema: { type: 'string' } } } : {}),
    },
  }
}

/** CSV is text. The example is the header row, whose columns keep their order. */
function csvMedia(columns: readonly string[]): JsonObject {
  return { schema: { type: 'string' }, example: `${columns.join(',')}\r\n` }
}

/** Returns an example response with its envelope. */
function resultExample({ id, path, reply, warning }: Operation, schema: z.ZodType): unknown {
  const value = exampleOf(outputSchema(schema), id, idPrefixOf(path))
  if (reply === 'bare') return value
  const noted = warning === null ? {} : { warnings: [exampleOf(outputSchema(warning), id)] }
  if (reply !== 'list') return { data: value, ...(warning === null ? {} : { meta: noted }) }
  return { data: [value], meta: { pagination: { cursor: null, hasMore: false }, ...noted } }
}

/** Returns the id prefix of the resource at a path, or undefined if the path does not determine it. */
function idPrefixOf(path: string): string | undefined {
  const resource = path.split('/').filter((segment) => !segment.startsWith(':'))[2]
  return resource === undefined ? undefined : ID_PREFIXES[resource]
}

const ID_PREFIXES: Readonly<Record<string, string>> = {
  'api-keys': 'key',
  agents: 'agt',
  'transfer-destinations': 'tdst',
  numbers: 'num',
  'sip-trunks': 'trk',
  calls: 'call',
  campaigns: 'cmp',
  events: 'evt',
  integrations: 'whe',
  secrets: 'sec',
  organization: 'org',
  whoami: 'key',
}

function envelope(operation: Operation, result: JsonObject): JsonObject {
  if (operation.reply === 'bare') return result
  const list = operation.reply === 'list'
  const meta = {
    ...(list ? { pagination: { $ref: '#/components/schemas/Pagination' } } : {}),
    ...(operation.warning === null
      ? {}
      : { warnings: { type: 'array', items: outputSchema(operation.warning) } }),
  }
  const data = list ? { type: 'array', items: result } : result
  if (Object.keys(meta).length === 0) return { type: 'object', required: ['data'], properties: { data } }
  return {
    type: 'object',
    required: ['data', 'meta'],
    properties: { data, meta: { type: 'object', required: Object.keys(meta), properties: meta } },
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
  if (operation.upload !== null) codes.add(operation.upload.tooLarge)
  if (operation.audience === 'operator') codes.add('unauthenticated')
  if (operation.perMinute !== null) codes.add('rate_limited')
  if (operation.params !== null) codes.add('not_found')
  if (operation.reply === 'page') codes.add('not_acceptable')
  if (operation.reply === 'file') codes.add('precondition_failed').add('range_not_satisfiable')
  if (operation.idempotent !== null) {
    codes.add('idempotency_key_in_use').add('idempotency_key_reused_with_different_params')
  }
  return [...codes].sort()
}

function failures(operation: Operation): JsonObject {
  const statuses = new Set(errorCodes(operation).map((code) => PROBLEMS[code].status))
  // An operation that declares `internal_error` may return `unavailable` (problem.ts).
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
      headers: { ...REQUEST_ID, ...EXTRA_HEADERS[status] },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ]
}

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A retry with the same key and the same body within 24 hours returns the first response again.',
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
        message: { type: 'string', description: 'For humans. Programs should use the code.' },
        details: { type: 'object', description: 'Present for some codes only.' },
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
    cursor: {
      type: ['string', 'null'],
      description: 'Send it with the same filters to get the next page. Null on the last page.',
    },
    hasMore: { type: 'boolean' },
    total: {
      type: 'integer',
      minimum: 0,
      maximum: 10_000,
      description: 'Number of matching items. Only on the first page of some lists.',
    },
    totalCapped: { type: 'boolean', description: 'True if more than 10,000 items match.' },
  },
}

const REQUEST_ID: JsonObject = { 'x-request-id': { $ref: '#/components/headers/RequestId' } }
const RETRY_AFTER: JsonObject = { 'retry-after': { $ref: '#/components/headers/RetryAfter' } }
/** Additional headers of errors, by status. */
const EXTRA_HEADERS: Readonly<Record<number, JsonObject>> = {
  401: { 'www-authenticate': { $ref: '#/components/headers/WwwAuthenticate' } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
}

/** Headers of all responses to API keys, including errors. */
const KEYED_HEADERS: JsonObject = {
  ...REQUEST_ID,
  'ratelimit-policy': { $ref: '#/components/headers/RateLimitPolicy' },
  ratelimit: { $ref: '#/components/headers/RateLimit' },
  'x-ratelimit-limit': { $ref: '#/components/headers/XRateLimitLimit' },
  'x-ratelimit-remaining': { $ref: '#/components/headers/XRateLimitRemaining' },
  'x-ratelimit-reset': { $ref: '#/components/headers/XRateLimitReset' },
}

const headerOf = (type: 'string' | 'integer', description: string, example: unknown): JsonObject => ({
  description,
  schema: { type },
  example,
})

const HEADERS: JsonObject = {
  RequestId: headerOf(
    'string',
    'ID of the request. Quote it in support requests.',
    'req_01JZ0000000000000000000000',
  ),
  RetryAfter: headerOf('integer', 'Seconds to wait before a retry.', 1),
  WwwAuthenticate: headerOf(
    'string',
    'Authentication scheme of this path (RFC 9110, 11.6.1).',
    'Bearer realm="api"',
  ),
  RateLimitPolicy: headerOf('string', 'Request budget: quota and window (s).', '"default";q=600;w=60'),
  RateLimit: headerOf(
    'string',
    'Requests left, and seconds until another request is available.',
    '"default";r=599;t=1',
  ),
  XRateLimitLimit: headerOf('integer', 'Requests per minute.', 600),
  XRateLimitRemaining: headerOf('integer', 'Requests left.', 599),
  XRateLimitReset: headerOf('integer', 'Unix time (s) at which the budget is full again.', 1_795_000_000),
}
