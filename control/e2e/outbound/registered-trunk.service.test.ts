import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { movedClock } from '../../../fixtures/host/moved-clock.js'
import { openUdpPeer, request, response } from '../../../fixtures/rigs/embedded-rig.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { DigestClient } from '../../../signalling/trunk/digest-client.js'

const NUMBER = '+911171366900'
const PERSON = '+919876543210'
/** 11:00 in India, a Monday. */
const MORNING = Date.parse('2026-03-02T05:30:00Z')
const URI = 'sip:parley.example'

t.test('a telephone system registers, and a live call reaches it there', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-registered-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  const file = join(folder, 'trunks.json')
  const inbound = { auth: 'digest', username: 'office', password: 'first-secret' }
  await writeFile(
    file,
    JSON.stringify({ trunks: [{ name: 'office', inbound, numbers: [{ e164: NUMBER }] }] }),
  )
  const service = await openService(t, {
    clock: movedClock(MORNING),
    fundsPaise: 5_000,
    live: { callerIds: [NUMBER], purpose: 'collections' },
    agent: LIVE_MODELS,
    env: { ...LIVE_MODELS_ENV, PARLEY_OPENAI_BASE_URL: vendor.baseUrl, PARLEY_TRUNKS_FILE: file },
  })
  const live = (method: string, path: string, body?: Json, headers: Json = {}) =>
    service.send(method, path, body, { authorization: `Bearer ${service.keys.live}`, ...headers })
  const [number] = (await live('GET', '/v1/numbers')).body.data as Json[]
  const numberId = String(number?.id)
  await live('PATCH', `/v1/numbers/${numberId}`, { agentId: service.agentId })
  const place = (key: string) =>
    live('POST', '/v1/calls', { to: PERSON, numberId }, { 'idempotency-key': key })
  const contacts = async () => ((await live('GET', '/v1/sip-trunks')).body.data as Json[])[0]?.contacts

  const early = await place('early')
  t.match(early.body, { error: { code: 'provider_unavailable', message: /registered/ } })
  t.same(await contacts(), [])

  const peer = await openUdpPeer(service.target('udp').port)
  t.teardown(() => peer.close())
  const digest = new DigestClient(inbound)
  const send = async (cseq: number, expires: number) => {
    const [credentials] = digest.headers({ method: 'REGISTER', uri: URI, body: '' })
    const headers = {
      ...{ From: '<sip:office@parley.example>;tag=1', To: '<sip:office@parley.example>' },
      ...{ Contact: `<sip:s@10.255.0.9;line=x7>;expires=${expires}`, 'Call-ID': 'office' },
      ...(credentials === undefined ? {} : { Authorization: credentials.value }),
      CSeq: `${cseq} REGISTER`,
    }
    peer.send(request('REGISTER', peer, headers, '', { uri: URI }))
    return peer.next((m) => m.start.startsWith('SIP/2.0') && m.header('CSeq') === `${cseq} REGISTER`)
  }
  digest.onChallenge(401, (await send(1, 600)).header('WWW-Authenticate'))
  t.match(await send(2, 600), { start: /^SIP\/2.0 200/ })
  t.match(await contacts(), [{ uri: 'sip:s@10.255.0.9;line=x7', transport: 'udp', port: peer.port }])

  const placed = await place('registered')
  t.equal(placed.status, 201, JSON.stringify(placed.body))
  const id = String((placed.body.data as Json).id)
  const invite = await peer.next('INVITE')
  t.equal(invite.start, `INVITE sip:${PERSON}@10.255.0.9;line=x7 SIP/2.0`)
  peer.send(response(invite, '486 Busy Here', { To: `${invite.header('To')};tag=a` }))
  await service.until('the end', () => service.of(id, 'ended').length > 0)
  t.match(service.of(id, 'ended'), [{ ending: { cause: 'busy' } }])

  t.match(await send(3, 0), { start: /^SIP\/2.0 200/ })
  t.same(await contacts(), [])
})
