import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { call } from '../../../fixtures/service/caller.js'
import {
  type Json,
  openService,
  type Service,
  type ServiceOptions,
  type ServiceTest,
} from '../../../fixtures/service/service.js'
import { DigestGuard } from '../../../fixtures/sip/sip-guard.js'
import { header, type SipMessage, token } from '../../../fixtures/sip/sip-message.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { type Log, silentLog } from '../../../media/base/log.js'
import { DigestClient } from '../../../signalling/trunk/digest-client.js'

const NUMBER = '+911171366900'
const SDP =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n'

/** A service with one trunk from a file, and a live number on it that an agent answers. */
async function openWithTrunk(
  t: ServiceTest,
  inbound: Json,
  gateway: Json = {},
  options: Pick<ServiceOptions, 'log' | 'env'> = {},
): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-trunk-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'trunks.json')
  const trunk = { name: 'carrier', inbound, maxConcurrent: 2, numbers: [{ e164: NUMBER }] }
  await writeFile(file, JSON.stringify({ trunks: [{ ...trunk, ...(gateway.host ? { gateway } : {}) }] }))
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  const service = await openService(t, {
    virtual: true,
    agent: LIVE_MODELS,
    fundsPaise: 10_000,
    ...options,
    env: {
      ...LIVE_MODELS_ENV,
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_TRUNKS_FILE: file,
      TEST_TRUNK_PASSWORD: 'c4rrier',
      ...options.env,
    },
    mediaTimeoutMs: 5_000,
  })
  const live = { authorization: `Bearer ${service.keys.live}` }
  const numbers = (await service.send('GET', '/v1/numbers', undefined, live)).body.data as Json[]
  const bound = await service.send(
    'PATCH',
    `/v1/numbers/${numbers[0]?.id}`,
    { agentId: service.agentId },
    live,
  )
  if (bound.status !== 200) throw new Error(JSON.stringify(bound.body))
  return service
}

const liveCalls = async (service: Service) => {
  const live = { authorization: `Bearer ${service.keys.live}` }
  return (await service.send('GET', '/v1/calls', undefined, live)).body.data as Json[]
}

t.test('a carrier identified by its address reaches the agent; the sandbox stays reachable', async (t) => {
  const lines: object[] = []
  const log: Log = {
    ...silentLog,
    info: (fields, message) => {
      if (message.includes('trusted_networks.changed')) lines.push(fields)
    },
  }
  const service = await openWithTrunk(
    t,
    { auth: 'ip_acl', addresses: ['127.0.0.0/8', '2001:db8::/48'] },
    {},
    { log, env: { PARLEY_SIP_EXEMPT: '192.0.2.1,198.51.100.0/24' } },
  )
  // As Indian carriers write it, with trunk zero.
  const caller = await call(t, service, { to: '01171366900' })
  await caller.answered()
  await caller.until('the greeting', () => caller.rtp.loud().length > 10)
  const info = [['Content-Type', 'application/dtmf-relay']] as const
  caller.dialog.request('INFO', info, 'Signal=7\r\nDuration=120\r\n')
  const keys = () => service.events.flatMap((event) => (event.type === 'dtmf' ? [event.digit] : [])).join('')
  await service.until('the key told by INFO', () => keys() === '7')
  // From now on this telephone sends keys as RTP events, and tells of them all the same.
  for (const digit of '42') {
    caller.dialog.request('INFO', info, `Signal=${digit}\r\n`)
    caller.rtp.press(digit)
    await service.until(`the key ${digit}`, () => keys().endsWith(digit))
  }
  await new Promise<void>((resolve) => caller.peer.after(800, resolve))
  t.equal(keys(), '742', 'each once')
  await caller.hangUp()
  await service.until('the end', () => service.events.some(({ type }) => type === 'ended'))
  t.match(await liveCalls(service), [
    { environment: 'live', direction: 'inbound', to: NUMBER, from: caller.from, agentId: service.agentId },
  ])
  t.same(lines, [{ networks: 4 }], "the trunk's networks and the operator's reached the server, once")
  const sandbox = await call(t, service)
  await sandbox.answered()
  await sandbox.hangUp()
  const unknown = await call(t, service, { to: '+911140009999' })
  t.equal(await unknown.dialog.final(), 404)
})

t.test('a carrier with credentials and a registration; unknown peers are challenged', async (t) => {
  const guard = new DigestGuard({ username: 'pilot', password: 'c4rrier' })
  const registers: SipMessage[] = []
  const probes: SipMessage[] = []
  const carrier = await openSipPeer({
    onRequest: (request, from, self) => {
      if (request.method === 'OPTIONS') probes.push(request)
      if (request.method !== 'REGISTER') return false
      registers.push(request)
      if (guard.admits(self, request, from)) {
        self.respond(request, from, 200, 'OK', {
          tag: token(),
          headers: [['Expires', header(request, 'expires')]],
        })
      }
      return true
    },
  })
  t.teardown(() => carrier.close())
  const service = await openWithTrunk(
    t,
    { auth: 'digest', username: 'carrier-in', password: 'env:TEST_TRUNK_PASSWORD' },
    {
      host: '127.0.0.1',
      port: carrier.port,
      username: 'pilot',
      password: 'env:TEST_TRUNK_PASSWORD',
      register: true,
    },
  )
  await carrier.until(() => guard.accepted > 0, 30_000, 'the registration')
  await carrier.until(() => probes.length > 0, 30_000, 'the probe')

  const target = service.target('udp')
  const invite = async (to: string, authorization?: string) => {
    const uri = `sip:${to}@${target.address}:${target.port}`
    const headers = authorization === undefined ? [] : ([['Authorization', authorization]] as const)
    const dialog = carrier.invite({ uri, target, from: 'sip:+919876543210@carrier', sdp: SDP, headers })
    const status = await dialog.final()
    const answer = carrier.log.findLast(
      ({ message }) => message.status === status && header(message, 'call-id') === dialog.callId,
    )?.message
    return { uri, dialog, status, challenge: answer ? header(answer, 'www-authenticate') : '' }
  }
  const credentials = (password: string, uri: string, challenge: string) => {
    const client = new DigestClient({ username: 'carrier-in', password })
    client.onChallenge(401, challenge)
    return client.headers({ method: 'INVITE', uri, body: SDP })[0]?.value ?? ''
  }
  for (const to of [NUMBER, '+911140009999']) t.equal((await invite(to)).status, 401, to)
  const asked = await invite(NUMBER)
  t.equal((await invite(NUMBER, credentials('guess', asked.uri, asked.challenge))).status, 401)
  const again = await invite(NUMBER)
  const { status, dialog } = await invite(NUMBER, credentials('c4rrier', again.uri, again.challenge))
  t.equal(status, 200)
  dialog.bye()
  await service.until('the end', () => service.events.some(({ type }) => type === 'ended'))
  t.match(await liveCalls(service), [{ to: NUMBER, from: '+919876543210' }])
  const refused = await service.send(
    'POST',
    '/v1/calls',
    { to: '+919876543210', numberId: (await liveCalls(service))[0]?.numberId },
    { authorization: `Bearer ${service.keys.live}`, 'idempotency-key': 'k1' },
  )
  t.match(
    refused,
    { status: 403, body: { error: { code: 'blocked_opt_out', details: { checkType: 'verification' } } } },
    'the organization is not verified',
  )
  const removed = () => registers.filter((request) => header(request, 'expires') === '0').length > 0
  t.equal(removed(), false)
  await service.parley.drain()
  await carrier.until(removed, 30_000, 'the end of the registration, so that another process can register')
  await service.parley.close()
  t.equal(header(registers.at(-1) as SipMessage, 'expires'), '0', 'the binding is gone with the service')
})
