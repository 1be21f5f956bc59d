import t, { type Test } from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { ListenClient, type ListenTicketView } from '../../../fixtures/api/listen-client.js'
import { signInMember } from '../../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { until } from '../../../fixtures/host/until.js'
import type { Role } from '../../db/tables/identity.js'
import { TICKET_MS } from './ticket.js'

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), {})
  const { api, clock, control } = calling
  const { db } = calling.deps
  await calling.publishAgent()
  const member = (role: Role) => signInMember(api, api.organizationId, role)
  const admin = await member('admin')
  type Member = typeof admin

  /** Begins a call that ends with the test. */
  async function liveCall(t: Test): Promise<string> {
    const json = { to: '+919876543210', numberId: calling.numberId }
    const id = String(dataOf(await calling.send('POST', '/v1/calls', { json })).id)
    await calling.emitCallEvent(id, { type: 'answered' })
    const ending = { by: 'callee', cause: 'caller_hangup', fault: 'none' } as const
    t.teardown(() => calling.emitCallEvent(id, { type: 'ended', ending, rtp: null, recording: null }))
    return id
  }
  const request = (id: string, who: Member = admin, environment = 'test') =>
    who.send('POST', `/v1/calls/${id}/monitors`, { headers: { 'x-svc-environment': environment } })
  const ticketFor = async (id: string, who: Member = admin) =>
    dataOf(await request(id, who)) as unknown as ListenTicketView
  const settings = (monitoring: object) => admin.send('PATCH', '/v1/organization', { json: { monitoring } })
  /** The audit entries of a call, oldest first. */
  const audit = async (id: string) =>
    await db
      .selectFrom('auditEntries')
      .select(['action', 'actorId', 'actorType'])
      .where('subjectId', '=', id)
      .where('action', 'like', 'call.listening%')
      .orderBy('createdAt')
      .orderBy('id')
      .execute()
  const monitors = async (id: string) => itemsOf(await calling.send('GET', `/v1/calls/${id}/monitors`))
  /** Moves time until it holds; the clock does not outrun the sockets. */
  const later = (holds: () => boolean) =>
    until(
      () => {
        if (!holds()) clock.advance(100)
        return holds()
      },
      { everyMs: 2 },
    )
  const closedWith = async (t: Test, client: ListenClient, code: number, reason: string) => {
    await until(() => client.closed !== null)
    t.same(client.closed, { code, reason })
  }
  /** The handshake is refused before there is a socket. */
  const refusedWith = async (t: Test, client: ListenClient) => {
    await until(() => client.refused !== null)
    t.equal(client.refused, 403)
  }
  const heard = (id: string) => [...control.listeners].find(([, state]) => state.callId === id && !state.left)

  await t.test('who may have a ticket', async (t) => {
    const id = await liveCall(t)
    const forbidden = { status: 403, body: { error: { code: 'forbidden' } } }
    t.match(await request(id), { status: 201 })
    t.match(await request(id, await member('owner')), { status: 201 })
    for (const role of ['viewer', 'billing', 'developer'] as const) {
      t.match(await request(id, await member(role)), forbidden, role)
    }
    t.match(await calling.send('POST', `/v1/calls/${id}/monitors`), { status: 401 }, 'keys do not listen')
    const developer = await member('developer')
    t.match(await settings({ developers: true }), {
      status: 200,
      body: { data: { monitoring: { developers: true } } },
    })
    t.match(await request(id, developer), { status: 201 })
    t.match(await request(id, admin, 'live'), forbidden, 'off in live')
    t.match(await settings({ live: 'listen' }), {
      body: { data: { monitoring: { test: 'listen_and_takeover', live: 'listen', developers: true } } },
    })
    t.match(await request(id, admin, 'live'), { status: 404 }, 'a call of the other environment')
    await settings({ test: 'off', developers: false })
    t.match(await request(id), forbidden)
    t.match(await settings({ test: 'always' }), { status: 400 })
    await settings({ test: 'listen' })
    t.match(await request('call_01JZZZZZZZZZZZZZZZZZZZZZZZ'), { status: 404 })
    await db.updateTable('calls').set({ status: 'ringing' }).where('id', '=', id).execute()
    t.match(await request(id), { status: 409, body: { error: { code: 'call_not_live' } } })
  })

  await t.test('a listening: the audio, the audit entries, and the list', async (t) => {
    const id = await liveCall(t)
    const client = new ListenClient(await ticketFor(id))
    await until(() => client.types.includes('started'))
    t.same(client.told[0], {
      ...{ type: 'started', callId: id, sampleRate: 8000, encoding: 'pcm_s16le' },
      channels: ['caller', 'heard_by_caller'],
    })
    const [listener, state] = heard(id) ?? []
    t.match(listener, { by: admin.userId })
    state?.frames.push(Int16Array.of(1, -1, 2, -2), Int16Array.of(3, -3))
    await later(() => client.channel(0).length === 3)
    t.same(
      [[...client.channel(0)], [...client.channel(1)]],
      [
        [1, 2, 3],
        [-1, -2, -3],
      ],
    )
    t.match(await monitors(id), [{ userId: admin.userId, mode: 'listen', endedAt: null }])
    client.socket.close()
    await until(async () => (await monitors(id))[0]?.endedAt !== null)
    t.equal(state?.left, true)
    const by = { actorType: 'user', actorId: admin.userId }
    t.same(await audit(id), [
      { action: 'call.listening_started', ...by },
      { action: 'call.listening_ended', ...by },
    ])
  })

  await t.test('the end of the call ends it', async (t) => {
    const id = await liveCall(t)
    const client = new ListenClient(await ticketFor(id))
    await until(() => client.types.includes('started'))
    heard(id)?.[0].ended()
    await closedWith(t, client, 1000, 'call_ended')
    await until(async () => (await monitors(id))[0]?.endedAt !== null)
  })

  await t.test('a ticket is good once, for a while, and as it was made', async (t) => {
    const id = await liveCall(t)
    const ticket = await ticketFor(id)
    const first = new ListenClient(ticket)
    await until(() => first.types.includes('started'))
    await refusedWith(t, new ListenClient(ticket))
    const late = await ticketFor(id)
    clock.advance(TICKET_MS)
    await refusedWith(t, new ListenClient(late))
    const { url, ticket: token } = await ticketFor(id)
    const forged = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    await refusedWith(t, new ListenClient({ url, ticket: forged }))
    await refusedWith(t, new ListenClient({ url, ticket: 'x' }))
    const elsewhere = url.replace(/[^/]+$/, 'node-2')
    await refusedWith(t, new ListenClient({ url: elsewhere, ticket: token }))
    const good = new ListenClient({ url, ticket: token })
    await until(() => good.types.includes('started'))
    t.equal(first.closed, null)
    for (const client of [first, good]) client.socket.close()
    await until(async () => (await monitors(id)).every(({ endedAt }) => endedAt !== null))
    t.equal((await monitors(id)).length, 2)
    await closedWith(t, new ListenClient({ url, ticket: token }), 4400, 'ticket_invalid')
  })

  await t.test('two people listen at the same time, and a third when one left', async (t) => {
    const id = await liveCall(t)
    const tickets = await Promise.all(Array.from({ length: 5 }, () => ticketFor(id)))
    const clients = tickets.map((ticket) => new ListenClient(ticket))
    const listening = () =>
      clients.filter(({ types, closed }) => types.includes('started') && closed === null)
    await until(() => listening().length + clients.filter(({ closed }) => closed !== null).length === 5)
    t.equal(listening().length, 2)
    for (const client of clients) {
      if (client.closed !== null) t.same(client.closed, { code: 4409, reason: 'too_many_listeners' })
    }
    listening()[0]?.socket.close()
    await until(async () => (await monitors(id)).filter(({ endedAt }) => endedAt !== null).length === 1)
    const next = new ListenClient(await ticketFor(id))
    await until(() => next.types.includes('started'))
    for (const client of [next, ...clients]) client.socket.close()
    await until(async () => (await monitors(id)).every(({ endedAt }) => endedAt !== null))
  })

  await t.test('a call of another process', async (t) => {
    const id = await liveCall(t)
    await db.updateTable('calls').set({ nodeId: 'node 2/a' }).where('id', '=', id).execute()
    const ticket = await ticketFor(id)
    t.match(ticket.url, /\/v1\/listen\/node%202%2Fa$/)
    await closedWith(t, new ListenClient(ticket), 4421, 'other_process')
    await db.updateTable('calls').set({ nodeId: 'node-1' }).where('id', '=', id).execute()
    t.same(await monitors(id), [], 'the ticket is not used up')
  })

  await t.test('handshakes that are refused', async (t) => {
    const ticket = await ticketFor(await liveCall(t))
    const refused = async (client: ListenClient) => {
      await until(() => client.refused !== null)
      return client.refused
    }
    t.equal(await refused(new ListenClient(ticket, { origin: null })), 403)
    t.equal(await refused(new ListenClient(ticket, { origin: 'https://evil.example' })), 403)
    t.equal(await refused(new ListenClient(ticket, { protocols: [`ticket.${ticket.ticket}`] })), 400)
    t.equal(await refused(new ListenClient(ticket, { protocols: ['parley.listen'] })), 400)
    const url = ticket.url.replace('/v1/listen/', '/v1/hear/')
    t.equal(await refused(new ListenClient({ ...ticket, url })), 404)
    t.equal(await refused(new ListenClient({ ...ticket, url: `${ticket.url}/more` })), 404)
    t.equal(await refused(new ListenClient({ ...ticket, url: ticket.url.replace(/[^/]+$/, '%ff') })), 404)
  })

  await t.test('a right that ends, and a client that talks', async (t) => {
    const leaver = await member('admin')
    const id = await liveCall(t)
    const client = new ListenClient(await ticketFor(id, leaver))
    await until(() => client.types.includes('started'))
    await db.deleteFrom('sessions').where('userId', '=', leaver.userId).execute()
    await later(() => client.closed !== null)
    await closedWith(t, client, 4403, 'not_allowed')
    const other = new ListenClient(await ticketFor(id))
    await until(() => other.types.includes('started'))
    await settings({ test: 'off' })
    await later(() => other.closed !== null)
    await closedWith(t, other, 4403, 'not_allowed')
    await settings({ test: 'listen' })
    const talker = new ListenClient(await ticketFor(id))
    await until(() => talker.types.includes('started'))
    talker.socket.send('hello')
    await closedWith(t, talker, 1008, 'unexpected_message')
    await until(async () => (await monitors(id)).every(({ endedAt }) => endedAt !== null))
  })

  await t.test('a client that does not read loses audio, and then its connection', async (t) => {
    const id = await liveCall(t)
    const client = new ListenClient(await ticketFor(id))
    await until(() => client.types.includes('started'))
    const [, state] = heard(id) ?? []
    const feed = async (samples: number) => {
      state?.frames.push(new Int16Array(samples).fill(7))
      await later(() => state?.frames.length === 0)
    }
    client.socket.pause()
    // More than the buffers of the system take.
    for (let i = 0; i < 8; i++) await feed(1_000_000)
    client.socket.resume()
    await until(async () => {
      await feed(2)
      return client.types.includes('dropped')
    })
    t.ok(Number(client.told.find(({ type }) => type === 'dropped')?.ms) > 0)
    t.equal(client.closed, null)
    client.socket.pause()
    await later(() => state?.left === true)
    client.socket.resume()
    await closedWith(t, client, 1006, '')
    await until(async () => (await monitors(id)).every(({ endedAt }) => endedAt !== null))
  })

  await t.test('a stop of the service tells the clients', async (t) => {
    const client = new ListenClient(await ticketFor(await liveCall(t)))
    await until(() => client.types.includes('started'))
    t.teardown(() => calling.close())
    const closing = api.server.close(1000)
    await closedWith(t, client, 1001, 'restart')
    await closing
  })
})
