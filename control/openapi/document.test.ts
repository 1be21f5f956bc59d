import { readFileSync } from 'node:fs'
import t from 'tap'
import { z } from 'zod'
import { operation } from '../api/operation.js'
import { PROBLEMS } from '../api/problem.js'
import { operations } from '../app/operations.js'
import { openEnum } from '../base/schemas.js'
import { OPENAPI_FILE, openApiText } from '../cli/openapi-files.js'
import { BLOCK_CODES } from '../compliance/gate.js'
import { API_VERSION } from '../system/api.js'
import { openApiDocument } from './document.js'
import { WEBHOOKS } from './webhook-events.js'

type Node = Readonly<Record<string, unknown>>

const document = openApiDocument({ version: API_VERSION, operations, webhooks: WEBHOOKS })

/** Every object of the document with its JSON pointer. */
function* walk(node: unknown, pointer = '#'): Generator<[pointer: string, node: Node]> {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) yield [pointer, node as Node]
  for (const [key, member] of Object.entries(node)) {
    yield* walk(member, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
}

t.test('docs/openapi.json matches the code (npm run openapi writes it)', async (t) => {
  t.equal(readFileSync(OPENAPI_FILE, 'utf8'), openApiText())
})

t.test('every operation of the list is in it, with its scope and its errors', async (t) => {
  const described = [...walk(document.paths)].filter(([, node]) => typeof node.operationId === 'string')
  t.same(described.map(([, node]) => node.operationId).toSorted(), operations.map(({ id }) => id).toSorted())
  for (const [pointer, node] of described) {
    const security = Array.isArray(node.security) ? (node.security as Node[]) : []
    const keyed = security.some((scheme) => 'apiKey' in scheme)
    const personal = security.some((scheme) => 'session' in scheme)
    t.equal('x-scope' in node, keyed, `${pointer}: scope`)
    const responses = Object.keys(node.responses as Node)
    t.ok(
      responses.some((status) => status.startsWith('2')),
      `${pointer}: success`,
    )
    t.ok(responses.includes('500') && responses.includes('400'), `${pointer}: common errors`)
    if (personal) t.ok(responses.includes('401') && responses.includes('403'), `${pointer}: access errors`)
  }
})

t.test('the introduction names operations that exist', async (t) => {
  const { description } = document.info as { description: string }
  const named = [...description.matchAll(/`(GET|POST|PATCH) (\/v1\/[^`]+)`/g)]
  t.ok(named.length >= 5)
  for (const [text, method = '', path = ''] of named) {
    t.ok(
      operations.some(
        (one) => one.path === path.replace(/\{(\w+)\}/g, ':$1') && one.method === method.toLowerCase(),
      ),
      text,
    )
  }
})

t.test('every reference resolves', async (t) => {
  const known = new Set([...walk(document)].map(([pointer]) => pointer))
  for (const [pointer, node] of walk(document)) {
    if (typeof node.$ref === 'string') t.ok(known.has(node.$ref), `${pointer} -> ${node.$ref}`)
  }
})

t.test('request bodies are closed at every level, responses are open', async (t) => {
  let bodies = 0
  for (const [pointer, node] of walk(document)) {
    const isObject = node.type === 'object' && 'properties' in node
    if (pointer.startsWith('#/paths/') && pointer.includes('/requestBody/') && isObject) {
      bodies++
      // z.strictObject says false, z.looseObject says {} on purpose; a plain z.object says nothing.
      t.ok('additionalProperties' in node, `${pointer} must be a strictObject`)
    }
    if (pointer.includes('/responses/') || pointer.startsWith('#/components/schemas/')) {
      t.not(node.additionalProperties, false, `${pointer} must stay open`)
      t.notOk(Array.isArray(node.enum), `${pointer} must be an open set`)
    }
  }
  t.ok(bodies > 0)
})

t.test('shapes in detail', async (t) => {
  const sample = operation({
    id: 'runSample',
    method: 'post',
    path: '/v1/samples/:id/run',
    tag: 'Samples',
    summary: 'Runs a sample',
    audience: 'key',
    scope: 'write',
    environment: 'test',
    params: z.object({ id: z.string().max(30) }),
    query: z.object({ dry: z.enum(['yes', 'no']) }),
    body: z.strictObject({ note: z.string().nullable(), count: z.int().min(1).max(5).default(1) }),
    status: 201,
    result: z.object({ state: openEnum('new', 'old'), law: z.enum(['a', 'u']), any: z.json() }),
    idempotent: 'accepted',
    fails: ['conflict'],
    run: ({ body }) => ({ state: 'new', law: 'a' as const, any: [body.note] }),
  })
  const { paths, components } = openApiDocument({
    version: '1',
    operations: [sample],
    webhooks: [],
  }) as Record<string, Node>
  t.match(components?.schemas, {
    Sample: {
      properties: {
        state: { type: 'string', 'x-known-values': ['new', 'old'] },
        law: { type: 'string', 'x-known-values': ['a', 'u'] },
        any: {},
      },
    },
  })
  t.match(paths, {
    '/v1/samples/{id}/run': {
      post: {
        operationId: 'runSample',
        'x-scope': 'write',
        'x-environment': 'test',
        security: [{ apiKey: [] }, { session: [] }],
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string', maxLength: 30 } },
          { name: 'dry', in: 'query', required: true, schema: { enum: ['yes', 'no'] } },
          { $ref: '#/components/parameters/IdempotencyKey' },
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                additionalProperties: false,
                required: ['note'],
                properties: {
                  note: { type: ['string', 'null'] },
                  count: { type: 'integer', minimum: 1, maximum: 5, default: 1 },
                },
              },
            },
          },
        },
        responses: {
          '201': {
            content: {
              'application/json': {
                schema: { required: ['data'], properties: { data: { $ref: '#/components/schemas/Sample' } } },
              },
            },
          },
          '403': { $ref: '#/components/responses/Error403' },
          '409': { $ref: '#/components/responses/Error409' },
        },
      },
    },
  })
})

t.test('bounds that requests are checked against are described', async (t) => {
  const operationOf = (path: string) => (document.paths as Node)[path] as Record<string, Node>
  const body = (path: string, method: string) =>
    member(operationOf(path)[method], 'requestBody', 'content', 'application/json', 'schema') as Node
  const place = body('/v1/calls', 'post')
  t.match(place.properties, {
    variables: { maxProperties: 50, additionalProperties: { maxLength: 1024 } },
    metadata: { maxProperties: 20 },
  })
  const number = body('/v1/numbers/{id}', 'patch')
  t.equal(number.minProperties, 1)
  t.match(member(number, 'properties', 'mediaEndpoint', 'anyOf', '0', 'properties'), {
    sampleRate: { enum: [8000, 16000, 24000] },
    url: { pattern: /wss/ },
    customParameters: { maxProperties: 30 },
  })
  const inbound = body('/v1/sandbox/inbound-calls', 'post')
  t.ok((member(inbound, 'properties', 'persona', 'enum') as string[]).includes('polite'))
  const list = operationOf('/v1/calls').get?.parameters as Node[]
  const search = member(
    list.find(({ name }) => name === 'search'),
    'schema',
    'pattern',
  )
  t.match('+91 98-7', new RegExp(String(search)))
  t.notMatch('98', new RegExp(String(search)))
})

function member(node: unknown, ...steps: readonly string[]): unknown {
  return steps.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
    node,
  )
}

t.test('placing a call lists the codes of the checks that exist', async (t) => {
  const codes = operations.find(({ id }) => id === 'placeCall')?.fails ?? []
  t.ok(codes.includes('blocked_opt_out'))
  for (const code of ['blocked_dnd', 'blocked_dlt_invalid', 'insufficient_funds'] as const) {
    t.equal(codes.includes(code), BLOCK_CODES.includes(code), code)
  }
})

t.test('every error code has its status', async (t) => {
  const statuses: Readonly<Record<string, number>> = {
    bad_request: 400,
    validation_error: 400,
    invalid_token: 400,
    token_expired: 400,
    unauthenticated: 401,
    invalid_credentials: 401,
    invalid_signature: 401,
    mfa_required: 401,
    insufficient_funds: 402,
    forbidden: 403,
    insufficient_scope: 403,
    email_not_verified: 403,
    blocked_dnd: 403,
    blocked_opt_out: 403,
    blocked_dlt_invalid: 403,
    sip_trunking_not_enabled: 403,
    compliance_incomplete: 403,
    not_found: 404,
    method_not_allowed: 405,
    not_acceptable: 406,
    request_timeout: 408,
    precondition_failed: 412,
    range_not_satisfiable: 416,
    headers_too_large: 431,
    conflict: 409,
    idempotency_key_in_use: 409,
    email_exists: 409,
    number_unavailable: 409,
    call_not_live: 409,
    sip_trunking_request_pending: 409,
    sip_trunking_already_enabled: 409,
    price_changed: 409,
    knowledge_base_not_ready: 409,
    sip_trunk_not_active: 409,
    sip_trunk_has_numbers: 409,
    document_too_large: 413,
    unprocessable_entity: 422,
    idempotency_key_reused_with_different_params: 422,
    environment_mismatch: 422,
    missing_variables: 422,
    billing_details_required: 422,
    provider_rejected: 422,
    rate_limited: 429,
    concurrent_call_limit_reached: 429,
    provider_quota_exhausted: 429,
    internal_error: 500,
    provider_unavailable: 503,
  }
  t.same(Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status])), statuses)
  t.equal(PROBLEMS.idempotency_key_reused_with_different_params.type, 'conflict')
  t.equal(PROBLEMS.compliance_incomplete.type, 'compliance')
  t.equal(PROBLEMS.blocked_opt_out.type, 'compliance')
  t.equal(PROBLEMS.insufficient_funds.type, 'payment_required')
  t.equal(PROBLEMS.provider_unavailable.type, 'server_error')
})
