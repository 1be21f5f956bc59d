import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import {
  feed,
  Inbox,
  openUdpPeer,
  type RawSipMessage,
  request,
  response,
  type TestPeer,
} from '../../fixtures/rigs/embedded-rig.js'
import { openSignallingRig, type RigOptions, testAgent } from '../../fixtures/rigs/signalling-rig.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { InboundTrunk, OutboundTrunk, TrunkDirectory } from '../call/ports.js'
import { DigestClient } from './digest-client.js'
import { openRegistrar } from './registrar.js'
import { liveContacts, type RegisteredContact } from './registrar-rules.js'
import { TrunkAuthenticator } from './trunk-authenticator.js'
import { probeTrunk } from './trunk-probe.js'

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

const PBX = { username: 'office', password: 'first-secret' }
/** An address without a listener, as that of a telephone system inside its own network. */
const INSIDE = '10.255.0.9:5060'
const NUMBER = '+919876543210'
const URI = 'sip:parley.example'
const ROUTE: OutboundTrunk = {
  trunkId: 'trk_1',
  limits: { maxConcurrent: 10, callsPerMinute: 60, allowedPrefixes: ['+91'] },
  numberFormat: 'e164',
  callerIdPolicy: 'did',
  callerId: null,
  fromDomain: null,
  headers: {},
  credentials: null,
}

interface Options {
  readonly rig?: RigOptions
  readonly directory?: TrunkDirectory
  readonly connections?: boolean
}

async function rigFor(t: Assert, options: Options = {}) {
  const rig = await openSignallingRig(options.rig)
  t.teardown(() => rig.close())
  const trunk = {
    ...{ id: 'trk_1', inboundAuth: 'digest', ranges: [], realm: 'parley', algorithm: 'MD5' },
    ...PBX,
    ...{ limits: ROUTE.limits, credentials: null },
  } as const satisfies InboundTrunk
  const state = {
    enabled: true,
    /** Unix time (ms) of the registrar. */
    now: 1_000_000,
    password: PBX.password,
    stored: [] as readonly RegisteredContact[],
  }
  const directory = options.directory ?? {
    byAddress: async () => null,
    byUsername: async (username) =>
      username === PBX.username ? { ...trunk, password: state.password } : null,
    realm: async () => null,
    proved: async () => {},
  }
  const registrar = openRegistrar({
    sip: rig.sip,
    authenticator: new TrunkAuthenticator({ clock: systemClock, log: silentLog, trunks: directory }),
    connections: options.connections ?? true,
    clock: { wall: () => state.now },
    log: silentLog,
    contacts: {
      async change(_trunkId, change) {
        if (!state.enabled) return null
        const outcome = change(state.stored)
        if (outcome.kind === 'accepted') state.stored = outcome.contacts
        return outcome
      },
    },
  })
  t.teardown(() => registrar.close())
  let calls = 0
  return {
    ...rig,
    state,
    contacts: () => liveContacts(state.stored, state.now),
    /** Calls the contact that is first, as a call over the trunk does. */
    call(contact = liveContacts(state.stored, state.now)[0]) {
      if (contact === undefined) throw new Error('nothing is registered')
      const callId = `call_${++calls}`
      rig.callManager.dial(rig.permit(callId, NUMBER), {
        party: { kind: 'agent', agent: testAgent },
        gateway: {
          host: '192.0.2.1',
          port: 5060,
          transport: contact.flow.transport,
          codecs: ['PCMA'],
          trunk: ROUTE,
          contact,
        },
        ringTimeoutMs: 5_000,
        recordTo: null,
      })
      return async () => {
        const end = () => rig.events.find((event) => event.callId === callId && event.type === 'ended')
        await until(() => end() !== undefined)
        const ended = end()
        return ended?.type === 'ended' ? ended.ending : null
      }
    },
    async udpPeer() {
      const peer = await openUdpPeer(rig.udp)
      t.teardown(() => peer.close())
      return peer
    },
    async tcpPeer() {
      const socket = connect({ host: '127.0.0.1', port: rig.tcp })
      await once(socket, 'connect')
      const inbox = new Inbox()
      feed(socket, inbox)
      const closed = once(socket, 'close')
      const peer: TestPeer = {
        port: socket.localPort ?? 0,
        seen: inbox.seen,
        send: (text) => void socket.write(text),
        next: (fits) => inbox.next(fits),
        close: async () => {
          socket.destroy()
          await closed
        },
      }
      t.teardown(() => peer.close())
      return peer
    },
  }
}

interface Register {
  readonly contact?: string | null
  readonly expires?: string
  readonly transport?: 'UDP' | 'TCP' | 'WS'
  readonly headers?: Readonly<Record<string, string>>
  readonly cseq?: number
}

/** A telephone system that registers: it answers challenges and keeps its Call-ID and CSeq. */
class Client {
  readonly #peer: TestPeer
  readonly #digest: DigestClient
  readonly #callId = `register-${Math.random()}`
  #cseq = 0

  constructor(peer: TestPeer, credentials = PBX) {
    this.#peer = peer
    this.#digest = new DigestClient(credentials)
  }

  /** Sends a REGISTER, again with credentials when it is challenged, and returns the final response. */
  async register(options: Register = {}): Promise<RawSipMessage> {
    const first = await this.send(options)
    if (!first.start.includes(' 401 ')) return first
    if (!this.#digest.onChallenge(401, first.header('WWW-Authenticate'))) return first
    return this.send(options)
  }

  async send(options: Register) {
    const { contact = `<sip:s@${INSIDE}>`, expires = '600', transport = 'UDP', headers = {} } = options
    const cseq = `${options.cseq ?? ++this.#cseq} REGISTER`
    const [credentials] = this.#digest.headers({ method: 'REGISTER', uri: URI, body: '' })
    const account = `<sip:${PBX.username}@parley.example>`
    const given = {
      Contact: contact,
      Expires: expires,
      From: `${account};tag=1`,
      To: account,
      'Call-ID': this.#callId,
      CSeq: cseq,
      ...(credentials === undefined ? {} : { Authorization: credentials.value }),
      ...headers,
    }
    this.#peer.send(request('REGISTER', this.#peer, given, '', { uri: URI, transport }))
    return this.#peer.next(
      (m) =>
        m.start.startsWith('SIP/2.0 ') && m.header('CSeq') === cseq && m.header('Call-ID') === this.#callId,
    )
  }
}

const status = (message: RawSipMessage) => Number(message.start.split(' ')[1])

for (const transport of ['UDP', 'TCP'] as const) {
  t.test(`${transport}: registered behind a NAT, called over the flow of the REGISTER`, async (t) => {
    const rig = await rigFor(t)
    const peer = transport === 'UDP' ? await rig.udpPeer() : await rig.tcpPeer()
    const done = await new Client(peer).register({
      contact: `<sip:s@${INSIDE};transport=${transport};line=x7>`,
      transport,
    })
    t.equal(status(done), 200)
    t.equal(done.header('Contact'), `<sip:s@${INSIDE};transport=${transport};line=x7>;expires=600`)
    t.match(rig.contacts(), [{ flow: { transport: transport.toLowerCase(), port: peer.port } }])

    const ended = rig.call()
    const invite = await peer.next('INVITE')
    t.equal(invite.start, `INVITE sip:${NUMBER}@${INSIDE};transport=${transport};line=x7 SIP/2.0`)
    peer.send(response(invite, '486 Busy Here', { To: `${invite.header('To')};tag=a` }))
    t.match(await ended(), { cause: 'busy' })

    const [contact] = rig.contacts()
    if (contact === undefined) throw new Error('no contact')
    const { flow } = contact
    const target = {
      host: INSIDE,
      port: 5060,
      transport: flow.transport,
      domain: null,
      credentials: null,
      contact,
    }
    const probing = probeTrunk({ sip: rig.sip, clock: systemClock }, target, 'options')
    const options = await peer.next('OPTIONS')
    t.equal(options.start, `OPTIONS sip:s@${INSIDE};transport=${transport};line=x7 SIP/2.0`)
    peer.send(response(options, '200 OK'))
    t.match(await probing, { ok: true, sipStatus: 200 })
  })
}

t.test('the answer arrives, and the dialog goes on over the flow', async (t) => {
  const rig = await rigFor(t)
  const peer = await rig.udpPeer()
  await new Client(peer).register()
  const ended = rig.call()
  const invite = await peer.next('INVITE')
  const sdp =
    'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n'
  const headers = { To: `${invite.header('To')};tag=a`, Contact: `<sip:s@${INSIDE}>` }
  const length = { 'Content-Type': 'application/sdp' }
  peer.send(response(invite, '200 OK', { ...headers, ...length }, sdp))
  t.match((await peer.next('ACK')).start, INSIDE)
  rig.callManager.hangUp('call_1', 'operator')
  const bye = await peer.next('BYE')
  peer.send(response(bye, '200 OK'))
  t.match(await ended(), { by: 'operator' })
})

t.test('a connection that has ended: the call fails at once, and nothing is opened', async (t) => {
  const rig = await rigFor(t)
  const peer = await rig.tcpPeer()
  await new Client(peer).register({ transport: 'TCP' })
  await peer.close()
  await until(() => rig.server.stats().connections === 0)
  t.match(await rig.call()(), { sip: 430, cause: 'carrier_error' })
  const [contact] = rig.contacts()
  if (contact === undefined) throw new Error('no contact')
  const target = {
    host: INSIDE,
    port: 5060,
    transport: 'tcp',
    domain: null,
    credentials: null,
    contact,
  } as const
  t.match(await probeTrunk({ sip: rig.sip, clock: systemClock }, target, 'options'), {
    ok: false,
    error: /has to register again/,
  })
  const again = await rig.tcpPeer()
  t.equal(status(await new Client(again).register({ transport: 'TCP' })), 200)
  const ended = rig.call()
  const invite = await again.next('INVITE')
  again.send(response(invite, '486 Busy Here', { To: `${invite.header('To')};tag=a` }))
  t.match(await ended(), { cause: 'busy' })
})

t.test('refresh, query, expiry and removal', async (t) => {
  const rig = await rigFor(t)
  const client = new Client(await rig.udpPeer())
  await client.register({ expires: '120' })
  rig.state.now += 119_000
  t.match(await client.register({ contact: null }), { text: /;expires=1\r\n/ })
  t.equal(status(await client.register({ expires: '120' })), 200)
  rig.state.now += 119_999
  t.equal(rig.contacts().length, 1)
  rig.state.now += 1
  t.equal(rig.contacts().length, 0)
  t.equal((await client.register({ contact: null })).header('Contact'), '')
  await client.register()
  const removed = await client.register({ contact: '*', expires: '0' })
  t.equal(status(removed), 200)
  t.same(rig.contacts(), [])
})

t.test('refused: too short, out of order, malformed, another account, an extension, disabled', async (t) => {
  const rig = await rigFor(t)
  const client = new Client(await rig.udpPeer())
  const short = await client.register({ expires: '30' })
  t.match([status(short), short.header('Min-Expires')], [423, '60'])
  t.equal(status(await client.register({ contact: '*' })), 400)
  t.equal(status(await client.register({ headers: { To: '<sip:other@parley.example>' } })), 404)
  const extension = await client.register({ headers: { Require: 'outbound' } })
  t.match([status(extension), extension.header('Unsupported')], [420, 'outbound'])
  t.equal(status(await client.register()), 200)
  t.equal(status(await client.register({ cseq: 1 })), 500, 'a late one')
  rig.state.enabled = false
  t.equal(status(await client.register()), 403)
})

t.test('wrong and unknown credentials look the same, and register nothing', async (t) => {
  const rig = await rigFor(t)
  const answers = new Set<string>()
  for (const credentials of [
    { ...PBX, password: 'guess' },
    { username: 'nobody', password: 'guess' },
  ]) {
    const answer = await new Client(await rig.udpPeer(), credentials).register()
    t.equal(status(answer), 401)
    answers.add(answer.header('WWW-Authenticate').replace(/nonce="[^"]+"/, ''))
  }
  t.equal(answers.size, 1)
  t.same(rig.state.stored, [])
})

t.test('a rotated password is asked for at the next REGISTER', async (t) => {
  const rig = await rigFor(t)
  const client = new Client(await rig.udpPeer())
  t.equal(status(await client.register()), 200)
  rig.state.password = 'second-secret'
  t.equal(status(await client.register()), 401)
})

t.test(
  'over UDP the nonce belongs to the source: nobody registers the address of somebody else',
  async (t) => {
    const rig = await rigFor(t)
    const honest = await rig.udpPeer()
    const other = await rig.udpPeer()
    const challenged = await new Client(honest).send({})
    const digest = new DigestClient(PBX)
    digest.onChallenge(401, challenged.header('WWW-Authenticate'))
    const [authorization] = digest.headers({ method: 'REGISTER', uri: URI, body: '' })
    // The right password for the nonce of the first, from the second, which stands for a forged source.
    const answer = await new Client(other).send({ headers: { Authorization: authorization?.value ?? '' } })
    t.equal(status(answer), 401)
    t.match(answer.header('WWW-Authenticate'), 'stale=true')
    t.same(rig.state.stored, [])
    t.equal(status(await new Client(other).register()), 200, 'its own nonce is good')
  },
)

t.test('what cannot be called back is refused', async (t) => {
  const rig = await rigFor(t)
  const socket = await rig.tcpPeer()
  t.equal(status(await new Client(socket).register({ transport: 'WS' })), 403)
  const outside = await rigFor(t, { connections: false })
  const tcp = await outside.tcpPeer()
  t.equal(status(await new Client(tcp).register({ transport: 'TCP' })), 403)
  t.equal(status(await new Client(await outside.udpPeer()).register()), 200)
})

t.test('guessing passwords ends in a ban; REGISTERs in work are bounded', async (t) => {
  const rig = await rigFor(t, { rig: { guard: { exempt: [], maxBanMs: 60_000 } } })
  const guesser = await rig.udpPeer()
  for (let i = 0; rig.server.stats().guard.banned === 0; i++) {
    if (i > 20) throw new Error('no ban')
    const guess = new Client(guesser, { ...PBX, password: `guess ${i}` })
    await guess.register()
  }
  t.match(rig.server.stats().guard, { bans: { authentication: 1 } })

  let proceed = () => {}
  const held = new Promise<null>((resolve) => {
    proceed = () => resolve(null)
  })
  const busy = await rigFor(t, {
    directory: {
      byAddress: () => held,
      byUsername: async () => null,
      realm: async () => null,
      proved: async () => {},
    },
  })
  const crowd = await busy.udpPeer()
  for (let i = 0; i < 80; i++) {
    const account = { To: '<sip:office@parley.example>', 'Call-ID': `flood-${i}` }
    crowd.send(request('REGISTER', crowd, account, '', { uri: URI }))
  }
  const answered = (code: number) => crowd.seen.filter((answer) => status(answer) === code)
  await until(() => answered(503).length === 16)
  t.equal(answered(503)[0]?.header('Retry-After'), '5')
  proceed()
  await until(() => answered(401).length === 64)
  t.equal(answered(503).length, 16)
})

t.test('without a registrar REGISTER gets 405', async (t) => {
  const rig = await openSignallingRig()
  t.teardown(() => rig.close())
  const peer = await openUdpPeer(rig.udp)
  t.teardown(() => peer.close())
  t.equal(status(await new Client(peer).send({})), 405)
})
