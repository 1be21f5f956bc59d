import t from 'tap'
import { DEFAULT_LIMITS } from '../limits.js'
import { ByteQueue } from '../transport/byte-queue.js'
import { StreamFramer } from '../transport/stream-framer.js'
import { decodePayload, encodeFrame, FrameReader } from './wire-format.js'

function reader(maxBytes = 100_000) {
  const payloads: string[] = []
  const frames = new FrameReader(maxBytes, (payload) => payloads.push(payload.toString('latin1')))
  return { payloads, frames }
}

t.test('frames count bytes', async (t) => {
  t.equal(encodeFrame('a|ping', null).toString(), '6#a|ping')
  t.equal(encodeFrame('a|sip', Buffer.from('\u00e9')).toString(), '9#a|sip\r\n\u00e9')
  t.match(decodePayload(Buffer.from('a|b||c\r\nbody\r\nmore')), { tokens: ['a', 'b', '', 'c'] })
  t.equal(decodePayload(Buffer.from('a|b\r\nbody\r\nmore')).body.toString(), 'body\r\nmore')
  t.equal(decodePayload(Buffer.from('a|b')).body.length, 0)
})

t.test('merged and split frames, also inside the length', async (t) => {
  const { payloads, frames } = reader()
  t.ok(frames.push(Buffer.from('3#abc2#de1')))
  t.ok(frames.push(Buffer.from('0')))
  t.ok(frames.push(Buffer.from('#01234')))
  t.same(payloads, ['abc', 'de'])
  t.ok(frames.push(Buffer.from('56789')))
  t.same(payloads, ['abc', 'de', '0123456789'])
})

t.test('a large frame in many segments, one byte at a time at the end', async (t) => {
  const { payloads, frames } = reader(300_000)
  const text = 'x'.repeat(256 * 1024)
  const bytes = encodeFrame(text, null)
  let at = 0
  for (; at < bytes.length - 100; at += 1448)
    frames.push(bytes.subarray(at, Math.min(at + 1448, bytes.length)))
  for (; at < bytes.length; at++) frames.push(bytes.subarray(at, at + 1))
  t.equal(payloads[0]?.length, text.length)
})

t.test('payloads passed on are not overwritten', async (t) => {
  const kept: Buffer[] = []
  const frames = new FrameReader(1000, (payload) => kept.push(payload))
  // Each chunk ends one frame and begins the next.
  frames.push(Buffer.from('5#'))
  for (let i = 10; i < 60; i++) frames.push(Buffer.from(`pay${i}5#`))
  t.equal(kept.length, 50)
  t.equal(kept[0]?.toString(), 'pay10')
  t.ok(kept.every((payload) => payload.length === 5))
})

t.test('bad lengths end the stream permanently', async (t) => {
  for (const bad of ['x#abc', '#abc', '-1#a', ' 3#abc', '0#', '100001#', '3']) {
    const { payloads, frames } = reader()
    const ok = frames.push(Buffer.from(bad))
    t.equal(ok, bad === '3', bad)
    t.equal(frames.push(Buffer.from(bad === '3' ? 'x' : '3#abc')), false)
    t.same(payloads, [])
  }
})

t.test('an oversized payload is skipped and its beginning reported, split at every byte', async (t) => {
  const stream = Buffer.from(`3#abc1500#${'y'.repeat(1500)}4#last`)
  for (const size of [1, 7, 600, stream.length]) {
    const payloads: string[] = []
    const skipped: string[] = []
    const frames = new FrameReader(
      1000,
      (payload) => payloads.push(payload.toString()),
      (beginning) => skipped.push(beginning.toString()),
    )
    for (let at = 0; at < stream.length; at += size) t.ok(frames.push(stream.subarray(at, at + size)))
    t.same(payloads, ['abc', 'last'])
    t.same(skipped, ['y'.repeat(512)])
    t.equal(frames.push(Buffer.from('100000000#')), false, 'no length of this protocol')
  }
})

t.test('the byte queue keeps its order while it grows and is consumed', async (t) => {
  const queue = new ByteQueue()
  let expected = ''
  for (let i = 0; i < 1000; i++) {
    const text = `${i},`
    queue.append(Buffer.from(text))
    expected += text
    if (i % 3 === 0) {
      queue.consume(2)
      expected = expected.slice(2)
    }
  }
  t.equal(queue.bytes.toString(), expected)
})

function framer(limits = DEFAULT_LIMITS) {
  const events: string[] = []
  const stream = new StreamFramer(limits, {
    onMessage: (bytes) => events.push(bytes.toString()),
    onKeepAlive: () => events.push('ping'),
    onError: (status, reason) => events.push(`${status} ${reason}`),
  })
  return { events, stream }
}

const one = 'A sip:b SIP/2.0\r\nContent-Length: 4\r\n\r\nbody'
const two = 'B sip:b SIP/2.0\r\nl: 0\r\n\r\n'

t.test('SIP streams: merged, split at every byte, keep-alives between', async (t) => {
  const text = Buffer.from(`${one}\r\n\r\n${two}\r\n${one}`)
  for (let size = 1; size <= text.length; size++) {
    const { events, stream } = framer()
    for (let at = 0; at < text.length; at += size) stream.push(text.subarray(at, at + size))
    t.same(events, [one, 'ping', two, one], `pieces of ${size}`)
    t.equal(stream.partial, false)
  }
})

t.test('SIP streams: framing errors', async (t) => {
  const bad = (text: string, expected: string, limits = DEFAULT_LIMITS) => {
    const { events, stream } = framer(limits)
    stream.push(Buffer.from(text))
    stream.push(Buffer.from(one))
    t.same(events, [expected])
  }
  bad('A sip:b SIP/2.0\r\nVia: x\r\n\r\n', '400 Bad Content-Length Header')
  bad('A sip:b SIP/2.0\r\nl: x\r\n\r\n', '400 Bad Content-Length Header')
  bad('A sip:b SIP/2.0\r\nl: 500000\r\n\r\n', '413 Request Entity Too Large')
  bad('x'.repeat(200), '513 Message Too Large', { ...DEFAULT_LIMITS, headBytes: 100 })
})
