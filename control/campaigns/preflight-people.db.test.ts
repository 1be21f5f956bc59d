import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { readConfig } from '../agents/config.js'
import type { DndRegister } from '../api/dnd-register.js'
import type { GateRequest } from '../compliance/check.js'
import { askRegister } from '../compliance/dnd/ask-register.js'
import { completeScrub, insertScrubNumbers, startScrub } from '../compliance/dnd/scrub-store.js'
import { gateFacts } from '../compliance/facts.js'
import { examinePeople } from './preflight-people.js'

const FEE = 10
const number = (i: number): string => `+9198765432${String(i).padStart(2, '0')}`

await onEachDialect(t, async (t, open) => {
  await t.test(
    'the pre-flight asks scrub files about many people at once, and no service that has a fee',
    async (t) => {
      const questions: string[][] = []
      const dndService: DndRegister = {
        name: 'operator-dlt',
        feePaise: FEE,
        maxNumbers: 2,
        async lookUp({ e164s }) {
          questions.push([...e164s])
          const known = e164s.map((e164) => {
            const state = e164 === number(2) ? ('listed' as const) : ('not_listed' as const)
            return [e164, { state, category: null, reference: null, validUntil: null }] as const
          })
          return new Map(known)
        },
      }
      const calling = await openTestCalling(await open(), { dndService })
      t.teardown(() => calling.close())
      const { deps, owner, clock, send } = calling
      const { db } = deps
      const now = clock.wall()
      const { organizationId } = owner
      await readyForLive(db, organizationId, [calling.number], now)
      await addFunds(db, organizationId, 5_000, now)
      const json = { name: 'Offers', agentId: await calling.publishAgent(), numberId: calling.numberId }
      const id = String(dataOf(await send('POST', '/v1/campaigns', { json })).id)
      const recipients = [0, 1, 2, 3, 4, 5, 6].map((i) => ({ e164: number(i) }))
      await send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients } })
      await send('POST', '/v1/dnc', { json: { e164: number(6), source: 'manual' } })
      // Test numbers have no live campaigns.
      await db.updateTable('campaigns').set({ environment: 'live' }).execute()
      await db.updateTable('campaignRecipients').set({ environment: 'live' }).execute()
      const campaign = await db.selectFrom('campaigns').selectAll().executeTakeFirstOrThrow()
      const scrub = await startScrub(
        db,
        { scrubbedAt: now, validUntil: now + 1_000, createdBy: 'usr_1' },
        now,
      )
      const scrubbed = [number(0), number(1)].map((e164, i) => ({
        ...{ e164, state: i === 0 ? ('listed' as const) : ('not_listed' as const), category: null },
      }))
      await insertScrubNumbers(db, scrub.id, scrubbed)
      await completeScrub(db, scrub, { rows: 2, sha256: 'a'.repeat(64) }, now)

      const request: GateRequest = {
        ...{ to: calling.number, environment: 'live', purpose: 'promotional', trigger: 'preflight' },
        ...{ campaignId: id, recipientId: null },
      }
      const question = { organizationId, from: calling.number, gate: request }
      const facts = await gateFacts(db, deps, question, now)
      const version = await db.selectFrom('agentVersions').select('config').executeTakeFirstOrThrow()
      const known = { facts, request, config: readConfig(version.config), trunkLimits: null }
      const examine = () => examinePeople(deps, campaign, known, now)
      const expected = {
        total: 7,
        callable: 5,
        unanswered: 4,
        // Without a consent the register decides.
        excluded: { missing_consent: 1, suppressed: 1 },
        excludedE164s: { missing_consent: [number(0)], suppressed: [number(6)] },
      }
      t.match(await examine(), expected)
      t.same(questions, [], 'no look-up is bought')
      const fees = () =>
        db.selectFrom('ledgerEntries').select('amountPaise').where('type', '=', 'compliance_check').execute()
      t.same(await fees(), [])

      const run = {
        organizationId,
        environment: 'live',
        purpose: 'promotional',
        peId: null,
        at: now,
      } as const
      await askRegister(deps, [number(2), number(3)], { ...run, runId: 'run_1' })
      t.same(questions, [[number(2), number(3)]])
      t.match(
        await examine(),
        { callable: 4, unanswered: 2, excludedE164s: { missing_consent: [number(0), number(2)] } },
        'answers of the day that calls have bought count',
      )
      t.equal(questions.length, 1)
      t.same(await fees(), [{ amountPaise: -2 * FEE }])
    },
  )
})
