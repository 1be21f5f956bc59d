import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { silentLog } from '../../../media/base/log.js'
import type { InboundInvite } from '../../../signalling/call/ports.js'
import { insertNumber } from '../../numbers/store.js'
import { isLoopback, openAdmission } from './admission.js'

function directoryOf(calling: TestCalling) {
  const { deps, folder } = calling
  return openAdmission({ ...deps, log: silentLog, folder, providers: { openai: null } })
}

const invite = (more: Partial<InboundInvite> = {}): InboundInvite => ({
  sipCallId: 'abc',
  to: '+919000000100',
  from: '+919876543210',
  sourceAddress: '127.0.0.1',
  sourcePort: 5062,
  transport: 'udp',
  trunkId: null,
  ticket: null,
  alternateTo: [],
  assertedIdentity: null,
  isPrivate: false,
  ...more,
})

t.test('loopback in every notation', async (t) => {
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', '::ffff:127.0.0.1'])
    t.ok(isLoopback(address), address)
  for (const address of [
    '128.0.0.1',
    '10.0.0.1',
    '::2',
    '::ffff:10.0.0.1',
    '127.0.0.1.example',
    '',
    '0.0.0.0',
  ]) {
    t.notOk(isLoopback(address), address)
  }
})

await onEachDialect(t, async (t, open) => {
  await t.test('a call to a number with a published agent is admitted, with its row', async (t) => {
    const calling = await openTestCalling(await open())
    const agentId = await calling.publishAgent({
      callSettings: { openingLine: { text: 'Out' }, inboundOpeningLine: { text: 'Hello {{callerNumber}}' } },
    })
    const admission = await directoryOf(calling).admit(invite({ to: '9000000100', from: '09876543210' }))
    t.match(admission, {
      admit: true,
      party: { kind: 'agent', agent: { agentId, openingLine: 'Hello +919876543210' } },
      codecs: null,
    })
    if (admission.admit !== true) return
    t.equal(admission.recordTo, `${calling.folder}/${admission.callId}.wav`)
    const call = dataOf(await calling.send('GET', `/v1/calls/${admission.callId}`))
    t.match(call, {
      direction: 'inbound',
      status: 'initiated',
      from: '+919876543210',
      to: '+919000000100',
      agentId,
      agentVersion: 1,
      complianceRunId: null,
      evidenceId: null,
    })
    t.match(itemsOf(await calling.send('GET', '/v1/events')), [
      { type: 'call.initiated', subjectId: call.id },
    ])
    await calling.emitCallEvent(admission.callId, { type: 'answered' })
    t.equal(dataOf(await calling.send('GET', `/v1/calls/${call.id}`)).status, 'in_progress')
    await calling.close()
  })

  await t.test('a call that arrives proves the routing', async (t) => {
    const calling = await openTestCalling(await open())
    await calling.publishAgent()
    for (const inbound of ['pending', 'error'] as const) {
      const { db } = calling.deps
      await db.updateTable('numbers').set({ inbound }).where('id', '=', calling.numberId).execute()
      t.match(await directoryOf(calling).admit(invite()), { admit: true }, inbound)
    }
    await calling.close()
  })

  await t.test('rejected callers', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps, owner } = calling
    const directory = directoryOf(calling)
    const refused = async (sip: number, name: string, more: Partial<InboundInvite> = {}) => {
      t.match(await directory.admit(invite(more)), { admit: false, sip }, name)
    }
    await refused(404, 'a number without agent')
    const draft = dataOf(await calling.send('POST', '/v1/agents', { json: { name: 'D', systemPrompt: 'x' } }))
    await calling.send('PATCH', `/v1/numbers/${calling.numberId}`, { json: { agentId: draft.id } })
    await refused(404, 'an agent never published')
    await calling.publishAgent()
    await refused(404, 'an unknown number', { to: '+919000000101' })
    for (const to of ['', 'alice', "' or 1=1 --", '\u0000', '+919000000100x']) await refused(404, to, { to })
    for (const sourceAddress of ['10.0.0.5', '203.0.113.9', '::ffff:192.168.1.1', '']) {
      await refused(403, `from ${sourceAddress}`, { sourceAddress })
    }
    await insertNumber(
      deps.db,
      {
        ...owner,
        environment: 'live',
        e164: '+911171366900',
        label: 'L',
        provider: 'x',
        region: 'DL',
        numberType: 'landline',
      },
      0,
    )
    await refused(403, 'a live number, even from here', { to: '+911171366900' })
    await deps.db
      .updateTable('numbers')
      .set({ inbound: 'disabled' })
      .where('id', '=', calling.numberId)
      .execute()
    await refused(404, 'inbound calling switched off')
    await deps.db
      .updateTable('numbers')
      .set({ inbound: 'ready' })
      .where('id', '=', calling.numberId)
      .execute()
    await deps.db
      .insertInto('callingProfiles')
      .values({
        organizationId: owner.organizationId,
        enforcedAt: 1,
        enforcedReason: null,
        windowStartMinute: null,
        windowEndMinute: null,
        agentCallsTest: null,
        agentCallsLive: null,
        ratePaisePerMinute: null,
      })
      .execute()
    t.same(await deps.db.selectFrom('calls').selectAll().execute(), [])
    await refused(403, 'the kill switch')
    t.match(
      await deps.db.selectFrom('calls').selectAll().execute(),
      [{ direction: 'inbound', status: 'ended', disposition: 'failed', endedReason: 'gate_blocked' }],
      'the owner sees what was refused',
    )
    t.same(await deps.db.selectFrom('callSlots').selectAll().execute(), [])
    await calling.close()
  })

  await t.test('a full pool answers busy and stores the call', async (t) => {
    const calling = await openTestCalling(await open())
    await calling.publishAgent()
    const directory = directoryOf(calling)
    const admissions = await Promise.all(
      Array.from({ length: 8 }, (_, i) => directory.admit(invite({ sipCallId: `c${i}` }))),
    )
    t.equal(admissions.filter((admission) => admission.admit).length, 5)
    const refusals = admissions.filter((admission) => !admission.admit)
    for (const refusal of refusals) t.match(refusal, { sip: 486, cause: 'pool_full' })
    const ended = itemsOf(await calling.send('GET', '/v1/calls?status=ended'))
    t.equal(ended.length, 3)
    for (const call of ended) {
      t.match(call, { direction: 'inbound', disposition: 'failed', endedReason: 'pool_full', billedPaise: 0 })
    }
    await calling.close()
  })

  await t.test('a caller identity that is not a number is stored as sent', async (t) => {
    const calling = await openTestCalling(await open())
    await calling.publishAgent()
    const directory = directoryOf(calling)
    for (const [from, shown] of [
      ['', 'anonymous'],
      ['alice', 'alice'],
      ['a\u0000b\u202e', 'ab'],
      ['x'.repeat(500), 'x'.repeat(64)],
    ] as const) {
      const admission = await directory.admit(invite({ from }))
      t.ok(admission.admit)
      if (admission.admit)
        t.equal(dataOf(await calling.send('GET', `/v1/calls/${admission.callId}`)).from, shown)
    }
    await calling.close()
  })
})
