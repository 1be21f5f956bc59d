import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { newId } from '../../media/base/ids.js'
import { operations } from '../app/operations.js'
import { recordingPath } from '../calls/lifecycle/settle.js'
import { anchorsOf } from '../compliance/evidence/anchors.js'
import { closeChain } from '../compliance/evidence/close.js'
import { openEvidenceKeys } from '../compliance/evidence/seal.js'
import type { Db, OpenDatabase } from '../db/database.js'
import { EVENT_TYPES, EVENTS, type NewEvent, type SendableType, SUBJECTS } from '../events/event-types.js'
import { insertEvent, listEvents } from '../events/store.js'
import { insertBuild } from '../knowledge/build-store.js'
import { insertDocument } from '../knowledge/document-store.js'
import { insertBase } from '../knowledge/store.js'
import { assignSandboxNumber } from '../numbers/sandbox-number.js'
import { openApiDocument } from '../openapi/document.js'
import { WEBHOOKS } from '../openapi/webhook-events.js'
import { API_VERSION } from '../system/api.js'
import { dataSchema, renderEnvelope } from './envelope.js'
import { RENDERERS } from './subjects.js'

/** Half past nine in the evening in India: promotional calls are refused. */
const EVENING = Date.parse('2026-03-02T16:00:00Z')

const TURN = { id: 1, speaker: 'agent', language: 'en-IN', startMs: 0, endMs: 900, words: null } as const

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const BASE = 'https://parley.test/openapi'
const document = openApiDocument({ version: API_VERSION, operations, webhooks: WEBHOOKS })
ajv.addSchema({ $id: BASE, ...document })

type Rows = Readonly<
  Record<
    | 'answered'
    | 'failed'
    | 'campaign'
    | 'transfer'
    | 'check'
    | 'number'
    | 'released'
    | 'wallet'
    | 'base'
    | 'build'
    | 'evidenceHead',
    string
  >
>

/** Every type that can be inserted, with a real row for each of its subjects. A new type needs a line. */
const EVENTS_OF: {
  readonly [T in SendableType]: (rows: Rows) => Extract<NewEvent, { readonly type: T }>['subjects']
} = {
  'call.initiated': ({ answered }) => ({ call: answered }),
  'call.answered': ({ answered }) => ({ call: answered }),
  'call.completed': ({ answered }) => ({ call: answered }),
  'call.failed': ({ failed }) => ({ call: failed }),
  'call.transfer_started': ({ answered, transfer }) => ({ call: answered, transfer }),
  'call.transferred': ({ answered, transfer }) => ({ call: answered, transfer }),
  'call.transfer_failed': ({ answered, transfer }) => ({ call: answered, transfer }),
  'campaign.completed': ({ campaign }) => ({ campaign }),
  'campaign.paused': ({ campaign }) => ({ campaign }),
  'compliance.check.blocked': ({ check }) => ({ check }),
  'wallet.balance.low': ({ wallet }) => ({ wallet }),
  'number.renewal_due': ({ number }) => ({ number }),
  'number.released': ({ released }) => ({ number: released }),
  'knowledge.build.completed': ({ base, build }) => ({ knowledgeBase: base, build }),
  'knowledge.build.failed': ({ base, build }) => ({ knowledgeBase: base, build }),
  'evidence.head': ({ evidenceHead }) => ({ evidenceHead }),
}
const SENDABLE = Object.keys(EVENTS_OF) as readonly SendableType[]

t.test('what cannot be rendered cannot be inserted', (t) => {
  const owner = { organizationId: 'org_1', environment: 'test' } as const
  const refused: readonly NewEvent[] = [
    // @ts-expect-error: both environments share knowledge bases.
    { ...owner, type: 'knowledge.build.failed', subjects: { knowledgeBase: 'kb_1', build: 'bld_1' } },
    // @ts-expect-error: never sent.
    { ...owner, type: 'number.suspended', subjects: { number: 'num_1' } },
    // @ts-expect-error: the subject of another type.
    { ...owner, type: 'call.answered', subjects: { check: 'chk_1' } },
  ]
  const sendable: readonly string[] = SENDABLE
  t.same(
    refused.map(({ type }) => sendable.includes(type)),
    [true, false, true],
  )
  t.same(
    SENDABLE,
    EVENT_TYPES.filter(
      (type) => !('sent' in EVENTS[type]) && EVENTS[type].subjects.every((name) => SUBJECTS[name].rendered),
    ),
    'the types and the values of the tables agree',
  )
  t.end()
})

t.test('links lead to operations that exist', (t) => {
  const paths = operations.filter(({ method }) => method === 'get').map(({ path }) => path)
  for (const { path } of Object.values(RENDERERS)) t.ok(paths.includes(path), path)
  for (const path of ['/v1/calls/:id/recording', '/v1/calls/:id/transcript']) t.ok(paths.includes(path), path)
  t.end()
})

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database, { wallMs: EVENING })
  t.teardown(() => calling.close())
  const rows = await makeRows(calling, database)
  const { organizationId } = calling.owner
  const insert = async (event: NewEvent): Promise<string> => {
    calling.clock.advance(1)
    await database.db.transaction().execute((trx) => insertEvent(trx, event, calling.clock.wall()))
    const row = await database.db
      .selectFrom('events')
      .select('id')
      .where('createdAt', '=', calling.clock.wall())
      .executeTakeFirstOrThrow()
    return row.id
  }

  for (const type of SENDABLE) {
    await t.test(`${type} is rendered from real rows`, async (t) => {
      const subjects = EVENTS_OF[type](rows)
      // Money exists in the live environment only.
      const shared = 'shared' in EVENTS[type]
      const environment = shared ? null : type.startsWith('wallet.') ? 'live' : 'test'
      const [key, otherKey] =
        environment === 'live'
          ? [calling.api.liveKey, calling.api.testKey]
          : [calling.api.testKey, calling.api.liveKey]
      const id = await insert({ organizationId, environment, type, subjects } as NewEvent)
      const event = dataOf(await calling.send('GET', `/v1/events/${id}`, { key }))
      const [name] = EVENTS[type].subjects
      t.match(event, { type, subjectType: SUBJECTS[name].type, subjectId: Object.values(subjects)[0] })
      const payload = event.payload as Payload
      t.match(payload, { id, type, environment, created_at: event.createdAt })
      t.same(dataSchema(EVENTS[type].subjects).strict().parse(payload.data), payload.data)
      t.same(problemsOf(type, payload), [], 'as the API description says')
      const stored = await database.db
        .selectFrom('events')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      t.same(JSON.parse((await renderEnvelope(calling.deps, stored)) ?? ''), payload, 'the delivered body')

      const { self, ...links } = payload.links
      const shown = await calling.send('GET', self.slice(calling.deps.publicUrl().length), { key })
      t.equal(shown.status, 200, self)
      t.same(dataOf(shown), payload.data[name], 'data is what the operation returns')
      t.same(
        Object.keys(links),
        type.startsWith('call.') && type !== 'call.failed'
          ? ['recording', 'transcript', ...(type.startsWith('call.transfer') ? ['handoff'] : [])]
          : [],
      )
      for (const link of Object.values(links)) {
        t.equal((await fetch(link, { headers: { authorization: `Bearer ${key}` } })).status, 200, link)
      }
      await t.test(
        'other organizations have no such event, nor has the other environment unless they share it',
        async (t) => {
          const { testKey } = await calling.anotherOrganization()
          for (const key of [testKey, otherKey]) {
            const status = shared && key === otherKey ? 200 : 404
            t.equal((await calling.send('GET', `/v1/events/${id}`, { key })).status, status)
          }
        },
      )
    })
  }

  await t.test('an event of both environments is listed in both', async (t) => {
    const now = calling.clock.wall() + 1
    calling.clock.advance(1)
    const shared = { id: newId('evt', now), organizationId, environment: null, createdAt: now }
    const subjects = { subjectType: 'knowledge_base', subjectId: 'kb_1', secondSubjectId: 'bld_1' }
    await database.db
      .insertInto('events')
      .values({ ...shared, ...subjects, type: 'knowledge.build.completed' })
      .execute()
    for (const environment of ['test', 'live'] as const) {
      const filter = { type: 'knowledge.build.completed' }
      const page = { limit: 10, after: null }
      const { items } = await listEvents(database.db, { organizationId, environment }, filter, page, now)
      t.same(
        items.slice(0, 1).map(({ event }) => [event.id, event.environment, event.secondSubjectId]),
        [[shared.id, null, 'bld_1']],
      )
      const key = environment === 'test' ? calling.api.testKey : calling.api.liveKey
      const listed = itemsOf(await calling.send('GET', '/v1/events?type=knowledge.build.completed', { key }))
      t.match(listed, [{ id: shared.id, environment: null, subjectType: 'knowledge_base', delivery: null }])
    }
    const { testKey } = await calling.anotherOrganization()
    t.same(itemsOf(await calling.send('GET', '/v1/events', { key: testKey })), [])
  })
})

interface Payload {
  readonly data: Readonly<Record<string, unknown>>
  readonly links: { readonly self: string } & Readonly<Record<string, string>>
}

/** Returns what is wrong with a payload by the `webhooks` section of the API description. */
function problemsOf(type: string, payload: unknown): readonly unknown[] {
  const pointer = ['webhooks', type, 'post', 'requestBody', 'content', 'application~1json', 'schema'].join(
    '/',
  )
  const validate = ajv.compile({ $ref: `${BASE}#/${pointer}` })
  return validate(payload) ? [] : (validate.errors ?? [])
}

/** Makes an answered call with a recording and a transcript, a failed call, a refused dial and two numbers. */
async function makeRows(calling: TestCalling, database: OpenDatabase): Promise<Rows> {
  const { send, numberId, clock } = calling
  const agentId = await calling.publishAgent()
  const draft = { name: 'Reminders', agentId, numberId }
  const campaign = String(dataOf(await send('POST', '/v1/campaigns', { json: draft })).id)
  const place = async (to: string): Promise<string> => {
    const placed = await send('POST', '/v1/calls', { json: { to, numberId } })
    return String(dataOf(placed).id)
  }
  const answered = await place('+919000000010')
  await calling.emitCallEvent(
    answered,
    { type: 'dialing', sipCallId: 'abc' },
    { type: 'ringing', sip: 180 },
    { type: 'answered' },
  )
  const path = recordingPath(calling.folder, answered)
  const transfer = newId('xfr', clock.wall())
  const step = { type: 'transfer', attempt: 1, mode: 'screened', destination: transfer } as const
  const destination = { destinationId: 'tdst_1', label: 'Front desk' }
  const details = { id: transfer, ...destination, trigger: 'api', reason: null, ratePaisePerMinute: 200 }
  clock.advance(5_000)
  await calling.emitCallEvent(
    answered,
    { type: 'turn', turn: { ...TURN, text: 'Hello.', heardText: 'Hello.' } },
    { ...step, status: 'accepted', outcome: null, details },
    { ...step, status: 'missed', outcome: 'busy' },
    {
      type: 'ended',
      ending: { by: 'agent', cause: 'agent_hangup', fault: 'none' },
      rtp: null,
      recording: { path, bytes: 5, durationMs: 4_980, sha256: 'a'.repeat(64) },
    },
  )
  const failed = await place('+919000000002')
  await calling.emitCallEvent(failed, {
    type: 'ended',
    ending: { by: 'callee', cause: 'busy', fault: 'none', sip: 486 },
    rtp: null,
    recording: null,
  })
  const { db } = database
  const purpose = { purpose: 'promotional' }
  await db.updateTable('agents').set(purpose).execute()
  await db.updateTable('agentVersions').set(purpose).execute()
  t.equal((await send('POST', '/v1/calls', { json: { to: '+919876543210', numberId } })).status, 403)
  const check = await db
    .selectFrom('checks')
    .select('id')
    .where('outcome', '=', 'block')
    .executeTakeFirstOrThrow()
  const released = await assignSandboxNumber(db, calling.owner.organizationId, clock.wall())
  if (released === null) throw new Error('no sandbox number is free')
  const change = { status: 'released', releasedAt: clock.wall() } as const
  await db.updateTable('numbers').set(change).where('id', '=', released.id).execute()
  const { organizationId } = calling.owner
  await addFunds(db, organizationId, 100, clock.wall())
  const { base, build } = await makeBuild(db, organizationId, clock.wall())
  const keys = openEvidenceKeys(calling.deps.rootKey)
  await db.transaction().execute((trx) => closeChain(trx, keys, calling.owner, false, clock.wall()))
  const anchor = await anchorsOf(db, calling.owner).executeTakeFirstOrThrow()
  return {
    evidenceHead: anchor.id,
    base,
    build,
    answered,
    failed,
    campaign,
    transfer,
    check: check.id,
    number: numberId,
    released: released.id,
    wallet: organizationId,
  }
}

/** Makes a knowledge base with a build that runs. */
async function makeBuild(
  db: Db,
  organizationId: string,
  now: number,
): Promise<{ readonly base: string; readonly build: string }> {
  return db.transaction().execute(async (trx) => {
    const base = await insertBase(trx, { organizationId, name: 'Help', description: null }, now)
    if (base === null) throw new Error('no knowledge base')
    const file = { name: 'a', contentType: 'text/plain', bytes: 1 }
    const owner = { organizationId, knowledgeBaseId: base.id }
    const document = await insertDocument(trx, { ...file, ...owner }, 'usr_1', now)
    if (typeof document === 'string') throw new Error(document)
    await trx.updateTable('uploads').set({ state: 'used' }).where('id', '=', document.uploadId).execute()
    const build = await insertBuild(trx, owner, now)
    if (typeof build === 'string') throw new Error(build)
    return { base: base.id, build: build.id }
  })
}
