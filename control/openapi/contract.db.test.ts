import t, { type Test } from 'tap'
import { idPrefixOf, type MadeRequest } from '../../fixtures/contract/arbitrary.js'
import {
  type DescribedOperation,
  describedOperations,
  type JsonObject,
} from '../../fixtures/contract/described-operations.js'
import { type Answer, member, openJudge } from '../../fixtures/contract/judge.js'
import { NOT_BUILT, OPERATION_TABLE } from '../../fixtures/contract/operation-table.js'
import {
  type Credential,
  openPopulatedService,
  PINNED,
  type PopulatedService,
} from '../../fixtures/contract/populated-service.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import type { Operation } from '../api/operation.js'
import { operations } from '../app/operations.js'
import { API_VERSION } from '../system/api.js'
import { openApiDocument } from './document.js'
import { WEBHOOKS } from './webhook-events.js'

/*
 * Checks the rules that apply to every operation against every operation.
 */

const document = openApiDocument({ version: API_VERSION, operations, webhooks: WEBHOOKS })
const described = describedOperations(document, operations)
const judge = openJudge(document)

const database = await openMigratedSqlite()
const world: PopulatedService = await openPopulatedService(database, described)
t.teardown(async () => {
  await world.close()
  await database.close()
})

type Made = ReturnType<PopulatedService['example']>

const nameOf = (one: DescribedOperation): string => `${one.method.toUpperCase()} ${one.path}`
const codeOf = (answer: Answer): unknown => member(member(JSON.parse(answer.text), 'error'), 'code')
const detailsOf = (answer: Answer): unknown => member(member(JSON.parse(answer.text), 'error'), 'details')
const key = (realm: 'own' | 'live' | 'foreign', scope: 'read' | 'write' | 'admin'): Credential => ({
  kind: 'key',
  realm,
  scope,
})

/** Sends the example with changes, judges the answer, and compares status and code. */
async function expectRefusal(
  t: Test,
  one: DescribedOperation,
  what: string,
  who: Credential,
  made: Made,
  [status, code]: readonly [number, string],
): Promise<Answer> {
  const answer = await world.send(one, made, who)
  const found = `${answer.status} ${answer.text.startsWith('{') ? codeOf(answer) : ''}`
  t.equal(found, `${status} ${code}`, `${nameOf(one)}: ${what}`)
  t.same(judge(one, answer), [], `${nameOf(one)}: ${what}, judged`)
  if (who.kind === 'session') t.notOk(answer.headers.has('ratelimit'), 'sessions spend no budget')
  if (who.kind === 'key' && one.operation.audience === 'key') {
    const missing = BUDGET_HEADERS.filter((name) => !answer.headers.has(name))
    t.same(missing, [], `${nameOf(one)}: ${what}, with the request budget`)
  }
  return answer
}

const BUDGET_HEADERS = [
  'ratelimit-policy',
  'ratelimit',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
]

t.test('the list of operations equals the agreed table', (t) => {
  const built = new Map(
    operations.map((operation) => [
      `${operation.method.toUpperCase()} ${operation.path.replace(/:(\w+)/g, '{$1}')}`,
      operation,
    ]),
  )
  t.equal(OPERATION_TABLE.length, 233)
  for (const [method, path, auth] of OPERATION_TABLE) {
    const name = `${method} ${path}`
    const operation = built.get(name)
    built.delete(name)
    if (operation === undefined) t.ok(NOT_BUILT.includes(name), `${name} is built, or known to be missing`)
    else t.equal(authOf(operation), auth, `${name}: who may call`)
  }
  t.same([...built.keys()], [], 'nothing that was not decided')
  const stale = NOT_BUILT.filter((name) =>
    operations.some(
      ({ method, path }) => `${method.toUpperCase()} ${path.replace(/:(\w+)/g, '{$1}')}` === name,
    ),
  )
  t.same(stale, [], 'what is built is no longer listed as missing')
  t.end()
})

function authOf({ audience, scope, environment }: Operation): string {
  if (audience === 'session' || audience === 'account') return 'S'
  if (audience === 'staff') return 'ST'
  if (audience === 'signed') return 'G'
  if (audience === 'public' || audience === 'address' || audience === 'operator') return 'P'
  return `${scope?.charAt(0)}${environment === 'live' ? 'L' : ''}`
}

t.test('401 without a credential, with garbage, and with a key where a session is needed', async (t) => {
  for (const one of described) {
    const { audience } = one.operation
    const made = world.example(one)
    if (audience === 'public') continue
    if (audience === 'address') {
      const forged = { ...made, path: { ...made.path, token: 'forged' } }
      await expectRefusal(t, one, 'a forged address', { kind: 'nobody' }, forged, [404, 'not_found'])
      continue
    }
    if (audience === 'operator') {
      await expectRefusal(t, one, 'nobody', { kind: 'nobody' }, made, [401, 'unauthenticated'])
      await expectRefusal(t, one, 'an API key', key('own', 'admin'), made, [401, 'unauthenticated'])
      continue
    }
    if (audience === 'signed') {
      await expectRefusal(t, one, 'unsigned', { kind: 'garbage' }, made, [401, 'invalid_signature'])
      continue
    }
    await expectRefusal(t, one, 'nobody', { kind: 'nobody' }, made, [401, 'unauthenticated'])
    await expectRefusal(t, one, 'garbage', { kind: 'garbage' }, made, [401, 'unauthenticated'])
    if (audience !== 'key') {
      await expectRefusal(t, one, 'an API key', key('own', 'admin'), made, [401, 'unauthenticated'])
    }
  }
})

t.test('403 below the scope, in the wrong environment, and without staff rights', async (t) => {
  for (const one of described) {
    const { audience, scope, environment } = one.operation
    const made = world.example(one)
    const realm = environment === 'live' ? 'live' : 'own'
    if (scope === 'write' || scope === 'admin') {
      const below = scope === 'admin' ? (['read', 'write'] as const) : (['read'] as const)
      for (const held of below) {
        const answer = await expectRefusal(t, one, `key with ${held}`, key(realm, held), made, [
          403,
          'insufficient_scope',
        ])
        t.equal(member(detailsOf(answer), 'required'), scope)
      }
    }
    if (environment !== null) {
      const wrong = environment === 'live' ? 'own' : 'live'
      await expectRefusal(t, one, 'the other environment', key(wrong, 'admin'), made, [403, 'forbidden'])
    }
    const roles = one.operation.roles
    if (scope === 'write' || scope === 'admin' || (roles !== null && !roles.includes('viewer'))) {
      await expectRefusal(t, one, 'a viewer', { kind: 'viewer' }, made, [403, 'forbidden'])
    }
    if (audience === 'staff') {
      await expectRefusal(t, one, 'a customer', { kind: 'session', realm: 'own' }, made, [403, 'forbidden'])
    }
    if (audience === 'session') {
      await expectRefusal(t, one, 'staff', { kind: 'staff' }, made, [403, 'forbidden'])
    }
    const changes = one.method !== 'get' && ['session', 'account', 'staff'].includes(audience)
    if (changes) {
      const forged = { ...made, headers: { ...made.headers, 'x-svc-csrf': 'forged' } }
      await expectRefusal(t, one, 'without the CSRF token', world.fitting(one), forged, [403, 'forbidden'])
    }
  }
})

t.test('unknown query parameters and body fields are rejected by name, at every depth', async (t) => {
  for (const one of described) {
    const who = world.fitting(one)
    const made = world.example(one)
    const asked = { ...made, query: [['unexpected', '1']] as const }
    const answer = await expectRefusal(t, one, 'unknown parameter', who, asked, [400, 'validation_error'])
    t.ok(issuePaths(answer).includes('query.unexpected'), `${nameOf(one)}: names the parameter`)
    for (const [path, body] of withUnknownFields(made.body)) {
      const odd = await world.send(one, { ...made, body }, who)
      // Maps of the customer's own names take any.
      if (odd.status < 400 && path !== 'unexpected') continue
      t.equal(odd.status, 400, `${nameOf(one)}: unknown field ${path}`)
      t.ok(issuePaths(odd).includes(path), `${nameOf(one)}: names ${path}, not ${issuePaths(odd)}`)
    }
  }
})

function issuePaths(answer: Answer): unknown[] {
  const issues = answer.text === '' ? [] : member(detailsOf(answer), 'issues')
  return Array.isArray(issues) ? issues.map((issue) => member(issue, 'path')) : []
}

/** Copies of a body, each with one unknown field in one of its objects, and the path of that field. */
function* withUnknownFields(body: unknown, path = ''): Generator<[path: string, body: unknown]> {
  if (typeof body !== 'object' || body === null) return
  if (!Array.isArray(body))
    yield [path === '' ? 'unexpected' : `${path}.unexpected`, { ...body, unexpected: 1 }]
  for (const [name, value] of Object.entries(body)) {
    if (MAPS.includes(name)) continue
    const below = Array.isArray(body) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    for (const [at, changed] of withUnknownFields(value, below)) {
      yield [
        at,
        Array.isArray(body)
          ? body.map((item, index) => (String(index) === name ? changed : item))
          : { ...body, [name]: changed },
      ]
    }
  }
}

/** Objects whose names are the customer's. */
const MAPS = ['variables', 'metadata', 'headers', 'speech', 'customParameters']

t.test('404 for ids that are malformed, unknown, foreign, or of the other environment', async (t) => {
  const asked = { foreign: 0, live: 0 }
  for (const one of described) {
    const made = world.example(one)
    const who = world.fitting(one)
    for (const parameter of one.parameters.filter((candidate) => candidate.in === 'path')) {
      const prefix = idPrefixOf(parameter.schema)
      if (prefix === null) continue
      const at = (id: string): Made => ({ ...made, path: { ...made.path, [parameter.name]: id } })
      const gone = [404, 'not_found'] as const
      await expectRefusal(t, one, 'malformed id', who, at('nonsense'), gone)
      await expectRefusal(t, one, 'another kind of id', who, at('req_01JZ0000000000000000000000'), gone)
      await expectRefusal(t, one, 'unknown id', who, at(`${prefix}_01JZ0000000000000000000000`), gone)
      if (one.operation.audience === 'staff') continue
      const foreign = world.idOf('foreign', prefix)
      if (foreign === null) t.comment(`${nameOf(one)}: no foreign ${prefix} to ask for`)
      else {
        asked.foreign++
        const answer = await expectRefusal(t, one, 'foreign id', who, at(foreign), gone)
        const unknown = await world.send(one, at(`${prefix}_01JZ0000000000000000000000`), who)
        t.equal(messageOf(answer), messageOf(unknown), `${nameOf(one)}: no difference to an unknown one`)
      }
      const other = world.idOf(who.kind === 'key' && who.realm === 'live' ? 'own' : 'live', prefix)
      if (other !== null && PINNED.some((pinned) => pinned === prefix)) {
        asked.live++
        await expectRefusal(t, one, 'id of the other environment', who, at(other), gone)
      }
    }
  }
  t.ok(asked.foreign > 10 && asked.live > 5, JSON.stringify(asked))
})

const messageOf = (answer: Answer): unknown => member(member(JSON.parse(answer.text), 'error'), 'message')

t.test('a body that refers to another environment or organization', async (t) => {
  let asked = 0
  for (const one of described) {
    const made = world.example(one)
    const who = world.fitting(one)
    if (one.operation.audience !== 'key' || typeof made.body !== 'object' || made.body === null) continue
    for (const [name, prefix] of BODY_IDS) {
      if (!(name in made.body)) continue
      asked++
      const at = (id: string | null): Made => ({
        ...made,
        body: { ...(made.body as JsonObject), [name]: id },
      })
      const foreign = await world.send(one, at(world.idOf('foreign', prefix)), who)
      t.equal(foreign.status, 404, `${nameOf(one)}: foreign ${name}`)
      t.same(judge(one, foreign), [])
      if (!PINNED.some((pinned) => pinned === prefix)) continue
      const answer = await world.send(one, at(world.idOf('live', prefix)), who)
      t.equal(codeOf(answer), 'environment_mismatch', `${nameOf(one)}: ${name} of the other environment`)
      t.equal(answer.status, 422)
      t.equal(member(detailsOf(answer), 'path'), name)
      t.same(judge(one, answer), [])
    }
  }
  t.ok(asked >= 3, `${asked} ids in bodies`)
})

const BODY_IDS = [
  ['numberId', 'num'],
  ['agentId', 'agt'],
  ['secretId', 'sec'],
] as const

t.test('a repeated Idempotency-Key: the same answer, and no other body', async (t) => {
  const idempotent = described.filter(({ operation }) => operation.idempotent !== null)
  t.ok(idempotent.length > 0)
  for (const one of idempotent) {
    const who = world.fitting(one)
    const example = world.example(one)
    const made = { ...example, headers: { ...example.headers, 'idempotency-key': `replay ${one.id}` } }
    const first = await world.send(one, made, who)
    t.ok(
      first.status < 300 || [402, 403, 404, 409, 422].includes(first.status),
      `${nameOf(one)}: ${first.text}`,
    )
    t.equal(first.headers.get('idempotency-replayed'), null)
    const again = await world.send(one, made, who)
    t.equal(again.status, first.status, `${nameOf(one)}: status`)
    t.equal(again.text, first.text, `${nameOf(one)}: body`)
    t.equal(again.headers.get('idempotency-replayed'), 'true')
    t.same(judge({ ...one, codes: one.codes }, first), [])
    const changed = otherBody(one, made)
    if (changed === null) continue
    const other = await world.send(one, { ...made, ...changed }, who)
    t.equal(codeOf(other), 'idempotency_key_reused_with_different_params', `${nameOf(one)}: other body`)
    t.equal(other.status, 422)
    t.same(judge(one, other), [])
  }
})

/** Returns another valid body, or null if the operation has none. */
function otherBody(one: DescribedOperation, { raw, body }: MadeRequest): Partial<MadeRequest> | null {
  if (raw !== undefined) return { raw: `${raw}x` }
  const optional = optionalField(one, body)
  if (optional === null) return null
  const { [optional]: _left, ...rest } = body as Record<string, unknown>
  return { body: rest }
}

function optionalField(one: DescribedOperation, body: unknown): string | null {
  const required = one.body?.schema.required
  const names = typeof body === 'object' && body !== null ? Object.keys(body) : []
  return names.find((name) => !Array.isArray(required) || !required.includes(name)) ?? null
}

t.test(
  'lists: complete and without repetition while rows are added, limits and cursors checked',
  async (t) => {
    const lists = described.filter(({ operation }) => operation.list?.paged === true)
    t.ok(lists.length > 5)
    for (const one of lists) {
      const who = world.fitting(one)
      const made = world.example(one)
      const maker = described.find(
        (other) => other.path === one.path && other.method === 'post' && other.operation.status === 201,
      )
      const add = async (): Promise<void> => {
        if (maker !== undefined) await world.send(maker, world.example(maker), world.fitting(maker))
      }
      for (let i = 0; i < 3; i++) await add()
      const before = await walk(one, made, who, '100', async () => {})
      const during = await walk(one, made, who, '2', add)
      if (before === null || during === null) {
        t.comment(`${nameOf(one)}: nothing to list here`)
        continue
      }
      const kept = during.filter((id) => before.includes(id))
      t.same(kept, before, `${nameOf(one)}: all ${before.length}, each once, in order`)
      t.equal(new Set(during).size, during.length, `${nameOf(one)}: no repetition`)
      for (const limit of ['0', '101', '-1', 'x', '']) {
        await expectRefusal(t, one, `limit=${limit}`, who, { ...made, query: [['limit', limit]] }, [
          400,
          'validation_error',
        ])
      }
      await expectRefusal(t, one, 'a made-up cursor', who, { ...made, query: [['cursor', 'AAAA']] }, [
        400,
        'validation_error',
      ])
    }
    // A cursor belongs to one list.
    const [agents, calls] = ['listAgents', 'listCalls'].map((id) => lists.find((one) => one.id === id))
    if (agents === undefined || calls === undefined) throw new Error('two lists are needed')
    const page = await world.send(
      agents,
      { ...world.example(agents), query: [['limit', '1']] },
      world.fitting(agents),
    )
    const cursor = String(member(member(member(JSON.parse(page.text), 'meta'), 'pagination'), 'cursor'))
    await expectRefusal(
      t,
      calls,
      'a cursor of another list',
      world.fitting(calls),
      { ...world.example(calls), query: [['cursor', cursor]] },
      [400, 'validation_error'],
    )
  },
)

/** Keys of all items, page by page; null when the list itself is not there. */
async function walk(
  one: DescribedOperation,
  made: Made,
  who: Credential,
  limit: string,
  between: () => Promise<void>,
): Promise<string[] | null> {
  const seen: string[] = []
  let cursor: unknown = null
  for (let pages = 0; pages < 200; pages++) {
    const query: [string, string][] = [['limit', limit]]
    if (typeof cursor === 'string') query.push(['cursor', cursor])
    const answer = await world.send(one, { ...made, query }, who)
    if (answer.status === 404) return null
    if (answer.status !== 200) throw new Error(`${nameOf(one)} ${answer.status} ${answer.text}`)
    const body: unknown = JSON.parse(answer.text)
    const data = member(body, 'data')
    for (const item of Array.isArray(data) ? data : []) seen.push(keyOf(item))
    const pagination = member(member(body, 'meta'), 'pagination')
    cursor = member(pagination, 'cursor')
    if (member(pagination, 'hasMore') !== true) return seen
    if (pages < 4) await between()
  }
  throw new Error(`${nameOf(one)} does not end`)
}

/** Returns the key of an item in a list: an event is listed once per endpoint, and an offer has a number but no id. */
function keyOf(item: unknown): string {
  const named = member(item, 'userId') ?? member(item, 'version') ?? member(item, 'e164')
  const id = member(item, 'id') ?? named
  const endpoint = member(member(item, 'delivery'), 'endpointId')
  return `${String(id)} ${String(endpoint ?? '')}`
}
