import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { languageData } from '../../media/agent/language/language-data.js'
import { istMinuteOfDay } from '../compliance/calling-hours.js'
import type { TransferDestinationRow } from '../db/tables/transfers.js'
import { takeVerificationCall } from '../destinations/verification-store.js'
import { setRequestLimit } from '../limits/rate-limit-store.js'

const HOUR = 3_600_000
const PATH = '/v1/transfer-destinations'
const BODY = { e164: '+919876500001', key: 'desk', label: 'Front desk' }

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database)
  const { api, clock, control, deps, owner } = calling
  const { db } = deps
  await setRequestLimit(db, owner, 100_000)
  await setRequestLimit(db, { ...owner, environment: 'live' }, 100_000)
  const live = (method: string, path: string, json?: unknown) =>
    calling.send(method, path, { key: api.liveKey, ...(json === undefined ? {} : { json }) })
  const create = async (json: object) => dataOf(await calling.send('POST', PATH, { json }))
  const verify = (id: unknown) => calling.send('POST', `${PATH}/${id}/verify`)
  const confirm = (id: unknown, code: string) =>
    calling.send('POST', `${PATH}/${id}/confirm`, { json: { code } })
  let id = ''

  await t.test('a destination is created once per key, within its bounds', async (t) => {
    const made = await calling.send('POST', PATH, { json: { ...BODY, language: 'or-IN' } })
    t.equal(made.status, 201)
    t.match(dataOf(made), {
      ...BODY,
      hours: null,
      language: 'od-IN',
      status: 'pending',
      verification: { attemptsLeft: 0, callsLeftToday: 5, codeExpiresAt: null, lastCallAt: null },
      verifiedAt: null,
    })
    id = String(dataOf(made).id)
    const again = await calling.send('POST', PATH, { json: BODY })
    t.equal(again.status, 409)
    for (const wrong of [
      { e164: '+911800123456' },
      { e164: '+14155550100' },
      { key: 'Desk' },
      { label: 'two\nlines' },
      { hours: [{ days: 'mon', from: '10:00', to: '09:00' }] },
      { language: 'fr-FR' },
    ]) {
      t.equal((await calling.send('POST', PATH, { json: { ...BODY, key: 'x', ...wrong } })).status, 400)
    }
    t.equal(itemsOf(await live('GET', PATH)).length, 1, 'both environments share it')
    const other = await calling.anotherOrganization()
    t.same(itemsOf(await calling.send('GET', PATH, { key: other.testKey })), [])
    for (const method of ['GET', 'DELETE']) {
      t.equal((await calling.send(method, `${PATH}/${id}`, { key: other.testKey })).status, 404)
    }
  })

  await t.test('the verification call speaks the code twice and leaves no trace of it', async (t) => {
    t.equal((await confirm(id, '000000')).status, 409, 'no code waits')
    const placed = await verify(id)
    t.equal(placed.status, 200)
    t.match(dataOf(placed), {
      status: 'pending',
      verification: { attemptsLeft: 5, callsLeftToday: 4, lastCallAt: new Date(clock.wall()).toISOString() },
    })
    const dialled = control.dialled.at(-1)
    if (dialled === undefined) throw new Error('nothing was dialled')
    const { permit, plan } = dialled
    t.match(permit, { to: BODY.e164, from: calling.number })
    t.match(plan, { recordTo: null, party: { kind: 'speaker', voice: { languages: ['od-IN'] } } })
    const zero = languageData('od-IN').spokenDigits[0] ?? ''
    const text = plan.party.kind === 'speaker' ? (plan.party.text ?? '') : ''
    t.equal(text.split(Array(6).fill(zero).join(', ')).length, 3)
    const call = dataOf(await calling.send('GET', `/v1/calls/${permit.callId}`))
    t.match(call, { to: BODY.e164, agentId: null, ratePaisePerMinute: 0 })
    await calling.emitCallEvent(
      permit.callId,
      { type: 'answered' },
      {
        type: 'ended',
        ending: { by: 'agent', cause: 'agent_hangup', fault: 'none' },
        rtp: null,
        recording: null,
      },
    )
    const stored = await db.selectFrom('destinationVerifications').selectAll().executeTakeFirstOrThrow()
    t.notMatch(stored.codeHash, '000000')
    t.match(stored.codeHash, /^[0-9a-f]{64}$/)
    const checks = await db.selectFrom('checks').selectAll().where('callId', '=', permit.callId).execute()
    t.same(
      checks.filter(({ outcome }) => outcome === 'skipped').map(({ type, trigger }) => [type, trigger]),
      [
        ['calling_window', 'verification'],
        ['dnd_register', 'verification'],
        ['consent', 'verification'],
        ['frequency_cap', 'verification'],
        ['wallet', 'verification'],
      ],
    )
    t.equal((await db.selectFrom('callSlots').selectAll().execute()).length, 0, 'no agent slot')
  })

  await t.test('five wrong codes void the code; an expired one is wrong', async (t) => {
    for (const left of [4, 3, 2, 1, 0]) {
      const wrong = await confirm(id, '123456')
      t.equal(wrong.status, 422)
      t.match(wrong.body, { error: { code: 'unprocessable_entity', details: { attemptsLeft: left } } })
    }
    t.equal((await confirm(id, '000000')).status, 409)
    await verify(id)
    clock.advance(10 * 60_000)
    const late = await confirm(id, '000000')
    t.match(late.body, { error: { code: 'unprocessable_entity', details: { attemptsLeft: 0 } } })
  })

  await t.test('the right code verifies, in its own environment only', async (t) => {
    await verify(id)
    t.match(dataOf(await confirm(id, '000000')), {
      status: 'verified',
      verification: { attemptsLeft: 0, codeExpiresAt: null },
    })
    t.equal((await verify(id)).status, 409)
    t.equal((await confirm(id, '000000')).status, 409)
    t.match(dataOf(await live('GET', `${PATH}/${id}`)), { status: 'pending', verifiedAt: null })
    const off = await calling.send('PATCH', `${PATH}/${id}`, { json: { enabled: false } })
    t.equal(dataOf(off).status, 'disabled')
    t.equal((await verify(id)).status, 409)
    const on = await calling.send('PATCH', `${PATH}/${id}`, { json: { enabled: true, label: 'Desk' } })
    t.match(dataOf(on), { status: 'verified', label: 'Desk' })
    const moved = await calling.send('PATCH', `${PATH}/${id}`, { json: { e164: '+919876500002' } })
    t.match(dataOf(moved), { status: 'pending', verifiedAt: null, verification: { lastCallAt: null } })
    await calling.send('PATCH', `${PATH}/${id}`, { json: { e164: BODY.e164 } })
    t.match(dataOf(await calling.send('GET', `${PATH}/${id}`)), { status: 'pending' })
  })

  await t.test('a change of the number voids the code that waits', async (t) => {
    await verify(id)
    await calling.send('PATCH', `${PATH}/${id}`, { json: { e164: '+919876500003' } })
    t.equal((await confirm(id, '000000')).status, 409)
  })

  await t.test('calls are limited per destination, number and organization', async (t) => {
    const used = await verify(id)
    t.equal(dataOf(used).verification && used.status, 200, 'the fifth call of the destination')
    const sixth = await verify(id)
    t.match(sixth.body, { error: { code: 'rate_limited', details: { callsLeftToday: 0 } } })
    const wait = Number(sixth.headers.get('retry-after'))
    t.ok(wait > 23 * 3600)
    t.match(sixth.body, { error: { details: { retry_after_seconds: wait } } })
    const second = await create({ ...BODY, key: 'second', e164: BODY.e164 })
    t.match(second, { verification: { callsLeftToday: 1 } }, 'the number was called four times')
    t.equal((await verify(second.id)).status, 200)
    t.equal((await verify(second.id)).status, 429)
    t.equal((await calling.send('DELETE', `${PATH}/${second.id}`)).status, 204)
    const third = await create({ ...BODY, key: 'third' })
    t.match(third, { verification: { callsLeftToday: 0 } }, 'deleted destinations count')
    clock.advance(24 * HOUR)
    t.match(dataOf(await calling.send('GET', `${PATH}/${third.id}`)), { verification: { callsLeftToday: 5 } })
    const scope = `organization:${owner.organizationId}`
    const { environment } = owner
    // Those of the tests above are older than a day.
    await db.deleteFrom('verificationCallSlots').where('scope', '=', scope).execute()
    const taken = Array.from({ length: 47 }, (_, n) => ({ environment, scope, slot: n + 1 }))
    await db
      .insertInto('verificationCallSlots')
      .values(taken.map((slot) => ({ ...slot, takenAt: clock.wall() })))
      .execute()
    const one = await create({ ...BODY, key: 'busy', e164: '+919876501000' })
    const answers = await Promise.all(Array.from({ length: 6 }, () => verify(one.id)))
    const counted = (status: number) => answers.filter((answer) => answer.status === status).length
    t.same([counted(200), counted(429)], [3, 3], 'the organization has fifty')
  })

  await t.test('one organization does not use up the calls of a number that another needs', async (t) => {
    const { organizationId } = await calling.anotherOrganization()
    const number = { e164: '+919876502000' }
    const row = (organization: string, destination: string) =>
      ({ ...number, id: destination, organizationId: organization }) as TransferDestinationRow
    const take = (organization: string, destination: string) =>
      db
        .transaction()
        .execute((trx) => takeVerificationCall(trx, owner, row(organization, destination), clock.wall()))
    for (let n = 0; n < 5; n++) t.equal(await take('org_attacker', `dst_${n}`), true)
    t.equal(await take('org_attacker', 'dst_5'), false, 'a further destination does not help')
    t.equal(await take(organizationId, 'dst_6'), true)
  })

  await t.test('live verification calls keep calling hours', async (t) => {
    const at = (minute: number) =>
      clock.advance(((minute - istMinuteOfDay(clock.wall()) + 1440) % 1440) * 60_000)
    at(23 * 60)
    const night = await live('POST', `${PATH}/${id}/verify`)
    t.match(
      [night.status, night.body],
      [
        403,
        {
          error: {
            code: 'blocked_opt_out',
            details: { checkType: 'calling_window', nextAllowedAt: /T04:30/ },
          },
        },
      ],
    )
    at(12 * 60)
  })

  await t.test('a live organization without a route is told so', async (t) => {
    const refused = await live('POST', `${PATH}/${id}/verify`)
    t.match(refused.body, { error: { code: 'unprocessable_entity', details: { resource: 'number' } } })
  })

  await t.test('agents name destinations, which can then not be deleted', async (t) => {
    const agentId = await calling.publishAgent({
      callSettings: { transfer: { destinations: [{ destinationId: id, when: 'bills' }] } },
    })
    const refused = await calling.send('DELETE', `${PATH}/${id}`)
    t.match(refused.body, { error: { code: 'conflict', details: { agentIds: [agentId] } } })
    const none = { json: { callSettings: { transfer: { destinations: [] } } } }
    await calling.send('PATCH', `/v1/agents/${agentId}`, none)
    t.equal((await calling.send('DELETE', `${PATH}/${id}`)).status, 409, 'the published version uses it')
    await calling.send('POST', `/v1/agents/${agentId}/publish`)
    t.equal((await calling.send('DELETE', `${PATH}/${id}`)).status, 204)
  })

  await t.test('at most fifty destinations', async (t) => {
    const { length } = itemsOf(await calling.send('GET', `${PATH}?limit=100`))
    for (let n = length; n < 50; n++) await create({ ...BODY, key: `fill_${n}` })
    const full = await calling.send('POST', PATH, { json: { ...BODY, key: 'too_many' } })
    t.match(full.body, { error: { code: 'conflict', details: { limit: 50 } } })
  })
  await calling.close()
})
