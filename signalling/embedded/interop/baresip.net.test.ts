import { once } from 'node:events'
import t from 'tap'
import { openRig, type TestDialog } from '../../../fixtures/rigs/embedded-rig.js'
import { baresipInstalled, startBaresip } from '../../../fixtures/sip/baresip.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'

/* Debian's baresip over TLS: a second SIP stack from the handshake to the BYE. */

const skip = baresipInstalled ? false : 'baresip is not installed (Debian: baresip-core)'
const TIMERS = { T1: 100, T2: 800, T4: 1000 }
const SDP = [
  'v=0',
  'o=- 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  'm=audio 40000 RTP/AVP 8',
  '',
].join('\r\n')

t.test('registers over TLS, is called over that connection, hangs up on command', { skip }, async (t) => {
  const authority = makeAuthority(t)
  const rig = await openRig(t, {
    listen: [{ transport: 'tls', address: '127.0.0.1', port: 0 }],
    tls: authority.issue('IP:127.0.0.1'),
    timers: TIMERS,
  })
  const app = await rig.app()
  const registered = new Promise<string>((resolve) => {
    app.use('register', (req, res) => {
      t.equal(req.protocol, 'tls')
      const contact = req.get('Contact')
      res.send(200, { headers: { Contact: contact, Expires: '60' } })
      resolve(/<([^>]+)>/.exec(contact)?.[1] ?? '')
    })
  })
  await rig.routed(app)
  const phone = await startBaresip(t, {
    serverPort: rig.port,
    authorities: authority.certificateFile,
  })
  const contact = await within(registered, phone.output)
  const dialog = await within(app.createUAC(contact, { localSdp: SDP }), phone.output)
  t.match(dialog.remote.sdp, /m=audio \d+ RTP\/AVP 8/)
  const bye = await within(dialog.destroy(), phone.output)
  t.ok(bye)
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('places a call over TLS, and hangs up when it ends', { skip }, async (t) => {
  const authority = makeAuthority(t)
  const rig = await openRig(t, {
    listen: [{ transport: 'tls', address: '127.0.0.1', port: 0 }],
    tls: authority.issue('IP:127.0.0.1'),
    timers: TIMERS,
  })
  const app = await rig.app()
  app.use('register', (req, res) =>
    res.send(200, { headers: { Contact: req.get('Contact'), Expires: '60' } }),
  )
  const called = new Promise<TestDialog>((resolve, reject) => {
    app.use('invite', (req, res) => {
      app.createUAS(req, res, { localSdp: SDP }).then(resolve, reject)
    })
  })
  await rig.routed(app)
  const commands = [`/dial sip:service@127.0.0.1:${rig.port};transport=tls`]
  const phone = await startBaresip(t, {
    serverPort: rig.port,
    authorities: authority.certificateFile,
    commands,
  })
  const dialog = await within(called, phone.output)
  t.match(dialog.remote.sdp, /m=audio/)
  const ended = once(dialog, 'destroy')
  phone.process.kill('SIGTERM')
  await within(ended, phone.output)
  t.equal(rig.server.stats().dialogs, 0)
})

/** Returns the result of a promise; on a timeout fails with the output of baresip. */
async function within<T>(promise: Promise<T>, output: () => string): Promise<T> {
  const signal = AbortSignal.timeout(30_000)
  const late = () => new Error(`not in time; baresip says:\n${output()}`)
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(late()))
    promise.then(resolve, reject)
  })
}
