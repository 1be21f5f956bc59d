import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { signInMember } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import type { MonitorEvent } from '../../signalling/call/call-events.js'
import { openCallRequests } from '../calls/call-requests.js'
import { settleAbandonedCalls } from '../calls/lifecycle/abandoned.js'
import { LEASE_MS } from '../calls/lifecycle/leases.js'
import { takeoverRequests } from './takeover-api.js'

const DESTINATIONS = '/v1/transfer-destinations'
const ENDED = {
  type: 'ended',
  ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
  rtp: null,
  recording: null,
} as const

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), {})
  const { api, clock, control, send } = calling
  const { db } = calling.deps
  const destination = async (key: string, e164: string, verify: boolean) => {
    const id = String(dataOf(await send('POST', DESTINATIONS, { json: { key, label: key, e164 } })).id)
    if (!verify) return id
    await send('POST', `${DESTINATIONS}/${id}/verify`)
    await send('POST', `${DESTINATIONS}/${id}/confirm`, { json: { code: '000000' } })
    return id
  }
  const desk = await destination('desk', '+919876500001', true)
  const pending = await destination('pending', '+919876500002', false)
  const disabled = await destination('disabled', '+919876500003', true)
  await send('PATCH', `${DESTINATIONS}/${disabled}`, { json: { enabled: false } })
  await calling.publishAgent({
    callSettings: {
      transfer: { preTransferLine: { text: 'A colleague joins us.' }, recordHumanSegment: true },
    },
  })
  const admin = await signInMember(api, api.organizationId, 'admin')
  const developer = await signInMember(api, api.organizationId, 'developer')
  const liveCall = async () => {
    const json = { to: '+919876543210', numberId: calling.numberId }
    const id = String(dataOf(await send('POST', '/v1/calls', { json })).id)
    await calling.emitCallEvent(id, { type: 'dialing', sipCallId: id }, { type: 'answered' })
    return id
  }
  const takeOver = (id: string, json: object = { destinationId: desk }, who = admin) =>
    who.send('POST', `/v1/calls/${id}/takeover`, { json })
  const release = (id: string, json: object = {}, who = admin) =>
    who.send('POST', `/v1/calls/${id}/release`, { json })
  const monitors = async (id: string) => itemsOf(await send('GET', `/v1/calls/${id}/monitors`))
  const audit = async (id: string) =>
    (
      await db
        .selectFrom('auditEntries')
        .select(['action', 'actorId'])
        .where('subjectId', '=', id)
        .orderBy('createdAt')
        .orderBy('id')
        .execute()
    ).map(({ action, actorId }) => `${action}${actorId === admin.userId ? '' : ` by ${actorId}`}`)
  const step = async (id: string, status: MonitorEvent['status'], outcome: MonitorEvent['outcome']) => {
    const monitorId = control.takeovers.findLast(({ callId }) => callId === id)?.plan.id ?? ''
    const about = { type: 'monitored', id: monitorId, by: admin.userId, mode: 'takeover' } as const
    await calling.emitCallEvent(id, { ...about, status, outcome })
  }
  const code = ({ status, body }: { status: number; body: unknown }) => {
    const { error } = body as { error: { code: string; details: { reason?: string } | null } }
    return `${status} ${error.code} ${error.details?.reason ?? ''}`.trim()
  }

  await t.test('a call is taken over, given back, and costs as a person does meanwhile', async (t) => {
    const id = await liveCall()
    t.match(await takeOver(id), { status: 200, body: { data: { id: /^mon_/, mode: 'takeover' } } })
    const plan = control.takeovers.at(-1)?.plan
    t.match(plan, {
      by: admin.userId,
      prompt: /Press 1 to take the call/,
      announcement: 'A colleague joins us.',
      returnLine: /I am back/,
      records: true,
    })
    const clearance = await plan?.clear()
    t.match(clearance?.permit, { callId: id, to: '+919876500001', from: calling.number })
    t.match(await monitors(id), [{ mode: 'takeover', userId: admin.userId, startedAt: null, endedAt: null }])
    t.equal(code(await takeOver(id)), '409 conflict taken_over')
    clock.advance(60_000)
    await step(id, 'begun', null)
    clock.advance(30_000)
    t.match(await release(id, { message: 'Offer a refund.' }), { status: 200 })
    t.same(control.givenBack, [{ callId: id, message: 'Offer a refund.' }])
    await step(id, 'over', 'given_back')
    t.match(await monitors(id), [{ outcome: 'given_back' }])
    t.equal((await takeOver(id)).status, 200, 'and once more')
    await step(id, 'over', 'busy')
    await step(id, 'over', 'left')
    t.match(await monitors(id), [{ outcome: 'busy', startedAt: null }, { outcome: 'given_back' }], 'once')
    clock.advance(30_000)
    await calling.emitCallEvent(id, ENDED)
    t.match(dataOf(await send('GET', `/v1/calls/${id}`)), {
      agentSeconds: 90,
      humanSeconds: 30,
      charges: [{ kind: 'agent' }, { kind: 'human', seconds: 30, ratePaisePerMinute: 200, amountPaise: 100 }],
    })
    t.same((await audit(id)).toSorted(), [
      ...['call.release_requested', 'call.takeover_ended', 'call.takeover_ended', 'call.takeover_requested'],
      ...['call.takeover_requested', 'call.takeover_started'],
    ])
    const { marks } = dataOf(await send('GET', `/v1/calls/${id}/timeline`)) as { marks: { kind: string }[] }
    t.equal(marks.filter(({ kind }) => kind === 'monitor').length, 4)
  })

  await t.test('a call that ends, or whose process stops, ends its takeover', async (t) => {
    const id = await liveCall()
    await takeOver(id)
    await step(id, 'begun', null)
    clock.advance(10_000)
    await db
      .updateTable('calls')
      .set({ leaseUntil: clock.wall() + LEASE_MS })
      .where('id', '=', id)
      .execute()
    await settleAbandonedCalls({
      owned: new Set(),
      db,
      nodeId: 'node-1',
      folder: calling.folder,
      now: clock.wall(),
      policy: calling.deps.policy,
    })
    t.match(await monitors(id), [{ endedAt: /^20/ }])
    t.match(dataOf(await send('GET', `/v1/calls/${id}`)), {
      status: 'ended',
      agentSeconds: 0,
      humanSeconds: 10,
    })
  })

  await t.test('who may, and what is refused', async (t) => {
    const id = await liveCall()
    const settings = (monitoring: object) => admin.send('PATCH', '/v1/organization', { json: { monitoring } })
    t.equal(code(await takeOver(id, undefined, developer)), '403 forbidden')
    t.equal(code(await release(id, {}, developer)), '403 forbidden')
    const absent = 'call_01HZZZZZZZZZZZZZZZZZZZZZZZ'
    t.equal(code(await release(absent, {}, developer)), '403 forbidden', 'the role comes before the call')
    t.equal(code(await release(absent)), '404 not_found')
    t.match(await send('POST', `/v1/calls/${id}/takeover`, { json: { destinationId: desk } }), {
      status: 401,
    })
    await settings({ test: 'listen' })
    t.equal(code(await takeOver(id)), '403 forbidden')
    t.equal(code(await release(id)), '403 forbidden')
    await settings({ test: 'listen_and_takeover', developers: true })
    t.equal(code(await release(id, {}, developer)), '409 conflict', 'nobody has the call')
    t.equal(code(await takeOver(id, {})), '400 validation_error')
    t.equal(code(await release(id, { message: 'x'.repeat(401) })), '400 validation_error')
    const rows = [
      [pending, '422 unprocessable_entity destination_not_verified'],
      [disabled, '422 unprocessable_entity destination_disabled'],
      ['nobody', '422 unprocessable_entity destination_not_allowed'],
    ] as const
    for (const [destinationId, refusal] of rows) t.equal(code(await takeOver(id, { destinationId })), refusal)
    control.takeoverRefusal = 'transfer_in_progress'
    t.equal(code(await takeOver(id)), '409 conflict transfer_in_progress')
    control.takeoverRefusal = null
    t.same(await monitors(id), [], 'what did not begin is not kept')
    control.alive.delete(id)
    t.equal(code(await takeOver(id)), '409 call_not_live')
    t.equal(code(await takeOver('call_01JZZZZZZZZZZZZZZZZZZZZZZZ')), '404 not_found')
    control.alive.add(id)
    t.equal((await takeOver(id, { destinationId: '+919876500001' }, developer)).status, 200, 'by number')
    const colleague = await signInMember(api, api.organizationId, 'developer')
    t.equal(code(await release(id, {}, colleague)), '403 forbidden', 'of another member')
    await settings({ test: 'off' })
    t.equal(code(await release(id)), '403 forbidden', 'the organization does not allow it')
    t.equal((await release(id, {}, developer)).status, 200, 'who took over may, also after that')
    await settings({ test: 'listen_and_takeover' })
    t.equal((await release(id)).status, 200, 'an admin may')
    await calling.emitCallEvent(id, ENDED)
    t.equal(code(await release(id)), '409 call_not_live')
  })

  await t.test('a call of another process', async (t) => {
    const id = await liveCall()
    await db.updateTable('calls').set({ nodeId: 'node-2' }).where('id', '=', id).execute()
    const requests = openCallRequests({
      ...{ db, clock, log: calling.deps.log, nodeId: 'node-2', live: () => 1 },
      handlers: takeoverRequests(calling.deps),
      done: calling.deps.doneRequests,
    })
    t.teardown(() => requests.close())
    const settled = async <T>(work: Promise<T>): Promise<T> => {
      let isDone = false
      void work.finally(() => {
        isDone = true
      })
      // The clock does not outrun the database.
      await until(
        () => {
          if (!isDone) clock.advance(50)
          return isDone
        },
        { everyMs: 5 },
      )
      return await work
    }
    t.equal((await settled(takeOver(id))).status, 200)
    t.equal(control.takeovers.at(-1)?.callId, id)
    t.equal((await settled(release(id, { message: 'Bye.' }))).status, 200)
    t.same(control.givenBack.at(-1), { callId: id, message: 'Bye.' })
    await calling.emitCallEvent(id, ENDED)
  })
  await calling.close()
})
