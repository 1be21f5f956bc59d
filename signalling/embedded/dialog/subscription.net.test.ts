import { once } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import {
  inCall,
  openRig,
  type RawSipMessage,
  request,
  response,
  type TestApp,
  type TestPeer,
  type TestRequest,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { STANDARD_TIMERS } from '../transaction/timers.js'

const EVENT = { Event: 'dialog', Expires: '60' }

/** Sends a SUBSCRIBE of an application; resolves with the result of drachtio-srf. */
function subscribe(app: TestApp, peer: TestPeer, seen = () => {}): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const options = { method: 'SUBSCRIBE', headers: EVENT }
    app.request(`sip:bob@127.0.0.1:${peer.port}`, options, (error, sent) => {
      if (error) reject(error)
      else {
        sent.on('response', (res: TestResponse) => {
          seen()
          resolve(res)
        })
      }
    })
  })
}

function notify(peer: TestPeer, to: RawSipMessage, cseq: number, state: string): string {
  return request('NOTIFY', peer, {
    From: `${to.header('To')};tag=watched`,
    To: to.header('From'),
    'Call-ID': to.header('Call-ID'),
    CSeq: `${cseq} NOTIFY`,
    Event: 'dialog',
    'Subscription-State': state,
  })
}

t.test('a NOTIFY that arrives before the 202 is held until then', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const order: string[] = []
  app.use('notify', (_req: TestRequest, res: TestResponse) => {
    order.push('notify')
    res.send(200)
  })
  await rig.routed(app)
  const answered = subscribe(app, peer, () => order.push('accepted'))
  const sent = await peer.next('SUBSCRIBE')
  t.equal(sent.header('Contact'), `<sip:127.0.0.1:${rig.port}>`)
  peer.send(notify(peer, sent, 1, 'active;expires=60'))
  peer.send(request('OPTIONS', peer))
  await peer.next('SIP/2.0 503')
  t.same(order, [])
  const To = `${sent.header('To')};tag=watched`
  peer.send(response(sent, '202 Accepted', { To, Contact: `<sip:w@127.0.0.1:${peer.port}>`, Expires: '60' }))
  await answered
  await peer.next((m) => m.start.includes('200') && m.header('CSeq') === '1 NOTIFY')
  t.same(order, ['accepted', 'notify'])
  t.equal(rig.server.stats().dialogs, 1)
  peer.send(notify(peer, sent, 2, 'terminated;reason=noresource'))
  await peer.next((m) => m.header('CSeq') === '2 NOTIFY')
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('a failed SUBSCRIBE rejects the held NOTIFYs', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const answered = subscribe(app, peer)
  const sent = await peer.next('SUBSCRIBE')
  peer.send(notify(peer, sent, 1, 'active'))
  peer.send(response(sent, '489 Bad Event', { To: `${sent.header('To')};tag=watched` }))
  t.equal((await answered).status, 489)
  await peer.next('SIP/2.0 481')
})

t.test('a subscription that is not refreshed ends by itself, in either role', async (t) => {
  const clock = new VirtualClock()
  const rig = await openRig(t, { clock, timers: STANDARD_TIMERS })
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('subscribe', (_req, res) => res.send(202, { headers: { Expires: '100' } }))
  await rig.routed(app)
  const first = request('SUBSCRIBE', peer, EVENT)
  peer.send(first)
  const accepted = await peer.next('SIP/2.0 202')
  const answered = subscribe(app, peer)
  const sent = await peer.next('SUBSCRIBE')
  const To = `${sent.header('To')};tag=watched`
  const contact = { Contact: `<sip:w@127.0.0.1:${peer.port}>` }
  peer.send(response(sent, '200 OK', { To, ...contact, Expires: '50' }))
  await answered
  t.equal(rig.server.stats().dialogs, 2)
  clock.advance(83_000)
  t.equal(rig.server.stats().dialogs, 1, 'ours is over after its 50 s and the time of a last NOTIFY')
  peer.send(request('SUBSCRIBE', peer, { ...inCall(first, accepted, 2, 'SUBSCRIBE'), ...EVENT }))
  await peer.next((m) => m.header('CSeq') === '2 SUBSCRIBE' && m.start.includes('202'))
  clock.advance(120_000)
  t.equal(rig.server.stats().dialogs, 1, 'refreshed')
  clock.advance(13_000)
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('REFER: 202, NOTIFYs with the progress, transfer headers passed on', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('invite', (req, res) => {
    void app.createUAS(req, res, { localSdp: 'v=0\r\n' }).then((dialog) => {
      dialog.on('refer', (refer: TestRequest, answer: TestResponse) => {
        answer.send(202)
        const headers = {
          'Subscription-State': 'terminated;reason=noresource',
          Event: 'refer',
          'Content-Type': 'message/sipfrag',
        }
        void dialog.request({ method: 'NOTIFY', headers, body: 'SIP/2.0 200 OK' })
        app.emit('test:refer', refer.get('Refer-To'), refer.get('Replaces'), refer.get('Referred-By'))
      })
    })
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, 'v=0\r\n')
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK')))
  const referred = once(app, 'test:refer')
  const carried = {
    r: '<sip:carol@example.com?Replaces=a%40b%3Bto-tag%3D1%3Bfrom-tag%3D2>',
    Replaces: 'a@b;to-tag=1;from-tag=2',
    b: '<sip:bob@example.com>',
  }
  peer.send(request('REFER', peer, { ...inCall(invite, ok, 2, 'REFER'), ...carried }))
  await peer.next('SIP/2.0 202')
  const progress = await peer.next('NOTIFY')
  t.equal(progress.body, 'SIP/2.0 200 OK')
  t.equal(progress.header('Event'), 'refer')
  t.same(await referred, [carried.r, carried.Replaces, carried.b])
  peer.send(response(progress, '200 OK'))
  t.equal(rig.server.stats().dialogs, 1, 'the call goes on')
})
