import { createHash } from 'node:crypto'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import {
  inCall,
  openUdpPeer,
  type RawSipMessage,
  request,
  response,
  SDP_A,
  SDP_B,
} from '../../fixtures/rigs/embedded-rig.js'
import { PATIENT } from '../../fixtures/rigs/signalling-rig.js'
import { OPEN_GATE, PERMIT } from '../../fixtures/sip/open-gate.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openEmbeddedServer } from '../embedded/server.js'
import type { DialogHandlers, SipDialog } from './dialog-port.js'
import { openSipServer } from './sip-server.js'

assertNothingLeft(t)

const ACCOUNT = { username: 'pilot', password: 'c4rrier' }
const HANDLERS: DialogHandlers = { acknowledged: () => {}, offered: () => {}, ended: () => {} }

async function open(t: { teardown(run: () => Promise<void>): unknown }, clock: Clock = systemClock) {
  const tools = { clock: systemClock, log: silentLog }
  const server = await openEmbeddedServer({
    listen: [{ transport: 'udp', address: '127.0.0.1', port: 0 }],
    control: { address: '127.0.0.1', port: 0, secret: 'x' },
    timers: PATIENT,
    ...tools,
  })
  const sip = await openSipServer({
    gate: OPEN_GATE,
    host: '127.0.0.1',
    port: server.controlPort,
    secret: 'x',
    ...tools,
    clock,
  })
  const peer = await openUdpPeer(server.endpoints[0]?.port ?? 0)
  t.teardown(async () => {
    await sip.close()
    await server.close()
    await peer.close()
  })
  return { sip, peer }
}

type Peer = Awaited<ReturnType<typeof open>>['peer']

const challenge = (status: 401 | 407, algorithm: string, nonce: string) => {
  const name = status === 407 ? 'Proxy-Authenticate' : 'WWW-Authenticate'
  return { [name]: `Digest realm="carrier", nonce="${nonce}", algorithm=${algorithm}, qop="auth"` }
}

/** Returns whether a request proves the password, calculated independently of the product. */
function proves(sent: RawSipMessage, status: 401 | 407, algorithm: string, nonce: string): boolean {
  const given = sent.header(status === 407 ? 'Proxy-Authorization' : 'Authorization')
  const field = (name: string) => new RegExp(`[ ,]${name}="?([^",]*)"?`).exec(given)?.[1] ?? ''
  const hash = (text: string) =>
    createHash(algorithm === 'MD5' ? 'md5' : 'sha256')
      .update(text)
      .digest('hex')
  const [method = '', uri = ''] = sent.start.split(' ')
  const key = hash(`${ACCOUNT.username}:carrier:${ACCOUNT.password}`)
  const parts = [key, nonce, field('nc'), field('cnonce'), 'auth', hash(`${method}:${uri}`)]
  return field('nonce') === nonce && field('uri') === uri && field('response') === hash(parts.join(':'))
}

/** Challenges the next request of that method and resolves with its repetition, unanswered. */
async function challenged(peer: Peer, method: string, status: 401 | 407, algorithm: string, nonce: string) {
  const first = await peer.next(method)
  const reason = status === 407 ? 'Proxy Authentication Required' : 'Unauthorized'
  const To = first.header('To').includes('tag=') ? first.header('To') : `${first.header('To')};tag=far`
  peer.send(response(first, `${status} ${reason}`, { To, ...challenge(status, algorithm, nonce) }))
  const again = await peer.next(method)
  return { first, again, proven: proves(again, status, algorithm, nonce) }
}

/** Places a call whose first INVITE is challenged, then answered. */
async function calling(
  opened: Awaited<ReturnType<typeof open>>,
  algorithm: string,
  headers: Record<string, string> = {},
) {
  const { sip, peer } = opened
  const contact = `<sip:far@127.0.0.1:${peer.port}>`
  const answered = new Promise<SipDialog>((resolve, reject) => {
    sip.invite(
      {
        permit: PERMIT,
        uri: `sip:far@127.0.0.1:${peer.port}`,
        callId: `inside-${algorithm}`,
        from: '+911171366900',
        transport: 'udp',
        body: SDP_A,
        credentials: ACCOUNT,
      },
      { ...HANDLERS, progress: () => {}, answered: (dialog) => resolve(dialog), failed: reject },
    )
  })
  const { again, proven } = await challenged(peer, 'INVITE', 407, algorithm, 'n1')
  const To = `${again.header('To')};tag=far`
  peer.send(response(again, '200 OK', { To, Contact: contact, ...headers }, SDP_B))
  return { dialog: await answered, proven, contact }
}

for (const algorithm of ['MD5', 'SHA-256']) {
  t.test(`${algorithm}: challenges to INVITE, re-INVITE and BYE of one call are answered`, async (t) => {
    const opened = await open(t)
    const { peer } = opened
    const { dialog, proven, contact } = await calling(opened, algorithm)
    t.ok(proven, 'the INVITE')
    await peer.next('ACK')

    const modified = dialog.modify(SDP_A)
    const reinvite = await challenged(peer, 'INVITE', 401, algorithm, 'n2')
    t.ok(reinvite.proven, 'the re-INVITE')
    const numbers = [reinvite.first, reinvite.again].map((sent) => Number.parseInt(sent.header('CSeq'), 10))
    t.ok((numbers[1] ?? 0) > (numbers[0] ?? 0), 'a new CSeq')
    peer.send(response(reinvite.again, '200 OK', { Contact: contact }, SDP_B))
    t.equal(await modified, SDP_B)

    const ended = dialog.bye()
    const bye = await challenged(peer, 'BYE', 407, algorithm, 'n3')
    t.ok(bye.proven, 'the BYE')
    peer.send(response(bye.again, '200 OK'))
    await ended
  })
}

t.test(
  'a password rejected inside the call is tried once; the call continues and ends normally',
  async (t) => {
    const opened = await open(t)
    const { peer } = opened
    const { dialog } = await calling(opened, 'MD5')
    const modified = dialog.modify(SDP_A)
    const { again } = await challenged(peer, 'INVITE', 401, 'MD5', 'n2')
    peer.send(response(again, '401 Unauthorized', challenge(401, 'MD5', 'n3')))
    await t.rejects(modified, { code: 'sip_refused', context: { status: 401 } })
    const ended = dialog.bye()
    const bye = await peer.next('BYE')
    peer.send(
      response(bye, '401 Unauthorized', {
        'WWW-Authenticate': 'Digest realm="carrier", nonce="x", algorithm=AKAv1',
      }),
    )
    await ended
    t.equal(peer.seen.filter(({ start }) => start.startsWith('INVITE')).length, 4)
  },
)

t.test('our session refreshes, with a peer that challenges every refresh', async (t) => {
  const clock = new VirtualClock()
  const opened = await open(t, clock)
  const { peer } = opened
  const expires = { 'Session-Expires': '600;refresher=uac', Require: 'timer' }
  const { dialog, contact } = await calling(opened, 'SHA-256', expires)
  for (const nonce of ['n2', 'n3']) {
    clock.advance(239_000)
    t.notOk(
      peer.seen.some((one) => one.header('Proxy-Authorization').includes(nonce)),
      'not yet',
    )
    clock.advance(2_000)
    const before = clock.pending
    const refresh = await challenged(peer, 'INVITE', 407, 'SHA-256', nonce)
    t.ok(refresh.proven)
    t.equal(refresh.again.body, SDP_A, 'the same description')
    t.equal(refresh.again.header('Session-Expires'), '600;refresher=uac')
    peer.send(response(refresh.again, '200 OK', { Contact: contact, ...expires }, SDP_B))
    const cseq = Number.parseInt(refresh.again.header('CSeq'), 10)
    await peer.next((m) => m.header('CSeq') === `${cseq} ACK`)
    await until(() => clock.pending > before)
  }
  const ended = dialog.bye()
  const bye = await challenged(peer, 'BYE', 407, 'SHA-256', 'n4')
  peer.send(response(bye.again, '200 OK'))
  await ended
  clock.advance(600_000)
  t.equal(clock.pending, 0, 'no timer is left of it')
})

t.test(
  'a re-INVITE that crosses the peer’s is sent again after 2.1 to 4 seconds, at most three times',
  async (t) => {
    const clock = new VirtualClock()
    const opened = await open(t, clock)
    const { peer } = opened
    const { dialog, contact } = await calling(opened, 'MD5')
    // Passes the deadline of the first connection.
    clock.advance(11_000)
    const crossed = async (start: string) => {
      const sent = await peer.next((m) => m.start.startsWith('INVITE') && m.body === SDP_B)
      peer.send(
        response(
          sent,
          start,
          start.startsWith('200') ? { Contact: contact } : {},
          start.startsWith('200') ? SDP_A : '',
        ),
      )
    }
    const glare = async (ms: number) => {
      const before = clock.pending
      await crossed('491 Request Pending')
      await until(() => clock.pending > before)
      clock.advance(2_000)
      t.equal(clock.pending, before + 1, 'not before 2.1 s')
      await t.rejects(dialog.modify(SDP_A), { code: 'sip_failed', retryable: true }, 'one at a time')
      clock.advance(ms)
    }
    const modified = dialog.modify(SDP_B)
    await glare(2_000)
    await glare(2_000)
    await crossed('200 OK')
    t.equal(await modified, SDP_A)

    const refused = dialog.modify(SDP_B)
    await glare(2_000)
    await glare(2_000)
    await crossed('491 Request Pending')
    await t.rejects(refused, { code: 'sip_refused', retryable: true, context: { status: 491 } })

    const ended = dialog.modify(SDP_B)
    const before = clock.pending
    await crossed('491 Request Pending')
    await until(() => clock.pending > before)
    const bye = dialog.bye()
    await t.rejects(ended, { code: 'sip_failed' })
    peer.send(response(await peer.next('BYE'), '200 OK'))
    await bye
    t.equal(clock.pending, 0)
  },
)

t.test('an inbound call: the carrier challenges our BYE, and the trunk has credentials', async (t) => {
  const { sip, peer } = await open(t)
  const accepted = new Promise<SipDialog>((resolve, reject) => {
    sip.onInvite((invite) => {
      invite.identify(ACCOUNT)
      invite.accept(SDP_B, HANDLERS).then(resolve, reject)
    })
  })
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }))
  const ended = (await accepted).bye()
  const bye = await challenged(peer, 'BYE', 407, 'SHA-256', 'n1')
  t.ok(bye.proven)
  peer.send(response(bye.again, '200 OK'))
  await ended
})
