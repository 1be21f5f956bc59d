import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { operations } from '../app/operations.js'
import { API_VERSION } from '../system/api.js'
import { openApiDocument } from './document.js'
import { EXAMPLE_BODIES } from './example-bodies.js'
import { WEBHOOKS } from './webhook-events.js'

/* The rules a linter of OpenAPI 3.1 has, for this document. Failures name the place. */

type Node = Readonly<Record<string, unknown>>

const document = openApiDocument({ version: API_VERSION, operations, webhooks: WEBHOOKS }) as Node & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Node>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Node }>>
  readonly components: Readonly<Record<string, Node>>
}

const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, node]) => ({ place: `${method.toUpperCase()} ${path}`, path, node })),
)

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null
const at = (node: unknown, ...steps: readonly string[]): unknown =>
  steps.reduce<unknown>((value, step) => (isNode(value) ? value[step] : undefined), node)

const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ $id: 'https://parley.test/openapi', ...document })

/** Returns the fault of an example, or null. */
function mismatch(schema: unknown, example: unknown): string | null {
  const relative = JSON.parse(
    JSON.stringify(schema).replaceAll('"#/components/', '"https://parley.test/openapi#/components/'),
  )
  const validate = ajv.compile(relative)
  return validate(example) ? null : `${ajv.errorsText(validate.errors)} in ${JSON.stringify(example)}`
}

/** First words of operation summaries. */
const VERBS = new Set(
  (
    'Accept Add Approve Archive Build Buy Cancel Change Check Confirm Create Delete Disable Download Enable Get Give Hang Identify Import Invite Launch ' +
    'List Pause Place Publish Receive Record Redeliver Release Remove Repeat Replace Report Request Resend Reset Resolve Resume ' +
    'Revoke Roll Route Say Search Send Set Show Sign Start Stop Submit Test Update Verify Watch Withdraw'
  ).split(' '),
)

t.test('paths, ids and tags', (t) => {
  const ids = new Set<unknown>()
  const tags = (document.tags as readonly Node[]).map(({ name }) => name)
  for (const { place, path, node } of described) {
    t.match(node.operationId, /^[a-z][a-zA-Z]+$/, `${place}: operationId`)
    t.notOk(ids.has(node.operationId), `${place}: its operationId is its own`)
    ids.add(node.operationId)
    t.match(path, /^\/v1(\/([a-z0-9.-]+|\{[a-zA-Z]+\}))+$/, `${place}: lower case, no slash at the end`)
    const summary = String(node.summary)
    t.ok(VERBS.has(summary.split(/[ ,]/)[0] ?? ''), `${place}: the summary starts with an imperative verb`)
    t.notMatch(summary, /\.$/, `${place}: the summary has no full stop`)
    t.ok(summary.length <= 60, `${place}: the summary has at most 60 characters`)
    t.match(node.description, /^[A-Z].*\.$/, `${place}: a description in sentences`)
    for (const tag of node.tags as readonly unknown[]) t.ok(tags.includes(tag), `${place}: tag ${tag}`)
  }
  t.equal(new Set(tags).size, tags.length, 'no tag twice')
  t.end()
})

t.test('every parameter of a path is declared, every parameter has a schema', (t) => {
  for (const { place, path, node } of described) {
    const parameters = (node.parameters ?? []) as readonly Node[]
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    t.same(inPath.map(({ name }) => name).sort(), named.sort(), place)
    for (const parameter of parameters) {
      if (parameter.$ref === undefined) t.ok(isNode(parameter.schema), `${place}: ${parameter.name}`)
    }
  }
  t.end()
})

t.test('every operation that sends or answers JSON shows an example that fits', (t) => {
  for (const { place, node } of described) {
    const bodies: [string, unknown][] = [['body', at(node, 'requestBody', 'content', 'application/json')]]
    for (const [status, response] of Object.entries(node.responses as Node)) {
      if (status.startsWith('2')) bodies.push([status, at(response, 'content', 'application/json')])
    }
    for (const [what, media] of bodies) {
      if (!isNode(media)) continue
      t.ok('example' in media, `${place} ${what}: has an example`)
      t.equal(mismatch(media.schema, media.example), null, `${place} ${what}: the example fits`)
    }
  }
  for (const id of Object.keys(EXAMPLE_BODIES)) {
    t.ok(
      operations.some(({ id: known, body, upload }) => known === id && (body !== null || upload !== null)),
      `${id} of EXAMPLE_BODIES is an operation with a body`,
    )
  }
  t.end()
})

t.test('the example bodies pass the schemas of the running service', (t) => {
  for (const { place, node } of described) {
    const operation = operations.find(({ id }) => id === node.operationId)
    const example = at(node, 'requestBody', 'content', 'application/json', 'example')
    if (operation?.body === null || operation === undefined) continue
    const parsed = operation.body.safeParse(example)
    t.ok(parsed.success, `${place}: ${parsed.success ? '' : parsed.error.message} ${JSON.stringify(example)}`)
  }
  t.end()
})

t.test('every event type is a webhook with an example that fits', (t) => {
  t.same(Object.keys(document.webhooks), [
    'call.initiated',
    'call.answered',
    'call.completed',
    'call.failed',
    'call.transfer_started',
    'call.transferred',
    'call.transfer_failed',
    'campaign.completed',
    'campaign.paused',
    'compliance.check.blocked',
    'wallet.balance.low',
    'number.renewal_due',
    'number.released',
    'number.suspended',
    'number.reactivated',
    'knowledge.build.completed',
    'knowledge.build.failed',
    'evidence.head',
  ])
  for (const [type, { post }] of Object.entries(document.webhooks)) {
    const media = at(post, 'requestBody', 'content', 'application/json')
    t.equal(mismatch(at(media, 'schema'), at(media, 'example')), null, type)
    t.equal(at(media, 'example', 'type'), type)
  }
  t.end()
})

t.test('no component is unused', (t) => {
  const text = JSON.stringify(document)
  for (const [kind, members] of Object.entries(document.components)) {
    if (kind === 'securitySchemes') continue
    for (const name of Object.keys(members)) {
      // Errors of statuses that only later parts answer are listed for readers of the catalogue.
      if (kind === 'responses') continue
      t.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name}`)
    }
  }
  t.end()
})
