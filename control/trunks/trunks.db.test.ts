import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../fixtures/api/live-models.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { openMortal } from '../../fixtures/database/mortal.js'
import { MemorySip } from '../../fixtures/virtual-call/memory-sip.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import { OutboundLeg } from '../../signalling/call/outbound-leg.js'
import type { InboundInvite } from '../../signalling/call/ports.js'
import type { InviteRequest, OutOfDialogRequest, OutOfDialogResponse } from '../../signalling/sip/sip-port.js'
import { parseCidr } from '../../signalling/trunk/cidr.js'
import { isRefusal } from '../api/problem.js'
import { openAdmission } from '../calls/placement/admission.js'
import { outboundRoute } from '../calls/placement/outbound-route.js'
import { parseTrunkFile, readTrunkFile } from '../config/trunk-file.js'
import { findOverlap } from './claims.js'
import { loadTrunks } from './load-trunks.js'
import { originationRefusal } from './origination.js'
import { openRegistrations } from './registrations.js'
import { findTrunk, listTrunkNumbers, recordTrunkUse, storeProbe, updateTrunk } from './store.js'
import { LIST_CACHE_MS, openTrunkCallers } from './trunk-callers.js'
import { gatewayOf, registrationOf } from './trunk-route.js'
import type { TrunkPatch } from './trunk-settings.js'

const FILE = {
  trunks: [
    {
      name: 'acme',
      gateway: {
        host: 'sip.acme.example',
        transport: 'tcp',
        username: 'pilot',
        password: 'env:ACME_PASSWORD',
        register: true,
        numberFormat: 'national0',
        callerIdPolicy: 'trunk_default',
        headers: { 'X-Account': '17' },
      },
      inbound: {
        auth: 'both',
        addresses: ['203.0.113.77/24', '2001:DB8::/48'],
        username: 'acme-in',
        password: 'first',
        realm: 'ACME.example',
        algorithm: 'SHA-256',
      },
      maxConcurrent: 1,
      numbers: [
        { e164: '+911171366900', agent: 'Front desk', recordCalls: false },
        { e164: '+911171366901' },
      ],
    },
  ],
}
const ENV = { ACME_PASSWORD: 'c4rrier' }

const parse = (file: unknown, env: Record<string, string> = ENV) =>
  parseTrunkFile(JSON.stringify(file), 'trunks.json', env)

const ranges = (...texts: string[]) => texts.flatMap((text) => parseCidr(text) ?? [])

/** The file with its only trunk changed. */
const changed = (over: object) => ({ trunks: [{ ...FILE.trunks[0], ...over }] })

t.test('the content of the file, with defaults', async (t) => {
  const [trunk] = parse(FILE).trunks
  t.match(trunk, {
    enabled: true,
    codecs: ['PCMA', 'PCMU'],
    srtp: 'optional',
    callsPerMinute: 60,
    allowedPrefixes: ['+91'],
    gateway: { password: 'c4rrier', ringTimeoutSeconds: 45, registerSeconds: 600 },
    inbound: { realm: 'acme.example', addresses: [{ text: '203.0.113.0/24' }, { text: '2001:db8::/48' }] },
  })
  const folder = await mkdtemp(join(tmpdir(), 'parley-trunks-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 't.json')
  await writeFile(path, JSON.stringify(FILE))
  t.strictSame(readTrunkFile(path, ENV).trunks, [trunk])
  t.throws(() => readTrunkFile(join(folder, 'none.json'), {}), {
    code: 'config_invalid',
    message: /none\.json cannot be read/,
  })
})

t.test('errors name the position and keep secrets', async (t) => {
  const inbound = FILE.trunks[0]?.inbound ?? {}
  const gateway = FILE.trunks[0]?.gateway ?? {}
  const cases: readonly [unknown, RegExp][] = [
    [{}, /^trunks\.json: trunks: /],
    [{ ...FILE, more: 1 }, /: the file: .*more/],
    [changed({ nam: 'x' }), /: trunks\[0\]: .*nam/],
    [changed({ name: '' }), /: trunks\[0\]\.name: /],
    [changed({ gateway: { ...gateway, host: 'a b' } }), /: trunks\[0\]\.gateway\.host: must be a host name/],
    [
      changed({ gateway: { ...gateway, username: undefined } }),
      /: trunks\[0\]\.gateway\.password: .*go together/,
    ],
    [changed({ gateway: { host: 'h', register: true } }), /gateway\.register: registering needs/],
    [changed({ gateway: { host: 'h', headers: { 'X-Svc-Code': '1' } } }), /gateway\.headers.*/],
    [
      changed({ gateway: { host: 'h', headers: { 'X-A': 'b\r\nEvil: 1' } } }),
      /headers\.X-A: must have no control/,
    ],
    [
      changed({ inbound: { ...inbound, addresses: ['1.2.3.4/40'] } }),
      /inbound\.addresses\[0\]: must be an address/,
    ],
    [changed({ inbound: { auth: 'ip_acl' } }), /inbound\.addresses: name at least one/],
    [changed({ inbound: { auth: 'digest' } }), /inbound\.username: is needed/],
    [changed({ inbound: { ...inbound, realm: 'parley' } }), /inbound\.realm: SHA-256 needs/],
    [changed({ numbers: [{ e164: '01171366900' }] }), /trunks\[0\]\.numbers\[0\]\.e164: must be an E\.164/],
    [
      changed({ numbers: [{ e164: '+911171366900' }, { e164: '+911171366900' }] }),
      /numbers\[1\]\.e164: is there twice/,
    ],
    [{ trunks: [...FILE.trunks, ...FILE.trunks] }, /trunks\[1\]\.name: is there twice/],
  ]
  for (const [file, message] of cases) {
    t.throws(() => parse(file), { code: 'config_invalid', message }, String(message))
  }
  t.throws(() => parse(FILE, {}), {
    message: 'trunks.json: trunks[0].gateway.password: the environment variable ACME_PASSWORD is not set',
  })
  t.throws(() => parseTrunkFile('{"password": "s3cret" x', 'trunks.json', {}), {
    message: 'trunks.json is not JSON',
  })
})

t.test('origination: rejections as the trunk receives them', async (t) => {
  for (const [code, sip] of [
    ['blocked_dnd', 403],
    ['blocked_opt_out', 403],
    ['blocked_dlt_invalid', 403],
    ['compliance_incomplete', 403],
    ['insufficient_funds', 402],
    ['concurrent_call_limit_reached', 486],
    ['validation_error', 404],
    ['provider_unavailable', 503],
  ] as const) {
    t.match(originationRefusal({ code }), { admit: false, sip, headers: { 'X-Svc-Code': code } }, code)
  }
})

const invite = (more: Partial<InboundInvite> = {}): InboundInvite => ({
  sipCallId: 'abc',
  to: '01171366900',
  from: '09876543210',
  sourceAddress: '203.0.113.5',
  sourcePort: 5060,
  transport: 'udp',
  trunkId: null,
  ticket: null,
  alternateTo: [],
  assertedIdentity: null,
  isPrivate: false,
  ...more,
})

function tools(calling: TestCalling) {
  const { deps, clock, folder } = calling
  const { db, rootKey } = deps
  const load = (file: unknown, env: Record<string, string> = ENV) =>
    loadTrunks({ db, rootKey, clock, log: silentLog, filePath: 'trunks.json' }, parse(file, env))
  return {
    db,
    rootKey,
    load,
    callers: openTrunkCallers(db, rootKey, clock),
    owner: { ...calling.owner, environment: 'live' as const },
    directory: openAdmission({ ...deps, log: silentLog, folder, providers: deps.settings.providers }),
    trunk: async () => {
      const row = await db.selectFrom('sipTrunks').selectAll().executeTakeFirstOrThrow()
      return row
    },
    everything: async () => ({
      trunks: await db.selectFrom('sipTrunks').selectAll().orderBy('id').execute(),
      ranges: await db.selectFrom('sipTrunkRanges').selectAll().orderBy('first').execute(),
      numbers: await db.selectFrom('numbers').selectAll().orderBy('id').execute(),
    }),
  }
}

/** A carrier that accepts every REGISTER and answers no INVITE. */
class AcceptingSip extends MemorySip {
  readonly invites: InviteRequest[] = []
  /** Lifetimes of the REGISTERs, in order. */
  readonly lifetimes: string[] = []

  override async request({ headers, cseq }: OutOfDialogRequest): Promise<OutOfDialogResponse> {
    this.lifetimes.push(headers.Expires ?? '')
    return { status: 200, local: false, cseq, header: () => null }
  }

  override invite(request: InviteRequest): { cancel(): void } {
    this.invites.push(request)
    return { cancel() {} }
  }
}

await onEachDialect(t, async (t, open) => {
  await t.test('the file becomes rows once', async (t) => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    const agentId = await calling.publishAgent({ name: 'Front desk', ...LIVE_MODELS })
    const it = tools(calling)
    await it.load(FILE)
    const row = await it.trunk()
    t.match(row, {
      environment: 'live',
      status: 'active',
      source: 'file',
      outboundPort: 5060,
      register: 1,
      realm: 'acme.example',
      ipAcl: '["203.0.113.0/24","2001:db8::/48"]',
    })
    t.notMatch(JSON.stringify(row), /first|c4rrier/, 'no password in clear')
    t.match(gatewayOf(row, it.rootKey, calling.clock.wall()), {
      host: 'sip.acme.example',
      transport: 'tcp',
      trunk: {
        numberFormat: 'national0',
        callerIdPolicy: 'trunk_default',
        callerId: 'pilot',
        headers: { 'X-Account': '17' },
        credentials: { username: 'pilot', password: 'c4rrier' },
      },
    })
    t.match(registrationOf(row, it.rootKey), {
      trunkId: row.id,
      credentials: { password: 'c4rrier' },
      expires: 600,
    })
    t.match(await listTrunkNumbers(it.db, it.owner, row.id), [
      {
        e164: '+911171366900',
        agentId,
        recordCalls: 0,
        provider: 'sip_trunk',
        environment: 'live',
        rentalPaise: 0,
      },
      { e164: '+911171366901', agentId: null },
    ])

    const before = await it.everything()
    calling.clock.advance(60_000)
    await it.load(FILE)
    t.strictSame(await it.everything(), before, 'the same file again changes nothing')

    await it.load(FILE, { ACME_PASSWORD: 'rotated' })
    const rotated = await it.trunk()
    t.ok(rotated.updatedAt > row.updatedAt)
    t.equal(gatewayOf(rotated, it.rootKey, calling.clock.wall())?.trunk.credentials?.password, 'rotated')

    await it.db.updateTable('numbers').set({ agentId }).where('e164', '=', '+911171366901').execute()
    await it.load(changed({ numbers: [{ e164: '+911171366901' }] }))
    t.match(
      await listTrunkNumbers(it.db, it.owner, row.id),
      [{ e164: '+911171366901', agentId }],
      'the API’s agent stays',
    )
    t.equal(
      (
        await it.db
          .selectFrom('numbers')
          .select('status')
          .where('e164', '=', '+911171366900')
          .executeTakeFirst()
      )?.status,
      'released',
    )

    await it.load({ trunks: [] })
    t.match(await it.trunk(), {
      status: 'disabled',
      disabledReason: 'removed from the trunk file',
      ipAcl: '[]',
    })
    t.strictSame(await listTrunkNumbers(it.db, it.owner, row.id), [])
    await it.load(FILE)
    t.match(await it.trunk(), { id: row.id, status: 'active', disabledReason: null })

    const own = it.owner
    await it.db
      .transaction()
      .execute((trx) => updateTrunk(trx, own, row.id, { status: 'disabled', disabledReason: 'fraud' }, null))
    await it.load(FILE)
    t.match(await it.trunk(), { status: 'disabled', disabledReason: 'fraud' }, 'what staff did is not undone')
    await calling.close()
  })

  await t.test('entries that cannot be loaded change nothing and are named', async (t) => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    const it = tools(calling)
    const refused = (file: unknown, message: RegExp) =>
      t.rejects(it.load(file), { code: 'config_invalid', message })
    await refused(FILE, /trunks\[0\]\.numbers\[0\]\.agent: the agent does not exist/)
    await refused(changed({ organization: 'org_none', numbers: [] }), /trunks\[0\]\.organization: /)
    await refused(
      changed({ numbers: [{ e164: '+919000000100' }] }),
      /numbers\[0\]\.e164: the number already belongs/,
    )
    t.strictSame(await it.db.selectFrom('sipTrunks').selectAll().execute(), [])
    await calling.publishAgent({ name: 'Sandbox' })
    await refused(
      changed({ numbers: [{ e164: '+911171366900', agent: 'Sandbox' }] }),
      /numbers\[0\]\.agent: The model parley-rules-1 works in the test environment only/,
    )
    await calling.publishAgent({ name: 'Front desk', ...LIVE_MODELS })
    await calling.publishAgent({ name: 'Front desk', ...LIVE_MODELS })
    await refused(FILE, /several agents/)
    await calling.close()
  })

  await t.test('how callers are identified', async (t) => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    const it = tools(calling)
    const plain = { name: 'wide', inbound: { auth: 'ip_acl', addresses: ['203.0.0.0/16'] } }
    const inner = {
      name: 'inner',
      inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24'] },
      numbers: [{ e164: '+911171366902' }],
    }
    const twin = {
      name: 'twin',
      inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24', '203.0.113.0/25'] },
      numbers: [{ e164: '+911171366903' }],
    }
    const digest = {
      name: 'digest',
      inbound: {
        auth: 'digest',
        addresses: ['198.51.100.0/24'],
        username: 'u',
        password: 'p',
        realm: 'r.example',
        algorithm: 'SHA-256',
      },
    }
    await it.load({ trunks: [plain, inner, twin, digest] })
    const rows = await it.db.selectFrom('sipTrunks').selectAll().execute()
    const nameOf = async (address: string, dialled = 'x') => {
      const found = await it.callers.byAddress(address, dialled)
      return rows.find(({ id }) => id === found?.id)?.name ?? null
    }
    t.equal(await nameOf('203.0.1.1'), 'wide')
    t.equal(await nameOf('::ffff:203.0.1.1'), 'wide')
    t.equal(await nameOf('203.0.113.5'), 'twin', 'the narrowest')
    t.equal(await nameOf('203.0.113.5', '01171366902'), 'inner', 'the one that hosts the number')
    t.equal(await nameOf('198.51.100.1'), null, 'an address is no proof where a password is asked')
    t.equal(await nameOf('204.0.0.1'), null)
    t.equal(await nameOf('not an address'), null)
    t.match(await it.callers.byUsername('u'), { password: 'p', algorithm: 'SHA-256', realm: 'r.example' })
    t.equal(await it.callers.byUsername('U'), null)
    t.equal(await it.callers.realm('r.example'), 'SHA-256')
    t.equal(await it.callers.realm('other'), null)
    await it.load({ trunks: [plain] })
    t.equal(await nameOf('203.0.113.5'), null, 'a trunk that has gone is nobody at once')
    calling.clock.advance(LIST_CACHE_MS)
    t.equal(await nameOf('203.0.113.5'), 'wide', 'and the lists follow within a second')
    await it.load({ trunks: [plain, inner, twin, digest] })
    const overlap = (organizationId: string, range: string) =>
      it.db
        .transaction()
        .execute((trx) => findOverlap(trx, { organizationId, environment: 'live' }, ranges(range)))
    t.match(await overlap('org_other', '203.0.113.7'), { range: '203.0.113.7/32' })
    t.equal(await overlap('org_other', '204.0.0.0/8'), null)
    t.equal(await overlap(it.owner.organizationId, '203.0.113.7'), null, 'its own may overlap')
    await calling.close()
  })

  await t.test('calls over a trunk: number, state, channels, origination', async (t) => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    await calling.publishAgent({ name: 'Front desk', ...LIVE_MODELS })
    const it = tools(calling)
    await addFunds(calling.deps.db, calling.owner.organizationId, 100_000, calling.clock.wall())
    await it.load(FILE)
    const { id: trunkId } = await it.trunk()
    const admit = (more: Partial<InboundInvite> = {}) => it.directory.admit(invite({ trunkId, ...more }))
    const set = (change: object) =>
      it.db.updateTable('sipTrunks').set(change).where('id', '=', trunkId).execute()

    t.match(await it.directory.admit(invite()), { admit: false, sip: 403, challenge: true }, 'a stranger')
    t.match(
      await it.directory.admit(invite({ to: '+911140009999' })),
      { admit: false, sip: 403, challenge: true },
      'the same for no number',
    )
    await set({ status: 'disabled' })
    t.match(await admit(), { admit: false, sip: 403 })
    t.match(
      await admit({ to: '+911140009999' }),
      { admit: false, sip: 403 },
      'before the number is looked at',
    )
    await set({ status: 'pending_verification' })
    t.match(await admit(), { admit: false, sip: 403 })
    await set({ status: 'active' })

    t.match(await admit({ to: '+911140009999' }), { admit: false, sip: 404 })
    t.match(
      await admit({ to: '+919000000100' }),
      { admit: false, sip: 404 },
      'a number of the other environment',
    )
    await set({ allowOrigination: 1 })
    t.match(await admit({ to: '+911140009999' }), {
      admit: false,
      sip: 403,
      headers: { 'X-Svc-Code': 'caller_id_not_allowed' },
    })
    t.match(await admit({ to: '18001234567' }), { admit: false, sip: 404 }, 'nothing that may be dialled')

    await set({ srtp: 'required' })
    const admission = await admit()
    t.match(admission, { admit: true, codecs: ['PCMA', 'PCMU'], srtp: 'required', recordTo: null })
    if (!admission.admit) return
    t.match(await it.trunk(), { lastInboundAt: calling.clock.wall() })
    t.match(
      await it.db.selectFrom('calls').selectAll().where('id', '=', admission.callId).executeTakeFirst(),
      {
        environment: 'live',
        direction: 'inbound',
        fromNumber: '+919876543210',
        toNumber: '+911171366900',
      },
    )
    t.match(await admit(), {
      admit: false,
      sip: 486,
      cause: 'pool_full',
      reason: 'no free channel of the trunk',
    })
    await calling.emitCallEvent(admission.callId, {
      type: 'ended',
      ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
      rtp: null,
      recording: null,
    })
    t.match(await admit(), { admit: true }, 'the line is free again')

    // A binding of an earlier release.
    await it.db
      .updateTable('numbers')
      .set({ agentId: await calling.publishAgent() })
      .where('e164', '=', '+911171366900')
      .execute()
    t.match(await admit(), { admit: false, sip: 503, reason: /test environment only/ })
    await calling.close()
  })

  await t.test(
    'a registered account is identified by its name; the caller identity may be asserted',
    async (t) => {
      const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
      await calling.publishAgent({ name: 'Front desk', ...LIVE_MODELS })
      const it = tools(calling)
      const numbers = ['+911171366900', '+911171366901'].map((e164) => ({ e164, agent: 'Front desk' }))
      await addFunds(calling.deps.db, calling.owner.organizationId, 100_000, calling.clock.wall())
      await it.load(changed({ numbers, maxConcurrent: 10 }))
      const { id: trunkId } = await it.trunk()
      const called = async (more: Partial<InboundInvite>) => {
        const admission = await it.directory.admit(invite({ trunkId, to: 'pilot', ...more }))
        if (!admission.admit) return admission.sip
        const row = await it.db
          .selectFrom('calls')
          .select(['toNumber', 'fromNumber'])
          .where('id', '=', admission.callId)
          .executeTakeFirst()
        return `${row?.fromNumber} ${row?.toNumber}`
      }
      t.equal(await called({ alternateTo: ['01171366901'] }), '+919876543210 +911171366901')
      t.equal(
        await called({ alternateTo: ['pilot', '+911140009999', '+911171366900'] }),
        '+919876543210 +911171366900',
      )
      t.equal(await called({}), 404, 'which of two is not known')
      t.equal(
        await called({ to: 'other', alternateTo: ['+911171366900'] }),
        404,
        'the Request-URI says who is called',
      )
      t.equal(
        await called({ alternateTo: ['01171366901'], from: 'anonymous', assertedIdentity: '09876500000' }),
        '+919876500000 +911171366901',
      )
      const asserting = { alternateTo: ['01171366901'], assertedIdentity: '09876500000' }
      t.equal(await called(asserting), '+919876500000 +911171366901', 'the carrier knows better than From')
      const hidden = { ...asserting, from: 'anonymous', isPrivate: true }
      t.equal(await called(hidden), 'anonymous +911171366901', 'the caller asked for privacy')
      t.equal(await called({ alternateTo: ['01171366901'], from: 'anonymous' }), 'anonymous +911171366901')
      await it.load(changed({ numbers: numbers.slice(1), maxConcurrent: 10 }))
      t.equal(await called({}), '+919876543210 +911171366901', 'the only number it can be')
      await calling.close()
    },
  )

  await t.test('each field of PATCH counts from the next call on', async (t) => {
    const database = await open()
    const calling = await openTestCalling(database, { env: LIVE_MODELS_ENV })
    const { deps, clock, api, permits } = calling
    const it = tools(calling)
    await calling.publishAgent({ name: 'Front desk', ...LIVE_MODELS })
    await addFunds(it.db, it.owner.organizationId, 100_000, clock.wall())
    const [{ inbound, gateway } = {}] = FILE.trunks
    await it.load(
      changed({
        inbound: { ...inbound, addresses: ['8.8.4.0/24'] },
        gateway: { ...gateway, host: '8.8.8.8', register: false },
      }),
    )
    await it.db.updateTable('sipTrunks').set({ source: 'api' }).execute()
    const { id: trunkId } = await it.trunk()
    const [number] = await listTrunkNumbers(it.db, it.owner, trunkId)
    if (number === undefined) throw new Error('no number')

    /** The INVITE of the next call from the number. */
    const sent = async (): Promise<InviteRequest> => {
      const route = await outboundRoute(deps, number)
      if (isRefusal(route)) throw new Error(route.message)
      const sip = new AcceptingSip(clock)
      const dial = { recordId: 'r', callId: 'c', to: '+919876543210', from: number.e164 }
      const permit = permits.issue(dial, () => true)
      const target = { gateway: route.gateway, permit, sipCallId: 'x' }
      const events = { progress() {}, answered() {}, mediaChanged: async () => {}, digit() {}, ended() {} }
      new OutboundLeg(sip, target, events, silentLog).connect({ address: '192.0.2.20', port: 4000 })
      const [invite] = sip.invites
      if (invite === undefined) throw new Error('no INVITE')
      return invite
    }
    /** The number of admitted calls, of two that arrive at the same time. */
    const admitted = async (): Promise<number> => {
      const decisions = [
        await it.directory.admit(invite({ trunkId })),
        await it.directory.admit(invite({ trunkId })),
      ]
      const calls = decisions.flatMap((decision) => (decision.admit ? [decision.callId] : []))
      for (const callId of calls) {
        await calling.emitCallEvent(callId, {
          type: 'ended',
          ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
          rtp: null,
          recording: null,
        })
      }
      return calls.length
    }
    /** Lifetimes of the REGISTERs of a process that starts now. */
    const registered = async (): Promise<readonly string[]> => {
      const view = openMortal(database, () => {})
      const sip = new AcceptingSip(clock)
      const registrations = openRegistrations({ ...deps, db: view.db, sip, nodeId: 'one', log: silentLog })
      await view.quiet()
      const lifetimes = [...sip.lifetimes]
      await registrations.close()
      return lifetimes
    }
    const caller = async (address: string) => {
      clock.advance(LIST_CACHE_MS)
      return (await it.callers.byAddress(address, 'x'))?.id ?? null
    }
    const payloads = async () => /^m=audio \d+ \S+ (.*)\r$/m.exec((await sent()).body)?.[1]
    const name = async () => {
      const { body } = await api.send('GET', '/v1/sip-trunks', { key: api.liveKey })
      return (body as { data: { name: string }[] }).data.map((each) => each.name)
    }

    type Row = readonly [value: unknown, look: () => Promise<unknown>, before: unknown, after: unknown]
    const rows: { readonly [Field in keyof TrunkPatch]-?: Row } = {
      ipAcl: [['8.8.4.0/25'], () => caller('8.8.4.200'), trunkId, null],
      name: ['Branch', name, ['acme'], ['Branch']],
      inboundAuth: ['digest', () => caller('8.8.4.4'), trunkId, null],
      callerIdPolicy: ['did', async () => (await sent()).from, 'pilot', '01171366900'],
      codecs: [['G722', 'PCMU'], payloads, '8 0 101', '9 0 101'],
      maxConcurrent: [2, admitted, 1, 2],
      outboundHost: [
        '9.9.9.9',
        async () => (await sent()).uri,
        'sip:09876543210@8.8.8.8:5060;transport=tcp',
        'sip:09876543210@9.9.9.9:5060;transport=tcp',
      ],
      outboundPort: [
        5080,
        async () => (await sent()).uri,
        'sip:09876543210@9.9.9.9:5060;transport=tcp',
        'sip:09876543210@9.9.9.9:5080;transport=tcp',
      ],
      outboundTransport: ['tls', async () => (await sent()).transport, 'tcp', 'tls'],
      outboundNumberFormat: [
        'e164',
        async () => (await sent()).uri,
        'sip:09876543210@9.9.9.9:5061;transport=tls',
        'sip:+919876543210@9.9.9.9:5061;transport=tls',
      ],
      outboundAuthUsername: ['line', async () => (await sent()).credentials?.username, 'pilot', 'line'],
      outboundPassword: ['second', async () => (await sent()).credentials?.password, 'c4rrier', 'second'],
      register: [true, registered, [], ['600']],
      customHeaders: [
        { 'X-Branch': '2' },
        async () => {
          const { 'X-Account': account, 'X-Branch': branch } = (await sent()).headers ?? {}
          return [account, branch]
        },
        ['17', undefined],
        [undefined, '2'],
      ],
    }
    for (const [field, [value, look, before, after]] of Object.entries(rows)) {
      t.same(await look(), before, `${field} before`)
      const json = { [field]: value }
      const { status } = await api.send('PATCH', `/v1/sip-trunks/${trunkId}`, { key: api.liveKey, json })
      t.equal(status, 200, field)
      t.same(await look(), after, `${field} after`)
    }
    await calling.close()
  })

  await t.test('one of the processes registers a trunk, and another one takes over', async (t) => {
    const database = await open()
    const calling = await openTestCalling(database, { env: LIVE_MODELS_ENV })
    const { clock, deps } = calling
    const it = tools(calling)
    await it.load(changed({ numbers: [] }))
    const started: { readonly view: ReturnType<typeof openMortal> }[] = []
    const start = (nodeId: string) => {
      const view = openMortal(database, () => {})
      const sip = new AcceptingSip(clock)
      const registrations = openRegistrations({ ...deps, db: view.db, sip, nodeId, log: silentLog })
      const opened = { view, registrations, lifetimes: sip.lifetimes }
      started.push(opened)
      return opened
    }
    const pass = async (ms: number) => {
      for (let left = ms; left > 0; left -= 1_000) {
        for (const { view } of started) await view.quiet()
        clock.advance(1_000)
      }
      for (const { view } of started) await view.quiet()
    }
    const both = [start('one'), start('two')]
    await pass(120_000)
    t.same(
      both.flatMap(({ lifetimes }) => lifetimes),
      ['600'],
      'one REGISTER',
    )
    const [owner, other] = both.toSorted((a, b) => b.lifetimes.length - a.lifetimes.length)
    if (owner === undefined || other === undefined) throw new Error('two processes')

    owner.view.dieIn(0, false)
    await pass(9_000)
    t.same(other.lifetimes, [], 'the lease is alive')
    await pass(27_000)
    t.same(other.lifetimes, ['600'], 'a dead process is replaced')

    const third = start('three')
    await pass(60_000)
    t.same(third.lifetimes, [])
    await other.registrations.close()
    t.same(other.lifetimes, ['600', '0'], 'a process that stops removes its binding')
    await pass(6_000)
    t.same(third.lifetimes, ['600'], 'and is replaced without a wait for its lease')

    const lease = { registeredBy: 'four', registeredUntil: clock.wall() + 30_000 }
    await it.db.updateTable('sipTrunks').set(lease).execute()
    await pass(6_000)
    t.same(third.lifetimes, ['600', '0'], 'a process that lost its lease removes its binding')
    await third.registrations.close()
    t.match(await it.trunk(), lease, 'and leaves the lease of another one')
    const closing = owner.registrations.close()
    await pass(3_000)
    await closing
    await calling.close()
  })

  await t.test('probes and use', async (t) => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    const it = tools(calling)
    await it.load(changed({ numbers: [] }))
    const { id } = await it.trunk()
    const probe = {
      at: 5,
      ok: false,
      method: 'options',
      sipStatus: 503,
      latencyMs: 12,
      error: 'answered 503',
    } as const
    const row = await storeProbe(it.db, it.owner, id, probe)
    t.strictSame(JSON.parse(row?.lastProbe ?? ''), probe)
    await recordTrunkUse(it.db, it.owner, id, 'outbound', 77)
    t.match(await findTrunk(it.db, it.owner, id), { lastOutboundAt: 77 })
    const foreign = { ...it.owner, organizationId: newId('org', 0) }
    t.equal(await storeProbe(it.db, foreign, id, probe), null)
    t.equal(await findTrunk(it.db, foreign, id), null)
    t.equal(await findTrunk(it.db, { ...it.owner, environment: 'test' }, id), null)
    await calling.close()
  })
})
