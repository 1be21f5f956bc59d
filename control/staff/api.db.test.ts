import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../fixtures/api/live-models.js'
import { signInMember, signInStaff } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import { inProcessReader } from '../../fixtures/knowledge/in-process.js'
import { silentLog } from '../../media/base/log.js'
import { STOPPED_BY_STAFF } from '../../signalling/call/ending.js'
import { openBackground } from '../app/background.js'
import { openLeases } from '../calls/lifecycle/leases.js'
import { staffHangupsHandler } from '../calls/lifecycle/staff-hangups.js'
import { parseTrunkFile } from '../config/trunk-file.js'
import { LEASE_MS, openJobRunner } from '../jobs/runner.js'
import { claimJobs } from '../jobs/store.js'
import { loadTrunks } from '../trunks/load-trunks.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const json = (body: unknown) => ({ json: body })

const SUBMISSION = {
  legalName: 'Asha Clinics',
  entityType: 'llp',
  registeredAddress: { address: '1 MG Road', city: 'Bengaluru', pincode: '560001', stateCode: '29' },
  authorisedPerson: { name: 'A Person', email: 'a@example.com', phone: '+919876543210' },
}
const SENDER = { series: '140', e164: '+911401234567', category: 'promotional', dltHeaderId: 'H1' }

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
  const { api, send, clock } = calling
  const { organizationId } = calling.owner
  const staff = await signInStaff(api)
  const owner = await signInMember(api, organizationId, 'owner')
  const other = await calling.anotherOrganization()
  const stranger = await signInMember(api, other.organizationId, 'owner')
  const base = `/v1/staff/organizations/${organizationId}`
  const lastEntry = async () => itemsOf(await owner.send('GET', '/v1/organization/audit-log?limit=1'))[0]

  await t.test('only staff is admitted', async (t) => {
    const rows: readonly [string, string, unknown][] = [
      ['GET', '/v1/staff/organizations', undefined],
      ['GET', base, undefined],
      ['POST', `${base}/verification-decision`, { decision: 'verified', reason: 'x' }],
      ['PATCH', `${base}/limits`, { reason: 'x', trunkingEnabled: true }],
      ['POST', `${base}/kill-switch`, { enforcement: true, reason: 'x' }],
      [
        'POST',
        '/v1/staff/sender-ids/sid_01JZ0000000000000000000000/decision',
        { decision: 'approved', reason: 'x' },
      ],
    ]
    for (const [method, path, body] of rows) {
      const request = body === undefined ? {} : json(body)
      t.equal((await send(method, path, { ...request, key: null })).status, 401, `${path} without anything`)
      t.equal((await send(method, path, { ...request, key: api.liveKey })).status, 401, `${path} with a key`)
      t.equal((await owner.send(method, path, request)).status, 403, `${path} as a customer`)
      if (method === 'GET') continue
      t.equal(
        (await staff.send(method, path, { ...request, csrf: null })).status,
        403,
        `${path} without CSRF`,
      )
      for (const reason of [undefined, '', 'x'.repeat(501)]) {
        const answer = await staff.send(method, path, json({ ...(body as object), reason }))
        t.equal(answer.status, 400, `${path} reason ${reason?.length}`)
      }
    }
    const absent = '/v1/staff/organizations/org_01JZ0000000000000000000000'
    t.equal((await staff.send('GET', absent)).status, 404)
    t.equal(
      (await staff.send('POST', `${absent}/kill-switch`, json({ enforcement: true, reason: 'x' }))).status,
      404,
    )
  })

  await t.test('verification: submitted, rejected, submitted, verified', async (t) => {
    const decide = (decision: string, reason = 'Looked at it.') =>
      staff.send('POST', `${base}/verification-decision`, json({ decision, reason }))
    const listed = async (verification: string) =>
      itemsOf(await staff.send('GET', `/v1/staff/organizations?verification=${verification}`)).map(
        ({ id }) => id,
      )
    t.same(errorOf(await decide('verified')).details, { status: 'unverified' })
    t.ok((await listed('unverified')).includes(organizationId))

    await owner.send('POST', '/v1/organization/verification', json(SUBMISSION))
    t.same(await listed('submitted'), [organizationId])
    t.match(dataOf(await staff.send('GET', base)), {
      submission: SUBMISSION,
      verification: { status: 'submitted' },
    })
    clock.advance(1)
    t.equal((await decide('maybe')).status, 400)
    const rejected = await decide('rejected', 'The address is not that of the register.')
    t.match(dataOf(rejected), {
      verification: { status: 'rejected', rejectionReason: 'The address is not that of the register.' },
    })
    t.match(await lastEntry(), {
      actor: { type: 'staff', id: staff.userId },
      action: 'staff.verification_decided',
      reason: 'The address is not that of the register.',
      before: { status: 'submitted' },
      after: { status: 'rejected' },
    })
    t.same(await listed('rejected'), [organizationId])
    t.equal((await decide('verified')).status, 409, 'decided is decided')

    clock.advance(1)
    t.equal((await owner.send('POST', '/v1/organization/verification', json(SUBMISSION))).status, 201)
    clock.advance(1)
    const answers = await Promise.all([decide('verified'), decide('rejected'), decide('verified')])
    t.same(answers.map(({ status }) => status).sort(), [200, 409, 409], 'one decision')
    const status = (dataOf(await staff.send('GET', base)).verification as { status: string }).status
    if (status === 'rejected') {
      clock.advance(1)
      await owner.send('POST', '/v1/organization/verification', json(SUBMISSION))
      clock.advance(1)
      t.equal((await decide('verified')).status, 200)
    }
    t.same(await listed('verified'), [organizationId])
    t.same(await listed('rejected'), [])
    const again = await owner.send('POST', '/v1/organization/verification', json(SUBMISSION))
    t.same(errorOf(again).details, { status: 'verified' })
    t.match(dataOf(await owner.send('GET', '/v1/organization')), {
      verification: { status: 'verified', rejectionReason: null },
    })
  })

  await t.test('limits take effect for calls and requests', async (t) => {
    await calling.publishAgent()
    const limits = (body: object) =>
      staff.send('PATCH', `${base}/limits`, json({ reason: 'Agreed.', ...body }))
    const set = await limits({
      requestsPerMinute: { test: 1_000 },
      agentCalls: { test: 1, live: 40 },
      byoCalls: { live: 7 },
      ratePaisePerMinute: 420,
      trunkingEnabled: true,
    })
    t.equal(set.status, 200)
    t.match(dataOf(set), {
      limits: {
        requestsPerMinute: { test: 1_000, live: 600 },
        agentCalls: { test: 1, live: 40 },
        byoCalls: { test: 5, live: 7 },
      },
      ratePaisePerMinute: 420,
      trunkingEnabled: true,
    })
    const entry = await lastEntry()
    t.match(entry, { action: 'staff.limits_set', reason: 'Agreed.' })
    t.match(entry?.before, { ratePaisePerMinute: 500, trunkingEnabled: false })
    t.match(entry?.after, { ratePaisePerMinute: 420, agentCalls: { test: 1, live: 40 } })

    clock.advance(60_000)
    const call = { to: '+919876543210', numberId: calling.numberId }
    const first = await send('POST', '/v1/calls', json(call))
    t.match(dataOf(first), { ratePaisePerMinute: 420 })
    const second = await send('POST', '/v1/calls', json(call))
    t.match(errorOf(second), {
      code: 'concurrent_call_limit_reached',
      details: { pool: 'agentCalls', inUse: 1, limit: 1 },
    })
    t.match(dataOf(await send('GET', '/v1/limits')), {
      environment: 'test',
      requests: { limitPerMinute: 1_000 },
      concurrency: { agentCalls: { inUse: 1, limit: 1 }, byoCalls: { inUse: 0, limit: 5 } },
    })
    t.match(dataOf(await send('GET', '/v1/limits', { key: api.liveKey })), {
      environment: 'live',
      requests: { limitPerMinute: 600 },
      concurrency: { agentCalls: { inUse: 0, limit: 40 }, byoCalls: { inUse: 0, limit: 7 } },
    })
    t.match(dataOf(await send('GET', '/v1/limits', { key: other.testKey })), {
      requests: { limitPerMinute: 600 },
      concurrency: { agentCalls: { inUse: 0, limit: 5 } },
    })
    t.match(dataOf(await owner.send('GET', '/v1/limits')), { environment: 'test' }, 'a session sees them too')
    clock.advance(2 * 3_600_000)
    t.match(
      dataOf(await send('GET', '/v1/limits')),
      { concurrency: { agentCalls: { inUse: 0 } } },
      'a call too old to be live is not counted',
    )

    const back = await limits({
      requestsPerMinute: { test: null },
      agentCalls: { test: null, live: null },
      byoCalls: { live: null },
      ratePaisePerMinute: null,
      trunkingEnabled: false,
    })
    t.match(dataOf(back), {
      limits: {
        requestsPerMinute: { test: 600, live: 600 },
        agentCalls: { test: 5, live: 10 },
        byoCalls: { test: 5, live: 10 },
      },
      ratePaisePerMinute: 500,
      trunkingEnabled: false,
    })
    for (const body of [
      {},
      { agentCalls: { test: -1 } },
      { agentCalls: { test: 10_001 } },
      { agentCalls: { staging: 1 } },
      { agentCalls: null },
      { byoCalls: { live: 1.5 } },
      { requestsPerMinute: { test: 0 } },
      { ratePaisePerMinute: -1 },
      { trunkingEnabled: null },
      { wallet: 1 },
    ]) {
      t.equal((await limits(body)).status, 400, JSON.stringify(body))
    }
  })

  await t.test('the kill switch stops calls of that organization only', async (t) => {
    await calling.publishAgent()
    const flip = (enforcement: boolean) =>
      staff.send('POST', `${base}/kill-switch`, json({ enforcement, reason: 'Complaints.' }))
    const call = { to: '+919876543210', numberId: calling.numberId }
    const on = await flip(true)
    t.match(dataOf(on), { enforcement: { blocked: true, since: /Z$/, reason: 'kill_switch' } })
    const stopped = await send('POST', '/v1/calls', json(call))
    t.match(stopped, {
      status: 403,
      body: {
        error: { code: 'blocked_opt_out', details: { checkType: 'enforcement', nextAllowedAt: null } },
      },
    })
    t.match(await lastEntry(), {
      action: 'staff.kill_switch_set',
      reason: 'Complaints.',
      before: { enforcement: false },
      after: { enforcement: true },
    })
    clock.advance(5_000)
    t.same(
      dataOf(await flip(true)).enforcement,
      dataOf(on).enforcement,
      'again: it stands since the first time',
    )
    const rows = itemsOf(await staff.send('GET', '/v1/staff/organizations'))
    t.same(
      rows.map(({ id, blocked }) => [id, blocked]).sort(),
      [
        [organizationId, true],
        [other.organizationId, false],
      ].sort(),
    )
    t.match(dataOf(await flip(false)), { enforcement: { blocked: false, since: null, reason: null } })
    t.equal((await send('POST', '/v1/calls', json(call))).status, 201)
    for (const enforcement of ['on', 1, null]) {
      const answer = await staff.send('POST', `${base}/kill-switch`, json({ enforcement, reason: 'x' }))
      t.equal(answer.status, 400, String(enforcement))
    }
  })

  await t.test('the kill switch can end the calls in progress, with their last words', async (t) => {
    const { deps, control } = calling
    const flip = (body: object) =>
      staff.send('POST', `${base}/kill-switch`, json({ reason: 'A court order.', ...body }))
    const call = async () => {
      const made = await send('POST', '/v1/calls', json({ to: '+919876543210', numberId: calling.numberId }))
      return String(dataOf(made).id)
    }
    const [first, second, late] = [await call(), await call(), await call()]
    const change = (
      id: string,
      values: {
        endedAt?: number | null
        createdAt?: number
        hangupRequestedAt?: number | null
        hangupCause?: null
      },
    ) => deps.db.updateTable('calls').set(values).where('id', '=', id).execute()
    // The row of this call is stored later.
    await change(late, { endedAt: 1 })
    const asked = async () => {
      const rows = await deps.db
        .selectFrom('calls')
        .select(['id', 'hangupCause'])
        .where('id', 'in', [first, second, late])
        .where('hangupRequestedAt', 'is not', null)
        .orderBy('id')
        .execute()
      return rows.map((row) => [row.id, row.hangupCause])
    }
    t.equal((await flip({ enforcement: false, endCalls: true })).status, 400, 'only a stop can end calls')
    await flip({ enforcement: true })
    t.same(await asked(), [], 'calls in progress continue')
    clock.advance(5_000)
    // A call that is to end at once already ends so.
    await change(second, { hangupRequestedAt: 1 })
    t.equal((await flip({ enforcement: true, endCalls: true })).status, 200)
    t.match(await lastEntry(), { action: 'staff.kill_switch_set', after: { endCalls: true } })

    // The process dies after the commit. Another one takes the job, and dies too.
    t.same(await asked(), [[second, null]])
    const claim = { kind: 'staff-hangups', lane: organizationId, owner: 'dead', leaseMs: LEASE_MS, limit: 1 }
    t.equal((await claimJobs(deps.db, claim, clock.wall())).length, 1)
    clock.advance(LEASE_MS)
    const handlers = [staffHangupsHandler(deps)]
    const runner = openJobRunner({ db: deps.db, clock, log: silentLog, handlers, pollMs: 1_000_000 })
    await runner.idle()
    t.same(await asked(), [
      [first, 'staff'],
      [second, null],
    ])

    // The gate allowed a call just before the switch, and its row is stored just after it.
    await flip({ enforcement: true, endCalls: true })
    await runner.idle()
    await change(late, { endedAt: null, createdAt: clock.wall() + 1 })
    clock.advance(5_000)
    await runner.idle()
    t.same((await asked()).at(-1), [late, 'staff'])

    // The switch is lifted before the job runs: the calls from before it end, and the new ones do not.
    await runner.close()
    await flip({ enforcement: true, endCalls: true })
    await change(late, { hangupRequestedAt: null, hangupCause: null, createdAt: clock.wall() })
    await flip({ enforcement: false })
    clock.advance(1)
    const fresh = await call()
    const again = await openBackground({
      ...deps,
      log: silentLog,
      documents: inProcessReader,
      owned: () => new Set(),
      contactMs: () => 0,
      embedder: null,
    })
    await again.idle()
    clock.advance(5_000)
    await again.idle()
    await again.close()
    t.same((await asked()).at(-1), [late, 'staff'])
    const { hangupCause } = await deps.db
      .selectFrom('calls')
      .select('hangupCause')
      .where('id', '=', fresh)
      .executeTakeFirstOrThrow()
    t.equal(hangupCause, null)
    t.same(await deps.db.selectFrom('jobs').select('id').where('kind', '=', 'staff-hangups').execute(), [])

    const leases = openLeases({
      ...{ db: deps.db, clock, log: silentLog, nodeId: deps.nodeId, calls: control },
      unstored: () => [],
    })
    await until(async () => {
      await clock.advanceAsync(1_000, 500)
      return control.finished.some(({ callId }) => callId === first) && control.hungUp.includes(second)
    })
    await leases.close()
    const finished = control.finished.find(({ callId }) => callId === first)
    t.same(finished, { callId: first, line: null, ending: STOPPED_BY_STAFF })
    t.notOk(control.hungUp.includes(first))
    t.notOk(control.finished.some(({ callId }) => callId === fresh))
  })

  await t.test('a sender id belongs to one organization', async (t) => {
    const mine = dataOf(await owner.send('POST', '/v1/organization/sender-ids', json(SENDER))).id
    const theirs = dataOf(await stranger.send('POST', '/v1/organization/sender-ids', json(SENDER))).id
    const decide = (id: unknown, decision: string) =>
      staff.send('POST', `/v1/staff/sender-ids/${id}/decision`, json({ decision, reason: 'Register.' }))

    t.same(errorOf(await decide(mine, 'revoked')).details, { status: 'submitted' })
    t.match(dataOf(await decide(mine, 'approved')), {
      status: 'approved',
      decidedAt: /Z$/,
      rejectionReason: null,
    })
    const taken = await decide(theirs, 'approved')
    t.equal(taken.status, 409, 'somebody holds it')
    t.match(dataOf(await decide(theirs, 'rejected')), { status: 'rejected', rejectionReason: 'Register.' })
    t.equal((await decide(theirs, 'approved')).status, 409, 'decided is decided')
    clock.advance(1)
    const anew = dataOf(await stranger.send('POST', '/v1/organization/sender-ids', json(SENDER))).id
    t.match(dataOf(await decide(mine, 'revoked')), { status: 'revoked' })
    t.match(dataOf(await decide(anew, 'approved')), { status: 'approved' }, 'free again')
    const entries = itemsOf(await stranger.send('GET', '/v1/organization/audit-log'))
    t.same(
      entries.filter(({ action }) => action === 'staff.sender_id_decided').map(({ after }) => after),
      [{ status: 'approved' }, { status: 'rejected' }],
    )
  })

  await t.test('owners and admins were told', async (t) => {
    const mails = await calling.deps.db.selectFrom('mails').select(['recipient', 'kind', 'fields']).execute()
    const { email } = await calling.deps.db
      .selectFrom('users')
      .select('email')
      .where('id', '=', owner.userId)
      .executeTakeFirstOrThrow()
    const subjects = mails
      .filter(({ kind, recipient }) => kind === 'notice' && recipient === email)
      .map(({ fields }) => (JSON.parse(fields) as { subject: string }).subject)
    t.equal(subjects.filter((subject) => subject === 'Your organization was verified').length, 1)
    t.ok(subjects.includes('Your organization was not verified'))
    t.equal(
      subjects.filter((subject) => /Calling was stopped/.test(subject)).length,
      2,
      'once a stop, set twice',
    )
    t.equal(subjects.filter((subject) => /may call again/.test(subject)).length, 2)
  })

  await t.test('a staff view of an organization is in its log', async (t) => {
    clock.advance(1)
    await staff.send('GET', base)
    t.match(await lastEntry(), {
      action: 'staff.organization_read',
      actor: { type: 'staff', id: staff.userId },
    })
  })
  await t.test('a live call is refused for what the organization still lacks', async (t) => {
    const trunk = {
      name: 'carrier',
      gateway: { host: '127.0.0.1', port: 5060 },
      inbound: { auth: 'ip_acl', addresses: ['192.0.2.1'] },
      numbers: [{ e164: '+918040000000' }],
    }
    const { db, rootKey } = calling.deps
    await loadTrunks(
      { db, rootKey, clock, log: silentLog, filePath: 'trunks.json' },
      parseTrunkFile(JSON.stringify({ trunks: [trunk] }), 'trunks.json', {}),
    )
    const live = await db
      .selectFrom('numbers')
      .select('id')
      .where('e164', '=', '+918040000000')
      .executeTakeFirst()
    const agentId = await calling.publishAgent(LIVE_MODELS)
    const refusal = async () => {
      const answer = await send('POST', '/v1/calls', {
        key: api.liveKey,
        json: { to: '+919876543210', numberId: live?.id, agentId },
      })
      const { code, details } = errorOf(answer)
      return [code, details.checkType, details.nextAllowedAt]
    }
    const undeclared = ['blocked_dlt_invalid', 'robocall_declaration', null]
    const unfunded = ['insufficient_funds', 'wallet', null]
    const change = (body: object) => owner.send('PATCH', '/v1/organization', json(body))
    t.same(await refusal(), undeclared, 'it is verified and classified')
    await change({ robocallMode: 'warn' })
    t.same(await refusal(), unfunded)
    await change({ robocallMode: 'block' })
    const declaration = {
      provider: 'airtel',
      reference: 'R1',
      objective: 'Reminders.',
      callerIds: ['+918040000000'],
      declaredOn: '2025-01-15',
      effectiveFrom: '2025-01-16',
    }
    const declarations = '/v1/organization/robocall-declarations'
    await owner.send('POST', declarations, json({ ...declaration, callerIds: ['+918040000001'] }))
    t.same(await refusal(), undeclared, 'another caller ID is declared')
    const made = await owner.send('POST', declarations, json(declaration))
    t.same(
      await refusal(),
      ['blocked_dlt_invalid', 'robocall_declaration', '2025-01-15T18:30:00.000Z'],
      'in force from tomorrow',
    )
    // Midnight in India, which is 18:30 of the day before in UTC.
    clock.advance(Date.UTC(2025, 0, 15, 18, 30) - clock.wall())
    t.same(await refusal(), unfunded)
    await owner.send('POST', `${declarations}/${dataOf(made).id}/withdraw`)
    t.same(await refusal(), undeclared)
    t.equal(calling.control.dialled.filter(({ permit }) => permit.from === '+918040000000').length, 0)
  })

  await t.test('the organization’s own hours apply to its commercial calls', async (t) => {
    const id = await calling.publishAgent()
    await owner.send(
      'PUT',
      `/v1/agents/${id}/sender-classification`,
      json({ senderClassification: 'promotional' }),
    )
    await send('POST', `/v1/agents/${id}/publish`)
    clock.advance(Date.UTC(2025, 0, 16, 5, 0) - clock.wall())
    const call = () => send('POST', '/v1/calls', json({ to: '+919876543210', numberId: calling.numberId }))
    t.equal((await call()).status, 201, '10:30 in India')
    await owner.send('PATCH', '/v1/organization', json({ windowNarrowing: { startMinute: 660 } }))
    t.match(await call(), {
      status: 403,
      body: {
        error: {
          code: 'blocked_opt_out',
          details: { checkType: 'calling_window', nextAllowedAt: '2025-01-16T05:30:00.000Z' },
        },
      },
    })
    clock.advance(30 * 60_000)
    t.equal((await call()).status, 201, '11:00')
  })
  await calling.close()
})
