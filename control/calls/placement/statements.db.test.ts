import t from 'tap'
import { openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { openMortal } from '../../../fixtures/database/mortal.js'
import { openLiveCalling } from '../../../fixtures/virtual-call/live-calling.js'
import { isRefusal } from '../../api/problem.js'
import { gateFacts } from '../../compliance/facts.js'
import { storeCallEvent } from '../lifecycle/settle.js'
import { releaseSlot, takeSlot } from './call-slots.js'
import { dialCall } from './place-call.js'

const PERSON = '+919810000001'
/** Statements of a live call over a trunk until its INVITE, and of its end without an answer, with `begin` and `commit`. */
const MOST_TO_PLACE = 21
const MOST_TO_END = 11

/** Every statement is a way to the database and back, and many of them hold locks that the next dial waits for. */
await onEachDialect(t, async (t, open) => {
  await t.test('a live call that is busy costs few statements', async (t) => {
    const database = await open()
    const { calling, owner, agentId, numberId } = await openLiveCalling(database)
    t.teardown(() => calling.close())
    const counted = openMortal(database, () => {})
    const deps = { ...calling.deps, db: counted.db }
    const spent = async <T>(
      run: () => Promise<T>,
    ): Promise<{ readonly value: T; readonly statements: number }> => {
      const before = counted.statements
      const value = await run()
      return { value, statements: counted.statements - before }
    }
    const gate = { to: PERSON, environment: 'live', purpose: 'service', trigger: 'campaign' } as const
    const question = { organizationId: owner.organizationId, from: '+911171366900', gate }
    const facts = await spent(() => gateFacts(counted.db, deps, question, calling.clock.wall()))
    t.equal(facts.statements, 1, 'the facts of the gate')
    const placed = await spent(() =>
      dialCall(deps, owner, {
        ...{ to: PERSON, numberId, agentId, variables: {}, metadata: {}, idempotencyId: null },
        origin: {
          ...{
            trigger: 'callback',
            campaignId: null,
            recipientId: null,
            callbackId: null,
            isOpen: () => true,
            agentVersion: null,
          },
          bind: async () => {},
        },
      }),
    )
    if (isRefusal(placed.value)) throw new Error(placed.value.message)
    const callId = placed.value.id
    const ended = await spent(() =>
      counted.db.transaction().execute((trx) =>
        storeCallEvent(trx, deps.policy, {
          ...{ callId, seq: 1, type: 'ended', at: calling.clock.wall(), recording: null, rtp: null },
          ending: { by: 'callee', cause: 'busy', fault: 'none', sip: 486 },
        }),
      ),
    )
    t.comment(`${placed.statements} statements to place, ${ended.statements} to end`)
    t.ok(placed.statements <= MOST_TO_PLACE, `${placed.statements} statements to place`)
    t.ok(ended.statements <= MOST_TO_END, `${ended.statements} statements to end`)
  })
  await t.test('a free slot is taken in one write, however full the pool is', async (t) => {
    const database = await open()
    const { owner, clock, close } = await openTestCalling(database)
    t.teardown(close)
    const counted = openMortal(database, () => {})
    const take = async (callId: string) => {
      const before = counted.commits
      const full = await takeSlot(counted.db, owner, 'byoCalls', { callId, nodeId: 'node-1' }, clock.wall())
      return full ?? counted.commits - before
    }
    const held = async () => {
      const rows = await database.db.selectFrom('callSlots').select('slot').orderBy('slot').execute()
      return rows.map(({ slot }) => slot)
    }
    for (const call of ['one', 'two', 'three', 'four', 'five']) t.equal(await take(call), 1)
    t.same(await held(), [1, 2, 3, 4, 5])
    t.same(await take('six'), { inUse: 5, limit: 5 })
    for (const call of ['one', 'two', 'three', 'four', 'five']) {
      await releaseSlot(database.db, call)
      t.equal(await take(call), 1, 'the only free slot')
      t.same(await held(), [1, 2, 3, 4, 5])
    }
    await database.db.updateTable('callSlots').set({ slot: 6 }).where('slot', '=', 2).execute()
    t.same(await take('six'), { inUse: 5, limit: 5 }, 'a slot above a limit that was lowered counts')
  })
})
