import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { REQUEST_MS, WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { movedClock } from '../../../fixtures/host/moved-clock.js'
import { openRtpPeer, type RtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { addDesk } from '../../../fixtures/service/desk.js'
import { type Json, openService, type Service } from '../../../fixtures/service/service.js'
import { freeUdpPort } from '../../../fixtures/sip/asterisk.js'
import { documented, documentedTrunk } from '../../../fixtures/sip/asterisk-pbx.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { findKamailio, HOW_TO_GET_KAMAILIO, startKamailio } from '../../../fixtures/sip/kamailio.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { readSdp } from '../../../fixtures/sip/sdp.js'
import type { SipDialog } from '../../../fixtures/sip/sip-dialog.js'
import { header, headerValues } from '../../../fixtures/sip/sip-message.js'
import { openSipPeer, type SipPeer } from '../../../fixtures/sip/sip-peer.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { headerOf } from '../../../signalling/trace/sip-trace.js'
import type { TracedMessage } from '../../../signalling/trace/trace-mask.js'

/*
 * The service behind Kamailio, with the configuration of docs/sip-trunks.md: a telephone of the test talks to Kamailio,
 * and Kamailio to the service.
 */

const OFFICE = '+911171366900'
const LINE = '+911171366901'
/** Its calls go over TLS. */
const PROTECTED = '+911171366902'
const PERSON = '+919876543210'
const DESK = '+919811112222'
/** 11:00 in India, a Monday: live calls are allowed. */
const MORNING = Date.parse('2026-03-02T05:30:00Z')
/** The addresses of Kamailio: as a neighbour, with the account of the service, and over TLS. */
const SBC = '127.0.0.3'
const ACCOUNT = '127.0.0.4'
const TLS = '127.0.0.6'
const TELEPHONE = '127.0.0.5'
/** Packets (20 ms) that count as speech. */
const SPEECH = 20

interface Rig {
  readonly service: Service
  readonly phone: SipPeer
  /** Address at which the telephone reaches Kamailio. `direct` is that of the service. */
  readonly sbc: { readonly address: string; readonly port: number }
  readonly direct: { readonly address: string; readonly port: number }
  /** Calls that Kamailio sent on to the telephone. */
  readonly outside: SipDialog[]
  telephone(codec?: 'PCMA' | 'PCMU'): Promise<RtpPeer>
  live(method: string, path: string, body?: Json, headers?: Json): ReturnType<Service['send']>
}

async function openRig(t: Test, program: string): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-kamailio-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  const outside: SipDialog[] = []
  const phone = await openSipPeer({ address: TELEPHONE, onInvite: (dialog) => outside.push(dialog) })
  t.teardown(() => phone.close())
  const [port, own] = [await freeUdpPort(), await freeUdpPort()]
  const authority = makeAuthority(t)
  const [served, proxied] = [authority.issue('IP:127.0.0.1'), authority.issue(`IP:${TLS}`)]
  const configuration = documented('kamailio.cfg: between a telephone system and Parley')
    .replaceAll(/203\.0\.113\.10:506[01]/g, `127.0.0.1:${port}`)
    .replaceAll('203.0.113.10', '127.0.0.1')
    .replaceAll('203.0.113.40:5060', `${TELEPHONE}:${phone.port}`)
    .replaceAll('203.0.113.30', SBC)
    .replaceAll('203.0.113.31', ACCOUNT)
    .replaceAll('203.0.113.32', TLS)
    .replaceAll(/:506[01]/g, `:${own}`)
    .replaceAll('/etc/kamailio/sbc.pem', proxied.certificateFile)
    .replaceAll('/etc/kamailio/sbc.key', proxied.keyFile)
    .replaceAll('/etc/ssl/certs/ca-certificates.crt', authority.certificateFile)
  const kamailio = await startKamailio(program, configuration, { address: SBC, port: own }, ['WITH_TLS'])
  t.teardown(() => kamailio.close())
  const trunks = [
    { ...documentedTrunk('edge-proxy'), ...place(SBC, own) },
    {
      ...documentedTrunk('sbc-account'),
      ...place(ACCOUNT, own, documentedTrunk('sbc-account').gateway as Json),
    },
    {
      ...documentedTrunk('edge-tls'),
      ...place(TLS, own, documentedTrunk('edge-tls').gateway as Json),
    },
  ]
  const file = join(folder, 'trunks.json')
  await writeFile(file, JSON.stringify({ trunks }))
  const databaseUrl = `sqlite:${join(folder, 'parley.db')}`
  const clock = movedClock(MORNING)
  const service = await openService(t, {
    clock,
    agent: { ...LIVE_MODELS, callSettings: { nudges: { enabled: false }, maxCallSeconds: 300 } },
    fundsPaise: 100_000,
    live: { callerIds: [OFFICE, LINE, PROTECTED], purpose: 'collections' },
    env: {
      ...LIVE_MODELS_ENV,
      PARLEY_DATABASE_URL: databaseUrl,
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_TRUNKS_FILE: file,
      PARLEY_SIP_LISTEN: `udp:127.0.0.1:${port},tls:127.0.0.1:${port}`,
      PARLEY_SIP_TLS_CERT: served.certificateFile,
      PARLEY_SIP_TLS_KEY: served.keyFile,
      PARLEY_SIP_TLS_CA: authority.certificateFile,
      LINE_PASSWORD: 'change-me',
    },
  })
  const live: Rig['live'] = (method, path, body, headers = {}) =>
    service.send(method, path, body, { authorization: `Bearer ${service.keys.live}`, ...headers })
  const send = async (method: string, path: string, body?: Json): Promise<Json> =>
    (await live(method, path, body)).body
  const agentId = await addDesk({ service, live: send }, { databaseUrl, e164: DESK, at: clock.wall() })
  for (const number of (await live('GET', '/v1/numbers')).body.data as Json[]) {
    const { status } = await live('PATCH', `/v1/numbers/${number.id}`, { agentId })
    t.equal(status, 200)
  }
  return {
    service,
    phone,
    sbc: { address: SBC, port: own },
    direct: { address: '127.0.0.1', port },
    outside,
    async telephone(codec = 'PCMA') {
      const rtp = await openRtpPeer({ codec })
      t.teardown(() => rtp.close())
      return rtp
    },
    live,
  }
}

/** The addresses of a trunk at Kamailio. */
function place(host: string, port: number, gateway: Json = {}): Json {
  return { inbound: { auth: 'ip_acl', addresses: [host] }, gateway: { ...gateway, host, port } }
}

/** Calls a user of Kamailio and waits for the answer of the agent. */
async function dial(rig: Rig, user: string, late = false) {
  const { service, phone, sbc } = rig
  const known = service.events.length
  const rtp = await rig.telephone()
  const dialog = phone.invite({
    uri: `sip:${user}@${sbc.address}:${sbc.port}`,
    target: sbc,
    from: 'sip:+919811000001@sbc.example',
    sdp: late ? null : offerOf(rtp),
    headers: [
      ['Supported', 'timer'],
      ['Session-Expires', '90;refresher=uac'],
    ],
  })
  if (late) dialog.ackSdp = offerOf(rtp)
  const status = await dialog.final()
  if (status !== 200) throw new Error(`${user} was refused with ${status}`)
  rtp.start(readSdp(dialog.remoteSdp ?? ''))
  const answered = () => service.events.slice(known).find(({ type }) => type === 'answered')
  await service.until('the answer', () => answered() !== undefined)
  return { dialog, rtp, id: String(answered()?.callId) }
}

/** Places a live call from a number to a person, and returns its id. */
async function call({ live }: Rig, from: string, to: string): Promise<string> {
  const numbers = (await live('GET', '/v1/numbers')).body.data as Json[]
  const numberId = numbers.find(({ e164 }) => e164 === from)?.id
  const placed = await live('POST', '/v1/calls', { to, numberId }, { 'idempotency-key': `${from}${to}` })
  if (placed.status !== 201) throw new Error(JSON.stringify(placed.body))
  return String((placed.body.data as Json).id)
}

/** The record of a live call once it is ended. */
async function ended({ service, live }: Rig, id: string): Promise<Json> {
  let row: Json = {}
  await service.until(`the end of ${id}`, () => service.of(id, 'ended').length > 0)
  for (let i = 0; i * REQUEST_MS < WAIT_LIMIT_MS && row.status !== 'ended'; i++) {
    row = (await live('GET', `/v1/calls/${id}`)).body.data as Json
    await new Promise((resolve) => setTimeout(resolve, REQUEST_MS))
  }
  return row
}

/** The SIP messages of an ended call, once a BYE is among them. The file grows after the end of the call. */
async function traced({ service }: Rig, id: string): Promise<readonly TracedMessage[]> {
  const path = join(service.dataFolder, 'traces', `${id}.json`)
  let messages: readonly TracedMessage[] = []
  await service.until('the trace with a BYE', () => {
    messages = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).messages : []
    return messages.some(({ startLine }) => startLine.startsWith('BYE'))
  })
  return messages
}

const program = findKamailio()

t.test(
  'the service behind Kamailio',
  { skip: program === null ? HOW_TO_GET_KAMAILIO : false, timeout: 180_000 },
  async (t) => {
    if (program === null) return
    const rig = await openRig(t, program)
    const { service, phone, outside, live } = rig
    const trunks = (await live('GET', '/v1/sip-trunks')).body.data as Json[]
    const trunk = (name: string) => String(trunks.find((each) => each.name === name)?.id)
    const next = () => {
      const known = outside.length
      return async () => {
        await service.until('the call of the person', () => outside.length > known)
        return outside[known] as SipDialog
      }
    }

    await t.test('probes', async (t) => {
      for (const [name, method] of [
        ['edge-proxy', 'options'],
        ['edge-tls', 'options'],
        ['sbc-account', 'options'],
        ['sbc-account', 'register'],
      ] as const) {
        const probe = await live('POST', `/v1/sip-trunks/${trunk(name)}/test`, { method })
        t.match(
          probe,
          { status: 200, body: { data: { lastProbe: { ok: true, sipStatus: 200 } } } },
          `${name} ${method}`,
        )
      }
    })

    await t.test('a call in: Record-Route, hold by re-INVITE, and our BYE takes the same way', async (t) => {
      const { dialog, rtp, id } = await dial(rig, OFFICE)
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      dialog.reinvite(offerOf(rtp).replace('a=sendrecv', 'a=sendonly'))
      t.equal(await dialog.final(), 200)
      await service.until('hold', () => service.of(id, 'held').some(({ on }) => on))
      dialog.reinvite(offerOf(rtp))
      await service.until('resume', () => service.of(id, 'held').some(({ on }) => !on))
      t.equal((await live('POST', `/v1/calls/${id}/hangup`, {})).status, 200)
      await dialog.ended()
      t.equal(dialog.endedBy, 'remote')
      const bye = phone.log.find(({ message }) => message.method === 'BYE')?.message
      t.match(bye && headerValues(bye, 'via')[0], SBC, 'through Kamailio')
      t.match(await ended(rig, id), { to: OFFICE, direction: 'inbound' })
      const invite = (await traced(rig, id)).find(({ startLine }) => startLine.startsWith('INVITE'))
      t.match(invite && headerOf(invite, 'record-route', 'x'), SBC)
      const answer = phone.log.find(({ message }) => message.status === 200 && message.body !== '')?.message
      t.match(answer && header(answer, 'session-expires'), /^90;\s*refresher=uac/, 'a session timer')
    })

    await t.test('a call in with a late offer', async (t) => {
      const { dialog, rtp, id } = await dial(rig, OFFICE, true)
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      dialog.bye()
      t.match(await ended(rig, id), { to: OFFICE, endedReason: 'caller_hangup' })
    })

    await t.test('the codec and the place of the telephone change by re-INVITE', async (t) => {
      const { dialog, rtp, id } = await dial(rig, OFFICE)
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      const other = await rig.telephone('PCMU')
      dialog.reinvite(offerOf(other))
      t.equal(await dialog.final(), 200)
      t.match(dialog.remoteSdp, /^m=audio \d+ RTP\/AVP 0\b/m)
      other.start(readSdp(dialog.remoteSdp ?? ''))
      await service.until('packets in the new codec', () => other.audio().length > SPEECH)
      other.press('5')
      await service.until('a key at the new place', () =>
        service.of(id, 'dtmf').some(({ digit }) => digit === '5'),
      )
      dialog.bye()
      t.match(await ended(rig, id), { to: OFFICE, endedReason: 'caller_hangup' })
    })

    await t.test('TLS: a call in and a call out, with re-INVITEs and BYE of both sides', async (t) => {
      const { dialog, rtp, id } = await dial(rig, PROTECTED)
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      dialog.reinvite(offerOf(rtp).replace('a=sendrecv', 'a=sendonly'))
      t.equal(await dialog.final(), 200)
      await service.until('hold', () => service.of(id, 'held').some(({ on }) => on))
      t.equal((await live('POST', `/v1/calls/${id}/hangup`, {})).status, 200)
      await dialog.ended()
      t.equal(dialog.endedBy, 'remote')
      t.match(await ended(rig, id), { to: PROTECTED, direction: 'inbound' })

      const called = next()
      const out = await call(rig, PROTECTED, PERSON)
      const person = await called()
      const heard = await rig.telephone()
      person.answer(offerOf(heard))
      heard.start(readSdp(person.remoteSdp ?? ''))
      await service.until('the greeting', () => heard.loud().length > SPEECH)
      person.bye()
      t.match(await ended(rig, out), { to: PERSON, disposition: 'answered', direction: 'outbound' })
      for (const callId of [id, out]) {
        const messages = await traced(rig, callId)
        t.same([...new Set(messages.map(({ transport }) => transport))], ['tls'], 'nothing is sent in clear')
      }
    })

    await t.test('only Kamailio may bring calls of its numbers', async (t) => {
      const stranger = phone.invite({
        uri: `sip:${OFFICE}@${rig.direct.address}:${rig.direct.port}`,
        target: rig.direct,
        from: 'sip:+919811000001@sbc.example',
        sdp: offerOf(await rig.telephone()),
      })
      t.equal(await stranger.final(), 404, 'as for a number that nobody has')
    })

    await t.test('a call out: early media, hold, and a re-INVITE without an offer', async (t) => {
      const called = next()
      const id = await call(rig, OFFICE, PERSON)
      const person = await called()
      const rtp = await rig.telephone()
      person.ring(offerOf(rtp))
      rtp.start(readSdp(person.remoteSdp ?? ''))
      await service.until('early media', () => service.of(id, 'ringing').some(({ sip }) => sip === 183))
      t.equal(service.of(id, 'answered').length, 0, 'which is no answer')
      person.answer(offerOf(rtp))
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      person.reinvite(offerOf(rtp).replace('a=sendrecv', 'a=sendonly'))
      t.equal(await person.final(), 200)
      await service.until('hold', () => service.of(id, 'held').some(({ on }) => on))
      person.ackSdp = offerOf(rtp)
      person.reinvite(null)
      t.equal(await person.final(), 200)
      await service.until('resume by a late offer', () => service.of(id, 'held').some(({ on }) => !on))
      const before = rtp.audio().length
      await service.until('packets after it', () => rtp.audio().length > before + SPEECH)
      person.bye()
      t.match(await ended(rig, id), { to: PERSON, disposition: 'answered', direction: 'outbound' })
    })

    await t.test('a busy person', async (t) => {
      const called = next()
      const id = await call(rig, OFFICE, '+919876543211')
      ;(await called()).reject(486, 'Busy Here')
      t.match(await ended(rig, id), { disposition: 'busy' })
    })

    await t.test(
      'the account: registered with a password, called there, and calls out with it',
      async (t) => {
        const { dialog, rtp, id } = await registeredCall(rig)
        await service.until('the greeting', () => rtp.loud().length > SPEECH)
        dialog.bye()
        t.match(await ended(rig, id), { to: LINE, direction: 'inbound' })

        const called = next()
        const out = await call(rig, LINE, PERSON)
        const person = await called()
        t.notOk(header(person.invite as never, 'proxy-authorization'), 'the password stays at Kamailio')
        const heard = await rig.telephone()
        person.answer(offerOf(heard))
        heard.start(readSdp(person.remoteSdp ?? ''))
        await service.until('the greeting', () => heard.loud().length > SPEECH)
        person.bye()
        t.match(await ended(rig, out), { to: PERSON, disposition: 'answered' })
        const statuses = (await traced(rig, out)).map(({ startLine }) => startLine)
        t.ok(
          statuses.some((line) => line.startsWith('SIP/2.0 407')),
          'it was asked for',
        )
      },
    )

    await t.test('a REFER of the caller becomes a transfer to the desk', async (t) => {
      const { dialog, rtp, id } = await dial(rig, OFFICE)
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      const called = next()
      dialog.request('REFER', [['Refer-To', `<sip:${DESK}@sbc.example>`]])
      const desk = await called()
      const person = await rig.telephone()
      desk.ring()
      desk.answer(offerOf(person))
      person.start(readSdp(desk.remoteSdp ?? ''))
      await service.until('what the person is told', () => person.loud().length > SPEECH)
      person.press('1')
      await service.until('the bridge', () =>
        service.of(id, 'transfer').some(({ status }) => status === 'bridged'),
      )
      const told = () =>
        phone.log
          .filter(({ direction, message }) => direction === 'in' && message.method === 'NOTIFY')
          .map(({ message }) => /^SIP\/2\.0 (\d+)/.exec(message.body)?.[1])
      await service.until('the last NOTIFY', () => told().includes('200'))
      t.equal(told().at(-1), '200')
      desk.bye()
      t.match(await ended(rig, id), { transfer: { outcome: 'connected' } })
    })
  },
)

/** Calls the account, which is registered soon after the start. */
async function registeredCall(rig: Rig): ReturnType<typeof dial> {
  for (let tries = 0; ; tries++) {
    try {
      return await dial(rig, 'line')
    } catch (error) {
      if (tries === 50) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}
