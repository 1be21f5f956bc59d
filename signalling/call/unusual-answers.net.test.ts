import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, TEST_NUMBER, testAgent } from '../../fixtures/rigs/signalling-rig.js'
import type { SipDialog } from '../../fixtures/sip/sip-dialog.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'

/*
 * Descriptions of media in unusual places: before the 200, and beside other parts of a body. No call ends for them.
 */

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

const sdp = (port: number) =>
  [
    ...['v=0', 'o=- 7 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'],
    ...[`m=audio ${port} RTP/AVP 8 101`, 'a=rtpmap:101 telephone-event/8000', ''],
  ].join('\r\n')

const PARTS = [['Content-Type', 'multipart/mixed;boundary="b1"']] as const
const RELIABLE = [
  ['Require', '100rel'],
  ['RSeq', '1'],
] as const

/** A description beside ISUP. */
const parts = (port: number, handling = 'optional') =>
  [
    ...['--b1', 'Content-Type: application/isup;version=itu-t92+'],
    ...[`Content-Disposition: signal;handling=${handling}`, '', '\u0001\u0000\u0049', '--b1'],
    ...['Content-Type: application/sdp', '', sdp(port), '--b1--', ''],
  ].join('\r\n')

/** Calls a peer that answers as `answer` says. */
async function dialled(t: Assert, answer: (dialog: SipDialog) => void) {
  const rig = await openSignallingRig()
  t.teardown(() => rig.close())
  const calls: SipDialog[] = []
  const peer = await openSipPeer({
    onInvite: (dialog) => {
      calls.push(dialog)
      answer(dialog)
    },
  })
  t.teardown(() => peer.close())
  rig.callManager.dial(rig.permit('call_out', '+919800000001'), {
    party: { kind: 'agent', agent: testAgent },
    gateway: { host: '127.0.0.1', port: peer.port, transport: 'udp', codecs: ['PCMA', 'PCMU'] },
    ringTimeoutMs: 60_000,
    recordTo: null,
  })
  return {
    rig,
    peer,
    /** The media that the call goes on with; the callee hangs up then. */
    async remote() {
      await until(() => rig.types().includes('answered') || rig.types().includes('ended'))
      const remote = rig.pool.only().remotes.at(-1)
      calls[0]?.bye()
      const { ending } = await rig.ended()
      return { remote, ending }
    },
  }
}

const HUNG_UP = { by: 'callee', cause: 'caller_hangup', fault: 'none' }

for (const reliable of [true, false]) {
  t.test(`the answer is in a ${reliable ? 'reliable' : 'plain'} 183, and none in the 200`, async (t) => {
    const it = await dialled(t, (dialog) => {
      dialog.ring(sdp(4100), reliable ? RELIABLE : [])
      dialog.answer(null)
    })
    const { remote, ending } = await it.remote()
    t.match(remote, { port: 4100, codec: 'PCMA', dtmfPayloadType: 101, send: true, receive: true })
    t.strictSame(ending, HUNG_UP)
    const prack = it.peer.log.some(({ message }) => message.method === 'PRACK')
    t.equal(prack, reliable)
  })
}

t.test('the 200 has another description than the 183: the callee is there now', async (t) => {
  const it = await dialled(t, (dialog) => {
    dialog.ring(sdp(4100))
    dialog.answer(sdp(4200))
  })
  t.match(await it.remote(), { remote: { port: 4200 }, ending: HUNG_UP })
})

t.test('the 200 has no description that can be read: that of the 183 counts', async (t) => {
  const it = await dialled(t, (dialog) => {
    dialog.ring(sdp(4100))
    dialog.answer('v=0\r\n\r\n-- sent by a template --')
  })
  const { ending } = await it.remote()
  t.match(ending, { cause: 'carrier_error', sip: 488 }, 'it names no media, which is a refusal')

  const unread = await dialled(t, (dialog) => {
    dialog.ring(sdp(4100))
    dialog.answer('template')
  })
  t.match(await unread.remote(), { remote: { port: 4100 }, ending: HUNG_UP })
})

t.test('no description at all ends the call', async (t) => {
  const it = await dialled(t, (dialog) => {
    dialog.ring()
    dialog.answer(null)
  })
  t.match((await it.rig.ended()).ending, { cause: 'carrier_error', fault: 'carrier', sip: 400 })
})

t.test('183 and 200 with several parts', async (t) => {
  const it = await dialled(t, (dialog) => {
    dialog.ring(parts(4100), PARTS)
    dialog.answer(parts(4200, 'required'), PARTS)
  })
  t.match(await it.remote(), { remote: { port: 4200 }, ending: HUNG_UP })
})

async function calling(t: Assert, body: string | null, headers: readonly (readonly [string, string])[] = []) {
  const rig = await openSignallingRig()
  t.teardown(() => rig.close())
  const peer = await openSipPeer()
  t.teardown(() => peer.close())
  const call = peer.invite({
    uri: `sip:${TEST_NUMBER}@127.0.0.1:${rig.udp}`,
    target: { address: '127.0.0.1', port: rig.udp },
    sdp: body,
    headers,
  })
  return { rig, call }
}

t.test('an INVITE and a re-INVITE with several parts', async (t) => {
  const { rig, call } = await calling(t, parts(4100), PARTS)
  t.equal(await call.final(), 200)
  await until(() => rig.types().includes('answered'))
  t.match(rig.pool.only().remotes, [{ port: 4100, codec: 'PCMA' }])
  call.request('UPDATE', PARTS, parts(4300))
  await until(() => rig.pool.only().remotes.length === 2)
  t.match(rig.pool.only().remotes[1], { port: 4300 })
  call.bye()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
})

t.test('a part that has to be understood and is not refuses the INVITE', async (t) => {
  const { rig, call } = await calling(t, parts(4100, 'required'), PARTS)
  t.equal(await call.final(), 415)
  t.strictSame(rig.types(), [])
})

t.test('a late offer whose ACK has several parts', async (t) => {
  const { rig, call } = await calling(t, null)
  call.ackSdp = parts(4100)
  call.ackHeaders = PARTS
  t.equal(await call.final(), 200)
  await until(() => rig.types().includes('answered'))
  t.match(rig.pool.only().remotes, [{ port: 4100 }])
  call.bye()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
})
