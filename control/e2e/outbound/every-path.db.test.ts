import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { addFunds } from '../../../fixtures/database/funds.js'
import { readyForLive } from '../../../fixtures/database/ready-for-live.js'
import { WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { until } from '../../../fixtures/host/until.js'
import { FakePool } from '../../../fixtures/rigs/fake-pool.js'
import { AnsweringSip } from '../../../fixtures/virtual-call/answering-sip.js'
import { silentLog } from '../../../media/base/log.js'
import { CallManager } from '../../../signalling/call/call-manager.js'
import type { OutboundCallSpec } from '../../../signalling/call/ports.js'
import { SpeakerScripts } from '../../../signalling/sandbox/speaker-scripts.js'
import type { Permit } from '../../../signalling/sip/dial-gate.js'
import type { TrunkAuthenticator } from '../../../signalling/trunk/trunk-authenticator.js'
import type { Deps } from '../../api/deps.js'
import { isRefusal } from '../../api/problem.js'
import { openAdmission } from '../../calls/placement/admission.js'
import { placeCall } from '../../calls/placement/place-call.js'
import { scheduleCallbackTool } from '../../campaigns/callbacks/schedule-tool.js'
import { diallerHandler } from '../../campaigns/dial-job.js'
import type { GateTrigger } from '../../compliance/check.js'
import { commitmentOf } from '../../compliance/evidence/hashes.js'
import { parseTrunkFile } from '../../config/trunk-file.js'
import type { EvidenceRow } from '../../db/tables/calling.js'
import { type Destination, findDestinations } from '../../destinations/store.js'
import type { ClaimedJob } from '../../jobs/runner.js'
import { diallerJob } from '../../recipients/dialler-job.js'
import { TransferDesk } from '../../transfers/desk.js'
import { placeVerificationCall } from '../../transfers/verification-call.js'
import { loadTrunks } from '../../trunks/load-trunks.js'

/*
 * Every way to an INVITE, with the real call manager over a SIP server in memory: each INVITE has a sealed gate record
 * that allows the call, and a person who may not be called gets none.
 */

const PERSON = '+919876543210'
const PBX_NUMBER = '+911171366900'
const NUMBER = '+911171366910'
/** 11:00 in India. */
const DAYTIME = Date.parse('2026-03-02T05:30:00Z')
const HOUR = 3_600_000
const OFFER =
  'v=0\r\no=- 1 1 IN IP4 192.0.2.20\r\ns=-\r\nc=IN IP4 192.0.2.20\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n'

/** A dial that would reach a number, if there was a permit. */
const NO_PLAN: OutboundCallSpec = {
  party: { kind: 'none', maxCallSeconds: 1 },
  gateway: { host: '192.0.2.1', port: 5060, transport: 'udp', codecs: ['PCMA'] },
  ringTimeoutMs: 1_000,
  recordTo: null,
}

const NO_PROFILE = {
  ...{ windowStartMinute: null, windowEndMinute: null },
  ...{ agentCallsTest: null, agentCallsLive: null, ratePaisePerMinute: null },
}

interface Sent {
  readonly permit: Permit
  readonly uri: string
  /** The record that the permit names, read when the INVITE left. */
  readonly record: Promise<EvidenceRow | undefined>
}

interface Rig {
  readonly calling: TestCalling
  readonly deps: Deps
  readonly sip: AnsweringSip
  readonly sent: Sent[]
  readonly manager: CallManager
  readonly pool: FakePool
  readonly desk: TransferDesk
  /** The trunk that callers belong to. */
  readonly callers: { trunk: string }
}

/** Telephony in memory. */
function openTelephony(calling: TestCalling): Rig {
  const { clock, permits, eventWriter, folder } = calling
  const sent: Sent[] = []
  const sip = new AnsweringSip(clock, permits, (permit, uri) => {
    const record = calling.deps.db.selectFrom('evidence').selectAll().where('id', '=', permit.recordId)
    sent.push({ permit, uri, record: record.executeTakeFirst() })
  })
  const desk: TransferDesk = new TransferDesk({
    ...calling.deps,
    permits,
    settled: (callId) => calling.eventWriter.settled(callId),
    model: () => null,
    calls: () => manager,
  })
  const callers = { trunk: '' }
  const authenticator = {
    identify: async () => ({ kind: 'trunk', trunk: { id: callers.trunk, limits: {} } }),
  }
  const pool = new FakePool()
  // The person who answers a transfer presses no key.
  pool.answer = ({ type }) => (type === 'collect' ? { digits: '', ending: 'timeout' } : null)
  const manager = new CallManager({
    ...{ sip, clock, gate: permits, log: silentLog, transfers: desk },
    pool,
    scripts: new SpeakerScripts(clock),
    events: { publish: (event) => eventWriter.publish(event) },
    trunkAuthenticator: authenticator as unknown as TrunkAuthenticator,
    admissionControl: openAdmission({
      ...calling.deps,
      providers: calling.deps.settings.providers,
      log: silentLog,
      folder,
    }),
  })
  return { calling, deps: { ...calling.deps, calls: manager }, sip, sent, manager, pool, desk, callers }
}

/** Prepares a call and returns the function that tries to place it. */
type Path = (rig: Rig) => Promise<() => Promise<unknown>>

const ENDED = {
  type: 'ended',
  ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
  rtp: null,
  recording: null,
} as const

/** Carries out looks of the job that dials campaigns and callbacks: the first ones start a campaign. */
async function turns({ calling, deps }: Rig): Promise<void> {
  const { id, lane, payload } = diallerJob(calling.owner)
  const write: ClaimedJob['write'] = (run) => deps.db.transaction().execute(run)
  // A turn whose process shuts down ends after one look.
  const job = { id, lane, payload, attempts: 1, signal: AbortSignal.abort(), write }
  for (let look = 0; look < 4; look++) {
    const outcome = await diallerHandler(deps).run(job)
    await deps.db.transaction().execute(outcome)
    await calling.clock.advanceAsync(1_000, 100)
  }
}

const single = ({ calling, deps }: Rig) =>
  placeCall(deps, calling.owner, {
    ...{ to: PERSON, numberId: calling.numberId, agentId: null, variables: {}, metadata: {} },
    idempotencyId: null,
  })

async function newDestination({ calling, deps }: Rig, e164: string): Promise<Destination> {
  const json = { key: 'desk', label: 'Desk', e164 }
  const id = String(dataOf(await calling.send('POST', '/v1/transfer-destinations', { json })).id)
  const destination = (await findDestinations(deps.db, calling.owner, [id])).get(id)
  if (destination === undefined) throw new Error('the destination was not made')
  return destination
}

/** The paths by the trigger that their records name. `preflight` and `manual` ask and place no call. */
const PATHS: Readonly<Record<Exclude<GateTrigger, 'preflight' | 'manual'>, Path>> = {
  async call(rig) {
    await rig.calling.publishAgent()
    return () => single(rig)
  },
  async byo(rig) {
    const { calling, deps } = rig
    await deps.db.updateTable('organizations').set({ senderClassification: 'service' }).execute()
    const mediaEndpoint = { type: 'static', url: 'wss://bot.example.com/talk' }
    const json = { routingMode: 'byo_ws', mediaEndpoint }
    await calling.send('PATCH', `/v1/numbers/${calling.numberId}`, { json })
    return () => single(rig)
  },
  async campaign(rig) {
    const { send, numberId, publishAgent } = rig.calling
    const json = { name: 'Reminders', agentId: await publishAgent(), numberId }
    const id = String(dataOf(await send('POST', '/v1/campaigns', { json })).id)
    await send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients: [{ e164: PERSON }] } })
    const launched = await send('POST', `/v1/campaigns/${id}/launch`, {
      json: {},
      headers: { 'idempotency-key': 'launch' },
    })
    if (launched.status !== 200) throw new Error(JSON.stringify(launched.body))
    return () => turns(rig)
  },
  async callback(rig) {
    const { calling, deps } = rig
    await calling.publishAgent()
    const json = { to: PERSON, numberId: calling.numberId }
    // The API of the fixture has no telephony behind it.
    const callId = String(dataOf(await calling.send('POST', '/v1/calls', { json })).id)
    const at = calling.clock.wall() + HOUR
    t.same(await scheduleCallbackTool(deps)(callId, { at, note: '' }), { status: 'done' })
    await calling.emitCallEvent(callId, { type: 'answered' }, ENDED)
    calling.clock.advance(HOUR)
    return () => turns(rig)
  },
  async verification(rig) {
    const destination = await newDestination(rig, PERSON)
    return () => placeVerificationCall(rig.deps, rig.calling.owner, destination)
  },
  async transfer(rig) {
    const { callId } = await answeredCall(rig)
    return () =>
      rig.desk.ask(callId, {
        ...{ trigger: 'api', destination: null, handoff: null, note: null, reason: null },
      })
  },
  async forward(rig) {
    const { calling, deps } = rig
    const { db, rootKey } = deps
    const carrier = {
      name: 'carrier',
      gateway: { host: 'sip.carrier.example' },
      inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24'] },
      numbers: [{ e164: NUMBER }],
    }
    const file = parseTrunkFile(JSON.stringify({ trunks: [carrier] }), 'trunks.json', {})
    await loadTrunks({ db, rootKey, clock: calling.clock, log: silentLog, filePath: 'trunks.json' }, file)
    const number = await db
      .selectFrom('numbers')
      .selectAll()
      .where('e164', '=', NUMBER)
      .executeTakeFirstOrThrow()
    await readyForLive(db, number.organizationId, [NUMBER], calling.clock.wall())
    await addFunds(db, number.organizationId, 50_000, calling.clock.wall())
    const json = { sipUri: 'sip:9.9.9.7:5062', transport: 'udp' }
    const bound = await calling.send('POST', `/v1/numbers/${number.id}/sip`, {
      key: calling.api.liveKey,
      json,
    })
    if (bound.status !== 200) throw new Error(JSON.stringify(bound.body))
    rig.callers.trunk = number.sipTrunkId ?? ''
    return () => callIn(rig, { to: NUMBER, from: PERSON })
  },
  async origination(rig) {
    const { calling, deps } = rig
    const trunks = [
      {
        name: 'pbx',
        gateway: { host: 'pbx.acme.example' },
        inbound: { auth: 'digest', username: 'pbx', password: 'first' },
        maxConcurrent: 2,
        numbers: [{ e164: PBX_NUMBER }],
      },
      {
        name: 'carrier',
        gateway: { host: 'sip.carrier.example' },
        inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24'] },
        maxConcurrent: 2,
        numbers: [{ e164: NUMBER }],
      },
    ]
    const { db, rootKey } = deps
    const file = parseTrunkFile(JSON.stringify({ trunks }), 'trunks.json', {})
    await loadTrunks({ db, rootKey, clock: calling.clock, log: silentLog, filePath: 'trunks.json' }, file)
    await db.updateTable('sipTrunks').set({ allowOrigination: 1 }).where('name', '=', 'pbx').execute()
    const pbx = await db
      .selectFrom('sipTrunks')
      .selectAll()
      .where('name', '=', 'pbx')
      .executeTakeFirstOrThrow()
    await readyForLive(db, pbx.organizationId, [NUMBER], calling.clock.wall())
    await addFunds(db, pbx.organizationId, 50_000, calling.clock.wall())
    rig.callers.trunk = pbx.id
    return () => callIn(rig, { to: PERSON, from: NUMBER })
  },
}

/** Every path, the one of a person who takes a call over included: its leg is like that of a transfer. */
const WAYS: readonly { readonly name: string; readonly trigger: GateTrigger; readonly prepare: Path }[] = [
  ...Object.entries(PATHS).map(([trigger, prepare]) => ({
    ...{ name: trigger, trigger: trigger as GateTrigger, prepare },
  })),
  {
    name: 'takeover',
    trigger: 'transfer',
    async prepare(rig) {
      const { callId, destinationId } = await answeredCall(rig)
      return () => rig.desk.takeOver(callId, { id: 'mon_1', userId: 'usr_1', destination: destinationId })
    },
  },
]

/** An answered call, with a verified destination of its agent. Its own INVITE does not count. */
async function answeredCall(rig: Rig): Promise<{ readonly callId: string; readonly destinationId: string }> {
  const { calling, deps, sent } = rig
  const { row } = await newDestination(rig, PERSON)
  await calling.send('POST', `/v1/transfer-destinations/${row.id}/verify`)
  await calling.send('POST', `/v1/transfer-destinations/${row.id}/confirm`, { json: { code: '000000' } })
  const transfer = {
    defaultDestinationId: row.id,
    destinations: [{ destinationId: row.id, when: 'bills' }],
  }
  await calling.publishAgent({ callSettings: { transfer } })
  const call = await single(rig)
  if (isRefusal(call)) throw new Error(call.message)
  const read = () => deps.db.selectFrom('calls').select('answeredAt').where('id', '=', call.id).execute()
  await calling.clock.advanceAsync(1_000, 10)
  await calling.eventWriter.flush(60_000)
  t.not((await read())[0]?.answeredAt, null)
  await Promise.all(sent.splice(0).map(({ record }) => record))
  return { callId: call.id, destinationId: row.id }
}

async function close({ calling, manager }: Rig): Promise<void> {
  let closed = false
  const closing = manager.close().then(() => {
    closed = true
  })
  await pass(calling, () => closed)
  await closing
  await calling.close()
}

/** Sends an INVITE to the service, and waits until the service refuses it or sends one on. */
async function callIn({ calling, sip, sent }: Rig, numbers: { to: string; from: string }): Promise<void> {
  const caller = sip.call({ ...numbers, sdp: OFFER })
  await pass(calling, () => caller.statuses.some((status) => status >= 300) || sent.length > 0)
}

/** Lets virtual time pass, and queries end, until the condition holds. */
async function pass({ clock }: TestCalling, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + WAIT_LIMIT_MS
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`it never came to this: ${condition.toString()}`)
    clock.advance(10)
    await new Promise<void>((resolve) => setTimeout(resolve, 1))
  }
}

await onEachDialect(t, async (t, open, dialect) => {
  for (const { name, trigger, prepare } of WAYS) {
    // The transaction of the gate is one for all paths: on PostgreSQL two of them suffice.
    if (dialect === 'postgres' && name !== 'call' && name !== 'transfer') continue
    const start = async () => {
      const calling = await openTestCalling(await open(), { wallMs: DAYTIME })
      const rig = openTelephony(calling)
      return { calling, rig, dial: await prepare(rig) }
    }

    await t.test(`${name}: one INVITE, with the sealed record that allows it`, async (t) => {
      const { calling, rig, dial } = await start()
      await dial()
      await pass(calling, () => rig.sent.length > 0)
      t.equal(rig.sent.length, 1)
      // A forwarded call reaches the telephone system of the number.
      const called = trigger === 'forward' ? NUMBER : PERSON
      for (const { permit, uri, record } of rig.sent) {
        const row = await record
        t.match(row, { kind: 'gate', e164: called, callId: permit.callId })
        t.equal(permit.to, called)
        t.match(uri, `${called.slice(3)}@`)
        const sealed = JSON.parse(row?.record ?? '{}') as Record<string, unknown>
        t.match(sealed, { allowed: true, number: permit.from, request: { trigger } })
        t.equal(sealed.subject, commitmentOf(row?.salt ?? '', called))
        t.throws(() => rig.manager.dial(permit, NO_PLAN), { code: 'permit_invalid' }, 'it dials once')
        t.throws(() => rig.manager.dial({ ...permit }, NO_PLAN), { code: 'permit_invalid' })
      }
      t.equal(rig.sent.length, 1)
      await close(rig)
    })

    // The call that would be forwarded is refused itself: no leg is asked for.
    const asked = trigger !== 'forward'
    await t.test(
      `${name}: a refusal ${asked ? 'is sealed' : 'comes first'}, and nothing is sent`,
      async (t) => {
        const { calling, rig, dial } = await start()
        const organizations = await calling.deps.db.selectFrom('organizations').select('id').execute()
        for (const { id } of organizations) await block(calling, id)
        const before = (await gateRecords(calling)).length
        await dial()
        const refusals = async () => (await gateRecords(calling)).slice(before)
        if (asked) {
          await until(async () => {
            await calling.clock.advanceAsync(10, 10)
            return (await refusals()).length > 0
          })
        }
        await calling.clock.advanceAsync(2_000, 10)
        t.equal(rig.sent.length, 0)
        const sealed = await refusals()
        t.equal(sealed.length > 0, asked)
        t.ok(sealed.every(({ allowed }) => !allowed))
        await close(rig)
      },
    )
  }

  for (const trigger of ['call', 'campaign', 'callback'] as const) {
    await t.test(`${trigger}: no INVITE when the hours end between the decision and the dial`, async (t) => {
      const calling = await openTestCalling(await open(), { wallMs: DAYTIME })
      const rig = openTelephony(calling)
      const dial = await PATHS[trigger](rig)
      await endHoursMeanwhile(rig, trigger)
      const before = (await gateRecords(calling)).length
      await dial()
      await until(async () => {
        await calling.clock.advanceAsync(10, 10)
        await calling.eventWriter.flush(60_000)
        const open = await calling.deps.db
          .selectFrom('calls')
          .select('id')
          .where('endedAt', 'is', null)
          .execute()
        return open.length === 0 || rig.sent.length > 0
      })
      t.same(rig.sent, [])
      const last = await calling.deps.db
        .selectFrom('calls')
        .selectAll()
        .orderBy('id', 'desc')
        .limit(1)
        .execute()
      t.match(last, [
        { disposition: 'failed', endedReason: 'gate_blocked', billedPaise: 0, answeredAt: null },
      ])
      t.same((await gateRecords(calling)).slice(before), [{ allowed: true }])
      if (trigger === 'campaign') {
        const people = await calling.deps.db.selectFrom('campaignRecipients').selectAll().execute()
        t.match(people, [{ status: 'pending', attempts: 0, outcome: null }], 'the attempt does not count')
      }
      if (trigger === 'callback') {
        t.match(await calling.deps.db.selectFrom('callbacks').selectAll().execute(), [{ status: 'due' }])
      }
      await close(rig)
    })
  }
})

/** Lets the calling hours of the organization end while a call's ports are bound, a second after its decision. */
async function endHoursMeanwhile({ calling, deps, pool }: Rig, trigger: GateTrigger): Promise<void> {
  const minute = 11 * 60 + 1
  const hours = { windowStartMinute: 0, windowEndMinute: minute }
  const { organizationId } = calling.owner
  // Of the callback, which is due an hour later.
  if (trigger === 'callback') hours.windowEndMinute += 60
  const limits = { agentCallsTest: null, agentCallsLive: null, ratePaisePerMinute: null }
  await deps.db
    .insertInto('callingProfiles')
    .values({ organizationId, enforcedAt: null, enforcedReason: null, ...limits, ...hours })
    .onConflict((conflict) => conflict.column('organizationId').doUpdateSet(hours))
    .execute()
  await deps.db.updateTable('agents').set({ purpose: 'promotional' }).execute()
  await deps.db.updateTable('agentVersions').set({ purpose: 'promotional' }).execute()
  pool.onOpen = () => {
    pool.onOpen = () => {}
    calling.clock.advance(60_000)
  }
}

async function gateRecords({ deps }: TestCalling): Promise<readonly { readonly allowed: boolean }[]> {
  const rows = await deps.db
    .selectFrom('evidence')
    .selectAll()
    .where('kind', '=', 'gate')
    .orderBy('id')
    .execute()
  return rows
    .map(({ record }) => JSON.parse(record) as { allowed: boolean })
    .map(({ allowed }) => ({ allowed }))
}

/** Blocks an organization as staff does: the only block that no kind of call is exempt from. */
async function block({ deps, clock }: TestCalling, organizationId: string): Promise<void> {
  const blocked = { enforcedAt: clock.wall(), enforcedReason: 'kill_switch' }
  await deps.db
    .insertInto('callingProfiles')
    .values({ organizationId, ...blocked, ...NO_PROFILE })
    .onConflict((conflict) => conflict.column('organizationId').doUpdateSet(blocked))
    .execute()
}
