import t from 'tap'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { newId } from '../../media/base/ids.js'
import type { DndRegister } from '../api/dnd-register.js'
import { clearDial, type DialRequest } from './clearance.js'
import { replayDecision } from './evidence/replay.js'
import type { SealedPart } from './evidence/verify.js'

const FROM = '+911171366900'
const TO = '+919876543210'
/** The last moment of the calling hours of promotional calls (IST), and the first one after it. */
const END = Date.parse('2026-03-02T15:30:00Z')

/** A wait of the gate, and what the dial at 20:59:57 becomes. */
const WAITS = ['the register', 'a lock of the database'] as const

await onEachDialect(t, async (t, open) => {
  for (const wait of WAITS) {
    await t.test(`no call is allowed whose hours end during the wait for ${wait}`, async (t) => {
      let meanwhile = () => {}
      const dndService: DndRegister = {
        ...{ name: 'operator-dlt', feePaise: 0, maxNumbers: 1 },
        async lookUp({ e164s }) {
          if (wait === 'the register') meanwhile()
          const answer = { state: 'not_listed', category: null, reference: null, validUntil: null } as const
          return new Map(e164s.map((e164) => [e164, answer]))
        },
      }
      const calling = await openTestCalling(await open(), { wallMs: END - 3_000, dndService })
      const { deps, clock, api } = calling
      const { organizationId } = api
      await readyForLive(deps.db, organizationId, [FROM], clock.wall())
      await addFunds(deps.db, organizationId, 50_000, clock.wall())
      meanwhile = () => clock.advance(8_000)
      const calls: number[] = []
      const request: DialRequest = {
        ...{ organizationId, callId: newId('call', clock.wall()), from: FROM, agentId: null },
        agentVersionId: null,
        gate: { to: TO, environment: 'live', purpose: 'promotional', trigger: 'call' },
      }
      const clearance = await clearDial(deps, request, async (_trx, _record, now) => {
        calls.push(now)
        if (wait !== 'the register') meanwhile()
      })
      t.match(clearance, { cleared: false, verdict: { deciding: { type: 'calling_window' } } })
      t.same(calls, wait === 'the register' ? [] : [END - 3_000], 'what was stored is undone')
      const records = await deps.db.selectFrom('evidence').select('record').execute()
      const sealed = records.map(({ record }) => JSON.parse(record) as SealedPart)
      t.match(sealed, [{ allowed: false, decidedAt: new Date(END + 5_000).toISOString() }])
      for (const record of sealed) t.match(replayDecision(record, new Map()), { kind: 'same' })
      const rows = await deps.db.selectFrom('checks').select(['type', 'outcome', 'checkedAt']).execute()
      t.match(
        rows.filter(({ outcome }) => outcome === 'block'),
        [{ type: 'calling_window', checkedAt: END + 5_000 }],
      )
      await calling.close()
    })
  }

  await t.test("the asker's own hours are asked for at the end of the transaction, too", async (t) => {
    const calling = await openTestCalling(await open(), { wallMs: END - 3_600_000 })
    const { deps, clock, api } = calling
    const until = clock.wall() + 1_000
    const decided: number[] = []
    const dial = clearDial(
      deps,
      {
        ...{ organizationId: api.organizationId, callId: newId('call', clock.wall()), from: calling.number },
        ...{ agentId: null, agentVersionId: null },
        gate: { to: TO, environment: 'test', purpose: 'transactional', trigger: 'call' },
        isOpen: (now) => now < until,
      },
      async (_trx, _record, now) => {
        decided.push(now)
        if (now >= until) throw new Error('the campaign is over')
        clock.advance(2_000)
      },
    )
    await t.rejects(dial, { message: 'the campaign is over' })
    t.same(decided, [until - 1_000, until + 1_000])
    t.same(await deps.db.selectFrom('evidence').selectAll().execute(), [])
    await calling.close()
  })
})
