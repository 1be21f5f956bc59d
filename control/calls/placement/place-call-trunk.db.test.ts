import t from 'tap'
import { openTestCalling } from '../../../fixtures/api/calling.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { addFunds } from '../../../fixtures/database/funds.js'
import { readyForLive } from '../../../fixtures/database/ready-for-live.js'
import { until } from '../../../fixtures/host/until.js'
import { openSignallingRig } from '../../../fixtures/rigs/signalling-rig.js'
import { DigestGuard } from '../../../fixtures/sip/sip-guard.js'
import { header, type SipMessage } from '../../../fixtures/sip/sip-message.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { silentLog } from '../../../media/base/log.js'
import type { OutboundCallSpec } from '../../../signalling/call/ports.js'
import { isRefusal } from '../../api/problem.js'
import { parseTrunkFile } from '../../config/trunk-file.js'
import { loadTrunks } from '../../trunks/load-trunks.js'
import { placeCall } from './place-call.js'

/* Live calls over a trunk: real tables, gate and permit, and a carrier on loopback. */

const NUMBER = '+911171366900'
const TO = '+919876543210'
const SDP =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n'

await onEachDialect(t, async (t, openDatabase) => {
  await t.test('a live call uses the trunk of its number in the format of the trunk', async (t) => {
    const database = await openDatabase()
    const calling = await openTestCalling(database, { env: LIVE_MODELS_ENV })
    const { deps, clock } = calling
    const guard = new DigestGuard({ username: 'pilot', password: 'c4rrier', algorithm: 'SHA-256' })
    const invites: SipMessage[] = []
    const plans: OutboundCallSpec[] = []
    const carrier = await openSipPeer({
      onRequest: (request, from, self) => {
        if (request.method === 'INVITE') invites.push(request)
        return request.method === 'INVITE' && !guard.admits(self, request, from)
      },
      onInvite: (call) => call.answer(SDP),
    })
    const rig = await openSignallingRig({
      gate: calling.permits,
      onEvent: (event) => calling.eventWriter.publish(event),
    })
    t.teardown(async () => {
      await rig.close()
      await carrier.close()
      await calling.close()
    })
    const load = (over: object = {}) =>
      loadTrunks(
        { db: database.db, rootKey: deps.rootKey, clock, log: silentLog, filePath: 'trunks.json' },
        parseTrunkFile(
          JSON.stringify({
            trunks: [
              {
                name: 'carrier',
                gateway: {
                  host: '127.0.0.1',
                  port: carrier.port,
                  username: 'pilot',
                  password: 'c4rrier',
                  domain: 'acme.example',
                  numberFormat: 'national0',
                  headers: { 'X-Account': '17' },
                  ringTimeoutSeconds: 5,
                },
                inbound: { auth: 'ip_acl', addresses: ['192.0.2.1'] },
                maxConcurrent: 1,
                numbers: [{ e164: NUMBER }],
                ...over,
              },
            ],
          }),
          'trunks.json',
          {},
        ),
      )
    await load()
    const agentId = await calling.publishAgent(LIVE_MODELS)
    const { db } = database
    const number = await db
      .selectFrom('numbers')
      .selectAll()
      .where('e164', '=', NUMBER)
      .executeTakeFirstOrThrow()
    const owner = { organizationId: number.organizationId, environment: 'live' } as const
    const place = (by = agentId) =>
      placeCall(
        {
          ...deps,
          calls: {
            dial: (permit, plan) => {
              plans.push(plan)
              rig.callManager.dial(permit, plan)
            },
            hangUp: () => false,
            finish: () => false,
            lastWordsMs: () => 0,
            transfer: () => 'call_ending',
            say: async () => null,
            note: async () => false,
            listen: async () => null,
            takeOver: () => 'call_ending',
            giveBack: () => false,
            live: 0,
            liveCalls: () => [],
            draining: false,
            connected: true,
            drain: async () => {},
          },
        },
        owner,
        { to: TO, numberId: number.id, agentId: by, variables: {}, metadata: {}, idempotencyId: null },
      )
    const slots = () => db.selectFrom('callSlots').select('pool').orderBy('pool').execute()

    const sandboxAgent = await calling.publishAgent()
    t.match(await place(sandboxAgent), {
      code: 'unprocessable_entity',
      details: { path: 'agentId' },
      message: /parley-rules-1 works in the test environment only/,
    })
    t.match(await place(), { code: 'blocked_opt_out', details: { checkType: 'verification' } })
    t.same(await slots(), [])
    await readyForLive(db, owner.organizationId, [NUMBER], clock.wall())

    t.match(await place(), {
      code: 'insufficient_funds',
      details: { checkType: 'wallet', balancePaise: 0, minBalancePaise: 1_200, onHold: false },
    })
    t.same(await slots(), [], 'nothing kept of a call that nobody can pay')
    await addFunds(db, owner.organizationId, 2_399, clock.wall())
    const call = await place()
    if (isRefusal(call)) throw new Error(JSON.stringify(call))
    t.match(call, { environment: 'live', direction: 'outbound', fromNumber: NUMBER, toNumber: TO })
    t.equal(call.ratePaisePerMinute, 450, 'the price over an own trunk')
    await until(() => rig.types().includes('answered'))
    t.match(invites, [{ uri: `sip:09876543210@127.0.0.1:${carrier.port}` }, { uri: /^sip:09876543210@/ }])
    const [, invite] = invites
    if (invite === undefined) throw new Error('no second INVITE')
    t.match(header(invite, 'from'), /<sip:01171366900@acme\.example>/)
    t.match(header(invite, 'p-asserted-identity'), '<sip:01171366900@acme.example>')
    t.equal(header(invite, 'x-account'), '17')
    t.equal(guard.accepted, 1)
    t.match(plans, [{ ringTimeoutMs: 5_000, gateway: { codecs: ['PCMA', 'PCMU'] } }])
    const trunkId = number.sipTrunkId ?? ''
    t.same(await slots(), [{ pool: 'agentCalls' }, { pool: `trunk:${trunkId}` }])
    const trunk = () =>
      db.selectFrom('sipTrunks').selectAll().where('id', '=', trunkId).executeTakeFirstOrThrow()
    t.equal((await trunk()).lastOutboundAt, clock.wall())
    const checks = await db.selectFrom('checks').select('environment').execute()
    t.ok(checks.length > 0 && checks.every(({ environment }) => environment === 'live'), 'gated as live')

    t.match(
      await db.selectFrom('wallets').selectAll().executeTakeFirst(),
      { balancePaise: 2_399, heldPaise: 1_200 },
      'twelve rupees are held',
    )
    const second = await place()
    t.match(second, {
      code: 'concurrent_call_limit_reached',
      details: { pool: 'sipTrunk', inUse: 1, limit: 1 },
    })
    t.same(
      await slots(),
      [{ pool: 'agentCalls' }, { pool: `trunk:${trunkId}` }],
      'nothing kept of the refused one',
    )

    rig.callManager.hangUp(call.id, 'operator')
    await until(() => rig.types().includes('ended'))
    await calling.eventWriter.flush(10_000)
    t.same(await slots(), [], 'both are free again')
    const { billedPaise } = await db.selectFrom('calls').selectAll().executeTakeFirstOrThrow()
    t.match(await db.selectFrom('wallets').selectAll().executeTakeFirst(), {
      balancePaise: 2_399 - billedPaise,
      heldPaise: 0,
    })

    await load({ enabled: false })
    t.match(await place(), { code: 'sip_trunk_not_active', details: { status: 'disabled' } })
    await load({ gateway: undefined })
    t.match(await place(), { code: 'provider_unavailable', details: { path: 'numberId' } })
    await db.updateTable('numbers').set({ sipTrunkId: null }).where('id', '=', number.id).execute()
    t.match(await place(), { code: 'provider_unavailable' })
    t.same(await slots(), [])
  })
})
