import t from 'tap'
import { parseSdp } from './sdp-parser.js'
import { checkOffer, SdpSession } from './sdp-session.js'

const local = { address: '127.0.0.1', port: 40_000 }
const session = (codecs: readonly ('PCMA' | 'PCMU')[] = ['PCMA', 'PCMU']) =>
  new SdpSession(local, codecs, '42')

function sdp(media: readonly string[], head: readonly string[] = ['c=IN IP4 192.0.2.7']): string {
  return ['v=0', 'o=- 1 1 IN IP4 192.0.2.7', 's=-', ...head, 't=0 0', ...media, ''].join('\r\n')
}
const audio = (formats: string, ...attributes: readonly string[]) => [
  `m=audio 30000 RTP/AVP ${formats}`,
  ...attributes,
]
const EVENTS = ['a=rtpmap:101 telephone-event/8000', 'a=fmtp:101 0-16']

t.test('our offer', async (t) => {
  t.equal(
    session().offer(),
    [
      'v=0',
      'o=- 42 1 IN IP4 127.0.0.1',
      's=-',
      'c=IN IP4 127.0.0.1',
      't=0 0',
      'm=audio 40000 RTP/AVP 8 0 101',
      'a=rtpmap:8 PCMA/8000',
      'a=rtpmap:0 PCMU/8000',
      'a=rtpmap:101 telephone-event/8000',
      'a=fmtp:101 0-15',
      'a=ptime:20',
      'a=sendrecv',
      '',
    ].join('\r\n'),
  )
})

t.test('the answer follows the preference of the trunk, not of the offer', async (t) => {
  const offer = sdp(audio('0 8 101', ...EVENTS))
  const pcma = session(['PCMA', 'PCMU']).answer(offer)
  t.match(pcma, { ok: true, remote: { codec: 'PCMA', payloadType: 8, dtmfPayloadType: 101 } })
  t.match(session(['PCMU', 'PCMA']).answer(offer), { remote: { codec: 'PCMU', payloadType: 0 } })
  t.match(session(['PCMU']).answer(sdp(audio('8'))), { ok: false, sip: 488 })
  t.match(pcma, { sdp: /m=audio 40000 RTP\/AVP 8 101\r\n/ })
  t.match(pcma, { remote: { address: '192.0.2.7', port: 30_000, send: true, receive: true } })
})

t.test('dynamic payload types are kept, a static number without rtpmap is understood', async (t) => {
  const result = session().answer(
    sdp(audio('97 98', 'a=rtpmap:97 PCMA/8000', 'a=rtpmap:98 telephone-event/8000')),
  )
  t.match(result, { remote: { codec: 'PCMA', payloadType: 97, dtmfPayloadType: 98 } })
  t.match(result, { sdp: /RTP\/AVP 97 98\r\na=rtpmap:97 PCMA\/8000\r\na=rtpmap:98 telephone-event\/8000/ })
  t.match(session().answer(sdp(audio('8'))), { remote: { codec: 'PCMA', dtmfPayloadType: null } })
  t.match(session().answer(sdp(audio('96', 'a=rtpmap:96 pcmu/8000'))), { remote: { codec: 'PCMU' } })
  // telephone-event at a clock rate other than the audio's cannot be used (RFC 4733 2.1)
  t.match(session().answer(sdp(audio('8 101', 'a=rtpmap:101 telephone-event/16000'))), {
    remote: { dtmfPayloadType: null },
  })
  t.match(session().answer(sdp(audio('8 97', 'a=rtpmap:8 PCMA/16000', 'a=rtpmap:97 PCMU/8000'))), {
    remote: { codec: 'PCMU', payloadType: 97 },
  })
})

t.test('several m-lines: the others are rejected with port 0 in their position', async (t) => {
  const offer = sdp([
    'm=video 5000 RTP/AVP 96',
    'a=rtpmap:96 VP8/90000',
    'm=audio 6000 RTP/SAVP 8',
    ...audio('8'),
    'm=application 7000 UDP/DTLS/SCTP webrtc-datachannel',
  ])
  const result = session().answer(offer)
  t.match(result, { ok: true, remote: { port: 30_000 } })
  const lines = result.ok ? result.sdp.split('\r\n').filter((line) => line.startsWith('m=')) : []
  t.strictSame(lines, [
    'm=video 0 RTP/AVP 96',
    'm=audio 0 RTP/SAVP 8',
    'm=audio 40000 RTP/AVP 8',
    'm=application 0 UDP/DTLS/SCTP webrtc-datachannel',
  ])
})

t.test('hold and resume', async (t) => {
  const held: readonly [string, readonly string[], boolean, boolean, string][] = [
    ['sendonly', ['a=sendonly'], false, true, 'recvonly'],
    ['inactive', ['a=inactive'], false, false, 'inactive'],
    ['recvonly', ['a=recvonly'], true, false, 'sendonly'],
    ['sendrecv', ['a=sendrecv'], true, true, 'sendrecv'],
  ]
  for (const [name, attributes, send, receive, own] of held) {
    const result = session().answer(sdp(audio('8', ...attributes)))
    t.match(result, { ok: true, remote: { send, receive } }, name)
    t.match(result, { sdp: new RegExp(`a=${own}\r\n`) }, name)
  }
  t.match(session().answer(sdp(audio('8'), ['c=IN IP4 192.0.2.7', 'a=inactive'])), {
    remote: { send: false, receive: false },
  })

  const one = session()
  one.answer(sdp(audio('8')))
  const old = one.answer(sdp(audio('8', 'c=IN IP4 0.0.0.0')))
  t.match(old, { remote: { send: false, address: '192.0.2.7' }, sdp: /a=recvonly/ }, 'RFC 2543 hold')
  t.match(one.answer(sdp(audio('8'))), { remote: { send: true, receive: true }, sdp: /a=sendrecv/ })
})

t.test('a stream that the peer removes is answered with port 0 and stops, until it returns', async (t) => {
  const one = new SdpSession({ ...local, rtcpPort: 40_001 }, ['PCMA', 'PCMU'], '42')
  t.match(one.answer(sdp(['m=audio 0 RTP/AVP 8'])), { ok: false, sip: 488 }, 'not in the first offer')
  one.answer(sdp(audio('8', 'a=mid:a')))
  const removed = one.answer(sdp(['m=audio 0 RTP/AVP 8', 'a=mid:a']))
  t.match(removed, { ok: true, remote: { send: false, receive: false, codec: 'PCMA' } })
  t.ok(removed.ok && removed.remote.rtcp === undefined, 'no RTCP either')
  t.match(removed, { sdp: /t=0 0\r\nm=audio 0 RTP\/AVP 8\r\na=mid:a\r\n$/ })
  t.match(removed, { sdp: /^v=0\r\no=- 42 2 / })
  t.match(one.answer(sdp(['m=audio 0 RTP/AVP 8', 'm=video 4000 RTP/AVP 96'])), {
    sdp: /m=audio 0 RTP\/AVP 8\r\nm=video 0 RTP\/AVP 96\r\n$/,
  })
  t.match(one.answer(sdp(audio('8'))), { remote: { send: true, receive: true, rtcp: { port: 30_001 } } })

  one.offer()
  t.match(one.accept(sdp(['m=audio 0 RTP/AVP 8'])), { ok: true, remote: { send: false, receive: false } })
})

t.test('a round that is taken back leaves everything as it was', async (t) => {
  const one = session()
  one.answer(sdp(audio('8 101', ...EVENTS)))
  const before = one.current
  const round = sdp([...audio('0 98', 'a=rtpmap:98 telephone-event/8000'), 'm=video 4000 RTP/AVP 96'])
  const result = one.answer(round)
  t.match(result, { ok: true, sdp: /^v=0\r\no=- 42 2 / })
  if (result.ok) result.revert()
  t.strictSame(one.current, before)
  t.match(one.offer(), /^v=0\r\no=- 42 2 [\s\S]*m=audio 40000 RTP\/AVP 8 0 101\r\n/)
  t.notMatch(one.offer(), /m=video/)
})

t.test('the version grows with every change and only then', async (t) => {
  const one = session()
  const version = (offer: string) => {
    const result = one.answer(offer)
    return result.ok ? /^o=- 42 (\d+) /m.exec(result.sdp)?.[1] : undefined
  }
  t.equal(version(sdp(audio('8'))), '1')
  t.equal(version(sdp(audio('8'))), '1')
  t.equal(version(sdp(audio('8', 'a=sendonly'))), '2')
  t.equal(version(sdp(audio('18'))), undefined, 'a refused round')
  t.match(one.current, { send: false, codec: 'PCMA' }, 'changes nothing')
  t.equal(version(sdp(audio('8'))), '3')
})

t.test('a later offer may add m-lines, and move the audio to another one', async (t) => {
  const one = session()
  one.answer(sdp([...audio('8'), 'm=video 5000 RTP/AVP 96']))
  t.match(one.offer(), /m=audio 40000 RTP\/AVP 8 0 101[\s\S]*m=video 0 RTP\/AVP 96/)
  t.match(one.answer(sdp(audio('8'))), { ok: true, remote: { port: 30_000 } }, 'a refused one is left out')
  t.match(one.answer(sdp(['m=audio 0 RTP/AVP 8', 'm=audio 4000 RTP/AVP 8'])), {
    remote: { port: 4000 },
    sdp: /m=audio 0 RTP\/AVP 8\r\nm=audio 40000 RTP\/AVP 8\r\n/,
  })
})

t.test('answers to our offer', async (t) => {
  const offered = () => {
    const one = session()
    one.offer()
    return one
  }
  t.match(offered().accept(sdp(audio('0 8 101', ...EVENTS))), {
    remote: { codec: 'PCMU', payloadType: 0, dtmfPayloadType: 101 },
  })
  t.match(offered().accept(sdp(audio('8', 'a=sendonly'))), { remote: { send: false, receive: true } })
  t.match(offered().accept(sdp(audio('18'))), { ok: false, sip: 488 })
  t.match(offered().accept(sdp(['m=audio 0 RTP/AVP 8'])), { ok: false, sip: 488 })
  t.match(offered().accept(''), { ok: false, sip: 400 })
  const pcmu = session(['PCMU'])
  pcmu.offer()
  t.match(pcmu.accept(sdp(audio('8'))), { ok: false, sip: 488 }, 'not offered')
})

t.test('an unsupported offer gets 488, an invalid SDP 400', async (t) => {
  const cases: readonly [string, string, 400 | 488][] = [
    ['garbage', 'hello', 400],
    ['binary', '\u0000\u0001\u0002', 400],
    ['no version', 'o=- 1 1 IN IP4 1.2.3.4\r\n', 400],
    ['wrong version', sdp(audio('8')).replace('v=0', 'v=1'), 400],
    ['a port out of range', sdp(['m=audio 70000 RTP/AVP 8']), 400],
    ['a negative port', sdp(['m=audio -1 RTP/AVP 8']), 400],
    ['no format', sdp(['m=audio 4000 RTP/AVP']), 400],
    ['payload type out of range', sdp(audio('128')), 488],
    ['bad c=', sdp(audio('8'), ['c=IN IP4']), 400],
    ['no address', sdp(audio('8'), []), 400],
    ['too long', sdp([...audio('8'), `a=x:${'y'.repeat(40_000)}`]), 400],
    ['no media', sdp([]), 488],
    ['only video', sdp(['m=video 5000 RTP/AVP 96']), 488],
    ['no common codec', sdp(audio('18 3')), 488],
    ['encrypted', sdp(['m=audio 4000 RTP/SAVP 8']), 488],
    ['port 0', sdp(['m=audio 0 RTP/AVP 8']), 488],
    ['host name', sdp(audio('8'), ['c=IN IP4 media.example.com']), 488],
    ['other family', sdp(audio('8'), ['c=IN IP6 2001:db8::1']), 488],
    ['5 ms packets only', sdp(audio('8', 'a=maxptime:5')), 488],
    ['too many media', sdp(Array.from({ length: 17 }, () => 'm=video 1 RTP/AVP 96')), 488],
  ]
  for (const [name, text, sip] of cases) {
    const result = session().answer(text)
    t.match(result, { ok: false, sip }, name)
    if (name !== 'other family') t.match(checkOffer(text), { sip }, name)
  }
  t.equal(checkOffer(''), null, 'a delayed offer')
  t.equal(checkOffer(sdp(audio('8'))), null)
  t.equal(checkOffer(sdp(audio('8'), ['c=IN IP6 2001:db8::1'])), null, 'which family is ours comes later')
  t.equal(
    checkOffer(
      sdp(['m=audio 4000 RTP/SAVP 8', `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${'A'.repeat(40)}`]),
    ),
    null,
  )
})

t.test(
  'every truncation and every one-byte change of a valid offer is answered and never throws',
  async (t) => {
    const good = sdp(audio('0 8 101', ...EVENTS, 'a=ptime:20', 'a=sendrecv'))
    let accepted = 0
    for (let i = 0; i <= good.length; i++) {
      for (const text of [good.slice(0, i), `${good.slice(0, i)}\u0000${good.slice(i + 1)}`]) {
        const result = session().answer(text)
        if (result.ok) {
          accepted++
          t.ok(parseSdp(result.sdp).ok)
        }
      }
    }
    t.ok(accepted > 0)
  },
)

t.test('line ends', async (t) => {
  t.match(session().answer(sdp(audio('8')).replaceAll('\r\n', '\n')), { ok: true })
  t.match(session().answer(sdp(audio('8 '))), { ok: true })
})

t.test('media addresses are limited to those that the SIP peer may name', async (t) => {
  const from = (peer: string | null) => {
    const one = new SdpSession({ ...local, rtcpPort: 40_001 }, ['PCMA', 'PCMU'], '42')
    one.peer = peer
    return one
  }
  const offer = (address: string, ...attributes: readonly string[]) =>
    sdp(audio('8', ...attributes), [`c=IN IP4 ${address}`])
  for (const address of ['127.0.0.1', '239.1.1.1', '255.255.255.255', '169.254.169.254']) {
    const one = from('9.9.9.9')
    t.match(one.answer(offer(address)), { ok: false, sip: 488, reason: 'the media address cannot be used' })
    t.equal(one.current, null)
  }
  t.match(from('9.9.9.9').answer(offer('8.8.8.8')), { remote: { address: '8.8.8.8' } })
  t.match(from('9.9.9.9').answer(offer('10.0.0.1')), { remote: { address: '9.9.9.9' } }, 'behind a NAT')
  t.match(from('10.9.9.9').answer(offer('10.0.0.1')), { remote: { address: '10.0.0.1' } })
  t.match(from('127.0.0.1').answer(offer('127.0.0.1')), { remote: { address: '127.0.0.1' } })
  t.match(from('2620:fe::9').answer(offer('10.0.0.1')), { ok: false, sip: 488 }, 'no other family')

  const rtcp = (address: string) => offer('8.8.8.8', `a=rtcp:30009 IN IP4 ${address}`)
  t.match(from('9.9.9.9').answer(rtcp('127.0.0.1')), {
    remote: { rtcp: { address: '8.8.8.8', port: 30_009 } },
  })
  t.match(from('9.9.9.9').answer(rtcp('8.8.4.4')), { remote: { rtcp: { address: '8.8.4.4', port: 30_009 } } })

  const held = from('9.9.9.9')
  held.answer(offer('8.8.8.8'))
  t.match(held.answer(offer('0.0.0.0')), { remote: { address: '8.8.8.8', send: false } }, 'hold by zeros')
  t.match(held.answer(offer('127.0.0.1')), { ok: false, sip: 488 })
  t.equal(held.current?.address, '8.8.8.8', 'a refused round changes nothing')

  const caller = from(null)
  caller.offer()
  caller.peer = '9.9.9.9'
  t.match(caller.accept(offer('224.0.0.1')), { ok: false, sip: 488 })
  t.match(caller.accept(offer('10.0.0.1')), { ok: true, remote: { address: '9.9.9.9' } })
})
