import { once } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import {
  inCall,
  openRig,
  type RawSipMessage,
  readRawSipMessage,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestDialog,
  type TestPeer,
} from '../../../fixtures/rigs/embedded-rig.js'
import { STANDARD_TIMERS } from '../transaction/timers.js'

/*
 * RFC 4028 with a virtual clock, so the intervals are the real ones.
 */

type Options = Record<string, string>

async function open(t: Parameters<typeof openRig>[0]) {
  const clock = new VirtualClock()
  const rig = await openRig(t, { clock, timers: STANDARD_TIMERS })
  return { clock, rig, app: await rig.app(), peer: await rig.udpPeer() }
}

/** Advances the clock in small steps until the peer receives such a message; fails after `maxS` seconds. */
async function reach(
  clock: VirtualClock,
  peer: TestPeer,
  start: string,
  maxS: number,
): Promise<{ message: RawSipMessage; seconds: number }> {
  const begin = clock.now()
  const known = peer.seen.length
  while (clock.now() - begin <= maxS * 1000) {
    clock.advance(200)
    await new Promise((resolve) => setImmediate(resolve))
    const message = peer.seen.slice(known).find((seen) => seen.start.startsWith(start))
    if (message) return { message, seconds: (clock.now() - begin) / 1000 }
  }
  throw new Error(`no ${start} within ${maxS} s`)
}

/** An acknowledged call from the peer. */
async function inbound(t: Parameters<typeof openRig>[0], headers: Options, answer: Options = {}) {
  const opened = await open(t)
  const { rig, app, peer } = opened
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    made.push(app.createUAS(req, res, { localSdp: SDP_B, headers: answer }))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, headers, SDP_A)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  const dialog = await (made[0] as Promise<TestDialog>)
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK')))
  await acked
  return { ...opened, invite, ok, dialog }
}

/** A call of the application, answered with these headers. */
async function outbound(t: Parameters<typeof openRig>[0], headers: Options) {
  const opened = await open(t)
  const { app, peer } = opened
  const contact = `<sip:bob@127.0.0.1:${peer.port}>`
  const calling = app.createUAC(`sip:bob@127.0.0.1:${peer.port}`, { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  const To = `${invite.header('To')};tag=b`
  peer.send(response(invite, '200 OK', { To, Contact: contact, ...headers }, SDP_B))
  const dialog = await calling
  await peer.next('ACK')
  return { ...opened, invite, dialog, To, contact }
}

t.test('the answer accepts the interval of the caller, raised to the minimum', async (t) => {
  const cases: [Options, Options, string, string][] = [
    [{ 'Session-Expires': '1800;refresher=uac', Supported: 'timer' }, {}, '1800;refresher=uac', 'timer'],
    [{ 'Session-Expires': '90;refresher=uas' }, {}, '90;refresher=uas', ''],
    // Table 2 of RFC 4028 9: the peer refreshes if it can, or else this side does.
    [{ 'Session-Expires': '1800', Supported: 'timer' }, {}, '1800;refresher=uac', 'timer'],
    [{ 'Session-Expires': '1800', Require: 'timer' }, {}, '1800;refresher=uac', 'timer'],
    [{ 'Session-Expires': '1800' }, {}, '1800;refresher=uas', ''],
    // A proxy added it, and the caller would not understand a 422.
    [{ 'Session-Expires': '60' }, {}, '90;refresher=uas', ''],
    [{ Supported: 'timer' }, {}, '', ''],
    [
      { 'Session-Expires': '1800;refresher=uac' },
      { 'Session-Expires': '600;refresher=uas' },
      '600;refresher=uas',
      '',
    ],
  ]
  for (const [asked, given, expires, require] of cases) {
    await t.test(JSON.stringify(asked), async (t) => {
      const { ok } = await inbound(t, asked, given)
      t.equal(ok.header('Session-Expires'), expires)
      t.equal(ok.header('Require'), require)
    })
  }
})

t.test(
  'an INVITE that requests less than the minimum gets 422 and may be sent again (RFC 4028 9)',
  async (t) => {
    const { rig, app, peer } = await open(t)
    const asked: string[] = []
    app.use('invite', (req, res) => {
      asked.push(req.get('Session-Expires'))
      void app.createUAS(req, res, { localSdp: SDP_B })
    })
    await rig.routed(app)
    for (const supported of [{ Require: 'timer' }, { Supported: 'replaces, timer' }]) {
      const invite = request('INVITE', peer, { ...supported, 'Session-Expires': '60;refresher=uac' }, SDP_A)
      peer.send(invite)
      const small = await peer.next('SIP/2.0 422')
      t.equal(small.start, 'SIP/2.0 422 Session Interval Too Small')
      t.equal(small.header('Min-SE'), '90')
      t.match(small.header('To'), /;tag=/)
      const { 'Call-ID': callId, From } = inCall(invite, small, 1, 'ACK') as Record<
        'Call-ID' | 'From',
        string
      >
      peer.send(
        request('ACK', peer, {
          Via: readRawSipMessage(invite).header('Via'),
          ...inCall(invite, small, 1, 'ACK'),
        }),
      )
      const again = {
        'Call-ID': callId,
        From,
        CSeq: '2 INVITE',
        'Session-Expires': '90;refresher=uac',
        'Min-SE': '90',
      }
      peer.send(request('INVITE', peer, again, SDP_A))
      const ok = await peer.next((m) => m.start.includes(' 200 ') && m.header('Call-ID') === callId)
      t.equal(ok.header('Session-Expires'), '90;refresher=uac')
    }
    t.same(asked, ['90;refresher=uac', '90;refresher=uac'], 'the application sees the second ones only')
  },
)

t.test('a caller that does not refresh in time gets a BYE', async (t) => {
  const { clock, peer, dialog } = await inbound(t, { 'Session-Expires': '90;refresher=uac' })
  const destroyed = once(dialog, 'destroy')
  const { message, seconds } = await reach(clock, peer, 'BYE', 100)
  t.equal(message.header('Reason'), 'SIP;cause=200;text="Session timer expired"')
  // RFC 4028 10: a third of the interval before its end, but at most 32 s.
  t.ok(seconds >= 59 && seconds < 63, `${seconds} s`)
  t.equal((await destroyed)[1], 'Session timer expired')
})

t.test('a refresh of the caller starts the interval again; too short a one gets 422', async (t) => {
  const { clock, peer, invite, ok, dialog } = await inbound(t, { 'Session-Expires': '90;refresher=uac' })
  clock.advance(50_000)
  const again = { 'Session-Expires': '90;refresher=uac' }
  peer.send(
    request('UPDATE', peer, {
      ...inCall(invite, ok, 2, 'UPDATE'),
      'Session-Expires': '30',
      Supported: 'timer',
    }),
  )
  const small = await peer.next('SIP/2.0 422')
  t.equal(small.header('Min-SE'), '90')
  dialog.on('modify', (_req, res) => res.send(200, { body: SDP_B }))
  peer.send(request('INVITE', peer, { ...inCall(invite, ok, 3, 'INVITE'), ...again }, SDP_A))
  const refreshed = await peer.next((m) => m.start.includes('200') && m.header('CSeq') === '3 INVITE')
  t.equal(refreshed.header('Session-Expires'), '90;refresher=uac')
  peer.send(request('ACK', peer, inCall(invite, ok, 3, 'ACK')))
  const { seconds } = await reach(clock, peer, 'BYE', 100)
  t.ok(seconds >= 59, `${seconds} s after the refresh`)
})

t.test(
  'this side refreshes at half the interval every time, without notifying the application',
  async (t) => {
    const { clock, peer, dialog, invite, To, contact } = await outbound(t, { 'Session-Expires': '90' })
    dialog.on('modify', () => t.fail('the application must not see it'))
    let cseq = Number.parseInt(invite.header('CSeq'), 10)
    for (let round = 0; round < 2; round++) {
      const { message, seconds } = await reach(clock, peer, 'INVITE', 60)
      t.ok(seconds >= 39 && seconds <= 52, `${seconds} s`)
      cseq += 1
      t.equal(message.header('CSeq'), `${cseq} INVITE`)
      t.equal(message.header('Session-Expires'), '90;refresher=uac')
      t.equal(message.header('Min-SE'), '90')
      t.equal(message.body, SDP_A)
      t.equal(message.header('To'), To)
      const answer = { 'Session-Expires': '90;refresher=uac', Contact: contact }
      peer.send(response(message, '200 OK', answer, SDP_B))
      const ack = await peer.next((m) => m.header('CSeq') === `${cseq} ACK`)
      t.equal(ack.body, '')
    }
  },
)

t.test('a refresh is retried after a 491; a 422 raises the interval', async (t) => {
  const { clock, peer, contact } = await outbound(t, { 'Session-Expires': '90' })
  const first = await reach(clock, peer, 'INVITE', 60)
  peer.send(response(first.message, '491 Request Pending'))
  await peer.next('ACK')
  const second = await reach(clock, peer, 'INVITE', 10)
  t.ok(second.seconds >= 2 && second.seconds <= 4.6, `${second.seconds} s: we own the Call-ID`)
  peer.send(response(second.message, '422 Session Interval Too Small', { 'Min-SE': '180' }))
  const third = await reach(clock, peer, 'INVITE', 5)
  t.equal(third.message.header('Session-Expires'), '180;refresher=uac')
  t.equal(third.message.header('Min-SE'), '180')
  peer.send(
    response(third.message, '200 OK', { 'Session-Expires': '180;refresher=uac', Contact: contact }, SDP_B),
  )
  const fourth = await reach(clock, peer, 'INVITE', 120)
  t.ok(fourth.seconds >= 84, `${fourth.seconds} s`)
})

t.test('a refresh that fails ends the call', async (t) => {
  const { clock, peer, dialog } = await outbound(t, { 'Session-Expires': '90' })
  const destroyed = once(dialog, 'destroy')
  const { message } = await reach(clock, peer, 'INVITE', 60)
  peer.send(response(message, '481 Call Does Not Exist'))
  const bye = await reach(clock, peer, 'BYE', 5)
  t.match(bye.message.header('Reason'), /Session timer expired/)
  t.equal((await destroyed)[1], 'Session timer expired')
})

t.test('a re-INVITE of the application renews the timer', async (t) => {
  const { peer, dialog, contact } = await outbound(t, { 'Session-Expires': '120;refresher=uas' })
  const changing = dialog.modify(SDP_B)
  const change = await peer.next('INVITE')
  t.equal(change.header('Session-Expires'), '120;refresher=uas')
  peer.send(response(change, '200 OK', { Contact: contact }, SDP_A))
  await changing
})
