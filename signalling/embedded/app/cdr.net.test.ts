import { once } from 'node:events'
import t from 'tap'
import {
  cancelOf,
  failureOf,
  inCall,
  openRig,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestRequest,
} from '../../../fixtures/rigs/embedded-rig.js'

t.test('an application that requests CDR events gets those of all calls', async (t) => {
  const rig = await openRig(t)
  const [caller, accountant] = [await rig.app(), await rig.app()]
  const peer = await rig.udpPeer()
  const events: string[] = []
  const keep =
    (event: string) =>
    (source: string, time: string, ...rest: unknown[]) => {
      t.match(time, /^\d\d:\d\d:\d\d\.\d{6}$/)
      const message = rest.at(-1) as TestRequest
      t.match(message.get('Call-ID'), /\S/)
      events.push([event, source, ...rest.slice(0, -1)].join(' '))
      accountant.emit('test:event')
    }
  for (const event of ['attempt', 'start', 'stop']) accountant.on(`cdr:${event}`, keep(event))
  caller.use('invite', (req, res) => {
    if (req.has('X-Busy')) res.send(486)
    else if (req.has('X-Ring')) res.send(180)
    else void caller.createUAS(req, res, { localSdp: SDP_B })
  })
  await Promise.all([rig.routed(caller), rig.routed(accountant)])
  const expect = async (...wanted: string[]) => {
    while (events.length < wanted.length) await once(accountant, 'test:event')
    t.same(events.splice(0), wanted)
  }

  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  await expect('attempt network', 'start application uas')
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK')))
  peer.send(request('BYE', peer, inCall(invite, ok, 2, 'BYE')))
  await expect('stop network normal-release')

  peer.send(request('INVITE', peer, { 'X-Busy': '1' }, SDP_A))
  await expect('attempt network', 'stop application call-rejected')
  const rung = request('INVITE', peer, { 'X-Ring': '1' }, SDP_A)
  peer.send(rung)
  await peer.next('SIP/2.0 180')
  peer.send(cancelOf(rung, peer))
  await expect('attempt network', 'stop network call-canceled')

  const uri = `sip:bob@127.0.0.1:${peer.port}`
  const calling = caller.createUAC(uri, { localSdp: SDP_A })
  const out = await peer.next('INVITE')
  peer.send(response(out, '200 OK', { To: `${out.header('To')};tag=b`, Contact: `<${uri}>` }, SDP_B))
  const dialog = await calling
  await expect('attempt application', 'start network uac')
  void dialog.destroy()
  peer.send(response(await peer.next('BYE'), '200 OK'))
  await expect('stop application normal-release')

  const refused = caller.createUAC(uri, { localSdp: SDP_A })
  const again = await peer.next('INVITE')
  peer.send(response(again, '404 Not Found', { To: `${again.header('To')};tag=c` }))
  t.match(await failureOf(refused), { status: 404 })
  await expect('attempt application', 'stop network call-rejected')
})
