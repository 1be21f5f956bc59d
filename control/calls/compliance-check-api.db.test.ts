import { Readable } from 'node:stream'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { CHECK_TYPES } from '../compliance/check.js'
import { importScrub } from '../compliance/dnd/scrub-import.js'
import { freeze } from '../wallet/ledger.js'

const PERSON = '+919876543210'
/** The number of the sandbox that is listed. */
const LISTED = '+919000000001'

await onEachDialect(t, async (t, open) => {
  await t.test('may this number be called, and if not, when?', async (t) => {
    // 21:30 IST
    const calling = await openTestCalling(await open(), { wallMs: Date.parse('2026-03-02T16:00:00Z') })
    const { send, control, deps, numberId } = calling
    const ask = async (json: object, key = calling.api.testKey) =>
      dataOf(await send('POST', '/v1/compliance/check', { key, json: { e164: PERSON, ...json } }))
    const night = await ask({ purpose: 'promotional', numberId })
    t.match(night, {
      allowed: false,
      code: 'blocked_opt_out',
      checkType: 'calling_window',
      nextAllowedAt: '2026-03-03T03:30:00.000Z',
      runId: /^run_/,
    })
    t.same(
      (night.checks as { type: string }[]).map(({ type }) => type),
      CHECK_TYPES,
    )
    t.match(night.checks, [{ trigger: 'manual', callId: null, environment: 'test' }])
    t.match(await ask({ purpose: 'promotional', at: '2026-03-03T03:30:00Z' }), {
      allowed: true,
      code: null,
      nextAllowedAt: null,
    })
    t.match(await ask({ purpose: 'promotional', at: '2026-03-03T09:00:00+05:30' }), { allowed: true })
    t.match(await ask({}), { allowed: true }, 'the organization is classified as transactional')
    t.match(await ask({ e164: '+14155550100' }), { allowed: false, code: 'validation_error' })
    t.match(await ask({ e164: '+919000000001', purpose: 'promotional' }), {
      checkType: 'calling_window',
      code: 'blocked_opt_out',
    })
    const agentId = await calling.publishAgent()
    await deps.db.updateTable('agents').set({ purpose: 'collections' }).execute()
    t.match(await ask({ agentId }), {
      checkType: 'calling_window',
      nextAllowedAt: '2026-03-03T02:30:00.000Z',
    })
    const unknown = await send('POST', '/v1/compliance/check', { json: { e164: PERSON, numberId: 'num_x' } })
    t.equal(unknown.status, 404)
    const elsewhere = { key: calling.api.liveKey, json: { e164: PERSON, numberId } }
    t.match(await send('POST', '/v1/compliance/check', elsewhere), {
      ...{ status: 422, body: { error: { code: 'environment_mismatch', details: { path: 'numberId' } } } },
    })
    t.equal(control.dialled.length, 0)
    t.same(await deps.db.selectFrom('evidence').selectAll().execute(), [], 'nothing was dialled or sealed')

    const blocks = await send('GET', '/v1/compliance/checks?type=calling_window&outcome=block&limit=1')
    t.equal(itemsOf(blocks).length, 1)
    t.match(itemsOf(blocks), [{ purpose: 'collections', e164: PERSON }])
    t.match(blocks.body, { meta: { pagination: { hasMore: true, total: 3 } } })
    const { cursor } = (blocks.body as { meta: { pagination: { cursor: string } } }).meta.pagination
    const more = await send(
      'GET',
      `/v1/compliance/checks?type=calling_window&outcome=block&limit=1&cursor=${cursor}`,
    )
    t.equal(itemsOf(more).length, 1)
    t.same(itemsOf(await send('GET', '/v1/compliance/checks', { key: calling.api.liveKey })), [])
    await calling.close()
  })

  await t.test('the register is asked about the time of the question, not about now', async (t) => {
    // 22:00 IST: outside the calling hours of promotional calls.
    const calling = await openTestCalling(await open(), { wallMs: Date.parse('2026-03-02T16:30:00Z') })
    const { send, deps, numberId, api, clock } = calling
    const ask = async (json: object, key = api.testKey) => {
      const question = { e164: LISTED, purpose: 'promotional', ...json }
      return dataOf(await send('POST', '/v1/compliance/check', { key, json: question }))
    }
    const refused = { allowed: false, code: 'blocked_dnd', checkType: 'dnd_register' }
    t.match(await ask({ at: '2026-03-02T12:30:00Z', numberId }), { ...refused, undecided: [] }, 'today')
    t.match(await ask({ at: '2026-03-03T06:30:00Z', numberId }), { ...refused, undecided: [] }, 'tomorrow')
    t.match(await ask({ at: '2026-03-01T06:30:00Z' }), refused, 'yesterday')

    await readyForLive(deps.db, api.organizationId, ['+911171366900'], clock.wall())
    await addFunds(deps.db, api.organizationId, 5_000, clock.wall())
    const live = (json: object) => ask({ e164: PERSON, ...json }, api.liveKey)
    const unknown = { ...refused, undecided: ['robocall_declaration', 'sender_registration'] }
    t.match(await live({ at: '2026-03-02T12:30:00Z' }), unknown, 'nothing answers for the register')
    t.match(await live({ at: '2026-03-01T12:30:00Z' }), unknown)
    const content = Readable.from([Buffer.from(`e164,listed\n${PERSON},true\n`)])
    const scrub = { content, scrubbedAt: clock.wall(), validUntil: null, createdBy: null }
    t.match(await importScrub(deps, scrub), { rows: 1 })
    t.match(await live({ at: '2026-03-04T06:30:00Z' }), refused, 'the scrub is valid then')
    const later = await live({ at: '2026-04-04T06:30:00Z' })
    t.match(later, {
      allowed: true,
      undecided: ['dnd_register', 'robocall_declaration', 'sender_registration'],
    })
    await calling.close()
  })

  await t.test('no row states what was not checked', async (t) => {
    const calling = await openTestCalling(await open(), { wallMs: Date.parse('2026-03-02T06:30:00Z') })
    const { send, deps, api, clock, numberId, number } = calling
    const rowsOf = async (json: object) => {
      const verdict = dataOf(await send('POST', '/v1/compliance/check', { json: { e164: PERSON, ...json } }))
      const rows = verdict.checks as { type: string; outcome: string; reason: string }[]
      return rows
        .filter(({ type }) => type === 'robocall_declaration' || type === 'sender_registration')
        .map(({ outcome, reason }) => `${outcome} ${reason}`)
    }
    const missing = await rowsOf({})
    t.same(missing, ['warn not_declared', 'skipped no_caller_id'], 'no number is declared')
    await readyForLive(deps.db, api.organizationId, [number], clock.wall())
    t.same(await rowsOf({}), ['skipped no_caller_id', 'skipped no_caller_id'])
    t.same(await rowsOf({ numberId }), ['pass declared', 'pass ordinary_number'])
    await calling.close()
  })

  await t.test('a live question: what is missing, and the register on the day of the call', async (t) => {
    const calling = await openTestCalling(await open(), { wallMs: Date.parse('2026-03-02T06:30:00Z') })
    const { send, deps, api, clock } = calling
    const ask = (json: object) =>
      send('POST', '/v1/compliance/check', { key: api.liveKey, json: { e164: PERSON, ...json } })
    t.match(dataOf(await ask({})), { allowed: false, checkType: 'verification' })
    await readyForLive(deps.db, api.organizationId, ['+911171366900'], clock.wall())
    t.match(dataOf(await ask({})), { allowed: false, code: 'insufficient_funds', checkType: 'wallet' })
    const tomorrow = dataOf(await ask({ purpose: 'promotional', at: '2026-03-03T06:30:00Z' }))
    t.match(tomorrow, { allowed: false, checkType: 'wallet' })
    await addFunds(deps.db, api.organizationId, 5_000, clock.wall())
    const covered = dataOf(await ask({ purpose: 'promotional', at: '2026-03-03T06:30:00Z' }))
    t.match(covered, {
      allowed: true,
      undecided: ['dnd_register', 'robocall_declaration', 'sender_registration'],
    })
    t.match(
      (covered.checks as { type: string }[]).find(({ type }) => type === 'dnd_register'),
      { outcome: 'warn', reason: 'asked_later' },
    )
    await deps.db.transaction().execute((trx) => freeze(trx, api.organizationId, 'dispute', clock.wall()))
    t.match(await ask({}), { status: 402, body: { error: { code: 'insufficient_funds' } } })
    await calling.close()
  })
})
