import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { headerOf, SipTraceStore, TRACE_LIMITS, type TraceLimits } from './sip-trace.js'

const wire = (text: string, direction: 'in' | 'out' = 'in') => ({
  direction,
  transport: 'udp',
  peer: '192.0.2.1:5060',
  text,
})

const invite = (callId: string, more: readonly string[] = [], body = '') =>
  ['INVITE sip:x@y SIP/2.0', `Call-ID: ${callId}`, 'CSeq: 1 INVITE', ...more, '', body].join('\r\n')

function opened(limits: Partial<TraceLimits> = {}) {
  const clock = new VirtualClock()
  return { clock, traces: new SipTraceStore(clock, { ...TRACE_LIMITS, ...limits }) }
}

t.test('a call gets the messages from before and after it was identified', async (t) => {
  const { clock, traces } = opened()
  const changed: string[] = []
  traces.onChange = (callId) => changed.push(callId)
  traces.add(wire(invite('a')))
  traces.add(wire('OPTIONS sip:x@y SIP/2.0\r\nCall-ID: o\r\nCSeq: 1 OPTIONS\r\n\r\n'))
  t.same(changed, [])
  clock.advance(20)
  traces.begin('call_1', 'a', 'trk_1')
  traces.add(wire('SIP/2.0 200 OK\r\ni: a\r\nCSeq: 1 INVITE\r\n\r\nv=0\r\n', 'out'))
  t.match(traces.get('call_1'), {
    sipCallId: 'a',
    trunkId: 'trk_1',
    dropped: 0,
    messages: [
      { startLine: 'INVITE sip:x@y SIP/2.0', direction: 'in', at: clock.wall() - 20 },
      { startLine: 'SIP/2.0 200 OK', direction: 'out', body: 'v=0\r\n', peer: '192.0.2.1:5060' },
    ],
  })
  t.same(changed, ['call_1', 'call_1'])
  traces.forget('call_1')
  t.equal(traces.get('call_1'), null)
  t.equal(traces.bytes, 0)
})

t.test('a further leg is part of the trace of its call', async (t) => {
  const { traces } = opened()
  traces.add(wire(invite('a')))
  traces.begin('call_1', 'a', 'trk_1')
  traces.begin('call_1', 'b', 'trk_2')
  traces.add(wire(invite('b'), 'out'))
  traces.add(wire('SIP/2.0 180 Ringing\r\nCall-ID: b\r\nCSeq: 1 INVITE\r\n\r\n'))
  const trace = traces.get('call_1')
  t.match(trace, { sipCallId: 'a', trunkId: 'trk_1' })
  t.same(
    trace?.messages.map((message) => headerOf(message, 'call-id', 'i')),
    ['a', 'b', 'b'],
  )
  traces.forget('call_1')
  t.equal(traces.bytes, 0)
  traces.add(wire('BYE sip:x@y SIP/2.0\r\nCall-ID: b\r\nCSeq: 2 BYE\r\n\r\n'))
  t.equal(traces.bytes, 0, 'nothing of the leg is kept behind the call')
})

t.test('a message without a transport has that of its top Via', async (t) => {
  const { traces } = opened()
  traces.add({ ...wire(invite('a', ['Via: SIP/2.0/TLS 192.0.2.1;branch=z9hG4bK1'])), transport: '' })
  traces.add({ ...wire(invite('a', ['v: SIP / 2.0 / UDP 192.0.2.1'])), transport: '' })
  traces.add({ ...wire(invite('a')), transport: '' })
  traces.begin('call_1', 'a', null)
  t.same(
    traces.get('call_1')?.messages.map(({ transport }) => transport),
    ['tls', 'udp', ''],
  )
})

t.test('secrets are masked', async (t) => {
  const { traces } = opened()
  const headers = [
    'Authorization: Digest username="asha", realm="parley", nonce="NONCE", response="RESPONSE", cnonce="CN"',
    'proxy-authorization: Basic c2VjcmV0',
    'X-Api-Token: TOKEN',
    'Content-Type: application/sdp',
  ]
  const sdp =
    'v=0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:SRTPKEY|2^20\r\na=crypto:2\tX  inline:SRTPKEY;inline:SRTPKEY\r\na=ice-pwd:ICEPWD\r\nk=clear:KEY\r\na=ptime:20\r\n'
  traces.add(wire(invite('a', headers, sdp)))
  traces.begin('call_1', 'a', null)
  traces.add(
    wire(
      'INFO sip:x@y SIP/2.0\r\nCall-ID: a\r\nc: application/dtmf-relay\r\n\r\nSignal=7\r\nDuration=160\r\n',
    ),
  )
  traces.add(wire('INFO sip:x@y SIP/2.0\r\nCall-ID: a\r\nContent-Type: application/dtmf\r\n\r\n9'))
  const text = JSON.stringify(traces.get('call_1'))
  for (const secret of [
    'NONCE',
    'RESPONSE',
    '"CN"',
    'c2VjcmV0',
    'TOKEN"',
    'SRTPKEY',
    'ICEPWD',
    'clear:KEY',
    'Signal=7',
  ]) {
    t.notMatch(text, secret, secret)
  }
  const [first, relay, digit] = traces.get('call_1')?.messages ?? []
  if (!first || !relay || !digit) throw new Error('messages are missing')
  t.equal(headerOf(first, 'authorization', ''), 'Digest username="asha", realm="parley", ***')
  t.match(first.body, /a=ptime:20/)
  t.match(relay.body, /Signal=\*\*\*\r\nDuration=160/)
  t.equal(digit.body, '***')
})

t.test('limits: unassigned INVITEs, calls, messages per call, bytes per message and in total', async (t) => {
  const { traces } = opened({
    unassignedInvites: 10,
    calls: 5,
    messagesPerCall: 3,
    messageBytes: 400,
    bytes: 4_000,
  })
  traces.begin('call_0', 'c0', null)
  for (let n = 0; n < 1000; n++) traces.add(wire(invite(`s${n}`, [], 'x'.repeat(1000))))
  t.ok(traces.get('call_0'), 'a flood of INVITEs that are no calls pushes no call out')
  t.ok(traces.bytes <= 4_000, `${traces.bytes}`)
  for (let n = 0; n < 10; n++) traces.add(wire(invite('c0')))
  t.match(traces.get('call_0'), { dropped: 7 })
  t.equal(traces.get('call_0')?.messages.length, 3)
  for (let n = 1; n <= 5; n++) traces.begin(`call_${n}`, `c${n}`, null)
  t.equal(traces.get('call_0'), null)
  t.ok(traces.get('call_5'))
  traces.begin('call_6', 'c5', null)
  t.equal(traces.get('call_5'), null, 'a repeated Call-ID is the later call')
  for (let n = 1; n <= 6; n++) traces.forget(`call_${n}`)
  for (let n = 0; n < 20; n++) traces.add(wire(invite(`z${n}`)))
  t.ok(traces.bytes > 0 && traces.bytes <= 4_000)
})
