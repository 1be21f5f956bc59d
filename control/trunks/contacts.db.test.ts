import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { signInStaff } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { silentLog } from '../../media/base/log.js'
import type { AdmissionDecision } from '../../signalling/call/ports.js'
import { type RegisterRequest, register } from '../../signalling/trunk/registrar-rules.js'
import { isRefusal } from '../api/problem.js'
import { openAdmission } from '../calls/placement/admission.js'
import { outboundRoute } from '../calls/placement/outbound-route.js'
import { parseTrunkFile } from '../config/trunk-file.js'
import { contactsOf, openContacts } from './contacts.js'
import { loadTrunks } from './load-trunks.js'
import { testTrunk } from './probe.js'

/* Telephone systems that register, and the calls that reach them there. */

const NUMBER = '+911171366910'
const CALLER = '+919876543210'
/** 11:00 in India. */
const DAYTIME = Date.parse('2026-03-02T05:30:00Z')
const FLOW = { transport: 'tls', address: '10.0.0.7', port: 40_123, local: '203.0.113.10:5061' } as const
const ask = (over: Partial<RegisterRequest> = {}): RegisterRequest => ({
  contact: '<sip:s@10.0.0.7:5061;transport=tls>',
  expires: '600',
  callId: 'a',
  cseq: '1 REGISTER',
  flow: FLOW,
  ...over,
})
const FILE = {
  trunks: [
    {
      name: 'office',
      gateway: { numberFormat: 'national0' },
      inbound: { auth: 'digest', username: 'office', password: 'first-secret' },
      numbers: [{ e164: NUMBER }],
    },
  ],
}

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), { wallMs: DAYTIME })
  t.teardown(() => calling.close())
  const { deps, clock, api, folder } = calling
  const { db, rootKey } = deps
  const contacts = openContacts(db)
  const load = (file: object = FILE) =>
    loadTrunks(
      { db, rootKey, clock, log: silentLog, filePath: 'trunks.json' },
      parseTrunkFile(JSON.stringify(file), 'trunks.json', {}),
    )
  await load()
  const trunk = () =>
    db.selectFrom('sipTrunks').selectAll().where('name', '=', 'office').executeTakeFirstOrThrow()
  const number = () =>
    db
      .selectFrom('numbers')
      .selectAll()
      .where('e164', '=', NUMBER)
      .where('releasedAt', 'is', null)
      .executeTakeFirstOrThrow()
  const { id, organizationId } = await trunk()
  const enter = (request: RegisterRequest, trunkId = id) =>
    contacts.change(trunkId, (known) => register(known, request, clock.wall()))
  const live = (method: string, path: string, body?: unknown) =>
    api.send(method, path, { key: api.liveKey, ...(body === undefined ? {} : { json: body }) })
  const uris = async () => contactsOf(await trunk(), clock.wall()).map(({ uri }) => uri)

  await t.test('without a registration the trunk places no calls, and says why', async (t) => {
    const refused = await outboundRoute(deps, await number())
    t.match(refused, { code: 'provider_unavailable', message: /registered/ })
    const sip = { request: async () => Promise.reject(new Error('nothing is sent')) }
    const options = { ...deps, sip, log: silentLog }
    t.match(JSON.parse((await testTrunk(options, await trunk(), 'options'))?.lastProbe ?? ''), {
      ok: false,
      error: /no telephone system is registered/,
    })
    t.match(JSON.parse((await testTrunk(options, await trunk(), 'register'))?.lastProbe ?? ''), {
      error: /nowhere to register/,
    })
  })

  await t.test('calls and tests go to the place that is registered, also a private one', async (t) => {
    t.match(await enter(ask()), { kind: 'accepted' })
    const route = await outboundRoute(deps, await number())
    if (isRefusal(route)) throw new Error(route.message)
    t.match(route.gateway, {
      transport: 'tls',
      srtp: 'optional',
      publicOnly: false,
      contact: { uri: 'sip:s@10.0.0.7:5061;transport=tls', flow: FLOW },
      trunk: { numberFormat: 'national0' },
    })
    const asked: object[] = []
    const sip = {
      request: async (request: object) => {
        asked.push(request)
        return { status: 200, local: false, cseq: 1, header: () => null }
      },
    }
    await testTrunk({ ...deps, sip, log: silentLog }, await trunk(), 'options')
    t.match(asked, [
      {
        uri: 'sip:s@10.0.0.7:5061;transport=tls',
        route: 'sip:10.0.0.7:40123;transport=tls;flow=203.0.113.10:5061',
      },
    ])
    t.match(dataOf(await live('GET', `/v1/sip-trunks/${id}`)), {
      outboundHost: null,
      contacts: [
        {
          uri: 'sip:s@10.0.0.7:5061;transport=tls',
          transport: 'tls',
          address: '10.0.0.7',
          port: 40_123,
          registeredAt: '2026-03-02T05:30:00.000Z',
          expiresAt: '2026-03-02T05:40:00.000Z',
        },
      ],
      lastProbe: { ok: true },
    })
    await db.updateTable('sipTrunks').set({ outboundHost: '9.9.9.9' }).where('id', '=', id).execute()
    const named = await outboundRoute(deps, await number())
    t.match(named, { gateway: { host: '9.9.9.9', contact: undefined } }, 'a host has priority')
    await db.updateTable('sipTrunks').set({ outboundHost: null }).where('id', '=', id).execute()
  })

  await t.test('it ends when it expires', async (t) => {
    clock.advance(600_000)
    t.same(await uris(), [])
    t.match(dataOf(await live('GET', `/v1/sip-trunks/${id}`)), { contacts: [] })
    t.match(await outboundRoute(deps, await number()), { code: 'provider_unavailable' })
  })

  await t.test('registrations at the same time do not lose each other', async (t) => {
    const places = ['one', 'two', 'three', 'four']
    await Promise.all(places.map((user) => enter(ask({ contact: `<sip:${user}@10.0.0.7>`, callId: user }))))
    t.same([...(await uris())].sort(), places.map((user) => `sip:${user}@10.0.0.7`).sort())
    t.match(
      await enter(ask({ contact: '<sip:one@10.0.0.7>', callId: 'one' })),
      { status: 500 },
      'out of order',
    )
    t.equal((await uris()).length, 4)
  })

  await t.test('a new password, the kill switch and the file end it', async (t) => {
    await db.updateTable('sipTrunks').set({ source: 'api' }).where('id', '=', id).execute()
    const rotated = await live('POST', `/v1/sip-trunks/${id}/credentials/rotate`)
    t.equal(rotated.status, 200)
    t.same(await uris(), [])
    await enter(ask({ cseq: '9 REGISTER' }))
    const staff = await signInStaff(api)
    const decide = (what: string) =>
      staff.send('POST', `/v1/staff/sip-trunks/${id}/${what}`, { json: { reason: 'Complaints.' } })
    t.equal((await decide('disable')).status, 200)
    t.same(await uris(), [])
    t.equal(await enter(ask({ cseq: '10 REGISTER' })), null, 'and none begins')
    t.equal((await decide('enable')).status, 200)

    await db.updateTable('sipTrunks').set({ source: 'file' }).where('id', '=', id).execute()
    await load()
    await enter(ask({ cseq: '11 REGISTER' }))
    const [office] = FILE.trunks
    await load({ trunks: [{ ...office, maxConcurrent: 20 }] })
    t.equal((await uris()).length, 1, 'another setting does not matter')
    await load({ trunks: [{ ...office, inbound: { ...office?.inbound, password: 'second-secret' } }] })
    t.same(await uris(), [])
    await enter(ask({ cseq: '12 REGISTER' }))
    await load({ trunks: [] })
    t.same(await uris(), [])
    await load()
    await db.updateTable('sipTrunks').set({ environment: 'test' }).where('id', '=', id).execute()
    t.equal(await enter(ask({ cseq: '13 REGISTER' })), null, 'trunks of the test environment are simulated')
    await db.updateTable('sipTrunks').set({ environment: 'live' }).where('id', '=', id).execute()
  })

  await t.test('a number whose telephone system registers', async (t) => {
    await addFunds(db, organizationId, 100_000, clock.wall())
    await readyForLive(db, organizationId, [NUMBER], clock.wall())
    const { id: numberId } = await number()
    const bound = dataOf(await live('POST', `/v1/numbers/${numberId}/sip`, {})) as unknown as {
      number: { sipTrunk: { inboundTrunkId: string; originationSipUri: string } }
      credentials: { username: string; terminationDomain: string }
    }
    const { username, terminationDomain } = bound.credentials
    const { inboundTrunkId, originationSipUri } = bound.number.sipTrunk
    t.equal(originationSipUri, `sip:${username}@${terminationDomain}`)
    const admission = openAdmission({ ...deps, providers: deps.settings.providers, log: silentLog, folder })
    const decision = await admission.admit({
      ...{ sipCallId: 'abc', to: NUMBER, from: CALLER, sourceAddress: '203.0.113.7', sourcePort: 5060 },
      ...{
        transport: 'udp',
        trunkId: id,
        ticket: null,
        alternateTo: [],
        assertedIdentity: null,
        isPrivate: false,
      },
    })
    const { callId, forward } = decision as AdmissionDecision & { readonly admit: true }
    t.equal(await forward?.clear(callId), null, 'nothing is registered')
    await enter(ask(), inboundTrunkId)
    t.match(await forward?.clear(callId), {
      permit: { to: NUMBER, from: CALLER },
      gateway: { contact: { uri: 'sip:s@10.0.0.7:5061;transport=tls' } },
    })
  })

  await t.test('the file: what a gateway without a host needs', async (t) => {
    const [office] = FILE.trunks
    const wrong = (over: object, message: RegExp) =>
      t.throws(
        () => parseTrunkFile(JSON.stringify({ trunks: [{ ...office, ...over }] }), 'trunks.json', {}),
        { message },
      )
    wrong({ inbound: { auth: 'ip_acl', addresses: ['203.0.113.7'] } }, /gateway.host: is needed, unless/)
    wrong(
      { gateway: { register: true, username: 'a', password: 'b' } },
      /gateway.register: registering needs a host/,
    )
  })
})
