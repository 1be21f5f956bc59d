import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { type MortalDatabase, openMortal } from '../../fixtures/database/mortal.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import type { Deps } from '../api/deps.js'
import { type RootKey, rootKeyOf } from '../base/root-key.js'
import { sealingHandler } from '../calls/lifecycle/seal-outcome.js'
import { storingHandler } from '../calls/lifecycle/store-recording.js'
import { storingJob, storingJobId } from '../calls/lifecycle/storing-job.js'
import { verifyCounters } from '../campaigns/moves.js'
import { openEvidenceKeys } from '../compliance/evidence/seal.js'
import { verifyStoredChain } from '../compliance/evidence/stored-chain.js'
import { gateFacts } from '../compliance/facts.js'
import { readPeople } from '../compliance/people-facts.js'
import { suppress } from '../compliance/suppression-store.js'
import type { RecipientRow } from '../db/tables/campaigns.js'
import type { Database } from '../db/tables/schema.js'
import { openJobRunner } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { DIALLER_KIND } from '../recipients/dialler-job.js'
import { eraseResult, RESULT_JOB, resultJobId, storeResult } from '../results/store.js'
import { erasureHandler } from './erase.js'

const PERSON = '+919876543210'
const OTHER = '+919876543211'
const SAID = 'My name is Asha Rao.'

/** Seals the calls that have ended. */
async function seal(deps: Deps): Promise<void> {
  const { db, clock } = deps
  const handlers = [sealingHandler(deps)]
  const jobs = openJobRunner({ db, clock, log: silentLog, handlers, pollMs: 1_000_000_000 })
  await jobs.idle()
  await jobs.close()
}

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { send, deps, clock, owner, folder } = calling
  const { db, objects, rootKey } = deps
  await calling.publishAgent()
  mkdirSync(folder, { recursive: true })
  const recordings = { db, objects, log: silentLog, nodeId: 'node-1', folder }
  const handlers = [sealingHandler(deps), storingHandler(recordings), erasureHandler({ ...deps, folder })]
  const runner = openJobRunner({ db, clock, log: silentLog, handlers, pollMs: 1_000_000_000 })

  const place = async (to: string) => {
    const json = { to, numberId: calling.numberId, metadata: { customer: SAID } }
    return String(dataOf(await send('POST', '/v1/calls', { json })).id)
  }
  const end = async (id: string) => {
    const path = join(folder, `${id}.wav`)
    writeFileSync(path, 'RIFF')
    const turn = { id: 1, speaker: 'caller', text: SAID, heardText: SAID, language: 'en-IN' } as const
    const sha256 = '6f6c140f2a7ca68bc5c4d6e6a0a7a0a2ab9b0bd3a2f5ea5e4b0f3cdb8b5ad2e1'
    await calling.emitCallEvent(
      id,
      { type: 'answered' },
      { type: 'turn', turn: { ...turn, startMs: 0, endMs: 900, words: null } },
      {
        type: 'ended',
        ending: { by: 'callee', cause: 'caller_hangup', fault: 'none' },
        rtp: null,
        recording: { path, bytes: 4, durationMs: 900, sha256 },
      },
    )
    await runner.idle()
  }
  const insertConsent = (e164: string) =>
    db
      .insertInto('consents')
      .values({
        ...{ id: newId('con', clock.wall()), ...owner, e164, purpose: 'service', kind: 'explicit' },
        ...{ scope: SAID, source: 'web_form', evidenceRef: SAID, capturedAt: clock.wall(), expiresAt: null },
        ...{ createdAt: clock.wall(), createdByType: 'key', createdById: 'key_x' },
        ...{ revokedAt: null, revokedReason: null, current: 1 },
      })
      .execute()
  const request = (e164: string, key = calling.api.testKey) =>
    send('POST', '/v1/compliance/erasures', { json: { e164 }, key })
  /** All rows of the tables that name persons. */
  const everything = async () => {
    const tables: (keyof Database)[] = [
      ...(['calls', 'checks', 'evidence', 'consents', 'transcriptSegments', 'callEvents'] as const),
      ...(['recordings', 'callResults', 'registerAnswers', 'erasures', 'auditEntries'] as const),
    ]
    const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()))
    return JSON.stringify(rows)
  }
  const verify = () => verifyStoredChain(db, owner, openEvidenceKeys(rootKey))

  await t.test('a person is erased, other persons and the books stay, and the chain is valid', async (t) => {
    await insertConsent(PERSON)
    await insertConsent(OTHER)
    const mine = await place(PERSON)
    const theirs = await place(OTHER)
    await end(theirs)
    const asked = await request(PERSON)
    t.equal(asked.status, 202)
    const { id } = dataOf(asked)
    t.equal(dataOf(await request(PERSON)).id, id, 'the same erasure')
    await runner.idle()
    const read = async () => dataOf(await send('GET', `/v1/compliance/erasures/${id}`))
    t.match(await read(), { state: 'delayed', delayReason: 'live_call', calls: 0 })

    await end(mine)
    // No row names these: the track of a person that was not mixed, and a part that was not stored.
    const stray = ['.person-160.wav', '-xfr_1-human.wav', '.wav.mixing'].map((rest) =>
      join(folder, `${mine}${rest}`),
    )
    for (const path of stray) writeFileSync(path, 'RIFF')
    const { billedPaise } = dataOf(await send('GET', `/v1/calls/${mine}`))
    clock.advance(60_000)
    await runner.idle()
    t.match(await read(), { state: 'done', e164: null, delayReason: null, calls: 1, records: 2 })
    t.same(stray.filter(existsSync), [])
    const call = dataOf(await send('GET', `/v1/calls/${mine}`))
    t.match(call, { status: 'ended', to: `erased-${id}`, metadata: {}, hasRecording: false, billedPaise })
    t.match(dataOf(await send('GET', `/v1/calls/${theirs}`)), { to: OTHER, hasTranscript: true })
    const gate = dataOf(await send('GET', `/v1/calls/${mine}/evidence`))
    t.match(gate, { gate: { e164: null, salt: null, personal: null }, verification: { valid: true } })
    const rows = await everything()
    t.notOk(rows.includes(PERSON))
    t.equal(rows.split(SAID).length > 1, true, 'what the other person said stays')
    t.match(await verify(), { valid: true })
    const actions = await db
      .selectFrom('auditEntries')
      .select(['action'])
      .where('subjectId', '=', String(id))
      .execute()
    t.same(actions.map(({ action }) => action).sort(), ['erasure.completed', 'erasure.requested'])

    await request(OTHER)
    await runner.idle()
    t.notOk((await everything()).includes(SAID), 'nothing is left of what was said')
    t.match(await verify(), { valid: true })
  })

  await t.test('an erasure belongs to its environment and organization', async (t) => {
    const { testKey } = await calling.anotherOrganization()
    const { id } = dataOf(await request('+919876543212'))
    for (const key of [testKey, calling.api.liveKey]) {
      t.equal((await send('GET', `/v1/compliance/erasures/${id}`, { key })).status, 404)
    }
    await place('+919876543212')
    await runner.idle()
    const foreign = dataOf(await request('+919876543212', testKey))
    await runner.idle()
    t.match(dataOf(await send('GET', `/v1/compliance/erasures/${foreign.id}`, { key: testKey })), {
      calls: 0,
    })
    t.match(dataOf(await send('GET', '/v1/calls?limit=1')), [{ to: '+919876543212' }])
  })

  await t.test('the law delays an erasure, and the answer says until when', async (t) => {
    clock.advance(Date.parse('2027-05-20T06:30:00Z') - clock.wall())
    const id = await place('+919876543213')
    await end(id)
    const { id: erasure } = dataOf(await request('+919876543213'))
    await runner.idle()
    const read = async () => dataOf(await send('GET', `/v1/compliance/erasures/${erasure}`))
    t.match(await read(), {
      state: 'delayed',
      delayReason: 'legal_floor',
      scheduledFor: /^2028-05-19T06:30/,
      calls: 0,
    })
    clock.advance(366 * 24 * 3_600_000)
    await runner.idle()
    t.match(await read(), { state: 'done', calls: 1 })
  })
  await t.test(
    'a call that is placed while its person is erased is erased too, under the same rules',
    async (t) => {
      const to = '+919876543220'
      await end(await place(to))
      clock.advance(400 * 24 * 3_600_000)
      const { id: erasure } = dataOf(await request(to))
      const remove = objects.delete
      let late = ''
      objects.delete = async (key) => {
        objects.delete = remove
        late = await place(to)
        await objects.delete(key)
      }
      await runner.idle()
      const read = async () => dataOf(await send('GET', `/v1/compliance/erasures/${erasure}`))
      t.match(await read(), { state: 'delayed', delayReason: 'live_call', calls: 1, records: 0 })
      await end(late)
      clock.advance(60_000)
      await runner.idle()
      t.match(await read(), { state: 'delayed', delayReason: 'legal_floor', calls: 1, records: 0 })
      t.match(dataOf(await send('GET', `/v1/calls/${late}/evidence`)), { gate: { e164: to } })
      clock.advance(400 * 24 * 3_600_000)
      await runner.idle()
      t.match(await read(), { state: 'done', calls: 2, records: 4 })
      t.notOk((await everything()).includes(to))

      await t.test('a call that is refused before the last step too', async (t) => {
        const refused = '+919876543221'
        await send('POST', '/v1/dnc', { json: { e164: refused, source: 'manual' } })
        const again = dataOf(await request(refused))
        const last = await erasureHandler({ ...deps, folder }).run({
          ...{ id: `erasure:${again.id}`, lane: '', payload: String(again.id), attempts: 1 },
          signal: new AbortController().signal,
          write: (run) => db.transaction().execute(run),
        })
        const call = { to: refused, numberId: calling.numberId }
        t.equal((await send('POST', '/v1/calls', { json: call })).status, 403)
        const next = await db.transaction().execute((trx) => last(trx))
        t.equal(next, clock.wall(), 'it runs again')
        t.match(dataOf(await send('GET', `/v1/compliance/erasures/${again.id}`)), { state: 'pending' })
        await runner.idle()
        const done = dataOf(await send('GET', `/v1/compliance/erasures/${again.id}`))
        t.match(done, { state: 'done', calls: 0, records: 1 })
        t.notOk((await everything()).includes(refused))
      })
    },
  )

  await t.test('a payment dispute and a wallet on hold delay the erasure of live data only', async (t) => {
    const hold = (onHold: 0 | 1) =>
      db.updateTable('wallets').set({ onHold }).where('organizationId', '=', owner.organizationId).execute()
    const { liveKey } = calling.api
    await addFunds(db, owner.organizationId, 5_000, clock.wall())
    await hold(1)
    const { id } = dataOf(await request('+919876543214', liveKey))
    const other = dataOf(await request('+919876543214'))
    await runner.idle()
    const read = async (of: unknown, key: string) =>
      dataOf(await send('GET', `/v1/compliance/erasures/${of}`, { key }))
    t.match(await read(id, liveKey), { state: 'delayed', delayReason: 'wallet_on_hold', scheduledFor: null })
    t.match(await read(other.id, calling.api.testKey), { state: 'done' })
    const topup = newId('top', clock.wall())
    const tax = { cgstPaise: 0, sgstPaise: 0, utgstPaise: 0, igstPaise: 0 }
    const at = { createdAt: clock.wall(), updatedAt: clock.wall() }
    await db
      .insertInto('topups')
      .values({
        ...{ id: topup, organizationId: owner.organizationId, gateway: 'sandbox', gatewayRef: null },
        ...{ status: 'disputed', amountPaise: 5_000, ...tax, payablePaise: 5_000, rate: '{}' },
        ...{ recipient: '{}', paymentId: 'pay_1', bankReference: null, createdBy: 'usr_1' },
        ...{ expiresAt: clock.wall(), paidAt: clock.wall(), notifiedAt: null, settlementId: null, ...at },
      })
      .execute()
    const dispute = { gateway: 'sandbox', disputeId: 'disp_1', topupId: topup, amountPaise: 5_000, ...at }
    await db
      .insertInto('topupDisputes')
      .values({ ...dispute, phase: 'chargeback', status: 'open' })
      .execute()
    await hold(0)
    const next = async () => {
      clock.advance(24 * 3_600_000)
      await runner.idle()
      return read(id, liveKey)
    }
    t.match(await next(), { state: 'delayed', delayReason: 'payment_dispute' })
    await db.updateTable('topupDisputes').set({ status: 'won' }).execute()
    t.match(await next(), { state: 'done', delayReason: null })
  })

  await t.test('a recording that moves to the object store delays the erasure', async (t) => {
    const id = await place('+919876543215')
    const transfer = newId('xfr', clock.wall())
    const step = { type: 'transfer', attempt: 1, mode: 'screened', destination: transfer } as const
    const destination = { destinationId: 'tdst_1', label: 'Front desk' }
    const details = { id: transfer, ...destination, trigger: 'api', reason: null, ratePaisePerMinute: 200 }
    await calling.emitCallEvent(
      id,
      { type: 'answered' },
      { ...step, status: 'accepted', outcome: null, details },
    )
    await end(id)
    clock.advance(400 * 24 * 3_600_000)
    const part = `${id}-${transfer}-human`
    const bytes = { durationMs: 1, bytes: 4, sha256: 'ab'.repeat(32), createdAt: clock.wall() }
    await db
      .insertInto('transferRecordings')
      .values({
        transferId: transfer,
        callId: id,
        part: 'human',
        name: part,
        key: `recordings/${part}.wav`,
        ...bytes,
      })
      .execute()
    for (const name of [id, part]) {
      // The process that has the file stands still.
      await addJobs(db, [storingJob(name, 'node-2', clock.wall())], clock.wall())
    }
    const { id: erasure } = dataOf(await request('+919876543215'))
    await runner.idle()
    const read = async () => dataOf(await send('GET', `/v1/compliance/erasures/${erasure}`))
    t.match(await read(), { state: 'delayed', delayReason: 'call_not_stored', calls: 0 })
    for (const name of [id, part]) {
      t.match(await read(), { state: 'delayed' }, name)
      await db.deleteFrom('jobs').where('id', '=', storingJobId(name)).execute()
      clock.advance(60_000)
      await runner.idle()
    }
    t.match(await read(), { state: 'done', calls: 1 })
  })

  await t.test('an extraction that has read the transcript stores nothing after the erasure', async (t) => {
    const to = '+919876543216'
    const id = await place(to)
    await end(id)
    clock.advance(400 * 24 * 3_600_000)
    await db.updateTable('callResults').set({ state: 'pending' }).where('callId', '=', id).execute()
    const job = { id: resultJobId(id), kind: RESULT_JOB, dueAt: clock.wall(), payload: id }
    await addJobs(db, [job], clock.wall())
    const { id: erasure } = dataOf(await request(to))
    await runner.idle()
    const read = async () => dataOf(await send('GET', `/v1/compliance/erasures/${erasure}`))
    t.match(await read(), { state: 'delayed', delayReason: 'call_not_stored', calls: 0 })
    await db.deleteFrom('jobs').where('id', '=', job.id).execute()
    clock.advance(60_000)
    await runner.idle()
    t.match(await read(), { state: 'done', calls: 1 })
    const result = { summary: SAID, outputs: { name: SAID }, evaluation: [] }
    await db.transaction().execute((trx) => storeResult(trx, id, result, clock.wall()))
    const stored = () =>
      db.selectFrom('callResults').selectAll().where('callId', '=', id).executeTakeFirstOrThrow()
    t.match(await stored(), { state: 'done', summary: null, outputs: '{}' })

    await t.test('one that was started between the look and the removal loses its job', async (t) => {
      await db.updateTable('callResults').set({ state: 'pending' }).where('callId', '=', id).execute()
      await addJobs(db, [job], clock.wall())
      await db.transaction().execute((trx) => eraseResult(trx, id))
      t.match(await stored(), { state: 'done', summary: null })
      t.same(await db.selectFrom('jobs').select('id').where('id', '=', job.id).execute(), [])
    })
  })

  await t.test('recipients settle with the counters of their campaigns', async (t) => {
    const to = '+919876543217'
    const [agent] = await db.selectFrom('agents').select('id').execute()
    const campaign = async (name: string) => {
      const json = { name, agentId: agent?.id, numberId: calling.numberId }
      const id = String(dataOf(await send('POST', '/v1/campaigns', { json })).id)
      const recipients = [{ e164: to, variables: { name: SAID } }, { e164: OTHER }]
      await send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients } })
      return id
    }
    const never = await campaign('Never dialled')
    const dialled = await campaign('Dialled')
    const person = (campaignId: string, set: Partial<RecipientRow>) =>
      db
        .updateTable('campaignRecipients')
        .set(set)
        .where('campaignId', '=', campaignId)
        .where('position', '=', 1)
        .execute()
    const attempt = { attempts: 1, lastAttemptAt: clock.wall() }
    await person(dialled, { status: 'dialing', ...attempt })
    await db.updateTable('campaigns').set({ dialed: 1 }).where('id', '=', dialled).execute()
    const preflight = JSON.stringify({ excludedE164s: { suppressed: [to, OTHER] } })
    await db.updateTable('campaigns').set({ preflight }).where('id', '=', never).execute()
    const { id: erasure } = dataOf(await request(to))
    await runner.idle()
    const read = async () => dataOf(await send('GET', `/v1/compliance/erasures/${erasure}`))
    t.match(await read(), { state: 'delayed', delayReason: 'live_call' })
    await person(dialled, { status: 'retry_wait', outcome: 'busy' })
    clock.advance(60_000)
    await runner.idle()
    t.match(await read(), { state: 'done' })
    const settled = { e164: `erased-${erasure}`, variables: '{}', status: 'settled' }
    const rowsOf = (campaignId: string) =>
      db
        .selectFrom('campaignRecipients')
        .selectAll()
        .where('campaignId', '=', campaignId)
        .orderBy('position')
        .execute()
    t.match(await rowsOf(never), [
      { ...settled, outcome: 'excluded', excludedReason: 'erased' },
      { status: 'pending' },
    ])
    t.match(await rowsOf(dialled), [
      { ...settled, outcome: 'busy', excludedReason: null },
      { status: 'pending' },
    ])
    const campaigns = await db
      .selectFrom('campaigns')
      .selectAll()
      .where('id', 'in', [never, dialled])
      .execute()
    for (const row of campaigns) {
      t.equal(row.settled, 1, row.name)
      t.equal(await verifyCounters(db, db, row, clock.wall()), false, row.name)
      t.notOk(JSON.stringify(row).includes(to))
    }
    const woken = await db.selectFrom('jobs').select('id').where('kind', '=', DIALLER_KIND).execute()
    t.equal(woken.length, 1, 'the dialler looks whether a campaign is complete')
  })

  await t.test('a do-not-call entry protects an erased person without the number', async (t) => {
    const to = '+919876543219'
    const { liveKey, testKey } = calling.api
    const list = (json: object, key = testKey) =>
      send('POST', '/v1/dnc', { json: { e164: to, ...json }, key })
    const optOut = dataOf(await list({ source: 'opt_out', reason: SAID }))
    const manual = dataOf(await list({ source: 'manual', reason: SAID }))
    await db.updateTable('suppressions').set({ createdByType: 'call', createdById: 'call_x' }).execute()
    await list({ source: 'manual', reason: 'Other environment' }, liveKey)
    const erase = async () => {
      const { id } = dataOf(await request(to))
      await runner.idle()
      t.match(dataOf(await send('GET', `/v1/compliance/erasures/${id}`)), { state: 'done' })
      return id
    }
    const first = await erase()
    const digest = { e164: /^erased-[0-9a-f]{64}$/, reason: null, callId: null, active: true }
    const found = async () => itemsOf(await send('GET', `/v1/dnc?e164=${encodeURIComponent(to)}`))
    t.match(await found(), [
      { id: manual.id, ...digest, createdBy: { type: 'call', id: `erased-${first}` } },
      { id: optOut.id, ...digest, lockedUntil: optOut.lockedUntil },
    ])
    t.match(
      dataOf(await send('GET', `/v1/compliance/evidence?e164=${encodeURIComponent(to)}`)).suppression,
      await found(),
    )
    const inTest = await db.selectFrom('suppressions').selectAll().where('environment', '=', 'test').execute()
    t.notOk(JSON.stringify(inTest).includes(to))
    const call = { to, numberId: calling.numberId }
    t.match((await send('POST', '/v1/calls', { json: call })).body, { error: { code: 'blocked_dnd' } })
    const consent = { e164: to, purpose: 'service', kind: 'explicit', scope: 'x', source: 'web' }
    t.equal((await send('POST', '/v1/consent', { json: consent })).status, 409, 'consent stays locked')
    const gate = { to, environment: 'test', purpose: 'service', trigger: 'manual' } as const
    const question = { organizationId: owner.organizationId, from: null, gate }
    const rotated = rootKeyOf(Buffer.alloc(32, 8), [rootKey])
    const idsOf = async (key: RootKey) =>
      (
        await gateFacts(db, { policy: deps.policy, rootKey: key }, question, clock.wall())
      ).suppressions.flatMap(({ id }) => id ?? [])
    t.same(await idsOf(rotated), [optOut.id, manual.id], 'after a change of the root key')
    t.same(await idsOf(rootKeyOf(Buffer.alloc(32, 9))), [], 'another key finds no one')
    const people = await readPeople(
      db,
      { rules: deps.policy.rules, rootKey },
      { ...owner, purpose: 'service', campaignId: 'cmp_1' },
      [OTHER, to],
      clock.wall(),
    )
    t.equal(people(to).suppressions.length, 3)
    t.equal(people(OTHER).suppressions.length, 0)

    clock.advance(1_000)
    const again = await list({ source: 'opt_out', reason: SAID })
    t.equal(again.status, 200)
    const renewed = dataOf(again)
    t.match(renewed, { id: optOut.id, e164: digest.e164 }, 'it is found, and stays without the number')
    t.not(renewed.lockedUntil, optOut.lockedUntil)
    const onCall = { e164: to, source: 'opt_out', reason: SAID, callId: 'call_y' }
    const known = { rules: deps.policy.rules, rootKey: null }
    const by = { type: 'call', id: 'call_y' }
    const { row: later } = await db
      .transaction()
      .execute((trx) => suppress(trx, known, owner, onCall, by, clock.wall()))
    t.equal(later.e164, to, 'an opt-out on a call has it')
    await db
      .updateTable('suppressions')
      .set({ lockedUntil: clock.wall(), expiresAt: clock.wall() })
      .where('id', '=', later.id)
      .execute()
    await erase()
    t.match(await found(), [
      { id: later.id, ...digest, lockedUntil: renewed.lockedUntil, expiresAt: renewed.expiresAt },
      { id: manual.id },
      { id: optOut.id, active: false },
    ])
  })
  await runner.close()

  await t.test('an erasure waits until the end of a call is sealed', async (t) => {
    const id = await place('+919876543218')
    const ending = { by: 'callee', cause: 'caller_hangup', fault: 'none' } as const
    await calling.emitCallEvent(id, { type: 'ended', ending, rtp: null, recording: null })
    clock.advance(400 * 24 * 3_600_000)
    const { id: erasure } = dataOf(await request('+919876543218'))
    const erase = async () => {
      const handlers = [erasureHandler({ ...deps, folder })]
      const jobs = openJobRunner({ db, clock, log: silentLog, handlers, pollMs: 1_000_000_000 })
      await jobs.idle()
      await jobs.close()
      return dataOf(await send('GET', `/v1/compliance/erasures/${erasure}`))
    }
    t.match(await erase(), { state: 'delayed', delayReason: 'call_not_stored', calls: 0 })
    await seal(deps)
    clock.advance(60_000)
    t.match(await erase(), { state: 'done', calls: 1, records: 2 }, 'the subject is the person')
    t.match(await verify(), { valid: true })
  })
  await calling.close()

  await t.test('the floor of the operator holds for each call; older calls are erased at once', async (t) => {
    const from = { source: 'Sector rule', effectiveFrom: '2025-01-01' }
    const rules = { replace: ['erasureFloor'], erasureFloor: [{ days: 30, ...from }] }
    const file = join(t.testdir({ 'policy.json': JSON.stringify(rules) }), 'policy.json')
    const other = await openTestCalling(await open(), { env: { PARLEY_POLICY_FILE: file } })
    await other.publishAgent()
    const calls: string[] = []
    for (const days of [20, 0]) {
      const json = { to: PERSON, numberId: other.numberId }
      const id = String(dataOf(await other.send('POST', '/v1/calls', { json })).id)
      const ending = { by: 'callee', cause: 'caller_hangup', fault: 'none' } as const
      await other.emitCallEvent(id, { type: 'ended', ending, rtp: null, recording: null })
      calls.push(id)
      other.clock.advance(days * 24 * 3_600_000)
    }
    other.clock.advance(15 * 24 * 3_600_000)
    const { id } = dataOf(await other.send('POST', '/v1/compliance/erasures', { json: { e164: PERSON } }))
    const { deps } = other
    await seal(deps)
    const jobs = openJobRunner({
      ...{ db: deps.db, clock: other.clock, log: silentLog, pollMs: 1_000_000_000 },
      handlers: [erasureHandler({ ...deps, folder: other.folder })],
    })
    await jobs.idle()
    const read = async () => dataOf(await other.send('GET', `/v1/compliance/erasures/${id}`))
    const asked = other.clock.wall()
    const scheduledFor = new Date(asked + 15 * 24 * 3_600_000).toISOString()
    t.match(await read(), { state: 'delayed', delayReason: 'legal_floor', calls: 1, scheduledFor })
    const to = async (call: string | undefined) => dataOf(await other.send('GET', `/v1/calls/${call}`)).to
    t.equal(await to(calls[0]), `erased-${id}`)
    t.equal(await to(calls[1]), PERSON, 'readable until then')
    other.clock.advance(15 * 24 * 3_600_000 - 1)
    await jobs.idle()
    t.match(await read(), { state: 'delayed', calls: 1 })
    // The job looks once a day.
    other.clock.advance(24 * 3_600_000)
    await jobs.idle()
    t.match(await read(), { state: 'done', calls: 2, scheduledFor: null })
    await jobs.close()
    await other.close()
  })

  await t.test(
    'a process that dies at any commit or statement leaves an erasure that another ends',
    async (t) => {
      const erased = async (die: (mortal: MortalDatabase, n: number) => void) => {
        const database = await open()
        const other = await openTestCalling(database)
        await other.publishAgent()
        for (let n = 0; n < 2; n++) {
          const json = { to: PERSON, numberId: other.numberId, metadata: { customer: SAID } }
          const id = String(dataOf(await other.send('POST', '/v1/calls', { json })).id)
          const ending = { by: 'callee', cause: 'caller_hangup', fault: 'none' } as const
          await other.emitCallEvent(
            id,
            { type: 'answered' },
            { type: 'ended', ending, rtp: null, recording: null },
          )
        }
        const { id } = dataOf(await other.send('POST', '/v1/compliance/erasures', { json: { e164: PERSON } }))
        const { deps } = other
        await seal(deps)
        let deaths = 0
        for (let n = 0; n < 200; n++) {
          const mortal = openMortal(database, () => {})
          die(mortal, n)
          const jobs = openJobRunner({
            ...{ db: mortal.db, clock: other.clock, log: silentLog, pollMs: 1_000_000_000 },
            handlers: [erasureHandler({ ...deps, db: mortal.db, folder: other.folder })],
          })
          await jobs.idle()
          await jobs.close().catch(() => {})
          if (!mortal.dead) break
          deaths++
          // The lease of the dead process expires, and a delay of a failed job ends.
          other.clock.advance(3_600_000)
        }
        t.match(dataOf(await other.send('GET', `/v1/compliance/erasures/${id}`)), {
          ...{ state: 'done', e164: null, calls: 2, records: 4 },
        })
        const rows = await Promise.all(
          (['calls', 'checks', 'evidence', 'callEvents'] as const).map((table) =>
            deps.db.selectFrom(table).selectAll().execute(),
          ),
        )
        t.notOk(JSON.stringify(rows).includes(PERSON))
        t.notOk(JSON.stringify(rows).includes(SAID))
        const keys = openEvidenceKeys(deps.rootKey)
        t.match(await verifyStoredChain(deps.db, other.owner, keys), { valid: true, seq: 5 }, 'sealed once')
        const audited = await deps.db
          .selectFrom('auditEntries')
          .select('id')
          .where('action', '=', 'erasure.completed')
          .execute()
        t.equal(audited.length, 1)
        await other.close()
        return deaths
      }
      t.ok((await erased((mortal, n) => mortal.dieAtCommit(n))) >= 4)
      t.ok((await erased((mortal, n) => mortal.dieIn(n, n % 2 === 0))) >= 20)
    },
  )
})
