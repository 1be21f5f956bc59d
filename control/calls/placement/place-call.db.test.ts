import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { EngineError } from '../../../media/base/errors.js'
import { openEvidenceKeys } from '../../compliance/evidence/seal.js'
import { verifyStoredChain } from '../../compliance/evidence/stored-chain.js'
import { insertNumber } from '../../numbers/store.js'
import { takeSlot } from './call-slots.js'

const TO = '+919876543210'
const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown>; type: string } }).error

await onEachDialect(t, async (t, open) => {
  await t.test('a call passes the gate and its record is sealed before the dial', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, control, deps, owner } = calling
    const agentId = await calling.publishAgent({
      inputVariables: [{ name: 'who', required: true }],
      callSettings: { openingLine: { text: 'Hello {{who}}.' } },
    })
    const placed = await send('POST', '/v1/calls', {
      json: { to: TO, numberId: calling.numberId, variables: { who: 'Anna' }, metadata: { order: '7' } },
    })
    t.equal(placed.status, 201)
    const call = dataOf(placed)
    t.match(call, {
      id: /^call_/,
      environment: 'test',
      direction: 'outbound',
      status: 'queued',
      disposition: null,
      endedReason: null,
      from: calling.number,
      to: TO,
      numberId: calling.numberId,
      agentId,
      agentVersion: 1,
      agentVersionId: /^agv_/,
      routingMode: 'svc_agent',
      purpose: 'transactional',
      answeredAt: null,
      durationSeconds: null,
      billedPaise: 0,
      ratePaisePerMinute: 500,
      charges: [],
      variables: { who: 'Anna' },
      metadata: { order: '7' },
      summary: null,
      outputs: {},
      evaluation: [],
      transfer: null,
      hasRecording: false,
      hasTranscript: false,
      complianceRunId: /^run_/,
      evidenceId: /^evd_/,
    })

    const [dial] = control.dialled
    t.equal(control.dialled.length, 1)
    t.match(dial?.permit, { callId: call.id, to: TO, from: calling.number })
    t.match(dial?.plan, {
      party: { kind: 'agent', agent: { agentId, openingLine: 'Hello Anna.' } },
      gateway: { port: 5070 },
      ringTimeoutMs: 45_000,
      recordTo: `${calling.folder}/${call.id}.wav`,
    })

    const checks = await deps.db.selectFrom('checks').selectAll().orderBy('position').execute()
    t.same(
      checks.map((check) => [check.type, check.outcome, check.callId]),
      [
        ['number_format', 'pass', call.id],
        ['dnc', 'pass', call.id],
        ['enforcement', 'pass', call.id],
        ['verification', 'pass', call.id],
        ['calling_window', 'pass', call.id],
        ['dnd_register', 'pass', call.id],
        ['consent', 'pass', call.id],
        ['frequency_cap', 'pass', call.id],
        ['robocall_declaration', 'warn', call.id],
        ['sender_registration', 'pass', call.id],
        ['wallet', 'pass', call.id],
      ],
    )
    const [record] = await deps.db.selectFrom('evidence').selectAll().execute()
    t.match(record, { seq: 1, callId: call.id, gateRunId: call.complianceRunId, e164: TO })
    t.notOk(record?.record.includes(TO), 'the sealed part does not hold the number')
    t.match(await verifyStoredChain(deps.db, owner, openEvidenceKeys(deps.rootKey)), {
      valid: true,
      seq: 1,
    })
    const events = await send('GET', '/v1/events')
    t.match(itemsOf(events), [
      {
        type: 'call.initiated',
        subjectType: 'call',
        subjectId: call.id,
        environment: 'test',
        delivery: null,
      },
    ])
    await calling.close()
  })

  await t.test('every refusal has its code and releases everything', async (t) => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    const { send, control, deps, numberId, api } = calling
    const other = await calling.anotherOrganization()
    const live = await insertNumber(
      deps.db,
      {
        organizationId: calling.owner.organizationId,
        environment: 'live',
        e164: '+911171366900',
        label: 'Live',
        provider: 'carrier',
        region: 'DL',
        numberType: 'landline',
      },
      0,
    )
    const draft = dataOf(await send('POST', '/v1/agents', { json: { name: 'Draft', systemPrompt: 'x' } }))
    const call = (more: object) => send('POST', '/v1/calls', { json: { to: TO, numberId, ...more } })

    const unbound = await call({})
    t.equal(unbound.status, 422, 'no agent on the number and none named')
    t.match(errorOf(unbound), { code: 'unprocessable_entity', details: { path: 'agentId' } })
    const unpublished = await call({ agentId: draft.id })
    t.equal(unpublished.status, 422, 'never published')
    t.match(errorOf(unpublished), { code: 'unprocessable_entity' })

    await calling.publishAgent({
      inputVariables: [
        { name: 'who', required: true },
        { name: 'when', required: true, default: 'today' },
        { name: 'what', required: true },
      ],
    })
    const missing = await call({})
    t.equal(missing.status, 422)
    t.match(errorOf(missing), { code: 'missing_variables', details: { missing: ['who', 'what'] } })

    const ulid = '01JZ0000000000000000000000'
    for (const [body, path] of [
      [{ numberId: 'nonsense' }, 'numberId'],
      [{ numberId: `num_${ulid}` }, 'numberId'],
      [{ agentId: 'nonsense' }, 'agentId'],
      [{ agentId: `agt_${ulid}` }, 'agentId'],
    ] as const) {
      const answer = await call(body)
      t.equal(answer.status, 404, JSON.stringify(body))
      t.match(errorOf(answer), { code: 'not_found', details: { path } })
    }
    const itself = await call({ to: calling.number })
    t.equal(itself.status, 422)
    t.match(errorOf(itself), { code: 'unprocessable_entity', details: { path: 'to' } })
    const foreign = await send('POST', '/v1/calls', { key: other.testKey, json: { to: TO, numberId } })
    t.equal(foreign.status, 404, "another organization's number does not exist")

    const mismatch = await call({ numberId: live?.id })
    t.equal(mismatch.status, 422)
    t.match(errorOf(mismatch), { code: 'environment_mismatch', details: { path: 'numberId' } })

    for (const to of ['9876543210', '+91 9876543210', '+14155550100', '+911600123456', '+9118001234567', 7]) {
      const answer = await call({ to })
      t.equal(answer.status, 400, String(to))
      t.match(errorOf(answer), { code: 'validation_error', details: { issues: [{ path: 'to' }] } })
    }
    const big = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v']))
    for (const body of [{ metadata: big }, { variables: { a: 'x'.repeat(1025) } }, { typo: 1 }]) {
      t.equal((await call(body)).status, 400, JSON.stringify(body).slice(0, 40))
    }

    const liveCall = await send('POST', '/v1/calls', {
      key: api.liveKey,
      json: { to: TO, numberId: live?.id, agentId: await calling.publishAgent(LIVE_MODELS) },
    })
    t.match(errorOf(liveCall), { code: 'provider_unavailable' }, 'the live number has no trunk')

    t.equal(control.dialled.length, 0)
    for (const table of ['calls', 'checks', 'evidence', 'events', 'callSlots'] as const) {
      t.same(await deps.db.selectFrom(table).selectAll().execute(), [], table)
    }
    await calling.close()
  })

  await t.test('a blocked call: 403, audit rows, sealed record, event, no slot, no dial', async (t) => {
    // 21:30 IST
    const calling = await openTestCalling(await open(), { wallMs: Date.parse('2026-03-02T16:00:00Z') })
    const { send, control, deps, owner } = calling
    await calling.publishAgent()
    await deps.db.updateTable('agents').set({ purpose: 'promotional' }).execute()
    await deps.db.updateTable('agentVersions').set({ purpose: 'promotional' }).execute()

    const blocked = await send('POST', '/v1/calls', { json: { to: TO, numberId: calling.numberId } })
    t.equal(blocked.status, 403)
    t.match(errorOf(blocked), {
      code: 'blocked_opt_out',
      type: 'compliance',
      details: { checkType: 'calling_window', runId: /^run_/, nextAllowedAt: '2026-03-03T03:30:00.000Z' },
    })
    t.equal(control.dialled.length, 0)
    t.same(await deps.db.selectFrom('calls').selectAll().execute(), [])
    t.same(await deps.db.selectFrom('callSlots').selectAll().execute(), [])
    const rows = await deps.db.selectFrom('checks').selectAll().orderBy('position').execute()
    t.same(
      rows.map((row) => [row.type, row.outcome, row.code]),
      [
        ['number_format', 'pass', null],
        ['dnc', 'pass', null],
        ['enforcement', 'pass', null],
        ['verification', 'pass', null],
        ['calling_window', 'block', 'blocked_opt_out'],
        ['dnd_register', 'skipped', null],
        ['consent', 'warn', null],
        ['frequency_cap', 'pass', null],
        ['robocall_declaration', 'warn', null],
        ['sender_registration', 'pass', null],
        ['wallet', 'skipped', null],
      ],
    )
    t.equal((await deps.db.selectFrom('evidence').selectAll().execute()).length, 1)

    const [event] = itemsOf(await send('GET', '/v1/events'))
    t.match(event, { type: 'compliance.check.blocked', subjectType: 'check', subjectId: rows[4]?.id })
    const read = await send('GET', `/v1/events/${event?.id}`)
    t.match(dataOf(read).payload, {
      type: 'compliance.check.blocked',
      data: {
        check: { type: 'calling_window', outcome: 'block', nextAllowedAt: '2026-03-03T03:30:00.000Z' },
      },
      links: { self: /\/v1\/compliance\/checks\/chk_/ },
    })
    const { links, data } = dataOf(read).payload as { links: { self: string }; data: { check: unknown } }
    const { self } = links
    const check = await send('GET', new URL(self).pathname)
    t.equal(check.status, 200, 'the link leads to the check')
    t.same(dataOf(check), data.check)
    const other = await calling.anotherOrganization()
    t.equal((await send('GET', new URL(self).pathname, { key: other.testKey })).status, 404)

    await deps.db
      .insertInto('callingProfiles')
      .values({
        organizationId: owner.organizationId,
        enforcedAt: 1,
        enforcedReason: 'complaints',
        windowStartMinute: null,
        windowEndMinute: null,
        agentCallsTest: null,
        agentCallsLive: null,
        ratePaisePerMinute: null,
      })
      .execute()
    const stopped = await send('POST', '/v1/calls', { json: { to: TO, numberId: calling.numberId } })
    t.match(errorOf(stopped), {
      code: 'blocked_opt_out',
      details: { checkType: 'enforcement', nextAllowedAt: null },
    })
    await calling.close()
  })

  await t.test('one Idempotency-Key, one call', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, control, deps } = calling
    await calling.publishAgent()
    const request = { json: { to: TO, numberId: calling.numberId }, headers: { 'idempotency-key': 'k1' } }
    const first = await send('POST', '/v1/calls', request)
    const second = await send('POST', '/v1/calls', request)
    t.equal(first.status, 201)
    t.equal(second.status, 201)
    t.equal(second.headers.get('idempotency-replayed'), 'true')
    t.same(second.body, first.body)
    t.equal(control.dialled.length, 1)
    const different = await send('POST', '/v1/calls', {
      ...request,
      json: { ...request.json, to: '+919876543211' },
    })
    t.equal(errorOf(different).code, 'idempotency_key_reused_with_different_params')

    const racing = { ...request, headers: { 'idempotency-key': 'k2' } }
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('POST', '/v1/calls', racing)))
    t.equal(control.dialled.length, 2, 'a storm of the same request dials once')
    t.ok(answers.every(({ status }) => status === 201 || status === 409))

    // The process died after the commit and the response was lost. The retry finds the call that was placed.
    await deps.db
      .updateTable('idempotencyKeys')
      .set({ state: 'free', status: null, response: null })
      .execute()
    const retried = await send('POST', '/v1/calls', request)
    t.equal(retried.status, 201)
    t.equal(dataOf(retried).id, dataOf(first).id)
    t.equal(control.dialled.length, 2, 'and does not dial again')
    await calling.close()
  })

  await t.test('parallel placements never exceed the pool', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, control, owner, deps, clock } = calling
    await calling.publishAgent()
    const place = () => send('POST', '/v1/calls', { json: { to: TO, numberId: calling.numberId } })
    const answers = await Promise.all(Array.from({ length: 20 }, place))
    const placed = answers.filter(({ status }) => status === 201)
    const full = answers.filter(({ status }) => status === 429)
    t.equal(placed.length, 5)
    t.equal(full.length, 15)
    t.equal(control.dialled.length, 5)
    for (const answer of full) {
      t.match(errorOf(answer), {
        code: 'concurrent_call_limit_reached',
        details: { pool: 'agentCalls', inUse: 5, limit: 5 },
      })
    }
    const [ended] = placed
    t.ok(ended)
    if (ended !== undefined) {
      await calling.emitCallEvent(String(dataOf(ended).id), {
        type: 'ended',
        ending: { by: 'callee', cause: 'busy', fault: 'none', sip: 486 },
        rtp: null,
        recording: null,
      })
    }
    t.equal((await place()).status, 201, 'an ended call gives its slot back')
    t.equal((await place()).status, 429)
    t.equal(errorOf(await place()).details.limit, 5)

    clock.advance(2 * 3_600_000)
    const holder = { callId: 'call_x', nodeId: 'node-1' }
    t.equal(
      await takeSlot(deps.db, owner, 'agentCalls', holder, clock.wall()),
      null,
      'slots older than two hours do not count',
    )
    await calling.close()
  })

  await t.test('a dial that fails at once ends the call', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, control, deps } = calling
    await calling.publishAgent()
    control.failure = new EngineError('overloaded', 'no worker has room')
    const placed = await send('POST', '/v1/calls', { json: { to: TO, numberId: calling.numberId } })
    t.equal(placed.status, 201)
    t.match(dataOf(placed), {
      status: 'ended',
      disposition: 'failed',
      endedReason: 'pool_full',
      durationSeconds: 0,
      error: 'no worker has room',
    })
    t.same(await deps.db.selectFrom('callSlots').selectAll().execute(), [])
    t.same(
      itemsOf(await send('GET', '/v1/events'))
        .map((event) => event.type)
        .sort(),
      ['call.completed', 'call.failed', 'call.initiated'],
    )
    await calling.close()
  })
})
