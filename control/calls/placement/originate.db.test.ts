import t from 'tap'
import { openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { addFunds } from '../../../fixtures/database/funds.js'
import { readyForLive } from '../../../fixtures/database/ready-for-live.js'
import { silentLog } from '../../../media/base/log.js'
import type { AdmissionDecision, InboundInvite } from '../../../signalling/call/ports.js'
import type { DndRegister } from '../../api/dnd-register.js'
import { parseTrunkFile } from '../../config/trunk-file.js'
import { loadTrunks } from '../../trunks/load-trunks.js'
import { readWallet } from '../../wallet/store.js'
import { openAdmission } from './admission.js'

/* Calls that the telephone system of a customer asks the service to place. */

const PBX_NUMBER = '+911171366900'
const NUMBER = '+911171366910'
const PERSON = '+919876543210'
/** 11:00 in India. */
const DAYTIME = Date.parse('2026-03-02T05:30:00Z')

const TRUNKS = {
  trunks: [
    {
      name: 'pbx',
      gateway: { host: 'pbx.acme.example' },
      inbound: { auth: 'digest', username: 'pbx', password: 'first' },
      maxConcurrent: 2,
      numbers: [{ e164: PBX_NUMBER }],
    },
    {
      name: 'carrier',
      gateway: { host: 'sip.carrier.example', ringTimeoutSeconds: 30 },
      inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24'] },
      maxConcurrent: 2,
      numbers: [{ e164: NUMBER }],
    },
  ],
}

type Admitted = AdmissionDecision & { readonly admit: true }

async function openPbx(calling: TestCalling) {
  const { deps, clock, folder } = calling
  const { db, rootKey } = deps
  const file = parseTrunkFile(JSON.stringify(TRUNKS), 'trunks.json', {})
  await loadTrunks({ db, rootKey, clock, log: silentLog, filePath: 'trunks.json' }, file)
  await db.updateTable('sipTrunks').set({ allowOrigination: 1 }).where('name', '=', 'pbx').execute()
  const trunk = (name: string) =>
    db.selectFrom('sipTrunks').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
  const { id: trunkId, organizationId } = await trunk('pbx')
  const admission = openAdmission({ ...deps, providers: deps.settings.providers, log: silentLog, folder })
  return {
    organizationId,
    trunk,
    fund: (paise: number) => addFunds(db, organizationId, paise, clock.wall()),
    ready: () => readyForLive(db, organizationId, [NUMBER], clock.wall()),
    wallet: async () => {
      const { balancePaise, heldPaise } = await readWallet(db, organizationId, clock.wall())
      return [balancePaise, heldPaise]
    },
    ask: (more: Partial<InboundInvite> = {}) =>
      admission.admit({
        sipCallId: 'abc',
        to: '09876543210',
        from: '01171366910',
        sourceAddress: '198.51.100.7',
        sourcePort: 5060,
        transport: 'udp',
        trunkId,
        ticket: null,
        alternateTo: [],
        assertedIdentity: null,
        isPrivate: false,
        ...more,
      }),
    calls: () => db.selectFrom('calls').selectAll().orderBy('id').execute(),
    events: async () => {
      const rows = await db.selectFrom('events').select('type').orderBy('id').execute()
      return rows.map(({ type }) => type).filter((type) => /^(call|compliance)\./.test(type))
    },
    slots: async () => (await db.selectFrom('callSlots').select('pool').orderBy('pool').execute()).length,
    set: (change: object) => db.updateTable('numbers').set(change).where('e164', '=', NUMBER).execute(),
  }
}

await onEachDialect(t, async (t, open) => {
  const start = async () => {
    const calling = await openTestCalling(await open(), { wallMs: DAYTIME })
    return { calling, db: calling.deps.db, pbx: await openPbx(calling) }
  }

  await t.test('a stolen password spends the daily budget of the number, and no more', async (t) => {
    const { calling, db, pbx } = await start()
    await pbx.ready()
    await pbx.fund(500_000)
    const setTrunk = (change: object) =>
      db
        .updateTable('sipTrunks')
        .set({ maxConcurrent: 100, ...change })
        .execute()
    await setTrunk({ originationBudgetPaise: 1_000 })
    const mails = async () =>
      (await db.selectFrom('mails').select('fields').execute()).filter(({ fields }) =>
        fields.includes('telephone system of'),
      ).length
    const asked = await Promise.all(Array.from({ length: 9 }, () => pbx.ask()))
    // 150 paise a minute: six calls that may last a minute fit, also of those that arrive at the same time.
    t.equal(asked.filter(({ admit }) => admit).length, 6)
    const refused = asked.find(({ admit }) => !admit)
    t.match(refused, { sip: 403, headers: { 'X-Svc-Code': 'origination_budget_spent' } })
    t.equal((await pbx.slots()) > 0, true)
    const told = await mails()
    t.ok(told > 0, 'customer and staff know')
    t.match(await pbx.ask(), { admit: false })
    t.equal(await mails(), told, 'once a day')

    await setTrunk({ originationBudgetPaise: null })
    t.match(await pbx.ask(), { admit: true }, 'staff can lift the limit')
    await setTrunk({ originationBudgetPaise: 1_000 })
    calling.clock.advance(24 * 3_600_000)
    for (const { id, endedAt } of await pbx.calls()) {
      if (endedAt !== null) continue
      await calling.emitCallEvent(id, {
        type: 'ended',
        ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
        rtp: null,
        recording: null,
      })
    }
    calling.clock.advance(24 * 3_600_000)
    t.match(await pbx.ask(), { admit: true }, 'the next day')
    await calling.close()
  })

  /** Opens a telephone system whose calls ask a register at a fee of 90 paise. A minute of a call costs 150. */
  const startPaid = async (state: 'listed' | 'not_listed', budgetPaise: number) => {
    const asked: string[] = []
    const dndService: DndRegister = {
      name: 'operator-dlt',
      feePaise: 90,
      maxNumbers: 1,
      async lookUp({ e164s }) {
        asked.push(...e164s)
        const answer = { state, category: null, reference: null, validUntil: null } as const
        return new Map(e164s.map((e164) => [e164, answer]))
      },
    }
    const calling = await openTestCalling(await open(), { wallMs: DAYTIME, dndService })
    const { db } = calling.deps
    const pbx = await openPbx(calling)
    await pbx.ready()
    await pbx.fund(500_000)
    await db.updateTable('organizations').set({ senderClassification: 'promotional' }).execute()
    await db
      .updateTable('sipTrunks')
      .set({ maxConcurrent: 100, originationBudgetPaise: budgetPaise })
      .execute()
    let people = 0
    return {
      calling,
      db,
      pbx,
      asked,
      /** Calls another person and returns the code of the refusal. */
      call: async () => {
        const answer = await pbx.ask({ to: `09876543${String(people++).padStart(3, '0')}` })
        return answer.admit ? 'admitted' : answer.headers?.['X-Svc-Code']
      },
    }
  }

  await t.test('the fees of the DND register are spent from the budget as well', async (t) => {
    const { calling, db, pbx, asked, call } = await startPaid('listed', 1_000)
    const mails = async () => {
      const rows = await db.selectFrom('mails').select('fields').orderBy('id').execute()
      const found = rows.flatMap(
        ({ fields }) => /spends much of|has spent its budget/.exec(fields)?.[0] ?? [],
      )
      return [...new Set(found)]
    }
    const codes: (string | undefined)[] = []
    for (let n = 0; n < 3; n++) codes.push(await call())
    t.strictSame(await mails(), ['spends much of'], 'a quarter of the budget went within an hour')
    for (let n = 0; n < 9; n++) codes.push(await call())
    // The fees of ten calls leave less than the price of a minute.
    const refused = Array.from({ length: 12 }, (_, n) =>
      n < 10 ? 'blocked_dnd' : 'origination_budget_spent',
    )
    t.strictSame(codes, refused)
    t.equal(asked.length, 10, 'a spent budget pays for no question')
    t.same(await pbx.wallet(), [500_000 - 10 * 90, 0])
    t.strictSame(await mails(), ['spends much of', 'has spent its budget'])
    calling.clock.advance(24 * 3_600_000)
    t.equal(await call(), 'blocked_dnd', 'the next day has a new budget')
    await calling.close()
  })

  await t.test('a fee also counts when its call does not fit into the budget any more', async (t) => {
    const { calling, db, pbx, asked, call } = await startPaid('not_listed', 200)
    t.equal(await call(), 'origination_budget_spent', 'the fee and a minute cost 240 paise')
    t.equal(await call(), 'origination_budget_spent')
    t.equal(asked.length, 1)
    const [fee] = await db
      .selectFrom('ledgerEntries')
      .select(['amountPaise', 'referenceId'])
      .where('type', '=', 'compliance_check')
      .execute()
    t.equal(fee?.amountPaise, -90)
    t.match(await pbx.calls(), [
      { endedReason: 'rejected', complianceRunId: fee?.referenceId ?? 'none' },
      { endedReason: 'rejected', complianceRunId: null },
    ])
    t.equal(await pbx.slots(), 0)
    await db.updateTable('sipTrunks').set({ originationBudgetPaise: 330 }).execute()
    t.equal(await call(), 'admitted', 'one fee before, its own fee and a minute fit')
    t.equal(await call(), 'origination_budget_spent')
    t.equal(asked.length, 2)
    await calling.close()
  })

  await t.test('a call is cleared, bridged over the trunk of its caller id, billed and sealed', async (t) => {
    const { calling, db, pbx } = await start()
    await pbx.ready()
    await pbx.fund(5_000)
    const decision = await pbx.ask()
    t.match(decision, {
      admit: true,
      party: { kind: 'none' },
      codecs: ['PCMA', 'PCMU'],
      recordTo: /call_.*\.wav$/,
      forward: { ringTimeoutMs: 30_000 },
    })
    const { callId, forward } = decision as Admitted
    t.match(await pbx.calls(), [
      {
        id: callId,
        environment: 'live',
        direction: 'outbound',
        status: 'queued',
        fromNumber: NUMBER,
        toNumber: PERSON,
        routingMode: 'byo_sip',
        agentId: null,
        ratePaisePerMinute: 150,
        complianceRunId: /^run_/,
        evidenceId: /^ev/,
      },
    ])
    const checks = await db.selectFrom('checks').select(['trigger', 'callId', 'outcome']).execute()
    t.ok(checks.length > 5)
    t.ok(checks.every((check) => check.trigger === 'origination' && check.callId === callId))
    t.same(await pbx.wallet(), [5_000, 1_200])
    t.equal(await pbx.slots(), 3, 'one of the pool and a channel of either trunk')
    const now = calling.clock.wall()
    t.equal((await pbx.trunk('pbx')).lastInboundAt, now)
    t.equal((await pbx.trunk('carrier')).lastOutboundAt, now)

    const leg = await forward?.clear(callId)
    t.match(leg, {
      permit: { callId, from: NUMBER, to: PERSON },
      gateway: { host: 'sip.carrier.example', trunk: { trunkId: (await pbx.trunk('carrier')).id } },
    })
    t.equal(leg && calling.permits.claim(leg.permit), true)
    t.equal(leg && calling.permits.claim(leg.permit), false, 'one dial')

    await calling.emitCallEvent(callId, { type: 'ringing', sip: 180 }, { type: 'answered' })
    t.match(await pbx.calls(), [{ status: 'in_progress', answeredBy: null }])
    calling.clock.advance(60_000)
    await calling.emitCallEvent(callId, {
      type: 'ended',
      ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
      rtp: null,
      recording: null,
    })
    t.match(await pbx.calls(), [{ disposition: 'answered', billedPaise: 150, answeredBy: null }])
    t.same(await pbx.wallet(), [4_850, 0])
    t.equal(await pbx.slots(), 0)
    t.same(await pbx.events(), ['call.initiated', 'call.answered', 'call.completed'])
    await calling.close()
  })

  await t.test('the gate refuses with the code; the refused call is kept', async (t) => {
    const { calling, db, pbx } = await start()
    t.match(await pbx.ask(), { admit: false, sip: 403, headers: { 'X-Svc-Code': 'blocked_opt_out' } })
    await pbx.ready()
    t.match(await pbx.ask(), { admit: false, sip: 402, headers: { 'X-Svc-Code': 'insufficient_funds' } })
    const [blocked, unfunded] = await pbx.calls()
    t.match(blocked, { status: 'ended', disposition: 'failed', endedReason: 'gate_blocked', billedPaise: 0 })
    t.match(unfunded, { status: 'ended', disposition: 'failed', endedReason: 'insufficient_funds' })
    const sealed = await db
      .selectFrom('evidence')
      .select(['callId', 'gateRunId'])
      .where('kind', '=', 'gate')
      .orderBy('seq')
      .execute()
    t.same(
      sealed,
      [blocked, unfunded].map((call) => ({ callId: call?.id, gateRunId: call?.complianceRunId })),
    )
    const refused = ['call.initiated', 'call.completed', 'call.failed', 'compliance.check.blocked']
    t.same(await pbx.events(), [...refused, ...refused])
    t.equal(await pbx.slots(), 0)
    t.same(await pbx.wallet(), [0, 0])
    await calling.close()
  })

  await t.test('refused before the gate: the call is kept with its reason', async (t) => {
    const { calling, db, pbx } = await start()
    await pbx.ready()
    await pbx.fund(100_000)
    const code = (text: string) => ({ 'X-Svc-Code': text })
    for (const from of ['+911140000000', '+919000000100', '4711', 'anonymous']) {
      const refusal = { admit: false, sip: 403, headers: code('caller_id_not_allowed') }
      t.match(await pbx.ask({ from }), refusal, from)
    }
    t.same(await pbx.calls(), [], 'a caller id of nobody is no call')
    t.match(await pbx.ask({ from: PBX_NUMBER }), { admit: false, sip: 482 }, 'back to its own trunk')
    await pbx.set({ status: 'suspended' })
    t.match(await pbx.ask(), { admit: false, headers: code('caller_id_not_allowed') })
    await pbx.set({ status: 'active' })
    await db.updateTable('sipTrunks').set({ status: 'disabled' }).where('name', '=', 'carrier').execute()
    t.match(await pbx.ask(), { admit: false, sip: 403, headers: code('sip_trunk_not_active') })
    await db.updateTable('sipTrunks').set({ status: 'active' }).where('name', '=', 'carrier').execute()
    const kept = { direction: 'outbound', status: 'ended', disposition: 'failed', billedPaise: 0 }
    t.match(await pbx.calls(), [
      { ...kept, fromNumber: PBX_NUMBER, toNumber: PERSON, endedReason: 'rejected' },
      { ...kept, fromNumber: NUMBER, endedReason: 'rejected' },
    ])
    t.same(await db.selectFrom('checks').select('id').execute(), [])

    await pbx.set({ recordCalls: 0 })
    const asserted = await pbx.ask({ from: '4711', assertedIdentity: NUMBER })
    t.match(asserted, { admit: true, recordTo: null }, 'the asserted identity counts')
    const hidden = { from: 'anonymous', assertedIdentity: NUMBER, isPrivate: true }
    t.match(await pbx.ask(hidden), { admit: true }, 'also for an anonymous From with Privacy')
    const full = { admit: false, sip: 486, headers: code('concurrent_call_limit_reached') }
    t.match(await pbx.ask(), full, 'two channels')
    t.match((await pbx.calls()).at(-1), { ...kept, endedReason: 'pool_full' })
    t.equal(await pbx.slots(), 6, 'the refused call holds nothing')
    await db.updateTable('sipTrunks').set({ allowOrigination: 0 }).where('name', '=', 'pbx').execute()
    t.match(await pbx.ask(), { admit: false, sip: 404 })
    await calling.close()
  })
})
