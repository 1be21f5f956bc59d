import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { takeSandboxNumbers } from '../../fixtures/api/sandbox-numbers.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { assignSandboxNumber } from './sandbox-number.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details?: Record<string, unknown> } }).error

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { send, numberId, deps, clock } = calling
  const path = `/v1/numbers/${numberId}`
  const patch = (json: unknown) => send('PATCH', path, { json })

  await t.test('the seeded sandbox number', async (t) => {
    t.same(itemsOf(await send('GET', '/v1/numbers?status=suspended')), [])
    const listed = await send('GET', '/v1/numbers')
    t.same(itemsOf(await send('GET', '/v1/numbers?status=active')), itemsOf(listed))
    t.match(itemsOf(listed), [
      {
        id: numberId,
        e164: '+919000000100',
        environment: 'test',
        provider: 'sandbox',
        series: 'regular',
        status: 'active',
        inbound: 'ready',
        routed: true,
        routingMode: 'svc_agent',
        capabilities: { sms: false, voice: true },
        currency: 'INR',
        rentalPaise: 0,
        agentId: null,
        recordCalls: true,
        mediaEndpoint: null,
        sipTrunk: null,
        sipTrunkId: null,
      },
    ])
    t.same(dataOf(await send('GET', path)), itemsOf(listed)[0])
  })

  await t.test('every organization gets a number of its own', async (t) => {
    const others = await Promise.all([1, 2, 3].map(() => calling.anotherOrganization()))
    const numbers = await Promise.all(
      others.map(({ organizationId }) => assignSandboxNumber(deps.db, organizationId, clock.wall())),
    )
    t.same(numbers.map((number) => number?.e164).sort(), ['+919000000101', '+919000000102', '+919000000103'])
  })

  await t.test(
    'when all are assigned, the number that is unused for the longest time changes hands',
    async (t) => {
      const hour = 3_600_000
      const database = await open()
      const { db } = database
      const calling = await openTestCalling(database)
      const { clock, numberId } = calling
      const { organizationId: hoarder } = await calling.anotherOrganization()
      const { organizationId: late } = await calling.anotherOrganization()
      const agentId = await calling.publishAgent()
      await takeSandboxNumbers(db, hoarder, 101, clock.wall())
      const assign = () => assignSandboxNumber(db, late, clock.wall())
      t.equal(await assign(), null, 'all are young')
      clock.advance(hour + 101)
      t.match(await assign(), { e164: '+919000000101', organizationId: late }, 'the oldest unused one')
      const released = await db.selectFrom('numbers').selectAll().where('id', '=', 'num_taken101').execute()
      t.match(released, [{ status: 'released', releasedAt: clock.wall() }])
      t.equal(await assign(), null, 'the others are not old enough')
      await db.updateTable('numbers').set({ agentId }).where('id', '=', 'num_taken102').execute()
      clock.advance(10_000)
      t.match(await assign(), { e164: '+919000000103' }, 'a number with an agent stays')
      const row = await db
        .selectFrom('numbers')
        .selectAll()
        .where('id', '=', numberId)
        .executeTakeFirstOrThrow()
      t.equal(row.releasedAt, null)

      const placed = await calling.send('POST', '/v1/calls', { json: { to: '+919000000002', numberId } })
      t.equal(placed.status, 201)
      await db.updateTable('numbers').set({ agentId: null }).where('id', '=', numberId).execute()
      t.match(
        await assign(),
        { e164: '+919000000104' },
        'so does a number of an organization with a recent call',
      )
      clock.advance(31 * 24 * hour)
      t.match(await assign(), { e164: '+919000000100' }, 'for 30 days')
      await calling.close()
    },
  )

  await t.test('PATCH', async (t) => {
    const agent = dataOf(await send('POST', '/v1/agents', { json: { name: 'A' } }))
    t.match(dataOf(await patch({ agentId: agent.id, label: 'Front desk', recordCalls: false })), {
      agentId: agent.id,
      label: 'Front desk',
      recordCalls: false,
    })
    t.match(
      dataOf(await patch({ label: 'Desk' })),
      { agentId: agent.id, recordCalls: false },
      'omitted stays',
    )
    t.equal(dataOf(await patch({ agentId: null })).agentId, null, 'null clears')
    t.equal((await patch({ routingMode: 'svc_agent', mediaEndpoint: null })).status, 200)

    const sip = await patch({ routingMode: 'byo_sip' })
    t.equal(sip.status, 409)
    t.equal(errorOf(sip).code, 'conflict')
    const noEndpoint = await patch({ routingMode: 'byo_ws' })
    t.equal(noEndpoint.status, 422)
    t.match(errorOf(noEndpoint), { code: 'unprocessable_entity', details: { path: 'mediaEndpoint' } })
    const unknown = await patch({ agentId: 'agt_01JZ0000000000000000000000' })
    t.equal(unknown.status, 404)
    t.match(errorOf(unknown), { details: { resource: 'agent', path: 'agentId' } })
    for (const body of [
      {},
      { label: null },
      { label: '' },
      { recordCalls: 'yes' },
      { e164: '+91' },
      { routingMode: 'x' },
    ]) {
      t.equal((await patch(body)).status, 400, JSON.stringify(body))
    }
    const other = await calling.anotherOrganization()
    const theirs = dataOf(await send('POST', '/v1/agents', { key: other.testKey, json: { name: 'T' } }))
    t.equal((await patch({ agentId: theirs.id })).status, 404, "another organization's agent")
    t.equal((await send('PATCH', path, { key: calling.api.liveKey, json: { label: 'x' } })).status, 404)
  })
  await calling.close()
})
