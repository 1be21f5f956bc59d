import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, TEST_NUMBER } from '../../fixtures/rigs/signalling-rig.js'
import type { SipDialog as PeerDialog } from '../../fixtures/sip/sip-dialog.js'
import { cseqOf, header } from '../../fixtures/sip/sip-message.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'
import { parseInfoDtmf } from '../sip/info-dtmf.js'

/*
 * Requests of carriers and telephone systems during a call, which must not end it.
 */

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

interface Media {
  readonly address?: string
  readonly port?: number
  readonly payloads?: string
  readonly direction?: string
  readonly version?: number
}

const sdp = ({
  address = '127.0.0.1',
  port = 4000,
  payloads = '8 0 101',
  direction,
  version = 1,
}: Media = {}) =>
  [
    'v=0',
    `o=- 7 ${version} IN IP4 127.0.0.1`,
    's=-',
    `c=IN IP4 ${address}`,
    't=0 0',
    `m=audio ${port} RTP/AVP ${payloads}`,
    ...(payloads.includes('101') ? ['a=rtpmap:101 telephone-event/8000'] : []),
    ...(direction === undefined ? [] : [`a=${direction}`]),
    '',
  ].join('\r\n')

async function answered(t: Assert, transport: 'udp' | 'tcp' = 'udp') {
  const rig = await openSignallingRig()
  t.teardown(() => rig.close())
  const peer = await openSipPeer({ transport })
  t.teardown(() => peer.close())
  const port = transport === 'udp' ? rig.udp : rig.tcp
  const call: PeerDialog = peer.invite({
    uri: `sip:${TEST_NUMBER}@127.0.0.1:${port}`,
    target: { address: '127.0.0.1', port },
    sdp: sdp(),
  })
  await call.final()
  await until(() => rig.types().includes('answered'))
  return {
    ...rig,
    peer,
    call,
    /** Sends a re-INVITE and resolves with the body of its response. */
    async renegotiate(body: string | null) {
      call.reinvite(body)
      const status = await call.final()
      if (status !== 200) throw new Error(`re-INVITE answered ${status}`)
      return call.remoteSdp ?? ''
    },
    async bye() {
      call.bye()
      return (await rig.ended()).ending
    },
    /** Resolves with the final response to the last request of that method. */
    async answerTo(method: string) {
      const answer = await peer.waitFor(
        (message, direction) =>
          direction === 'in' &&
          (message.status ?? 0) >= 200 &&
          cseqOf(message).method === method &&
          cseqOf(message).number ===
            Math.max(
              ...peer.log
                .filter(({ direction: way, message: sent }) => way === 'out' && sent.method === method)
                .map(({ message: sent }) => cseqOf(sent).number),
            ),
      )
      return answer
    },
  }
}

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`${transport}: every form of hold and resume`, async (t) => {
    const it = await answered(t, transport)
    const ways: readonly [string, Media, string][] = [
      ['sendonly', { direction: 'sendonly' }, 'recvonly'],
      ['inactive', { direction: 'inactive' }, 'inactive'],
      ['0.0.0.0', { address: '0.0.0.0' }, 'recvonly'],
      ['0.0.0.0 and inactive', { address: '0.0.0.0', direction: 'inactive' }, 'inactive'],
    ]
    let version = 2
    for (const [name, held, answer] of ways) {
      t.match(await it.renegotiate(sdp({ ...held, version: version++ })), `a=${answer}\r`, name)
      await until(() => it.pool.only().remotes.at(-1)?.send === false)
      t.match(await it.renegotiate(sdp({ version: version++ })), 'a=sendrecv\r', `${name}: resumed`)
      t.match(it.pool.only().remotes.at(-1), { send: true, receive: true, address: '127.0.0.1', port: 4000 })
    }
    await until(() => it.types().filter((type) => type === 'held').length === 8)
    t.match(await it.bye(), { cause: 'caller_hangup' })
    t.strictSame(
      it.events.flatMap((event) => (event.type === 'held' ? [event.on] : [])),
      [true, false, true, false, true, false, true, false],
    )
  })
}

t.test('a re-INVITE changes codec, address, port, and removes and restores telephone-event', async (t) => {
  const it = await answered(t)
  const changes: readonly [Media, object][] = [
    [{ payloads: '0 101' }, { codec: 'PCMU', payloadType: 0, dtmfPayloadType: 101 }],
    [{ payloads: '0' }, { codec: 'PCMU', dtmfPayloadType: null }],
    [
      { payloads: '8 101', port: 4100 },
      { codec: 'PCMA', port: 4100, dtmfPayloadType: 101 },
    ],
    [
      { address: '127.0.0.3', port: 4102 },
      { address: '127.0.0.3', port: 4102 },
    ],
  ]
  for (const [index, [media, remote]] of changes.entries()) {
    await it.renegotiate(sdp({ ...media, version: index + 2 }))
    t.match(it.pool.only().remotes.at(-1), remote)
  }
  t.match(await it.bye(), { cause: 'caller_hangup' })
  t.notOk(it.types().includes('held'))
})

t.test('refreshes change nothing, by re-INVITE, by UPDATE with and without SDP', async (t) => {
  const it = await answered(t)
  const first = it.call.remoteSdp
  for (let round = 0; round < 3; round++) t.equal(await it.renegotiate(sdp()), first, 'the very same answer')
  it.call.request('UPDATE')
  t.equal((await it.answerTo('UPDATE')).status, 200)
  it.call.request('UPDATE', [], sdp())
  const updated = await it.answerTo('UPDATE')
  t.equal(updated.status, 200)
  t.match(updated.body, /m=audio/)
  it.call.request('OPTIONS')
  t.equal((await it.answerTo('OPTIONS')).status, 200)
  t.match(await it.bye(), { cause: 'caller_hangup' })
  t.strictSame(it.types(), ['ringing', 'answered', 'ended'])
})

t.test('an unusable re-INVITE is rejected and the call continues unchanged', async (t) => {
  const it = await answered(t)
  for (const body of [sdp({ payloads: '18' }), sdp({ port: 70_000 }), 'nonsense']) {
    it.call.reinvite(body)
    const status = await it.call.final()
    t.ok(status === 488 || status === 400, `${status}`)
  }
  t.equal(it.pool.only().remotes.length, 1)
  t.match(await it.renegotiate(sdp({ direction: 'sendonly', version: 9 })), 'a=recvonly')
  t.match(await it.bye(), { cause: 'caller_hangup' })
})

t.test('a stream that a re-INVITE removes is answered with port 0 and stops, until it returns', async (t) => {
  const it = await answered(t)
  t.match(await it.renegotiate(sdp({ port: 0, version: 2 })), 'm=audio 0 RTP/AVP 8 0 101\r')
  t.match(it.pool.only().remotes.at(-1), { send: false, receive: false, port: 4000 })
  t.match(await it.renegotiate(sdp({ version: 3 })), /m=audio [1-9]\d* RTP\/AVP 8 101\r/)
  t.match(it.pool.only().remotes.at(-1), { send: true, receive: true, port: 4000 })
  t.match(await it.bye(), { cause: 'caller_hangup' })
})

t.test('a re-INVITE whose media cannot be changed gets 500, and the last agreement stays', async (t) => {
  const it = await answered(t)
  const first = it.call.remoteSdp
  const { setRemote } = it.pool
  it.pool.setRemote = async () => {
    throw new Error('no such port')
  }
  it.call.reinvite(sdp({ port: 4100, version: 2 }))
  t.equal(await it.call.final(), 500)
  it.pool.setRemote = setRemote
  t.equal(await it.renegotiate(sdp()), first, 'the very same answer as before')
  t.match(
    await it.renegotiate(sdp({ port: 4100, version: 3 })),
    /^v=0\r\no=- \d+ 1 /,
    'nothing of ours changed',
  )
  t.match(it.pool.only().remotes.at(-1), { port: 4100 })
  t.match(await it.bye(), { cause: 'caller_hangup' })
})

t.test('DTMF digits by INFO', async (t) => {
  const it = await answered(t)
  const info = async (type: string, body: string) => {
    it.call.request('INFO', type === '' ? [] : [['Content-Type', type]], body === '' ? null : body)
    const answer = await it.answerTo('INFO')
    return answer
  }
  t.equal((await info('application/dtmf-relay', 'Signal=5\r\nDuration=160\r\n')).status, 200)
  t.equal((await info('application/dtmf', '#')).status, 200)
  t.equal((await info('application/dtmf-relay; charset=utf-8', 'Signal= 10\r\nDuration= 250')).status, 200)
  t.equal((await info('', '')).status, 200, 'an empty one only asks')
  t.equal((await info('application/dtmf', 'xyz')).status, 400)
  const foreign = await info('application/media_control+xml', '<media_control/>')
  t.equal(foreign.status, 415)
  t.match(header(foreign, 'accept'), 'application/dtmf')
  t.strictSame(it.pool.only().digits, ['5', '#', '*'])
  t.match(await it.bye(), { cause: 'caller_hangup' })
})

t.test('the formats of a DTMF digit in INFO', async (t) => {
  t.strictSame(parseInfoDtmf('application/dtmf-relay', 'Signal=D\nDuration=99999'), {
    digit: 'D',
    durationMs: 10_000,
  })
  t.strictSame(parseInfoDtmf('Application/DTMF-Relay', 'signal = 0'), { digit: '0', durationMs: 160 })
  t.strictSame(parseInfoDtmf('application/dtmf', 'b'), { digit: 'B', durationMs: 160 })
  t.strictSame(parseInfoDtmf('application/dtmf', '11'), { digit: '#', durationMs: 160 })
  t.equal(parseInfoDtmf('application/dtmf-relay', 'Duration=100'), 'bad')
  t.equal(parseInfoDtmf('application/dtmf-relay', 'Signal=16'), 'bad')
  t.equal(parseInfoDtmf('text/plain', '5'), null)
})
