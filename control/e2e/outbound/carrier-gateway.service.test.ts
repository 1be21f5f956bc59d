import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { CARRIER_RIGS } from '../../../fixtures/carriers/carrier-rigs.js'
import { WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { HUMS, voicesIn } from '../../../fixtures/rigs/transfer-rig.js'
import { openRtpPeer, type RtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { readSdp } from '../../../fixtures/sip/sdp.js'
import type { SipDialog } from '../../../fixtures/sip/sip-dialog.js'
import { header } from '../../../fixtures/sip/sip-message.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { type Log, silentLog } from '../../../media/base/log.js'
import { openRootKey } from '../../base/root-key.js'
import { openDatabase } from '../../db/database.js'
import { hashCode } from '../../destinations/code.js'
import { lockOrganization, updateOrganizationProfile } from '../../organization/profile-store.js'

/*
 * Each carrier as a customer uses it: a number is bought by the API, a person's telephone is verified by a call, a call is
 * placed, taken and transferred, and a campaign dials. The carrier is a SIP peer on an address of its own, and its API a
 * fake. Plivo stands for a carrier that never reports the answer of a transferred call.
 */

const CALLEE = '+919876543210'
const DESK = '+919876500001'
const LONG_MS = 60_000
const PROVIDERS = Object.keys(CARRIER_RIGS)
const numberOf = (provider: string): string => `+91804710000${PROVIDERS.indexOf(provider) + 1}`
/** Each campaign dials another person, so that no person is called twice within an hour. */
const recipientOf = (provider: string): string => `+91987650001${PROVIDERS.indexOf(provider)}`
const SILENT_ANSWER = 'plivo'

const hum = (hertz: number) => ({ background: tone(hertz, 1_000, 8_000, 0.2) })

/** Returns a log that collects its lines. */
function keepLines(lines: string[]): Log {
  const keep = (...parts: unknown[]) => void lines.push(JSON.stringify(parts))
  return { debug: keep, info: keep, warn: keep, error: keep }
}

async function openGateways(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-gateways-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  let wall = () => 0
  const rigs = new Map(
    await Promise.all(
      Object.entries(CARRIER_RIGS).map(async ([name, open]) => [name, await open(() => wall())] as const),
    ),
  )
  const carriers = new Map<string, { peer: Awaited<ReturnType<typeof openSipPeer>>; calls: SipDialog[] }>()
  const trunks: Json[] = []
  for (const [index, [provider, rig]] of [...rigs].entries()) {
    t.teardown(() => rig.api.close())
    const address = `127.0.0.${20 + index}`
    const calls: SipDialog[] = []
    const peer = await openSipPeer({ address, onInvite: (dialog) => calls.push(dialog) })
    t.teardown(() => peer.close())
    carriers.set(provider, { peer, calls })
    const reportsAnswer = provider !== SILENT_ANSWER
    trunks.push({
      ...{ name: provider, carrier: provider, inbound: { auth: 'ip_acl', addresses: [address] } },
      gateway: { host: address, port: peer.port, reportsAnswer },
    })
  }
  const file = join(folder, 'trunks.json')
  await writeFile(file, JSON.stringify({ trunks }))
  const lines: string[] = []
  const service = await openService(t, {
    virtual: true,
    log: keepLines(lines),
    fundsPaise: 1_000_000,
    live: { callerIds: PROVIDERS.map(numberOf), purpose: 'transactional' },
    env: {
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_OPENAI_CHAT_MODEL: 'live-chat',
      PARLEY_OPENAI_TRANSCRIPTION_MODEL: 'live-ears',
      PARLEY_TRUNKS_FILE: file,
      ...Object.assign({}, ...[...rigs.values()].map(({ env }) => env)),
    },
  })
  const { clock } = service
  wall = () => clock.wall()
  let keys = 0
  const send = async (method: string, path: string, body?: Json): Promise<Json> => {
    const answer = await service.send(method, path, body, {
      authorization: `Bearer ${service.keys.live}`,
      ...(method === 'POST' ? { 'idempotency-key': `k${++keys}` } : {}),
    })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body.data as Json
  }
  const phone = async (hertz: number): Promise<RtpPeer> => {
    const rtp = await openRtpPeer({ codec: 'PCMA', clock, ...hum(hertz) }, service.network)
    t.teardown(() => rtp.close())
    return rtp
  }
  /** Resolves with the next call that the carrier of a provider gets. */
  const called = async (provider: string, e164: string): Promise<SipDialog> => {
    const carrier = carriers.get(provider)
    if (carrier === undefined) throw new Error(provider)
    const found = () => carrier.calls.find(({ invite }) => invite?.uri?.includes(e164))
    await service.until(`a call to ${e164}`, () => found() !== undefined, LONG_MS)
    const dialog = found() as SipDialog
    carrier.calls.splice(carrier.calls.indexOf(dialog), 1)
    return dialog
  }
  const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
  const hear = async (rtp: RtpPeer): Promise<string> => {
    await wait(500)
    const from = rtp.heard().pcm.length
    await wait(1_500)
    return voicesIn(rtp.heard().pcm.subarray(from)).join('+')
  }
  /** Answers a call of the service. */
  const answer = async (dialog: SipDialog, hertz: number): Promise<RtpPeer> => {
    const rtp = await phone(hertz)
    rtp.start(readSdp(dialog.remoteSdp ?? ''))
    dialog.ring()
    dialog.answer(offerOf(rtp))
    return rtp
  }
  return { service, rigs, carriers, send, phone, called, answer, hear, wait, lines }
}

t.test('numbers of every carrier, over its gateway', { timeout: 600_000 }, async (t) => {
  const gateways = await openGateways(t)
  const { service, rigs, carriers, send, phone, called, answer, hear, wait, lines } = gateways
  const { clock, dataFolder } = service
  const database = openDatabase(`sqlite:${join(dataFolder, 'parley.db')}`, silentLog)
  t.teardown(() => database.close())
  const { db } = database
  const { organizationId } = await db
    .selectFrom('organizations')
    .select('id as organizationId')
    .executeTakeFirstOrThrow()
  const billing = { billingName: 'Asha Clinics', billingAddress: '1 MG Road', billingStateCode: '29' }
  await db.transaction().execute(async (trx) => {
    await lockOrganization(trx, organizationId, clock.wall())
    await updateOrganizationProfile(trx, organizationId, billing)
  })

  const numbers = new Map<string, string>()
  for (const [provider, rig] of rigs) {
    const e164 = numberOf(provider)
    rig.sell(e164)
    const bought = await send('POST', '/v1/numbers/purchase', { e164, provider })
    t.match(bought, { status: 'active', inbound: 'ready', provider }, `${provider} sold and routed`)
    numbers.set(provider, String(bought.id))
  }
  const { id: destinationId } = await send('POST', '/v1/transfer-destinations', {
    ...{ key: 'desk', label: 'Desk', e164: DESK },
  })

  await t.test('a verification call says the code, which is nowhere else', async (t) => {
    await send('POST', `/v1/transfer-destinations/${destinationId}/verify`, {})
    const provider = PROVIDERS.find((name) => carriers.get(name)?.calls.length) ?? PROVIDERS.at(-1)
    const dialog = await called(String(provider), DESK)
    const rtp = await answer(dialog, HUMS.person)
    const stored = await db.selectFrom('destinationVerifications').selectAll().executeTakeFirstOrThrow()
    const key = openRootKey(null, dataFolder)
    const codes = Array.from({ length: 1_000_000 }, (_, index) => String(index).padStart(6, '0'))
    const code = codes.find((one) => hashCode(key, String(destinationId), one) === stored.codeHash)
    if (code === undefined) throw new Error('no code has the stored hash')
    await dialog.ended(LONG_MS)
    const heard = rtp.heard().pcm
    t.ok(
      heard.some((sample) => Math.abs(sample) > 1_000),
      'the person heard a voice',
    )
    const confirmed = await send('POST', `/v1/transfer-destinations/${destinationId}/confirm`, { code })
    t.match(confirmed, { status: 'verified' })
    const callId = service.events.find(({ type }) => type === 'dialing')?.callId ?? ''
    await service.until('its end', () => service.of(callId, 'ended').length > 0)
    await wait(5_000)

    t.notOk(containsCode(lines.join('\n'), code), 'log')
    t.notOk(containsCode(JSON.stringify(service.events), code), 'events of the call')
    for (const { name } of await db.introspection.getTables()) {
      const rows = await db
        .selectFrom(name as 'calls')
        .selectAll()
        .execute()
      t.notOk(containsCode(JSON.stringify(rows), code), name)
    }
    t.match(await send('GET', `/v1/calls/${callId}`), { hasRecording: false, billedPaise: 0 })
    const files = await readdir(dataFolder, { recursive: true })
    const trace = files.filter((name) => name.includes(callId))
    t.same(trace, [join('traces', `${callId}.json`)], 'no recording')
    for (const name of trace) {
      const text = await readFile(join(dataFolder, name), 'utf8')
      t.match(text, 'INVITE')
      t.notOk(containsCode(text, code), name)
    }
  })

  const agentId = await service.publishAgent({
    ...{ name: 'Live', llmModel: 'live-chat' },
    voice: { languages: ['en-IN'], sttLanguage: 'en-IN', sttModel: 'live-ears', ttsModel: 'espeak-ng' },
    callSettings: {
      nudges: { enabled: false },
      transfer: {
        ...{ handoff: 'cold', blindTransfers: true, defaultDestinationId: destinationId },
        destinations: [{ destinationId }],
      },
    },
  })

  for (const provider of PROVIDERS) {
    await t.test(provider, async (t) => {
      const numberId = String(numbers.get(provider))
      const e164 = numberOf(provider)
      const recipient = recipientOf(provider)
      await send('PATCH', `/v1/numbers/${numberId}`, { agentId })

      const placed = String((await send('POST', '/v1/calls', { to: CALLEE, numberId })).id)
      const first = await called(provider, CALLEE)
      t.match(header(first.invite as NonNullable<SipDialog['invite']>, 'from'), e164, 'the number shows')
      const callee = await answer(first, HUMS.caller)
      await service.until('the greeting', () => service.of(placed, 'turn').length > 0)
      t.match(await send('POST', `/v1/calls/${placed}/transfer`, {}), { accepted: true })
      const second = await called(provider, DESK)
      const silent = provider === SILENT_ANSWER
      const desk = silent ? await phone(HUMS.person) : await answer(second, HUMS.person)
      if (silent) {
        desk.start(readSdp(second.remoteSdp ?? ''))
        second.ring(offerOf(desk))
      }
      const steps = () => service.of(placed, 'transfer').map(({ status }) => status)
      await service.until('the bridge', () => steps().includes('bridged'), LONG_MS)
      t.same([await hear(callee), await hear(desk)], ['person', 'caller'], 'they talk')
      first.bye()
      await service.until('the end', () => service.of(placed, 'ended').length > 0)
      if (silent) await second.ended(WAIT_LIMIT_MS)
      await wait(5_000)
      t.same(
        steps(),
        silent
          ? ['accepted', 'ringing', 'bridged', 'completed']
          : ['accepted', 'ringing', 'answered', 'bridged', 'completed'],
      )
      t.match(await send('GET', `/v1/calls/${placed}`), {
        charges: [{ kind: 'agent' }, { kind: 'human', ratePaisePerMinute: 200 }],
        transfer: { mode: 'blind', status: 'completed' },
      })
      const listed = (await send('GET', '/v1/events?limit=100')) as unknown as Json[]
      const types = listed.filter(({ subjectId }) => subjectId === placed).map(({ type }) => type)
      t.equal(types.includes('call.transferred'), !silent, 'signalling alone proves no answer')
      const asked: string[] = []
      const rig = rigs.get(provider)
      if (rig === undefined) throw new Error(provider)
      rig.api.mishap = ({ path }) => {
        asked.push(path)
        return null
      }
      await wait(20_000)
      t.ok(
        asked.some((path) => /cdr|Call/.test(path)),
        'the carrier is asked for its record',
      )

      const target = service.target('udp')
      const caller = await phone(HUMS.second)
      const inbound = carriers.get(provider)?.peer.invite({
        uri: `sip:${e164}@${target.address}:${target.port}`,
        target,
        from: `sip:+919811012345@carrier.example`,
        sdp: offerOf(caller),
      })
      t.equal(await inbound?.final(), 200, 'an inbound call is taken')
      caller.start(readSdp(inbound?.remoteSdp ?? ''))
      await wait(2_000)
      inbound?.bye()

      const campaign = await send('POST', '/v1/campaigns', { name: provider, agentId, numberId })
      const path = `/v1/campaigns/${campaign.id}`
      await send('POST', `${path}/recipients`, { recipients: [{ e164: recipient }] })
      t.match(await send('POST', `${path}/launch`, {}), { status: 'running' })
      const dialled = await called(provider, recipient)
      t.match(header(dialled.invite as NonNullable<SipDialog['invite']>, 'from'), e164)
      await answer(dialled, HUMS.caller)
      await wait(3_000)
      dialled.bye()
      const settled = async () => ((await send('GET', `${path}/recipients`)) as unknown as Json[])[0]
      const until = clock.now() + LONG_MS * 5
      while ((await settled())?.status !== 'settled' && clock.now() < until) await wait(1_000)
      t.match(await settled(), { status: 'settled', outcome: 'answered' })
    })
  }
})

/** Returns whether a text has the six digits, together or as numbers one by one. */
function containsCode(text: string, code: string): boolean {
  return new RegExp(`(?<!\\d)${[...code].join('[\\s,."-]*')}(?!\\d)`).test(text)
}
