import t from 'tap'
import type { CodecName } from '../../media/codec/codec.js'
import { CODEC_NAMES } from '../../media/codec/registry.js'
import { SdpSession, sessionRateOf } from './sdp-session.js'

const local = { address: '127.0.0.1', port: 40_000 }
const session = (codecs: readonly CodecName[]) => new SdpSession(local, codecs, '42')

function sdp(formats: string, ...attributes: readonly string[]): string {
  const head = ['v=0', 'o=- 1 1 IN IP4 192.0.2.7', 's=-', 'c=IN IP4 192.0.2.7', 't=0 0']
  return [...head, `m=audio 30000 RTP/AVP ${formats}`, ...attributes, ''].join('\r\n')
}

/** The offer of a softphone. */
const SOFTPHONE = sdp(
  '96 9 8 0 13 97 98',
  'a=rtpmap:96 opus/48000/2',
  'a=fmtp:96 useinbandfec=1; usedtx=1; maxaveragebitrate=20000',
  'a=rtpmap:97 telephone-event/8000',
  'a=rtpmap:98 telephone-event/48000',
  'a=fmtp:98 0-16',
)

function answered(codecs: readonly CodecName[], offer: string) {
  const result = session(codecs).answer(offer)
  if (!result.ok) throw new Error(result.reason)
  return { ...result, lines: result.sdp.split('\r\n').filter((line) => /^(m=|a=)/.test(line)) }
}

t.test('an offer with every format', async (t) => {
  const lines = session(CODEC_NAMES).offer().split('\r\n').slice(5, -1)
  t.strictSame(lines, [
    'm=audio 40000 RTP/AVP 8 0 9 111 98 99 101 96 97',
    'a=rtpmap:8 PCMA/8000',
    'a=rtpmap:0 PCMU/8000',
    'a=rtpmap:9 G722/8000',
    'a=rtpmap:111 opus/48000/2',
    'a=fmtp:111 maxplaybackrate=16000;sprop-maxcapturerate=16000;stereo=0;sprop-stereo=0;usedtx=1',
    'a=rtpmap:98 L16/16000',
    'a=rtpmap:99 L16/8000',
    'a=rtpmap:101 telephone-event/8000',
    'a=fmtp:101 0-15',
    'a=rtpmap:96 telephone-event/48000',
    'a=fmtp:96 0-15',
    'a=rtpmap:97 telephone-event/16000',
    'a=fmtp:97 0-15',
    'a=ptime:20',
    'a=sendrecv',
  ])
})

t.test('an answer repeats the payload types of the offer and honours its parameters', async (t) => {
  const opus = answered(['OPUS', 'PCMA'], SOFTPHONE)
  t.match(opus.remote, {
    codec: 'OPUS',
    payloadType: 96,
    parameters: { fec: true, dtx: true, maxBitrate: 20_000 },
    dtmfPayloadType: 98,
    dtmfClockRate: undefined,
    noisePayloadType: undefined,
  })
  t.strictSame(opus.lines, [
    'm=audio 40000 RTP/AVP 96 98',
    'a=rtpmap:96 opus/48000/2',
    'a=fmtp:96 maxplaybackrate=16000;sprop-maxcapturerate=16000;stereo=0;sprop-stereo=0;usedtx=1',
    'a=rtpmap:98 telephone-event/48000',
    'a=fmtp:98 0-15',
    'a=ptime:20',
    'a=sendrecv',
  ])

  const g722 = answered(['G722'], SOFTPHONE)
  t.match(g722.remote, { codec: 'G722', payloadType: 9, dtmfPayloadType: 97, noisePayloadType: 13 })
  t.match(g722.lines, [/RTP\/AVP 9 13 97$/, 'a=rtpmap:9 G722/8000', 'a=rtpmap:13 CN/8000'])
})

t.test('all common formats are accepted, no others', async (t) => {
  t.strictSame(answered(['PCMA', 'OPUS'], SOFTPHONE).remote.receiveFormats, [
    { payloadType: 8, kind: 'audio', codec: 'PCMA' },
    { payloadType: 96, kind: 'audio', codec: 'OPUS' },
    { payloadType: 97, kind: 'event', clockRate: 8000 },
    { payloadType: 98, kind: 'event', clockRate: 48_000 },
    { payloadType: 13, kind: 'noise' },
  ])
})

t.test('answers to our offer: we send with their payload types and receive with ours', async (t) => {
  const one = session(['OPUS', 'L16', 'PCMU'])
  t.match(one.offer(), /RTP\/AVP 111 98 0 101 96 97\r\n/)
  const result = one.accept(
    sdp('100 0 102', 'a=rtpmap:100 OPUS/48000/2', 'a=rtpmap:102 telephone-event/48000', 'a=ptime:40'),
  )
  t.match(result, {
    ok: true,
    remote: { codec: 'OPUS', payloadType: 100, dtmfPayloadType: 102, ptime: 40 },
  })
  t.strictSame(result.ok && result.remote.receiveFormats, [
    { payloadType: 111, kind: 'audio', codec: 'OPUS' },
    { payloadType: 0, kind: 'audio', codec: 'PCMU' },
    { payloadType: 101, kind: 'event', clockRate: 48_000 },
    { payloadType: 100, kind: 'audio', codec: 'OPUS' },
    { payloadType: 102, kind: 'event', clockRate: 48_000 },
  ])
  t.match(one.accept(sdp('9')), { ok: false, sip: 488 }, 'never offered')
  const narrow = session(['PCMA'])
  narrow.offer()
  t.match(
    narrow.accept(sdp('0 8')),
    { remote: { codec: 'PCMA' } },
    'a first format that was not offered is passed over',
  )
})

t.test('a number keeps its meaning for the whole call', async (t) => {
  const one = session(['PCMA', 'OPUS'])
  one.answer(sdp('96 98 8', 'a=rtpmap:96 opus/48000/2', 'a=rtpmap:98 telephone-event/8000'))
  t.match(one.offer(), /RTP\/AVP 8 96 98 101\r\n/, 'the numbers of the caller come back in our offer')
  t.match(one.offer(), /a=rtpmap:101 telephone-event\/48000/)
  const other = session(['OPUS', 'PCMA'])
  other.answer(sdp('101 8', 'a=rtpmap:101 opus/48000/2'))
  t.match(other.offer(), /RTP\/AVP 101 8 96 97\r\n/, 'our customary number of events is taken by then')
})

t.test('a codec change during the call', async (t) => {
  const one = session(['PCMA', 'G722'])
  t.match(one.answer(sdp('8')), { remote: { codec: 'PCMA' } })
  t.match(one.answer(sdp('9')), { remote: { codec: 'G722', payloadType: 9 }, sdp: /RTP\/AVP 9\r\n/ })
  t.match(one.answer(sdp('18')), { ok: false, sip: 488 })
  t.match(one.current, { codec: 'G722' })
})

t.test('packet lengths', async (t) => {
  const cases: readonly [CodecName, readonly string[], number | undefined][] = [
    ['PCMA', [], undefined],
    ['PCMA', ['a=ptime:20'], undefined],
    ['PCMA', ['a=ptime:10'], 10],
    ['PCMA', ['a=ptime:30'], 30],
    ['PCMA', ['a=ptime:50'], 40],
    ['PCMA', ['a=ptime:200'], 60],
    ['PCMA', ['a=maxptime:15'], 10],
    ['PCMA', ['a=ptime:60', 'a=maxptime:40'], 40],
    ['PCMA', ['a=ptime:5'], 10],
    ['OPUS', ['a=rtpmap:8 opus/48000/2', 'a=ptime:30'], undefined],
    ['OPUS', ['a=rtpmap:8 opus/48000/2', 'a=ptime:120'], 60],
  ]
  for (const [codec, attributes, ptime] of cases) {
    const { remote, lines } = answered([codec], sdp('8', ...attributes))
    t.equal(remote.ptime, ptime, attributes.join(' '))
    t.ok(lines.includes(`a=ptime:${ptime ?? 20}`))
  }
  t.match(session(['PCMA']).answer(sdp('8', 'a=maxptime:9')), { ok: false, sip: 488 })
})

t.test('formats that resemble a supported codec', async (t) => {
  const cases: readonly (readonly [CodecName, string])[] = [
    ['G722', 'a=rtpmap:96 G722/16000'],
    ['OPUS', 'a=rtpmap:96 opus/48000'],
    ['L16', 'a=rtpmap:96 L16/44100'],
    ['L16', 'a=rtpmap:96 L16/16000/2'],
    ['PCMA', 'a=rtpmap:96 PCMA/16000'],
  ]
  for (const [codec, line] of cases) {
    t.match(session([codec]).answer(sdp('96', line)), { ok: false, sip: 488 }, line)
  }
  t.match(session(['L16']).answer(sdp('11')), { ok: false, sip: 488 }, 'L16 of 44.1 kHz')
})

t.test('telephone-event of 8000 serves a codec that has none of its own clock', async (t) => {
  const offer = sdp('96 97', 'a=rtpmap:96 opus/48000/2', 'a=rtpmap:97 telephone-event/8000')
  const { remote, lines } = answered(['OPUS'], offer)
  t.match(remote, { dtmfPayloadType: 97, dtmfClockRate: 8000 })
  t.ok(lines.includes('a=rtpmap:97 telephone-event/8000'))
})

t.test('the rate of the session', async (t) => {
  t.equal(sessionRateOf(['PCMA', 'PCMU'], ''), 8000)
  t.equal(sessionRateOf(['PCMA', 'G722'], ''), 16_000, 'we offer: it may become wideband')
  t.equal(sessionRateOf(['PCMA', 'G722'], sdp('8 9')), 8000, 'an offer decides at once')
  t.equal(sessionRateOf(['G722', 'PCMA'], sdp('8 9')), 16_000)
  t.equal(sessionRateOf(['OPUS', 'PCMA'], SOFTPHONE), 16_000)
  t.equal(sessionRateOf(['OPUS', 'PCMA'], 'garbage'), 16_000)
})
