import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../fixtures/api/live-models.js'
import { signInStaff } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { silentLog } from '../../media/base/log.js'
import type { AdmissionDecision, InboundInvite } from '../../signalling/call/ports.js'
import { openAdmission } from '../calls/placement/admission.js'
import { parseTrunkFile } from '../config/trunk-file.js'
import { readWallet } from '../wallet/store.js'
import { loadTrunks } from './load-trunks.js'
import { renameBindingHosts } from './number-binding.js'
import { openTrunkCallers } from './trunk-callers.js'

/* Numbers whose calls a telephone system of the customer takes. */

const NUMBER = '+911171366910'
const CALLER = '+919876543210'
/** 11:00 in India. */
const DAYTIME = Date.parse('2026-03-02T05:30:00Z')
const PBX = { sipUri: 'sip:9.9.9.7:5062', transport: 'udp' }

type Admitted = AdmissionDecision & { readonly admit: true }
type Bound = {
  readonly number: Record<string, unknown> & { readonly sipTrunk: Record<string, string> | null }
  readonly connection: object
  readonly credentials: Record<'terminationDomain' | 'realm' | 'username' | 'password', string>
}
const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error

async function openNumber(calling: TestCalling) {
  const { deps, clock, folder, api } = calling
  const { db, rootKey } = deps
  const carrier = {
    name: 'carrier',
    gateway: { host: 'sip.carrier.example' },
    inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24'] },
    numbers: [{ e164: NUMBER }],
  }
  const file = parseTrunkFile(JSON.stringify({ trunks: [carrier] }), 'trunks.json', {})
  await loadTrunks({ db, rootKey, clock, log: silentLog, filePath: 'trunks.json' }, file)
  const { id: carrierTrunk } = await db.selectFrom('sipTrunks').select('id').executeTakeFirstOrThrow()
  const number = await db
    .selectFrom('numbers')
    .selectAll()
    .where('e164', '=', NUMBER)
    .executeTakeFirstOrThrow()
  const { id, organizationId } = number
  const admission = openAdmission({ ...deps, providers: deps.settings.providers, log: silentLog, folder })
  await addFunds(db, organizationId, 100_000, clock.wall())
  await readyForLive(db, organizationId, [NUMBER], clock.wall())
  const live = (method: string, path: string, body?: unknown, headers = {}) =>
    api.send(method, path, { key: api.liveKey, headers, ...(body === undefined ? {} : { json: body }) })
  return {
    id,
    organizationId,
    carrierTrunk,
    live,
    bind: (body: unknown = PBX, headers = {}) => live('POST', `/v1/numbers/${id}/sip`, body, headers),
    unbind: () => live('DELETE', `/v1/numbers/${id}/sip`),
    invite: (trunkId: string, more: Partial<InboundInvite>) =>
      admission.admit({
        ...{ sipCallId: 'abc', to: NUMBER, from: CALLER, sourceAddress: '203.0.113.7', sourcePort: 5060 },
        ...{
          transport: 'udp',
          trunkId,
          ticket: null,
          alternateTo: [],
          assertedIdentity: null,
          isPrivate: false,
        },
        ...more,
      }),
    byUsername: (username: string) => openTrunkCallers(db, rootKey, clock).byUsername(username),
  }
}

await onEachDialect(t, async (t, open) => {
  const start = async () => {
    const calling = await openTestCalling(await open(), { wallMs: DAYTIME, env: LIVE_MODELS_ENV })
    t.teardown(() => calling.close())
    return { calling, db: calling.deps.db, number: await openNumber(calling) }
  }

  await t.test('the address, the credentials, and back to the agent', async (t) => {
    const { calling, db, number } = await start()
    const headers = { 'idempotency-key': 'bind-1' }
    const first = await number.bind(PBX, headers)
    t.equal(first.status, 200)
    const bound = dataOf(first) as unknown as Bound
    t.match(bound, {
      number: {
        id: number.id,
        routingMode: 'byo_sip',
        sipTrunk: {
          provider: 'parley',
          originationSipUri: PBX.sipUri,
          terminationDomain: 'sip.parley.test',
          terminationRealm: 'parley',
          terminationUsername: bound.credentials.username,
          transport: 'udp',
        },
      },
      connection: { host: 'sip.parley.test', port: 5061, transport: 'tls' },
      credentials: {
        terminationDomain: 'sip.parley.test',
        username: /^p[0-9a-f]{11}$/,
        password: /^(?=.*_)[A-Za-z0-9_]{20}$/,
      },
    })
    const { username, password } = bound.credentials
    // As after a crash between the change and its stored response.
    await db.updateTable('idempotencyKeys').set({ state: 'free', response: null }).execute()
    t.same(dataOf(await number.bind(PBX, headers)), bound, 'a retry returns the same credentials')
    t.match(await number.byUsername(username), { password })
    const trunkId = bound.number.sipTrunk?.inboundTrunkId ?? ''
    t.equal((await number.live('GET', `/v1/sip-trunks/${trunkId}`)).status, 404, 'no trunk of the customer')
    t.equal((await number.live('PATCH', `/v1/sip-trunks/${trunkId}`, { name: 'x' })).status, 404)
    t.equal((await number.live('DELETE', `/v1/sip-trunks/${trunkId}`)).status, 404)
    t.notOk(itemsOf(await number.live('GET', '/v1/sip-trunks')).some(({ id }) => id === trunkId))
    t.notMatch(JSON.stringify((await number.live('GET', `/v1/numbers/${number.id}`)).body), password)
    const patched = await number.live('PATCH', `/v1/numbers/${number.id}`, { routingMode: 'svc_agent' })
    t.equal(errorOf(patched).code, 'conflict')

    const again = await number.bind({ ...PBX, sipUri: 'sip:9.9.9.8', username: 'office1' })
    t.match(dataOf(again), {
      number: { sipTrunk: { originationSipUri: 'sip:9.9.9.8' } },
      credentials: { username: 'office1' },
    })
    t.equal(await number.byUsername(username), null, 'the old credentials are refused')
    t.match(await number.byUsername('office1'), { id: /^trk_/ })
    const left = await db.selectFrom('sipTrunks').select('id').where('numberId', '=', number.id).execute()
    t.equal(left.length, 2)
    const other = await calling.send('POST', `/v1/numbers/${calling.numberId}/sip`, {
      json: { ...PBX, username: 'office1' },
    })
    t.match([other.status, errorOf(other)], [409, { code: 'conflict', details: { path: 'username' } }])
    t.match(dataOf(await calling.send('GET', `/v1/numbers/${calling.numberId}`)), { sipTrunk: null })

    await renameBindingHosts(db, 'new.parley.test')
    t.match(dataOf(await number.live('GET', `/v1/numbers/${number.id}`)), {
      sipTrunk: { terminationDomain: 'new.parley.test', originationSipUri: 'sip:9.9.9.8' },
    })

    t.match(dataOf(await number.unbind()), { routingMode: 'svc_agent', sipTrunk: null, status: 'active' })
    t.equal(await number.byUsername('office1'), null)
    t.equal((await number.unbind()).status, 200, 'done before')
  })

  await t.test('refused', async (t) => {
    const { calling, number } = await start()
    for (const sipUri of [
      'pbx.example.com',
      'sip:4711@198.51.100.7',
      'sip:a b',
      'sip:198.51.100.7:0',
      'sip:',
    ]) {
      t.equal((await number.bind({ ...PBX, sipUri })).status, 400, sipUri)
    }
    const inside = await number.bind({ ...PBX, sipUri: 'sip:10.0.0.1' })
    t.match([inside.status, errorOf(inside).details], [400, { issues: [{ path: 'sipUri' }] }])
    t.equal((await number.bind({ ...PBX, username: 'a b c d e' })).status, 400)
    const foreign = await calling.anotherOrganization()
    const theirs = await calling.api.send('POST', `/v1/numbers/${number.id}/sip`, {
      key: foreign.liveKey,
      json: PBX,
    })
    t.equal(theirs.status, 404)
    t.equal(
      (await calling.send('DELETE', `/v1/numbers/${number.id}/sip`)).status,
      404,
      'the other environment',
    )
    await calling.deps.db.updateTable('numbers').set({ routingMode: 'byo_ws' }).execute()
    t.equal((await number.unbind()).status, 409)
  })

  await t.test(
    'an inbound call goes to the telephone system, recorded and billed as own voice',
    async (t) => {
      const { calling, db, number } = await start()
      await number.bind()
      const decision = await number.invite(number.carrierTrunk, { to: '911171366910' })
      t.match(decision, {
        admit: true,
        party: { kind: 'none' },
        recordTo: /call_.*\.wav$/,
        forward: { ringTimeoutMs: 45_000 },
      })
      const { callId, forward } = decision as Admitted
      const call = () => db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirstOrThrow()
      t.match(await call(), {
        direction: 'inbound',
        routingMode: 'byo_sip',
        agentId: null,
        fromNumber: CALLER,
        toNumber: NUMBER,
        ratePaisePerMinute: 150,
      })
      const slots = await db.selectFrom('callSlots').select('pool').orderBy('pool').execute()
      t.same(slots, [{ pool: 'byoCalls' }, { pool: `trunk:${number.carrierTrunk}` }])
      const leg = await forward?.clear(callId)
      t.match(leg, {
        permit: { callId, to: NUMBER, from: CALLER },
        gateway: { host: '9.9.9.7', port: 5062, transport: 'udp', srtp: 'optional' },
      })
      t.equal(leg && calling.permits.claim(leg.permit), true)
      const used = await db
        .selectFrom('sipTrunks')
        .select(['lastInboundAt', 'lastOutboundAt'])
        .where('deletedAt', 'is', null)
        .orderBy('lastInboundAt', (order) => order.desc().nullsLast())
        .execute()
      const now = calling.clock.wall()
      t.same(used, [
        { lastInboundAt: now, lastOutboundAt: null },
        { lastInboundAt: null, lastOutboundAt: now },
      ])
      const checks = await db.selectFrom('checks').select(['type', 'outcome', 'trigger']).execute()
      t.ok(checks.every(({ trigger }) => trigger === 'forward'))
      t.same(
        checks.filter(({ outcome }) => outcome !== 'skipped').map(({ type }) => type),
        ['enforcement'],
      )
      await calling.emitCallEvent(callId, { type: 'ringing', sip: 180 }, { type: 'answered' })
      t.match(await call(), { status: 'in_progress', answeredBy: null })
      calling.clock.advance(61_000)
      await calling.emitCallEvent(callId, {
        type: 'ended',
        ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
        rtp: null,
        recording: null,
      })
      t.match(await call(), { billedPaise: 153, disposition: 'answered' })
      t.match(await readWallet(db, number.organizationId, 0), { balancePaise: 100_000 - 153, heldPaise: 0 })

      const anonymous = (await number.invite(number.carrierTrunk, { from: 'anonymous' })) as Admitted
      t.match(await anonymous.forward?.clear(anonymous.callId), { permit: { from: 'anonymous' } })
      await number.unbind()
      t.equal(await anonymous.forward?.clear(anonymous.callId), null, 'the address is gone')
      t.match(await number.invite(number.carrierTrunk, {}), { admit: false, sip: 404 }, 'no agent either')
    },
  )

  await t.test('the agent of a number that is given back answers again', async (t) => {
    const { calling, number } = await start()
    const agentId = await calling.publishAgent(LIVE_MODELS)
    const path = `/v1/numbers/${number.id}`
    t.match(dataOf(await number.live('PATCH', path, { agentId })), { agentId })
    await number.bind()
    t.match(dataOf(await number.live('GET', path)), { routingMode: 'byo_sip', agentId }, 'the agent is kept')
    t.match(await number.invite(number.carrierTrunk, {}), { admit: true, party: { kind: 'none' } })
    t.match(dataOf(await number.unbind()), { routingMode: 'svc_agent', agentId })
    t.match(await number.invite(number.carrierTrunk, {}), { admit: true, party: { kind: 'agent' } })
  })

  await t.test('the telephone system places calls from its number only', async (t) => {
    const { calling, db, number } = await start()
    const { number: view } = dataOf(await number.bind()) as unknown as Bound
    const trunkId = view.sipTrunk?.outboundTrunkId ?? ''
    const place = (more: Partial<InboundInvite>) =>
      number.invite(trunkId, { to: CALLER, from: NUMBER, ...more })
    const placed = await place({})
    t.match(placed, { admit: true, party: { kind: 'none' }, forward: {} })
    const leg = await (placed as Admitted).forward?.clear('')
    t.match(leg, { permit: { from: NUMBER, to: CALLER }, gateway: { host: 'sip.carrier.example' } })
    t.match(await place({ from: calling.number }), {
      sip: 403,
      headers: { 'X-Svc-Code': 'caller_id_not_allowed' },
    })
    t.match(await place({ to: NUMBER }), { sip: 482 }, 'it would call itself')
    const staff = await signInStaff(calling.api)
    const stopped = await staff.send('POST', `/v1/staff/sip-trunks/${trunkId}/disable`, {
      json: { reason: 'Complaints.' },
    })
    t.equal(stopped.status, 200)
    t.match(await place({}), { admit: false, sip: 403 }, 'the kill switch')
    t.match(await number.invite(number.carrierTrunk, {}), { admit: false, sip: 404 })

    await number.bind()
    const bound = await db
      .selectFrom('sipTrunks')
      .select('id')
      .where('numberId', '=', number.id)
      .where('deletedAt', 'is', null)
      .execute()
    t.equal(bound.length, 1)
  })

  await t.test('a test number reaches the simulated carrier, and a released one nobody', async (t) => {
    const { calling, db } = await start()
    t.equal((await calling.send('POST', `/v1/numbers/${calling.numberId}/sip`, { json: PBX })).status, 200)
    const admission = openAdmission({
      ...calling.deps,
      providers: calling.deps.settings.providers,
      log: silentLog,
      folder: calling.folder,
    })
    const decision = (await admission.admit({
      ...{ sipCallId: 'abc', to: calling.number, from: CALLER, sourceAddress: '127.0.0.1', sourcePort: 5060 },
      ...{
        transport: 'udp',
        trunkId: null,
        ticket: null,
        alternateTo: [],
        assertedIdentity: null,
        isPrivate: false,
      },
    })) as Admitted
    t.match(await decision.forward?.clear(decision.callId), { gateway: calling.deps.sandboxGateway })
    await calling.send('POST', `/v1/numbers/${calling.numberId}/release`)
    t.match(
      await db.selectFrom('sipTrunks').select('deletedAt').where('numberId', '=', calling.numberId).execute(),
      [{ deletedAt: Number }],
    )
  })
})
