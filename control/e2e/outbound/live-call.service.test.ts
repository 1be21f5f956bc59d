import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { startCarrierProcess } from '../../../fixtures/carriers/carrier-process.js'
import { movedClock } from '../../../fixtures/host/moved-clock.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { replayDecision } from '../../compliance/evidence/replay.js'
import { verifyBundle } from '../../compliance/evidence/verify-bundle.js'

/*
 * A live call as a customer places it: the carrier is another process, the wallet pays, and the evidence is verified
 * offline. The time of day is moved.
 */

const NUMBER = '+911171366900'
const PERSON = '+919876543210'
/** 11:00 in India, a Monday. */
const MORNING = Date.parse('2026-03-02T05:30:00Z')
const HOUR = 3_600_000
/** Packets (20 ms) that the person hears before hanging up. */
const PACKETS = 60

t.test('a live call over a trunk is dialled, billed and evidenced; at night it is refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-live-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const carrier = await startCarrierProcess(PACKETS)
  t.teardown(() => carrier.close())
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  const file = join(folder, 'trunks.json')
  const trunk = {
    name: 'carrier',
    gateway: { host: '127.0.0.1', port: carrier.port },
    inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24'] },
    maxConcurrent: 2,
    numbers: [{ e164: NUMBER }],
  }
  await writeFile(file, JSON.stringify({ trunks: [trunk] }))
  const clock = movedClock(MORNING)
  const service = await openService(t, {
    clock,
    fundsPaise: 5_000,
    live: { callerIds: [NUMBER], purpose: 'collections' },
    agent: {
      llmModel: 'live-chat',
      voice: { languages: ['en-IN'], sttLanguage: 'en-IN', sttModel: 'live-ears', ttsModel: 'espeak-ng' },
    },
    env: {
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_OPENAI_CHAT_MODEL: 'live-chat',
      PARLEY_OPENAI_TRANSCRIPTION_MODEL: 'live-ears',
      PARLEY_TRUNKS_FILE: file,
    },
  })
  const live = async (method: string, path: string, body?: Json, headers: Json = {}) =>
    service.send(method, path, body, { authorization: `Bearer ${service.keys.live}`, ...headers })
  const data = async (path: string) => (await live('GET', path)).body.data as Json
  const [number] = (await live('GET', '/v1/numbers')).body.data as Json[]
  const numberId = String(number?.id)
  await live('PATCH', `/v1/numbers/${numberId}`, { agentId: service.agentId, recordCalls: true })
  const place = (key: string) =>
    live('POST', '/v1/calls', { to: PERSON, numberId }, { 'idempotency-key': key })

  const placed = await place('morning')
  t.equal(placed.status, 201, JSON.stringify(placed.body))
  const id = String((placed.body.data as Json).id)
  await service.until('the end', () => service.of(id, 'ended').length > 0)
  const at = Date.now() + 60_000
  let call = await data(`/v1/calls/${id}`)
  while (call.status !== 'ended' && Date.now() < at) call = await data(`/v1/calls/${id}`)

  await t.test('dialled: the person heard the agent', async (t) => {
    t.match(carrier.messages, [
      { type: 'ready' },
      { type: 'invite', uri: /9876543210@127\.0\.0\.1/, from: /1171366900/ },
      { type: 'over' },
    ])
    t.match(call, { disposition: 'answered', environment: 'live', direction: 'outbound', to: PERSON })
    t.equal(vendor.requests.filter(({ path }) => path.endsWith('/speech')).length, 0)
  })

  await t.test('billed: by the second at the rate of an own trunk', async (t) => {
    const seconds = Number(call.durationSeconds)
    t.ok(seconds >= 1)
    t.match(call, { ratePaisePerMinute: 450, billedPaise: Math.ceil((450 * seconds) / 60) })
    const wallet = await data('/v1/wallet')
    t.match(wallet, { balancePaise: 5_000 - Number(call.billedPaise), heldPaise: 0 })
    const ledger = (await live('GET', '/v1/wallet/ledger')).body.data as Json[]
    t.match(
      ledger.filter(({ type }) => type === 'call'),
      [{ amountPaise: -Number(call.billedPaise), reference: { type: 'call', id } }],
    )
  })

  await t.test('evidenced: sealed before the dial, and verified offline', async (t) => {
    const [dialing] = service.of(id, 'dialing')
    const deadline = Date.now() + 60_000
    let evidence = await data(`/v1/calls/${id}/evidence`)
    while (evidence.outcome === null && Date.now() < deadline)
      evidence = await data(`/v1/calls/${id}/evidence`)
    const { gate, outcome, verification } = evidence as Record<string, Json>
    t.match(verification, { valid: true, problem: null })
    t.match(gate, { allowed: true, callId: id, number: NUMBER })
    t.ok(Date.parse(String(gate?.sealedAt)) <= Number(dialing?.at), 'before the INVITE')
    const { url } = await data(`/v1/calls/${id}/recording`)
    const recording = await fetch(String(url))
    const wav = Buffer.from(await recording.arrayBuffer())
    t.match(outcome, {
      outcome: { disposition: 'answered', recordingSha256: createHash('sha256').update(wav).digest('hex') },
    })
    const bundle = await fetch(`${service.parley.httpUrl}/v1/compliance/evidence/export`, {
      headers: { authorization: `Bearer ${service.keys.live}` },
    })
    const lines = (await bundle.text()).trimEnd().split('\n')
    const report = await verifyBundle(Readable.from(lines), replayDecision)
    t.match(report, { problems: [], records: 2, decisions: { same: 1, notReplayed: 0 } })
  })

  await t.test('refused outside the hours, with the time at which it is allowed', async (t) => {
    clock.move(9 * HOUR)
    const refused = await place('evening')
    t.match(refused, {
      status: 403,
      body: {
        error: {
          code: 'blocked_opt_out',
          details: { checkType: 'calling_window', nextAllowedAt: '2026-03-03T02:30:00.000Z' },
        },
      },
    })
    const asked = await live('POST', '/v1/compliance/check', { e164: PERSON, purpose: 'collections' })
    t.match(asked.body.data, { allowed: false, nextAllowedAt: '2026-03-03T02:30:00.000Z' })
    t.equal(carrier.messages.filter(({ type }) => type === 'invite').length, 1, 'nothing was sent')
    t.match(await data('/v1/wallet'), { heldPaise: 0, balancePaise: 5_000 - Number(call.billedPaise) })
    const after = (await live('GET', '/v1/compliance/checks?outcome=block')).body.data as Json[]
    t.match(after, [{ type: 'calling_window', source: /^RBI\// }])
  })
})
