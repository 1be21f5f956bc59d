import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../fixtures/api/live-models.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { settle } from '../../fixtures/host/settle.js'
import { until } from '../../fixtures/host/until.js'
import { RandomTransfers } from '../../fixtures/rigs/random-transfers.js'
import { silentLog } from '../../media/base/log.js'
import { WALLET_EXHAUSTED } from '../../signalling/call/ending.js'
import { isRefusal } from '../api/problem.js'
import { RATES } from '../billing/rating.js'
import { settleAbandonedCalls } from '../calls/lifecycle/abandoned.js'
import { openLeases } from '../calls/lifecycle/leases.js'
import { openAdmission } from '../calls/placement/admission.js'
import { placeCall } from '../calls/placement/place-call.js'
import { CHECK_TYPES } from '../compliance/check.js'
import { clearDial } from '../compliance/clearance.js'
import { parseTrunkFile } from '../config/trunk-file.js'
import type { Trx } from '../db/database.js'
import { loadTrunks } from '../trunks/load-trunks.js'
import { extendCallHolds } from './call-billing.js'
import { hold } from './ledger.js'
import { readWallet } from './store.js'

const NUMBER = '+911171366900'
const PERSON = '+919876543210'
/** Calls with transfers that a seed decides. */
const RANDOM_CALLS = 21
/** Price of a minute over an own trunk. */
const RATE = 450
const TRUNK = {
  name: 'carrier',
  gateway: { host: '127.0.0.1', port: 5060 },
  inbound: { auth: 'ip_acl', addresses: ['192.0.2.1'] },
  maxConcurrent: 5,
  numbers: [{ e164: NUMBER }],
}
const HUNG_UP = {
  type: 'ended',
  ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
  rtp: null,
  recording: null,
} as const

/** A live number on a trunk that an agent answers, and what a test asks of its calls and its wallet. */
async function openLiveNumber(calling: TestCalling) {
  const { deps, clock, folder } = calling
  const { db, rootKey, nodeId } = deps
  const file = parseTrunkFile(JSON.stringify({ trunks: [TRUNK] }), 'trunks.json', {})
  await loadTrunks({ db, rootKey, clock, log: silentLog, filePath: 'trunks.json' }, file)
  const firstAgentId = await calling.publishAgent(LIVE_MODELS)
  await db.updateTable('numbers').set({ agentId: firstAgentId }).where('e164', '=', NUMBER).execute()
  const { organizationId, id, sipTrunkId } = await db
    .selectFrom('numbers')
    .selectAll()
    .where('e164', '=', NUMBER)
    .executeTakeFirstOrThrow()
  await readyForLive(db, organizationId, [NUMBER], clock.wall())
  const providers = deps.settings.providers
  const admission = openAdmission({ ...deps, log: silentLog, folder, providers })
  return {
    organizationId,
    fund: (paise: number) => addFunds(db, organizationId, paise, clock.wall()),
    wallet: async () => {
      const { balancePaise, heldPaise } = await readWallet(db, organizationId, clock.wall())
      return [balancePaise, heldPaise]
    },
    entries: () =>
      db
        .selectFrom('ledgerEntries')
        .select(['type', 'amountPaise', 'referenceId', 'agentId', 'description'])
        .where('type', '=', 'call')
        .orderBy('seq')
        .execute(),
    dial: async (agentId = firstAgentId) => {
      const owner = { organizationId, environment: 'live' } as const
      const wanted = { to: PERSON, numberId: id, agentId, variables: {}, metadata: {}, idempotencyId: null }
      const call = await placeCall(deps, owner, wanted)
      return isRefusal(call) ? call.code : call.id
    },
    ring: () =>
      admission.admit({
        sipCallId: 'abc',
        to: NUMBER,
        from: PERSON,
        sourceAddress: '192.0.2.1',
        sourcePort: 5060,
        transport: 'udp',
        trunkId: sipTrunkId,
        ticket: null,
        alternateTo: [],
        assertedIdentity: null,
        isPrivate: false,
      }),
    call: (callId: string) =>
      db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirstOrThrow(),
    extend: async () => {
      const calls = await db.selectFrom('calls').select('id').execute()
      return extendCallHolds(db, nodeId, new Set(calls.map(({ id }) => id)), clock.wall())
    },
  }
}

await onEachDialect(t, async (t, open) => {
  const start = async () => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    return { calling, clock: calling.clock, live: await openLiveNumber(calling) }
  }

  await t.test(
    'an outbound call holds twelve rupees, then more each minute, and is charged at its end',
    async (t) => {
      const { calling, clock, live } = await start()
      await live.fund(5_000)
      const callId = await live.dial()
      t.same(await live.wallet(), [5_000, 1_200])
      clock.advance(20_000)
      t.same(await live.extend(), [], 'an unanswered call needs no more')
      await calling.emitCallEvent(callId, { type: 'answered' })
      const held: unknown[] = []
      for (let minute = 0; minute < 4; minute++) {
        t.same(await live.extend(), [])
        held.push((await live.wallet())[1])
        clock.advance(60_000)
      }
      // One more minute than has passed, and never less than the first hold.
      t.same(held, [1_200, 1_200, 3 * RATE, 4 * RATE])
      clock.advance(500)
      await calling.emitCallEvent(callId, HUNG_UP)
      const charged = Math.ceil((241 * RATE) / 60)
      t.same(await live.wallet(), [5_000 - charged, 0])
      t.match(await live.entries(), [{ amountPaise: -charged, referenceId: callId, agentId: /^agt_/ }])
      t.equal((await live.call(callId)).billedPaise, charged)
      await calling.close()
    },
  )

  await t.test(
    'whatever happens to transfers: one charge for the agent, and one from the bridge on',
    async (t) => {
      const { calling, clock, live } = await start()
      await live.fund(100_000)
      let [bridges, confirmed] = [0, 0]
      for (let seed = 1; seed <= RANDOM_CALLS; seed++) {
        const random = new RandomTransfers(seed)
        await random.run()
        const [before] = await live.wallet()
        const callId = await live.dial()
        await calling.emitCallEvent(callId, { type: 'answered' })
        let atMs = 0
        const pass = (toMs: number) => {
          clock.advance(toMs - atMs)
          atMs = toMs
        }
        for (const { atMs: stepMs, ...event } of random.events) {
          pass(stepMs)
          const details = {
            ...{ id: `xfr_${seed}_${event.attempt}`, destinationId: 'tdst_1', label: 'Desk', trigger: 'api' },
            ...{ reason: null, ratePaisePerMinute: RATES.personOverOwnTrunk },
          }
          await calling.emitCallEvent(callId, event.status === 'accepted' ? { ...event, details } : event)
        }
        pass(random.endedAtMs)
        await calling.emitCallEvent(callId, HUNG_UP)
        const bridge = random.events.find(({ status }) => status === 'bridged')
        // A bridge on early media counts from its answer, if one is reported.
        const answered = random.events.findLast(
          ({ status, attempt }) => status === 'answered' && attempt === bridge?.attempt,
        )
        const bridgedAt = bridge === undefined ? null : Math.max(bridge.atMs, answered?.atMs ?? 0)
        if (bridgedAt !== null) bridges++
        if (bridgedAt !== null && bridgedAt !== bridge?.atMs) confirmed++
        const line = (kind: string, fromMs: number, toMs: number, ratePaisePerMinute: number) => {
          const seconds = Math.ceil((toMs - fromMs) / 1000)
          const amountPaise = Math.ceil((seconds * ratePaisePerMinute) / 60)
          return { kind, seconds, ratePaisePerMinute, amountPaise }
        }
        const charges = [
          line('agent', 0, bridgedAt ?? atMs, RATE),
          ...(bridgedAt === null ? [] : [line('human', bridgedAt, atMs, RATES.personOverOwnTrunk)]),
        ].filter(({ seconds }) => seconds > 0)
        const billed = charges.reduce((sum, { amountPaise }) => sum + amountPaise, 0)
        const stored = JSON.parse((await live.call(callId)).charges) as { seconds: number }[]
        t.same(
          [stored.filter(({ seconds }) => seconds > 0), await live.wallet()],
          [charges, [Number(before) - billed, 0]],
          `seed ${seed}`,
        )
      }
      t.ok(bridges > 2 && bridges < RANDOM_CALLS && confirmed > 0, `${bridges} bridges, ${confirmed} late`)
      await calling.close()
    },
  )

  await t.test('nobody is called to a call whose next minute the wallet does not cover', async (t) => {
    const { calling, clock, live } = await start()
    const { db } = calling.deps
    const { organizationId } = live
    const e164 = '+919876500001'
    const json = { key: 'desk', label: 'Desk', e164 }
    const made = await calling.send('POST', '/v1/transfer-destinations', { json })
    const destinationId = String(dataOf(made).id)
    await db
      .insertInto('destinationVerifications')
      .values({
        ...{ destinationId, organizationId, e164, environment: 'live', verifiedAt: clock.wall() },
        ...{ codeHash: null, codeExpiresAt: null, attemptsLeft: 0, lastCallAt: null },
      })
      .execute()
    const transfer = { defaultDestinationId: destinationId, destinations: [{ destinationId }] }
    const agentId = await calling.publishAgent({ ...LIVE_MODELS, callSettings: { transfer } })
    await db.updateTable('numbers').set({ agentId }).where('e164', '=', NUMBER).execute()
    await live.fund(1_200)
    const callId = await live.dial(agentId)
    await calling.emitCallEvent(callId, { type: 'answered' })
    const ask = () =>
      calling.desk.ask(callId, {
        ...{ trigger: 'api', destination: null, handoff: null, note: null, reason: null },
      })
    clock.advance(140_000)
    t.match(await ask(), { accepted: true }, '1,050 paise for the agent and 150 for the person')
    clock.advance(1_000)
    t.match(await ask(), { accepted: false, refusal: 'insufficient_funds' })
    t.equal(calling.control.transfers.length, 1)
    await live.fund(8)
    t.match(await ask(), { accepted: true })
    await calling.close()
  })

  await t.test('from the bridge on the hold grows at the price of the person', async (t) => {
    const { calling, clock, live } = await start()
    await live.fund(5_000)
    const callId = await live.dial()
    await calling.emitCallEvent(callId, { type: 'answered' })
    const step = {
      type: 'transfer',
      attempt: 1,
      mode: 'screened',
      destination: 'xfr_1',
      outcome: null,
    } as const
    const details = {
      id: 'xfr_1',
      destinationId: 'tdst_1',
      label: 'Front desk',
      trigger: 'api',
      reason: null,
    }
    clock.advance(90_000)
    await calling.emitCallEvent(
      callId,
      { ...step, status: 'accepted', details: { ...details, ratePaisePerMinute: RATES.person } },
      { ...step, status: 'answered' },
      { ...step, status: 'bridged' },
    )
    const held: unknown[] = []
    for (let minute = 0; minute < 4; minute++) {
      t.same(await live.extend(), [])
      held.push((await live.wallet())[1])
      clock.advance(60_000)
    }
    // 90 seconds with the agent, then the person until the end of the minute that begins.
    const agent = 1.5 * RATE
    t.same(
      held,
      [30, 90, 150, 210].map((seconds) => Math.max(1_200, agent + (seconds / 60) * RATES.person)),
    )
    await calling.emitCallEvent(callId, HUNG_UP)
    t.same(await live.wallet(), [5_000 - agent - 4 * RATES.person, 0])
    await calling.close()
  })

  await t.test('an unanswered call costs nothing', async (t) => {
    const { calling, live } = await start()
    await live.fund(5_000)
    const callId = await live.dial()
    await calling.emitCallEvent(callId, {
      ...HUNG_UP,
      ending: { by: 'callee', cause: 'busy', fault: 'none' },
    })
    t.same(await live.wallet(), [5_000, 0])
    t.same(await live.entries(), [])
    await calling.close()
  })

  await t.test('calls that are placed at once share the balance', async (t) => {
    const { calling, live } = await start()
    await live.fund(3_000)
    const calls = await Promise.all(Array.from({ length: 4 }, () => live.dial()))
    t.equal(calls.filter((outcome) => outcome === 'insufficient_funds').length, 2)
    t.same(await live.wallet(), [3_000, 2_400])
    await calling.close()
  })

  await t.test('the gate decides again if the money was taken before it was held', async (t) => {
    const { calling, clock, live } = await start()
    await live.fund(2_400)
    const { db } = calling.deps
    const { organizationId } = live
    const request = (callId: string) => ({
      ...{ organizationId, callId, from: NUMBER, agentId: null, agentVersionId: null, paid: true },
      gate: { to: PERSON, environment: 'live', purpose: 'service', trigger: 'call' } as const,
    })
    let decisions = 0
    const take = async (trx: Trx, paise: number) => {
      decisions++
      await hold(trx, organizationId, { type: 'call', id: 'call_other' }, paise, clock.wall())
    }
    const stored = async () => [
      (await db.selectFrom('evidence').select('seq').orderBy('seq').execute()).map(({ seq }) => seq),
      (await db.selectFrom('checks').select('id').execute()).length,
    ]
    const cleared = await clearDial(calling.deps, request('call_a'), async (trx) => {
      if (decisions === 0) await take(trx, 2_000)
      else decisions++
    })
    t.match(cleared, { cleared: true })
    t.equal(decisions, 2)
    t.same(await live.wallet(), [2_400, 1_200])
    t.same(await stored(), [[1], CHECK_TYPES.length], 'the first decision left nothing')
    decisions = 0
    const failed = clearDial(calling.deps, request('call_b'), (trx) => take(trx, 1_200))
    await t.rejects(failed, { code: 'internal' })
    t.equal(decisions, 4)
    t.same(await live.wallet(), [2_400, 1_200])
    t.same(await stored(), [[1], CHECK_TYPES.length])
    await calling.close()
  })

  await t.test('an inbound call without funds is refused as busy, and stored', async (t) => {
    const { calling, live } = await start()
    const refused = await live.ring()
    t.match(refused, { admit: false, sip: 486, cause: 'insufficient_funds' })
    const { callId } = refused as { callId: string }
    t.match(await live.call(callId), {
      status: 'ended',
      disposition: 'failed',
      endedReason: 'insufficient_funds',
      billedPaise: 0,
    })
    t.same(await calling.deps.db.selectFrom('callSlots').selectAll().execute(), [])
    await live.fund(1_200)
    t.match(await live.ring(), { admit: true })
    t.same(await live.wallet(), [1_200, 1_200])
    await calling.close()
  })

  await t.test('a call uses the wallet to the last second, and ends then', async (t) => {
    const { calling, clock, live } = await start()
    const { deps, control } = calling
    await live.fund(1_300)
    const callId = await live.dial()
    await calling.emitCallEvent(callId, { type: 'answered' })
    const answeredAt = clock.wall()
    t.same(await live.extend(), [])
    clock.advance(45_000)
    t.same(await live.extend(), [], 'two minutes are held from the beginning')
    clock.advance(59_999)
    t.same(await live.extend(), [])
    t.same(await live.wallet(), [1_300, 1_200])
    clock.advance(1)
    // 173 s cost 1,298 paise. The BYE and its answer take a moment.
    const paidUntil = answeredAt + 172_700
    t.same(await live.extend(), [{ id: callId, paidUntil }], '15 s before the end of the second minute')
    t.same(await live.wallet(), [1_300, 1_300], 'the rest of the wallet is held')
    t.same(await live.extend(), [], 'nothing to do until 15 s before the end')

    let looks = 0
    control.wordsMs = () => {
      looks++
      return 2_000
    }
    clock.advance(paidUntil - 15_000 - clock.wall())
    const leases = openLeases({
      ...{ db: deps.db, clock, log: silentLog, nodeId: deps.nodeId, calls: control },
      unstored: () => [],
    })
    // The node that runs the call looks once a second, and ends it between two looks.
    for (let look = 1; look <= 12; look++) {
      clock.advance(1_000)
      await until(() => looks === look)
    }
    await settle()
    clock.advance(999)
    t.same(control.finished, [])
    clock.advance(1)
    t.same(control.finished, [{ callId, line: null, ending: WALLET_EXHAUSTED }])
    t.equal(clock.wall(), paidUntil - 2_000, 'before the time of its last words')
    await leases.close()
    clock.advance(2_200)
    await calling.emitCallEvent(callId, {
      ...HUNG_UP,
      ending: { by: 'engine', cause: 'wallet_exhausted', fault: 'customer' },
    })
    t.same(await live.wallet(), [2, 0], 'less than the price of a second is left')
    t.match(await live.call(callId), { disposition: 'answered', endedReason: 'wallet_exhausted' })
    t.same(await live.extend(), [])
    await calling.close()
  })

  await t.test('money that comes in the last minute lets a call go on', async (t) => {
    const { calling, clock, live } = await start()
    await live.fund(1_300)
    const callId = await live.dial()
    await calling.emitCallEvent(callId, { type: 'answered' })
    const answeredAt = clock.wall()
    clock.advance(105_000)
    t.match(await live.extend(), [{ id: callId }])
    await live.fund(5_000)
    clock.advance(172_700 - 105_000 - 15_000)
    t.same(await live.extend(), [])
    t.same(await live.wallet(), [6_300, 3 * RATE])
    clock.advance(answeredAt + 200_000 - clock.wall())
    await calling.emitCallEvent(callId, HUNG_UP)
    t.same(await live.wallet(), [6_300 - (200 * RATE) / 60, 0])
    await calling.close()
  })

  await t.test('calls that end together share the rest of the wallet', async (t) => {
    const { calling, clock, live } = await start()
    await live.fund(2_500)
    const calls = [await live.dial(), await live.dial()]
    for (const id of calls) await calling.emitCallEvent(id, { type: 'answered' })
    const answeredAt = clock.wall()
    clock.advance(105_000)
    const ends = (await live.extend()).map(({ paidUntil }) => paidUntil - answeredAt)
    // 1,300 paise and 1,200.
    t.same(ends.sort(), [159_700, 172_700])
    t.same(await live.wallet(), [2_500, 2_500])
    clock.advance(40_000)
    t.match(
      await live.extend(),
      [{ paidUntil: answeredAt + 159_700 }],
      'nothing is taken from the other call',
    )
    t.same(await live.wallet(), [2_500, 2_500])
    await calling.close()
  })

  await t.test('after a crash the hold is replaced by the charge of the time that is known', async (t) => {
    const { calling, clock, live } = await start()
    await live.fund(5_000)
    const talked = await live.dial()
    await calling.emitCallEvent(talked, { type: 'answered' })
    const rang = await live.dial()
    clock.advance(30_000)
    await calling.emitCallEvent(talked, { type: 'held', on: false })
    clock.advance(1_000)
    t.same(await live.wallet(), [5_000, 2_400])
    const { deps, folder } = calling
    const settle = () =>
      settleAbandonedCalls({ ...deps, folder, now: clock.wall() + 3_600_000, owned: new Set() })
    t.equal(await settle(), 2)
    t.equal(await settle(), 0)
    t.same(await live.wallet(), [5_000 - RATE / 2, 0])
    t.match(await live.entries(), [{ referenceId: talked, amountPaise: -RATE / 2 }])
    t.equal((await live.call(rang)).billedPaise, 0)
    await calling.close()
  })
})
