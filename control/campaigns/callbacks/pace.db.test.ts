import t from 'tap'
import { dataOf } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { openLiveCalling } from '../../../fixtures/virtual-call/live-calling.js'
import { newId } from '../../../media/base/ids.js'
import { dialCallbacks } from './dial.js'
import { insertCallback } from './store.js'

await onEachDialect(t, async (t, open) => {
  await t.test('callbacks keep the pace of their trunk, which campaigns share', async (t) => {
    // One call in ten seconds.
    const { calling, owner, numberId, agentId, key } = await openLiveCalling(await open(), {
      callsPerMinute: 6,
    })
    t.teardown(() => calling.close())
    const { deps, clock, control } = calling
    const { db } = deps
    const first = await calling.send('POST', '/v1/calls', {
      json: { to: '+919876543210', numberId, agentId },
      key,
    })
    const callId = String(dataOf(first).id)
    const dueAt = clock.wall()
    for (const i of [1, 2, 3]) {
      await db.transaction().execute((trx) =>
        insertCallback(trx, {
          ...{ id: newId('cbk', dueAt), ...owner, callId, agentId, numberId, e164: `+91987654322${i}` },
          ...{ dueAt, promisedAt: dueAt + i, note: '', variables: '{}', status: 'scheduled' },
          ...{ resultCallId: null, reason: null, createdAt: dueAt },
        }),
      )
    }
    const dialled: number[] = []
    for (let lookAt: number | null = dueAt; lookAt !== null && dialled.length < 10; ) {
      clock.advance(Math.max(0, lookAt - clock.wall()))
      const before = control.dialled.length
      lookAt = await dialCallbacks(deps, owner)
      for (let i = before; i < control.dialled.length; i++) dialled.push(clock.wall() - dueAt)
    }
    t.same(dialled, [0, 10_000, 20_000])
    const calls = await db.selectFrom('calls').select('id').execute()
    const holds = await db.selectFrom('walletHolds').select('referenceId').execute()
    t.same(
      new Set(holds.map(({ referenceId }) => referenceId)),
      new Set(calls.map(({ id }) => id)),
      'each call has a hold of its own',
    )
    const pace = await db.selectFrom('routePaces').select('nextDialAt').executeTakeFirstOrThrow()
    t.equal(pace.nextDialAt, dueAt + 30_000, 'the turn of the next dial of a campaign')
  })

  await t.test('a callback that the trunk may not dial is refused', async (t) => {
    const { calling, owner, numberId, agentId, key } = await openLiveCalling(await open())
    t.teardown(() => calling.close())
    const { deps, clock, control } = calling
    const { db } = deps
    const json = { to: '+919876543210', numberId, agentId }
    const callId = String(dataOf(await calling.send('POST', '/v1/calls', { json, key })).id)
    await db.updateTable('sipTrunks').set({ allowedPrefixes: '["+9198"]' }).execute()
    const now = clock.wall()
    await db.transaction().execute((trx) =>
      insertCallback(trx, {
        ...{ id: newId('cbk', now), ...owner, callId, agentId, numberId, e164: '+917000000001' },
        ...{ dueAt: now, promisedAt: now, note: '', variables: '{}', status: 'scheduled' },
        ...{ resultCallId: null, reason: null, createdAt: now },
      }),
    )
    t.equal(await dialCallbacks(deps, owner), null)
    t.match(await db.selectFrom('callbacks').selectAll().executeTakeFirst(), {
      status: 'refused',
      reason: 'trunk_prefix',
    })
    t.equal(control.dialled.length, 1)
  })
})
