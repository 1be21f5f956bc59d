import { once } from 'node:events'
import t from 'tap'
import {
  inCall,
  openRig,
  type RawSipMessage,
  type Rig,
  readRawSipMessage,
  request,
  SDP_A,
  SDP_B,
  type TestApp,
  type TestDialog,
  type TestPeer,
} from '../../../fixtures/rigs/embedded-rig.js'

/** An application that answers every INVITE and emits its dialogs. */
function answering(app: TestApp): () => Promise<TestDialog> {
  const dialogs: TestDialog[] = []
  app.use('invite', (req, res) => {
    void app.createUAS(req, res, { localSdp: SDP_B }).then((dialog) => {
      dialogs.push(dialog)
      app.emit('test:dialog')
    })
  })
  return async () => {
    if (dialogs.length === 0) await once(app, 'test:dialog')
    return dialogs.shift() as TestDialog
  }
}

async function answeredCall(rig: Rig, app: TestApp, peer: TestPeer) {
  const nextDialog = answering(app)
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const [ok, dialog] = await Promise.all([peer.next('SIP/2.0 200'), nextDialog()])
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }))
  await acked
  t.equal(rig.server.stats().dialogs, 1)
  return { invite, ok, dialog }
}

t.test('a call: 100 at once, 180, 200, ACK, BYE of the peer', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const seen: Record<string, unknown> = {}
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    Object.assign(seen, {
      address: req.source_address,
      port: req.source_port,
      protocol: req.protocol,
      receivedOn: req.receivedOn,
      body: req.body,
      via: req.get('Via'),
    })
    res.send(180, { headers: { 'X-Mood': 'fine' } })
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, { 'Record-Route': '<sip:127.0.0.1:1;lr>' }, SDP_A)
  peer.send(invite)

  const trying = await peer.next('SIP/2.0 100')
  t.notMatch(trying.header('To'), /tag=/)
  const ringing = await peer.next('SIP/2.0 180')
  t.equal(ringing.header('X-Mood'), 'fine')
  // RFC 3261 12.1.1: a 180 creates an early dialog; sip.js drops one without a Contact.
  t.equal(ringing.header('Contact'), `<sip:127.0.0.1:${rig.port}>`)
  t.equal(ringing.header('Record-Route'), '<sip:127.0.0.1:1;lr>')
  const ok = await peer.next('SIP/2.0 200')
  t.equal(ok.header('To'), ringing.header('To'), 'one tag')
  t.equal(ok.header('Contact'), `<sip:127.0.0.1:${rig.port}>`)
  t.equal(ok.header('Content-Type'), 'application/sdp')
  t.equal(ok.body, SDP_B)
  t.match(ok.header('Via'), new RegExp(`rport=${peer.port}`))
  t.match(seen, {
    address: '127.0.0.1',
    port: peer.port,
    protocol: 'udp',
    receivedOn: `127.0.0.1:${rig.port}`,
    body: SDP_A,
    via: new RegExp(`rport=${peer.port}`),
  })
  const dialog = await (made[0] as Promise<TestDialog>)
  t.equal(dialog.id, `${ok.header('Call-ID')};from-tag=${/tag=(.*)/.exec(ok.header('From'))?.[1]}`)

  peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }))
  const destroyed = once(dialog, 'destroy')
  peer.send(request('BYE', peer, inCall(invite, ok, 2, 'BYE')))
  await peer.next((message) => message.header('CSeq') === '2 BYE')
  await destroyed
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('a retransmitted INVITE is absorbed and the 100 repeated', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  let calls = 0
  app.use('invite', () => {
    calls += 1
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  await peer.next('SIP/2.0 100')
  peer.send(invite)
  await peer.next('SIP/2.0 100')
  t.equal(calls, 1)
})

t.test('a lost 200 is retransmitted until the ACK', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const nextDialog = answering(app)
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const first = await peer.next('SIP/2.0 200')
  const second = await peer.next('SIP/2.0 200')
  const third = await peer.next('SIP/2.0 200')
  t.equal(second.text, first.text)
  t.equal(third.text, first.text)
  const dialog = await nextDialog()
  let acks = 0
  dialog.on('ack', () => {
    acks += 1
  })
  const acked = once(dialog, 'ack')
  const ack = request('ACK', peer, { ...inCall(invite, first, 1, 'ACK'), Contact: null })
  peer.send(ack)
  peer.send(ack)
  await acked
  // Retransmissions in flight have arrived after one round trip; none may follow before the end of the next.
  peer.send(request('OPTIONS', peer, inCall(invite, first, 2, 'OPTIONS')))
  await peer.next((message) => message.header('CSeq') === '2 OPTIONS')
  const count = peer.seen.length
  peer.send(request('OPTIONS', peer, inCall(invite, first, 3, 'OPTIONS')))
  await peer.next((message) => message.header('CSeq') === '3 OPTIONS')
  t.equal(peer.seen.length, count + 1, 'the ACK ends it')
  t.equal(acks, 1, 'its repetition is not passed on')
})

t.test('without an ACK: BYE to the peer, ACK timeout to the application', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const nextDialog = answering(app)
  await rig.routed(app)
  peer.send(request('INVITE', peer, {}, SDP_A))
  const ok = await peer.next('SIP/2.0 200')
  const dialog = await nextDialog()
  const [bye, reason] = await once(dialog, 'destroy')
  t.equal(reason, 'ACK timeout')
  t.equal(bye.source, 'application')
  const sent = await peer.next('BYE ')
  t.equal(sent.header('Reason'), 'SIP;cause=200;text="ACK timeout"')
  t.equal(sent.header('From'), ok.header('To'))
  t.equal(sent.header('CSeq'), '2 BYE')
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('CANCEL: 200 to it, 487 to the INVITE, cancel to the application', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  let late: Promise<unknown> | undefined
  app.use('invite', (req, res) => {
    res.send(180)
    req.on('cancel', (cancel: { get(name: string): string }) => {
      app.emit('test:cancelled', cancel.get('Reason'))
      late = new Promise((resolve) => res.send(200, {}, (error) => resolve(error)))
    })
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const ringing = await peer.next('SIP/2.0 180')
  const cancelled = once(app, 'test:cancelled')
  const branch = { Via: readRawSipMessage(invite).header('Via'), Contact: null }
  const same = readRawSipMessage(invite)
  const cancel = request('CANCEL', peer, {
    ...branch,
    From: same.header('From'),
    To: same.header('To'),
    'Call-ID': same.header('Call-ID'),
    CSeq: '1 CANCEL',
    Reason: 'SIP;cause=200',
  })
  peer.send(cancel)
  const answers = [await peer.next((m) => m.header('CSeq') === '1 CANCEL'), await peer.next('SIP/2.0 487')]
  t.match(answers[0]?.start, 'SIP/2.0 200')
  t.equal(answers[1]?.header('To'), ringing.header('To'), 'the tag of the 180')
  t.equal(answers[0]?.header('To'), ringing.header('To'))
  t.equal((await cancelled)[0], 'SIP;cause=200')
  t.match(await late, /unknown transaction/)
  const ack = { ...branch, ...inCall(invite, ringing, 1, 'ACK') }
  await peer.next('SIP/2.0 487')
  peer.send(request('ACK', peer, ack))
  t.equal(rig.server.stats().unanswered, 0)
})

t.test('CANCEL after the 200 gets a 200 and has no effect', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const { invite, ok, dialog } = await answeredCall(rig, app, peer)
  const same = readRawSipMessage(invite)
  peer.send(
    request('CANCEL', peer, {
      Via: same.header('Via'),
      From: same.header('From'),
      To: same.header('To'),
      'Call-ID': same.header('Call-ID'),
      CSeq: '1 CANCEL',
      Contact: null,
    }),
  )
  const answer = await peer.next((m) => m.header('CSeq') === '1 CANCEL')
  t.match(answer.start, '200')
  peer.send(request('BYE', peer, inCall(invite, ok, 2, 'BYE')))
  const [, reason] = await once(dialog, 'destroy')
  t.equal(reason, 'normal release')
})

t.test('CANCEL without a transaction: 481', async (t) => {
  const rig = await openRig(t)
  const peer = await rig.udpPeer()
  peer.send(request('CANCEL', peer, { Contact: null }))
  await peer.next('SIP/2.0 481')
})

t.test(
  'a rejected INVITE: the failure is retransmitted until its ACK, which the application does not see',
  async (t) => {
    const rig = await openRig(t)
    const app = await rig.app()
    const peer = await rig.udpPeer()
    app.use('invite', (_req, res) => res.send(486))
    await rig.routed(app)
    const invite = request('INVITE', peer, {}, SDP_A)
    peer.send(invite)
    const busy = await peer.next('SIP/2.0 486')
    await peer.next('SIP/2.0 486')
    peer.send(
      request('ACK', peer, {
        ...inCall(invite, busy, 1, 'ACK'),
        Via: readRawSipMessage(invite).header('Via'),
        Contact: null,
      }),
    )
    peer.send(request('OPTIONS', peer))
    await peer.next('SIP/2.0 503')
    const count = peer.seen.filter((message) => message.start.includes('486')).length
    peer.send(request('OPTIONS', peer))
    await peer.next('SIP/2.0 503')
    t.equal(peer.seen.filter((message) => message.start.includes('486')).length, count)
  },
)

t.test('without an application 503; in unknown dialogs 481; unknown methods 501, REFER 405', async (t) => {
  const rig = await openRig(t)
  const peer = await rig.udpPeer()
  const expect = async (text: string, status: string) => {
    const cseq = readRawSipMessage(text).header('CSeq')
    const callId = readRawSipMessage(text).header('Call-ID')
    peer.send(text)
    const fits = (m: { start: string; header(name: string): string }) =>
      m.header('CSeq') === cseq && m.header('Call-ID') === callId && !m.start.includes(' 100 ')
    t.match((await peer.next(fits)).start, `SIP/2.0 ${status}`, text.split('\r\n')[0] ?? '')
  }
  const tagged = { To: '<sip:service@127.0.0.1>;tag=gone' }
  await expect(request('INVITE', peer, {}, SDP_A), '503')
  await expect(request('REGISTER', peer), '503')
  await expect(request('INVITE', peer, tagged, SDP_A), '481')
  for (const method of ['BYE', 'INFO', 'UPDATE', 'MESSAGE', 'OPTIONS', 'REFER', 'PRACK', 'NOTIFY']) {
    await expect(request(method, peer, tagged), '481')
  }
  await expect(request('BYE', peer), '481')
  await expect(request('REFER', peer), '405')
  const allow = peer.seen.at(-1)?.header('Allow') ?? ''
  t.match(allow, 'SUBSCRIBE')
  t.notMatch(allow, 'REFER')
  await expect(request('FETCH', peer), '501')
})

t.test('responses go to the port of the Via, or to the source with rport and behind a NAT', async (t) => {
  const rig = await openRig(t)
  const sender = await rig.udpPeer()
  const receiver = await rig.udpPeer()
  let number = 0
  const send = (via: string) => {
    const callId = `via-${++number}`
    const branch = `branch=z9hG4bK-${callId}`
    sender.send(request('OPTIONS', sender, { Via: `SIP/2.0/UDP ${via};${branch}`, 'Call-ID': callId }))
    return (message: RawSipMessage) => message.header('Call-ID') === callId
  }
  const separate = `127.0.0.1:${receiver.port}`
  t.match((await receiver.next(send(separate))).start, '503')
  t.match((await sender.next(send(`${separate};rport`))).header('Via'), `;rport=${sender.port}`)
  t.match((await sender.next(send(`192.0.2.7:${receiver.port}`))).header('Via'), ';received=127.0.0.1')
  t.equal(receiver.seen.length, 1)
})

t.test('requests with one branch are told apart by Call-ID and CSeq', async (t) => {
  const rig = await openRig(t)
  const peer = await rig.udpPeer()
  const Via = `SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bKkdjuw`
  for (const [callId, cseq] of [
    ['one', 1],
    ['one', 2],
    ['two', 2],
  ] as const) {
    const register = request('REGISTER', peer, { Via, 'Call-ID': callId, CSeq: `${cseq} REGISTER` })
    peer.send(register)
    await peer.next((m) => m.header('Call-ID') === callId && m.header('CSeq') === `${cseq} REGISTER`)
    peer.send(register)
    await peer.next((m) => m.header('Call-ID') === callId && m.header('CSeq') === `${cseq} REGISTER`)
  }
  t.equal(peer.seen.length, 6)
})

t.test('a display name in To is no tag: the response gets one', async (t) => {
  const rig = await openRig(t)
  const peer = await rig.udpPeer()
  const To = '"<sip:x@y>;tag=forged" <sip:service@127.0.0.1>'
  peer.send(request('OPTIONS', peer, { To }))
  const { header } = await peer.next('SIP/2.0 503')
  t.ok(header('To').startsWith(`${To};tag=`), header('To'))
})

t.test('requests the application never answers get an answer of the server', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('options', () => {})
  app.use('invite', () => {})
  await rig.routed(app)
  peer.send(request('OPTIONS', peer))
  await peer.next('SIP/2.0 500')
  peer.send(request('INVITE', peer, {}, SDP_A))
  await peer.next((m) => m.start.startsWith('SIP/2.0 500') && m.header('CSeq') === '1 INVITE')
})

t.test(
  'requests outside dialogs reach applications in turn, and have the right source address',
  async (t) => {
    const rig = await openRig(t)
    const apps = [await rig.app(), await rig.app()]
    const peer = await rig.udpPeer()
    const counts = [0, 0]
    apps.forEach((app, index) => {
      app.use('message', (_req, res) => {
        counts[index] = (counts[index] ?? 0) + 1
        res.send(202)
      })
      // A further verb makes drachtio-srf register all of them again.
      app.use('info', (_req, res) => res.send(200))
    })
    await Promise.all(apps.map(rig.routed))
    for (let i = 0; i < 6; i++) {
      peer.send(request('MESSAGE', peer, {}, 'hello'))
      await peer.next('SIP/2.0 202')
    }
    t.same(counts, [3, 3])
  },
)

t.test('an early BYE: 200, and 487 for the INVITE, as a CANCEL to the application', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('invite', (req, res) => {
    req.on('cancel', () => app.emit('test:cancelled'))
    res.send(183)
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const progress = await peer.next('SIP/2.0 183')
  const cancelled = once(app, 'test:cancelled')
  peer.send(request('BYE', peer, inCall(invite, progress, 2, 'BYE')))
  await peer.next((m) => m.header('CSeq') === '2 BYE' && m.start.includes('200'))
  await peer.next('SIP/2.0 487')
  await cancelled
})

t.test('a reliable provisional response is rejected with a reason', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const refused = once(app, 'test:refused')
  app.use('invite', (_req, res) => {
    res.send(180, { headers: { Require: '100rel' } }, (error) => app.emit('test:refused', error))
  })
  await rig.routed(app)
  peer.send(request('INVITE', peer, {}, SDP_A))
  t.same((await refused)[0], 'Remote endpoint does not support 100rel')
})
