import { createHmac } from 'node:crypto'
import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { signInMember } from '../../../fixtures/api/signed-in.js'
import { CARRIER_RIGS } from '../../../fixtures/carriers/carrier-rigs.js'
import { ScriptedCarrier } from '../../../fixtures/carriers/scripted-carrier.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { addFunds } from '../../../fixtures/database/funds.js'
import { newId } from '../../../media/base/ids.js'
import { failed, ok } from '../../carriers/carrier.js'
import { insertNumber } from '../../numbers/store.js'
import { holdForCall } from '../../wallet/call-billing.js'
import { readWallet } from '../../wallet/store.js'
import { insertCall } from '../store.js'
import { carrierRecordHandler } from './carrier-record.js'

/* The carrier's record of a bridge decides whether the person is paid for. */

const NUMBER = '+918047100001'
const LEG = 'leg-to-the-person'

/** A call of 90 s and a bridge of `bridgedMs`. `takenBy` has it for the 30 s before the bridge. */
async function openBridge(
  calling: TestCalling,
  provider: string,
  {
    reportsAnswer = true,
    takenBy = null,
    bridgedMs = 30_000,
    answersAfterMs = null,
  }: {
    readonly reportsAnswer?: boolean
    readonly takenBy?: string | null
    readonly bridgedMs?: number
    /** The carrier reports the answer after all, this long after the early media. Null never does. */
    readonly answersAfterMs?: number | null
  } = {},
) {
  const { deps, clock, api } = calling
  const { db } = deps
  const { organizationId } = calling.owner
  const owner = { organizationId, environment: 'live' } as const
  const more = { e164: NUMBER, label: 'Live', provider, region: 'KA', numberType: 'landline' }
  const number = await insertNumber(db, { ...owner, ...more }, clock.wall())
  if (number === null) throw new Error('the number is taken')
  await addFunds(db, organizationId, 10_000, clock.wall())
  const callId = newId('call', clock.wall())
  await db.transaction().execute(async (trx) => {
    const noAgent = { agentId: null, agentVersion: null, agentVersionId: null }
    const numbers = { fromNumber: '+919812345678', toNumber: NUMBER, numberId: number.id }
    await insertCall(
      trx,
      {
        ...{ id: callId, ...owner, ...numbers, ...noAgent },
        ...{ direction: 'inbound', routingMode: 'svc_agent', purpose: 'service', nodeId: 'node-1' },
        ...{ variables: {}, metadata: {}, complianceRunId: null, evidenceId: null, idempotencyId: null },
      },
      clock.wall(),
    )
    await holdForCall(trx, { id: callId, ...owner }, clock.wall())
  })
  const transferId = newId('xfr', clock.wall())
  const step = {
    type: 'transfer',
    attempt: 1,
    mode: 'blind',
    destination: transferId,
    outcome: null,
  } as const
  await calling.emitCallEvent(callId, { type: 'answered' })
  if (takenBy !== null) {
    const startedAt = clock.wall() + 30_000
    const taken = { userId: takenBy, mode: 'takeover', place: null, outcome: 'given_back' } as const
    await db
      .insertInto('callMonitors')
      .values({
        ...{ id: newId('mon', clock.wall()), ...owner, callId, ...taken },
        ...{ createdAt: clock.wall(), startedAt, endedAt: startedAt + 30_000 },
      })
      .execute()
  }
  clock.advance(90_000)
  await calling.emitCallEvent(
    callId,
    {
      ...step,
      status: 'accepted',
      details: {
        ...{ id: transferId, destinationId: 'tdst_gone', label: 'Desk', trigger: 'api', reason: null },
        ratePaisePerMinute: 200,
      },
    },
    { ...step, status: 'ringing' },
    ...(reportsAnswer
      ? ([
          { ...step, status: 'answered', sipCallId: LEG },
          { ...step, status: 'bridged' },
        ] as const)
      : [{ ...step, status: 'bridged', unconfirmed: true, sipCallId: LEG } as const]),
  )
  if (answersAfterMs !== null) {
    clock.advance(answersAfterMs)
    await calling.emitCallEvent(callId, { ...step, status: 'answered', sipCallId: LEG })
  }
  clock.advance(bridgedMs)
  const ending = { by: 'callee', cause: 'transfer_completed', fault: 'none' } as const
  await calling.emitCallEvent(callId, { type: 'ended', ending, rtp: null, recording: null })
  const handler = carrierRecordHandler(deps)
  const jobs = () =>
    db
      .selectFrom('jobs')
      .select(['id', 'dueAt', 'payload'])
      .where('kind', '=', 'carrier-record')
      .orderBy('id')
      .execute()
  return {
    callId,
    endedAt: clock.wall(),
    jobs,
    /** Runs the job once. Returns the delay of the next question (ms), or null. */
    async look(payload = callId) {
      const job = { payload } as Parameters<typeof handler.run>[0]
      const end = await handler.run(job)
      const again = (await (end as (trx: unknown) => Promise<number | null>)(null)) ?? null
      return again === null ? null : again - clock.wall()
    },
    call: async () => dataOf(await api.send('GET', `/v1/calls/${callId}`, { key: api.liveKey })),
    events: async () => {
      const rows = await db.selectFrom('events').select('type').orderBy('id').execute()
      return rows.map(({ type }) => type).filter((type) => type.startsWith('call.transfer'))
    },
    balance: async () => (await readWallet(db, organizationId, clock.wall())).balancePaise,
  }
}

const CHARGES = [
  { kind: 'agent', seconds: 90, amountPaise: 750 },
  { kind: 'human', seconds: 30, amountPaise: 100 },
]

await onEachDialect(t, async (t, open) => {
  await t.test('a carrier that never reports the answer: its record alone decides', async (t) => {
    for (const answered of [true, false]) {
      const carrier = new ScriptedCarrier('scripted')
      const calling = await openTestCalling(await open(), { carriers: () => [carrier] })
      const bridge = await openBridge(calling, 'scripted', { reportsAnswer: false })
      t.same(await bridge.events(), ['call.transfer_started'], 'signalling alone proves no answer')
      t.match(await bridge.call(), { charges: CHARGES, transfer: { answeredAt: null } })
      carrier.recordAnswer = ok({ answered })
      t.equal(await bridge.look(), null)
      t.match(carrier.recordsAsked, [{ sipCallId: LEG }])
      t.same(await bridge.events(), ['call.transfer_started', ...(answered ? [] : ['call.transfer_failed'])])
      t.match(await bridge.call(), {
        charges: answered ? CHARGES : [{ kind: 'agent' }],
        transfer: { status: answered ? 'completed' : 'failed' },
      })
      await calling.close()
    }
  })

  await t.test('early media that is answered later: the person is paid for from the answer on', async (t) => {
    const carrier = new ScriptedCarrier('scripted')
    const calling = await openTestCalling(await open(), { carriers: () => [carrier] })
    const bridge = await openBridge(calling, 'scripted', { reportsAnswer: false, answersAfterMs: 12_000 })
    // The caller waits for the answer as at any ringing telephone: the agent's part goes on for 12 s.
    const charges = [{ kind: 'agent', seconds: 102, amountPaise: 850 }, CHARGES[1]]
    const answeredAt = new Date(bridge.endedAt - 30_000).toISOString()
    t.match(await bridge.call(), {
      ...{ billedPaise: 950, humanSeconds: 30, charges },
      transfer: { status: 'completed', answeredAt, bridgedAt: answeredAt, humanSeconds: 30 },
    })
    t.equal(await bridge.balance(), 10_000 - 950)
    t.same(
      await bridge.events(),
      ['call.transfer_started', 'call.transferred'],
      'the answer proves the bridge',
    )
    // Without a record the answer counts.
    t.equal(await bridge.look(), 15_000)
    calling.clock.advance(300_000)
    t.equal(await bridge.look(), null)
    t.match(await bridge.call(), { billedPaise: 950, charges })
    carrier.recordAnswer = ok({ answered: false })
    t.equal(await bridge.look(), null)
    t.match(await bridge.call(), { billedPaise: 850, charges: [charges[0]], transfer: { status: 'failed' } })
    t.equal(await bridge.balance(), 10_000 - 850)
    await calling.close()
  })

  await t.test('a carrier that never reports the answer, without a record: nothing is paid', async (t) => {
    for (const keepsRecords of [true, false]) {
      const carrier = new ScriptedCarrier('scripted')
      const calling = await openTestCalling(await open(), { carriers: () => [carrier] })
      const bridge = await openBridge(calling, keepsRecords ? 'scripted' : 'unknown', {
        reportsAnswer: false,
      })
      t.match(await bridge.call(), { billedPaise: 850, charges: CHARGES })
      if (keepsRecords) {
        t.equal(await bridge.look(), 15_000, 'no record yet')
        t.equal(await bridge.balance(), 10_000 - 850)
        calling.clock.advance(300_000)
      }
      // Another question changes nothing.
      for (let look = 0; look < 2; look++) t.equal(await bridge.look(), null)
      t.match(await bridge.call(), {
        ...{ billedPaise: 750, humanSeconds: 0, charges: [CHARGES[0]] },
        transfer: { status: 'completed', outcome: 'connected', answeredAt: null },
      })
      t.equal(await bridge.balance(), 10_000 - 750)
      t.same(await bridge.events(), ['call.transfer_started'], 'nothing proves that nobody answered')
      // A late record that denies the bridge gives nothing back again.
      carrier.recordAnswer = ok({ answered: false })
      t.equal(await bridge.look(), null)
      t.equal(await bridge.balance(), 10_000 - 750)
      t.match(await bridge.call(), { transfer: { status: keepsRecords ? 'failed' : 'completed' } })
      await calling.close()
    }
  })

  await t.test('a denied bridge: failed, its event, and the charge comes back once', async (t) => {
    const carrier = new ScriptedCarrier('scripted')
    const calling = await openTestCalling(await open(), { carriers: () => [carrier] })
    t.teardown(() => calling.close())
    const bridge = await openBridge(calling, 'scripted')
    t.match(await bridge.call(), { billedPaise: 850, charges: CHARGES, transfer: { status: 'completed' } })
    t.equal(await bridge.balance(), 10_000 - 850)
    t.match(await bridge.jobs(), [{ dueAt: bridge.endedAt + 15_000, payload: bridge.callId }])

    t.equal(await bridge.look(), 15_000, 'no record yet')
    t.match(carrier.recordsAsked, [{ sipCallId: LEG, from: NUMBER, to: '' }])
    calling.clock.advance(15_000)
    carrier.recordAnswer = failed('provider_unavailable', 'no answer')
    t.equal(await bridge.look(), 45_000)
    calling.clock.advance(45_000)
    carrier.recordAnswer = ok({ answered: false })
    t.equal(await bridge.look(), null)
    t.match(await bridge.call(), {
      billedPaise: 750,
      humanSeconds: 0,
      charges: [CHARGES[0]],
      endedReason: 'transfer_completed',
      transfer: { status: 'failed', outcome: 'no_answer' },
    })
    t.equal(await bridge.balance(), 10_000 - 750)
    t.same(await bridge.events(), ['call.transfer_started', 'call.transferred', 'call.transfer_failed'])
    t.equal(await bridge.look(), null)
    t.equal(carrier.recordsAsked.length, 3, 'a failed attempt is not asked about')
    t.equal(await bridge.balance(), 10_000 - 750)
  })

  await t.test('a denied bridge that ended at once leaves no line of a person', async (t) => {
    const carrier = new ScriptedCarrier('scripted')
    const calling = await openTestCalling(await open(), { carriers: () => [carrier] })
    t.teardown(() => calling.close())
    const bridge = await openBridge(calling, 'scripted', { bridgedMs: 0 })
    t.match((await bridge.call()).charges, [CHARGES[0], { kind: 'human', seconds: 0, amountPaise: 0 }])
    carrier.recordAnswer = ok({ answered: false })
    t.equal(await bridge.look(), null)
    const { charges, billedPaise } = await bridge.call()
    t.match([charges, billedPaise], [[CHARGES[0]], 750])
    t.equal((charges as readonly object[]).length, 1)
  })

  await t.test('a denied bridge: what a takeover before it has cost stays', async (t) => {
    const carrier = new ScriptedCarrier('scripted')
    const calling = await openTestCalling(await open(), { carriers: () => [carrier] })
    t.teardown(() => calling.close())
    const { organizationId } = calling.owner
    const { userId } = await signInMember(calling.api, organizationId, 'admin')
    const bridge = await openBridge(calling, 'scripted', { takenBy: userId })
    const agent = { kind: 'agent', seconds: 60, amountPaise: 500 }
    t.match(await bridge.call(), {
      billedPaise: 700,
      humanSeconds: 60,
      charges: [agent, { kind: 'human', seconds: 60, amountPaise: 200 }],
    })
    carrier.recordAnswer = ok({ answered: false })
    for (let look = 0; look < 2; look++) t.equal(await bridge.look(), null)
    t.match(await bridge.call(), {
      billedPaise: 600,
      humanSeconds: 30,
      charges: [agent, { kind: 'human', seconds: 30, ratePaisePerMinute: 200, amountPaise: 100 }],
    })
    t.equal(await bridge.balance(), 10_000 - 600)
    const back = await calling.deps.db
      .selectFrom('ledgerEntries')
      .select('amountPaise')
      .where('organizationId', '=', organizationId)
      .where('type', '=', 'reversal')
      .execute()
    t.same(back, [{ amountPaise: 100 }])
  })

  await t.test('a confirmed bridge, and one that the carrier never records, stay', async (t) => {
    const carrier = new ScriptedCarrier('scripted')
    const calling = await openTestCalling(await open(), { carriers: () => [carrier] })
    t.teardown(() => calling.close())
    const bridge = await openBridge(calling, 'scripted')
    calling.clock.advance(300_000)
    t.equal(await bridge.look(), null, 'the last look-up')
    carrier.recordAnswer = ok({ answered: true })
    t.equal(await bridge.look(), null)
    t.match(await bridge.call(), { billedPaise: 850, transfer: { status: 'completed' } })
    t.equal(await bridge.balance(), 10_000 - 850)
    await calling.deps.db
      .updateTable('numbers')
      .set({ provider: 'another' })
      .where('e164', '=', NUMBER)
      .execute()
    carrier.recordAnswer = ok({ answered: false })
    t.equal(await bridge.look(), null, 'a carrier that is gone is not asked')
    t.match(await bridge.call(), { billedPaise: 850 })
  })

  await t.test('a callback of Vobiz asks at once; forged ones do nothing, doubled ones once', async (t) => {
    const rig = await CARRIER_RIGS.vobiz?.(() => 0)
    if (rig === undefined) throw new Error('no adapter')
    t.teardown(() => rig.api.close())
    const calling = await openTestCalling(await open(), { carriers: () => [rig.carrier] })
    t.teardown(() => calling.close())
    const bridge = await openBridge(calling, 'vobiz')
    const event = JSON.stringify({ CallUUID: 'd4', SIPCallID: LEG, Status: 'completed', Billsec: 0 })
    const post = async (body: string, headers: Record<string, string>, path = 'vobiz') => {
      const answer = await fetch(`${calling.api.url}/v1/carrier-callbacks/${path}`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      })
      return answer.status
    }
    const sign = (body: string) => createHmac('sha256', 'a secret of the tests').update(body).digest('hex')
    t.equal(await post(event, {}), 401, 'unsigned')
    t.equal(await post(event, { 'x-vobiz-signature': sign(`${event} `) }), 401, 'another body')
    t.equal(await post(event, {}, 'vobiz?t=wrong'), 401)
    t.equal(
      await post(
        event,
        { 'x-vobiz-signature': 'wrong' },
        `vobiz?t=${encodeURIComponent('a secret of the tests')}`,
      ),
      401,
    )
    t.equal(await post(event, { 'x-vobiz-signature': sign(event) }, 'nobody'), 404)
    t.equal((await bridge.jobs()).length, 1)
    t.equal(await post(event, { 'x-vobiz-signature': sign(event) }), 200)
    t.equal(await post(event, { 'x-vobiz-signature': sign(event) }), 200, 'a repetition')
    t.match(await bridge.jobs(), [{}, { id: /:callback$/, dueAt: bridge.endedAt, payload: bridge.callId }])
    const unsigned = `vobiz?t=${encodeURIComponent('a secret of the tests')}`
    for (const odd of [
      '[]',
      '<html>',
      '{"SIPCallID":7}',
      '{"SIPCallID":"unknown"}',
      '{"SIPCallID":"\\u0000"}',
    ]) {
      t.equal(await post(odd, {}, unsigned), 200, odd)
    }
    t.equal((await bridge.jobs()).length, 2)
  })
})
