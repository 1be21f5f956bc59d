import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import {
  inCall,
  openUdpPeer,
  type RawSipMessage,
  readRawSipMessage,
  request,
  response,
  SDP_A,
  SDP_B,
} from '../../fixtures/rigs/embedded-rig.js'
import { PATIENT } from '../../fixtures/rigs/signalling-rig.js'
import { OPEN_GATE, PERMIT } from '../../fixtures/sip/open-gate.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openEmbeddedServer } from '../embedded/server.js'
import type { DialogEnd, DialogHandlers, OfferReply, SipDialog } from './dialog-port.js'
import type { IncomingInvite } from './incoming-invite.js'
import { openSipServer } from './sip-server.js'

/* Requests of peers, outside of dialogs, in ringing calls and in answered ones, over the SIP server to the application. */

assertNothingLeft(t)

const SUPPORTED = '100rel, timer'
const ALLOW = 'INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, PRACK, UPDATE, REFER'
const HANDLERS: DialogHandlers = { acknowledged: () => {}, offered: () => {}, ended: () => {} }

async function open(t: { teardown(run: () => Promise<void>): unknown }) {
  const tools = { clock: systemClock, log: silentLog }
  const server = await openEmbeddedServer({
    listen: [{ transport: 'udp', address: '127.0.0.1', port: 0 }],
    control: { address: '127.0.0.1', port: 0, secret: 'x' },
    timers: PATIENT,
    ...tools,
  })
  const where = { host: '127.0.0.1', port: server.controlPort, secret: 'x' }
  const sip = await openSipServer({ gate: OPEN_GATE, ...where, ...tools })
  const peer = await openUdpPeer(server.endpoints[0]?.port ?? 0)
  t.teardown(async () => {
    await sip.close()
    await server.close()
    await peer.close()
  })
  const invites: IncomingInvite[] = []
  sip.onInvite((invite) => invites.push(invite))
  /** Sends a request and resolves with its final response. */
  const ask = async (text: string): Promise<RawSipMessage> => {
    const sent = readRawSipMessage(text)
    peer.send(text)
    return peer.next(
      (message) =>
        /^SIP\/2\.0 [2-6]/.test(message.start) &&
        message.header('CSeq') === sent.header('CSeq') &&
        message.header('Call-ID') === sent.header('Call-ID'),
    )
  }
  return { sip, peer, invites, ask }
}

type Opened = Awaited<ReturnType<typeof open>>

/** An INVITE that rings. */
async function ringing({ peer, invites }: Opened, headers: Record<string, string> = {}) {
  const invite = request('INVITE', peer, headers, SDP_A)
  peer.send(invite)
  await peer.next('SIP/2.0 100')
  for (let turn = 0; invites.length === 0 && turn < 1_000; turn++) await new Promise(setImmediate)
  const incoming = invites[0]
  if (incoming === undefined) throw new Error('no INVITE')
  incoming.ring()
  const progress = await peer.next('SIP/2.0 180')
  return { invite, incoming, progress }
}

t.test('outside of dialogs', async (t) => {
  const opened = await open(t)
  const { peer, ask } = opened
  const options = await ask(request('OPTIONS', peer))
  t.match(options.start, '200')
  t.same([options.header('Supported'), options.header('Allow')], [SUPPORTED, ALLOW])
  for (const [method, Require, status, unsupported] of [
    ['OPTIONS', 'timer', '200', ''],
    ['OPTIONS', 'timer, replaces , 100rel,telepathy', '420', 'telepathy'],
    ['OPTIONS', 'timer, replaces', '420', 'replaces'],
    ['INVITE', 'replaces, 100rel', '420', 'replaces'],
    ['MESSAGE', null, '405', ''],
    ['NOTIFY', null, '481', ''],
    ['INFO', null, '481', ''],
    ['REGISTER', null, '405', ''],
  ] as const) {
    const answer = await ask(request(method, peer, { Require }))
    t.match(answer.start, `SIP/2.0 ${status}`, `${method} ${Require}`)
    t.equal(answer.header('Unsupported'), unsupported)
    if (status === '405') t.notMatch(answer.header('Allow'), 'REFER')
  }
  t.equal(opened.invites.length, 0)
})

t.test('an INVITE that requires what is implemented is served, with reliable responses', async (t) => {
  const opened = await open(t)
  const { peer, ask } = opened
  const { invite, incoming, progress } = await ringing(opened, {
    Require: 'timer,100rel',
    'Session-Expires': '1800',
  })
  t.equal(progress.header('Require'), '100rel')
  const rack = `${progress.header('RSeq')} 1 INVITE`
  t.match(
    (await ask(request('PRACK', peer, { ...inCall(invite, progress, 2, 'PRACK'), RAck: rack }))).start,
    '200',
  )
  const accepted = incoming.accept(SDP_B, HANDLERS)
  const ok = await peer.next('SIP/2.0 200 OK')
  t.same([ok.header('Supported'), ok.header('Session-Expires')], [SUPPORTED, '1800;refresher=uac'])
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK')))
  const dialog = await accepted
  const ended = dialog.bye('Q.850;cause=16')
  const bye = await peer.next('BYE')
  t.equal(bye.header('Reason'), 'Q.850;cause=16')
  peer.send(response(bye, '200 OK'))
  await ended
})

t.test('requests of a caller whose call rings', async (t) => {
  const opened = await open(t)
  const { peer, ask } = opened
  const { invite, incoming, progress } = await ringing(opened)
  let cseq = 1
  const inside = (method: string, headers: Record<string, string> = {}, body = '') => {
    cseq++
    return ask(request(method, peer, { ...inCall(invite, progress, cseq, method), ...headers }, body))
  }
  t.match((await inside('UPDATE')).start, '200', 'a sign of life')
  t.match((await inside('UPDATE', { 'Session-Expires': '30', Supported: 'timer' })).start, '422')
  const early = await inside('UPDATE', {}, SDP_B)
  t.match(early.start, '500', 'the first offer has no answer yet')
  t.match(early.header('Retry-After'), /^(10|\d)$/)
  t.match((await inside('UPDATE', { Require: 'telepathy' })).start, '420')
  t.match((await inside('INFO')).start, '200')
  const digit = { 'Content-Type': 'application/dtmf-relay' }
  t.match((await inside('INFO', digit, 'Signal=5\r\n')).start, '200')
  t.match((await inside('INFO', { 'Content-Type': 'text/x' }, 'x')).start, '415')
  t.match((await inside('MESSAGE')).start, '405')
  t.match((await inside('NOTIFY', { Event: 'refer' })).start, '481')
  t.match((await inside('OPTIONS')).start, '200')
  incoming.refuse(486)
  await peer.next('SIP/2.0 486')
})

t.test('after a reliable answer the caller may make another offer', async (t) => {
  const opened = await open(t)
  const { peer, ask } = opened
  const { invite, incoming, progress } = await ringing(opened, { Require: '100rel' })
  const prack = async (cseq: number, acknowledged: RawSipMessage) => {
    const RAck = `${acknowledged.header('RSeq')} 1 INVITE`
    t.match(
      (await ask(request('PRACK', peer, { ...inCall(invite, progress, cseq, 'PRACK'), RAck }))).start,
      '200',
    )
  }
  const offers: string[] = []
  incoming.onOffer((offer: string, reply: OfferReply) => {
    offers.push(offer)
    if (offers.length === 1) reply(200, SDP_A)
    else reply(488, '', 'no common codec')
  })
  await prack(2, progress)
  incoming.progress(SDP_B)
  await prack(3, await peer.next('SIP/2.0 183'))
  const update = (cseq: number) =>
    ask(request('UPDATE', peer, inCall(invite, progress, cseq, 'UPDATE'), SDP_B))
  const answer = await update(4)
  t.match(answer.start, '200')
  t.equal(answer.body, SDP_A)
  const refused = await update(5)
  t.match(refused.start, '488')
  t.match(refused.header('Warning'), 'no common codec')
  t.same(offers, [SDP_B, SDP_B])
  incoming.refuse(480)
  await peer.next('SIP/2.0 480')
})

t.test('an INVITE with Expires is withdrawn when the time is over', async (t) => {
  const opened = await open(t)
  const { peer, ask } = opened
  t.match((await ask(request('INVITE', peer, { Expires: '0' }, SDP_A))).start, '487')
  t.equal(opened.invites.length, 0)
  const { incoming } = await ringing(opened, { Expires: '1' })
  const withdrawn = new Promise((resolve) => incoming.onWithdrawn((why, reason) => resolve([why, reason])))
  await peer.next(
    (message) => message.start.startsWith('SIP/2.0 487') && message.header('Call-ID') === incoming.callId,
  )
  t.same(await withdrawn, ['cancelled', null])
  t.ok(incoming.over)
})

t.test('requests inside an answered call', async (t) => {
  const opened = await open(t)
  const { peer, ask } = opened
  const { invite, incoming } = await ringing(opened)
  const ends: DialogEnd[] = []
  const accepted = incoming.accept(SDP_B, { ...HANDLERS, ended: (why) => ends.push(why) })
  const ok = await peer.next('SIP/2.0 200 OK')
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK')))
  await accepted
  let cseq = 1
  const inside = (method: string, headers: Record<string, string> = {}, body = '') => {
    cseq++
    return ask(request(method, peer, { ...inCall(invite, ok, cseq, method), ...headers }, body))
  }
  for (const method of ['MESSAGE', 'PUBLISH', 'SUBSCRIBE']) {
    const answer = await inside(method, { Event: 'presence' })
    t.match(answer.start, '405', method)
    t.equal(answer.header('Allow'), ALLOW)
  }
  t.match((await inside('NOTIFY', { Event: 'refer', 'Subscription-State': 'active' })).start, '481')
  const options = await inside('OPTIONS')
  t.same([options.header('Supported'), options.header('Allow')], [SUPPORTED, ALLOW])
  for (const method of ['INFO', 'UPDATE', 'OPTIONS', 'REFER', 'INVITE']) {
    const answer = await inside(method, { Require: '100rel, replaces' })
    t.match(answer.start, '420', method)
    t.equal(answer.header('Unsupported'), 'replaces', method)
  }
  t.match((await inside('BYE', { Reason: 'Q.850;cause=17;text="busy"' })).start, '200')
  t.same(ends, [{ kind: 'peer', reason: 'Q.850;cause=17;text="busy"' }])
})

t.test('requests of a called party that rings, and the Reason of our CANCEL', async (t) => {
  const { sip, peer, ask } = await open(t)
  const offers: string[] = []
  const failed = new Promise<unknown>((resolve) => {
    const call = sip.invite(
      {
        ...{ permit: PERMIT, uri: `sip:far@127.0.0.1:${peer.port}`, callId: 'rings', from: '+911171366900' },
        ...{ transport: 'udp', body: SDP_A },
      },
      {
        ...HANDLERS,
        progress: (status) => status === 182 && call.cancel('SIP;cause=200;text="elsewhere"'),
        answered: (_dialog: SipDialog) => t.fail('answered'),
        failed: resolve,
        offered: (offer, reply) => {
          offers.push(offer)
          reply(200, SDP_B)
        },
      },
    )
  })
  const invite = await peer.next('INVITE')
  t.equal(invite.header('Supported'), SUPPORTED)
  const To = `${invite.header('To')};tag=far`
  const Contact = `<sip:far@127.0.0.1:${peer.port}>`
  const update = (cseq: number, body: string) =>
    ask(
      request(
        'UPDATE',
        peer,
        { From: To, To: invite.header('From'), 'Call-ID': 'rings', CSeq: `${cseq} UPDATE` },
        body,
      ),
    )
  peer.send(response(invite, '180 Ringing', { To, Contact }))
  const alive = await update(1, '')
  t.match(alive.start, '200')
  t.equal(alive.body, '', 'no description without an offer')
  t.match((await update(2, SDP_B)).start, '491', 'our offer has no answer yet')
  peer.send(response(invite, '183 Session Progress', { To, Contact, Require: '100rel', RSeq: '7' }, SDP_B))
  const prack = await peer.next('PRACK')
  peer.send(response(prack, '200 OK'))
  const answer = await update(3, SDP_A)
  t.match(answer.start, '200')
  t.equal(answer.body, SDP_B)
  t.same(offers, [SDP_A])
  peer.send(response(invite, '182 Queued', { To, Contact }))
  const cancel = await peer.next('CANCEL')
  t.equal(cancel.header('Reason'), 'SIP;cause=200;text="elsewhere"')
  peer.send(response(cancel, '200 OK'))
  peer.send(response(invite, '487 Request Terminated', { To }))
  t.match(await failed, { code: 'sip_refused', context: { status: 487 } })
  await peer.next('ACK')
})

t.test('a refusal brings the Reason of the network', async (t) => {
  const { sip, peer } = await open(t)
  const failed = new Promise<unknown>((resolve) => {
    sip.invite(
      {
        ...{
          permit: PERMIT,
          uri: `sip:far@127.0.0.1:${peer.port}`,
          callId: 'refused',
          from: '+911171366900',
        },
        ...{ transport: 'udp', body: SDP_A },
      },
      { ...HANDLERS, progress: () => {}, answered: () => t.fail('answered'), failed: resolve },
    )
  })
  const invite = await peer.next('INVITE')
  const To = `${invite.header('To')};tag=far`
  peer.send(response(invite, '404 Not Found', { To, Reason: 'Q.850;cause=1' }))
  t.match(await failed, { code: 'sip_refused', context: { status: 404, reason: 'Q.850;cause=1' } })
  await peer.next('ACK')
})

t.test('while no call is accepted a proxy learns it from OPTIONS, and INVITEs go elsewhere', async (t) => {
  const opened = await open(t)
  const { sip, peer, ask } = opened
  let accepted = false
  sip.acceptCallsWhile(() => accepted)
  for (const refused of [
    await ask(request('OPTIONS', peer)),
    await ask(request('INVITE', peer, {}, SDP_A)),
  ]) {
    t.match(refused.start, 'SIP/2.0 503')
    t.match(refused.header('Retry-After'), /^\d+$/)
  }
  t.equal(opened.invites.length, 0)
  accepted = true
  t.match((await ask(request('OPTIONS', peer))).start, 'SIP/2.0 200')
  await ringing(opened)
})
