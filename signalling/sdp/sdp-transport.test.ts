import t from 'tap'
import type { SrtpPolicy } from './sdp-crypto.js'
import { SdpSession } from './sdp-session.js'
import type { LocalMedia } from './sdp-transport.js'

const PAIR: LocalMedia = { address: '127.0.0.1', port: 40_000, rtcpPort: 40_001 }
const session = (srtp: SrtpPolicy = 'off', local = PAIR) => new SdpSession(local, ['PCMA'], '42', srtp)

function sdp(protocol: string, ...attributes: readonly string[]): string {
  const head = ['v=0', 'o=- 1 1 IN IP4 192.0.2.7', 's=-', 'c=IN IP4 192.0.2.7', 't=0 0']
  return [...head, `m=audio 30000 ${protocol} 8`, ...attributes, ''].join('\r\n')
}

const KEY_80 = 'WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz'
const CRYPTO_80 = `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80}`
const bytes = (base64: string) => Buffer.from(base64, 'base64')
const cryptoLines = (body: string) => body.split('\r\n').filter((line) => line.startsWith('a=crypto:'))

t.test('rtcp-mux is offered, and used if the answer has it', async (t) => {
  const muxed = session()
  t.match(muxed.offer(), /\r\na=rtcp-mux\r\n/)
  t.notMatch(muxed.current, { rtcp: {} })
  t.match(muxed.accept(sdp('RTP/AVP', 'a=rtcp-mux')), {
    remote: { rtcp: { mux: true, address: '192.0.2.7', port: 30_000 } },
  })
  const apart = session()
  apart.offer()
  t.match(apart.accept(sdp('RTP/AVP')), { remote: { rtcp: { mux: false, port: 30_001 } } })
  t.notMatch(apart.offer(), /rtcp-mux/, 'what was agreed is offered again')
})

t.test('rtcp-mux is answered only if offered; a=rtcp is honoured', async (t) => {
  const answered = (...attributes: string[]) => session().answer(sdp('RTP/AVP', ...attributes))
  t.match(answered('a=rtcp-mux'), { sdp: /\r\na=rtcp-mux\r\n/, remote: { rtcp: { mux: true } } })
  const plain = answered()
  t.match(plain, { ok: true, remote: { rtcp: { mux: false, address: '192.0.2.7', port: 30_001 } } })
  t.ok(plain.ok && !plain.sdp.includes('rtcp'))
  t.match(answered('a=rtcp:31000'), { remote: { rtcp: { address: '192.0.2.7', port: 31_000 } } })
  t.match(answered('a=rtcp:31000 IN IP4 192.0.2.99'), {
    remote: { rtcp: { address: '192.0.2.99', port: 31_000 } },
  })
  t.match(answered('a=rtcp:99999'), { remote: { rtcp: { port: 30_001 } } })
  const silent = answered('b=RS:0', 'b=RR:0')
  t.ok(silent.ok && silent.remote.rtcp === undefined, 'RFC 3556: no RTCP is wanted')
})

t.test('an RTCP port that is not the next one is announced', async (t) => {
  t.match(session('off', { ...PAIR, rtcpPort: 41_234 }).offer(), /\r\na=rtcp:41234\r\na=rtcp-mux\r\n/)
  const { rtcpPort: _, ...alone } = PAIR
  t.notMatch(session('off', alone).offer(), /rtcp/)
})

t.test('optional protection: RTP/AVP with keys, as in RFC 8643', async (t) => {
  const ours = session('optional')
  const offer = ours.offer()
  t.match(offer, /m=audio 40000 RTP\/AVP 8/)
  t.strictSame(
    cryptoLines(offer).map((line) => line.replace(/inline:.*/, '')),
    [
      'a=crypto:1 AEAD_AES_256_GCM ',
      'a=crypto:2 AEAD_AES_128_GCM ',
      'a=crypto:3 AES_CM_128_HMAC_SHA1_80 ',
      'a=crypto:4 AES_CM_128_HMAC_SHA1_32 ',
    ],
  )
  const sizes = cryptoLines(offer).map((line) => bytes(line.split('inline:')[1] ?? '').length)
  t.strictSame(sizes, [44, 28, 30, 30])
  t.equal(new Set(cryptoLines(offer).map((line) => line.split('inline:')[1])).size, 4)

  const accepted = ours.accept(sdp('RTP/AVP', CRYPTO_80.replace(':1 ', ':3 ')))
  t.match(accepted, {
    ok: true,
    remote: {
      srtp: {
        suite: 'AES_CM_128_HMAC_SHA1_80',
        send: { keyAndSalt: bytes(cryptoLines(offer)[2]?.split('inline:')[1] ?? ''), mki: null },
        receive: { keyAndSalt: bytes(KEY_80), mki: null },
      },
    },
  })
  t.strictSame(cryptoLines(ours.offer()), [cryptoLines(offer)[2]], 'later offers keep tag, suite and key')

  const ignored = session('optional')
  ignored.offer()
  const clear = ignored.accept(sdp('RTP/AVP'))
  t.ok(clear.ok && clear.remote.srtp === undefined)
  t.strictSame(cryptoLines(ignored.offer()), [])

  const wrong = session('optional')
  wrong.offer()
  t.match(wrong.accept(sdp('RTP/AVP', CRYPTO_80)), { ok: false }, 'tag 1 was offered for another suite')
  t.match(
    wrong.accept(sdp('RTP/SAVP', CRYPTO_80.replace(':1 ', ':3 '))),
    { ok: true, remote: { srtp: { suite: 'AES_CM_128_HMAC_SHA1_80' } } },
    'the keys count, not the name',
  )
  t.match(wrong.offer(), /m=audio 40000 RTP\/AVP 8/)
})

t.test('the answer takes the first usable line, echoes its tag, and has a key of its own', async (t) => {
  const ours = session('optional')
  const offer = sdp(
    'RTP/SAVP',
    'a=crypto:1 F8_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj',
    `a=crypto:2 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80} UNENCRYPTED_SRTCP`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80.slice(4)}`,
    `a=crypto:9 AES_CM_128_HMAC_SHA1_32 inline:${KEY_80}|2^20|66051:4 WSH=128`,
    CRYPTO_80.replace(':1 ', ':10 '),
  )
  const answer = ours.answer(offer)
  t.match(answer, {
    ok: true,
    sdp: /m=audio 40000 RTP\/SAVP 8\r\n/,
    remote: {
      srtp: {
        suite: 'AES_CM_128_HMAC_SHA1_32',
        receive: { keyAndSalt: bytes(KEY_80), mki: Buffer.from('00010203', 'hex') },
      },
    },
  })
  if (!answer.ok) return
  const [line = '', ...more] = cryptoLines(answer.sdp)
  t.strictSame(more, [])
  t.match(line, /^a=crypto:9 AES_CM_128_HMAC_SHA1_32 inline:[A-Za-z0-9+/]{40}$/)
  t.not(line.split('inline:')[1], KEY_80)

  const refreshed = ours.answer(offer)
  t.ok(refreshed.ok && cryptoLines(refreshed.sdp)[0] === line, 'a refresh changes no key')
  const rekeyed = ours.answer(
    sdp('RTP/SAVP', `a=crypto:5 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80.replace('W', 'X')}`),
  )
  t.match(rekeyed, {
    remote: {
      srtp: { suite: 'AES_CM_128_HMAC_SHA1_80', receive: { keyAndSalt: bytes(KEY_80.replace('W', 'X')) } },
    },
  })
  t.ok(
    rekeyed.ok && !rekeyed.sdp.includes(line.split('inline:')[1] ?? ''),
    'another suite, another key of ours',
  )
  const before = ours.current
  t.match(ours.answer(sdp('RTP/SAVP')), { ok: false, sip: 488 })
  t.equal(ours.current, before, 'a refused round changes nothing')
})

t.test('off, optional and required against every kind of offer', async (t) => {
  const offers = {
    clear: sdp('RTP/AVP'),
    both: sdp('RTP/AVP', CRYPTO_80),
    protected: sdp('RTP/SAVP', CRYPTO_80),
    keyless: sdp('RTP/SAVP'),
    webrtc: sdp('UDP/TLS/RTP/SAVPF', 'a=fingerprint:sha-256 00', 'a=rtcp-mux'),
  }
  const verdict = (policy: SrtpPolicy, offer: string) => {
    const answer = session(policy).answer(offer)
    if (!answer.ok) return answer.sip
    return answer.remote.srtp === undefined ? 'clear' : 'protected'
  }
  const table = (policy: SrtpPolicy) => Object.values(offers).map((offer) => verdict(policy, offer))
  t.strictSame(table('off'), ['clear', 'clear', 488, 488, 488])
  t.strictSame(table('optional'), ['clear', 'protected', 'protected', 488, 488])
  t.strictSame(table('required'), [488, 'protected', 'protected', 488, 488])

  const required = session('required')
  t.match(required.offer(), /m=audio 40000 RTP\/SAVP 8 /)
  t.match(required.accept(sdp('RTP/AVP')), { ok: false, sip: 488 })
  t.match(required.accept(sdp('RTP/SAVP')), { ok: false, sip: 488 })
  t.match(required.accept(sdp('RTP/SAVP', CRYPTO_80.replace(':1 ', ':3 '))), { ok: true })
})

t.test('malformed lines are skipped', async (t) => {
  for (const line of [
    'a=crypto:',
    'a=crypto:1',
    'a=crypto:01 AES_CM_128_HMAC_SHA1_80 inline:x',
    `a=crypto:x AES_CM_128_HMAC_SHA1_80 inline:${KEY_80}`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 ${KEY_80}`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80};inline:${KEY_80}`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80}|1:0`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80}|1:129`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80}|256:1`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80}|1:4|2^20`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80}|2^20|1:4|1:4`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80} KDR=1`,
    `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY_80} -x`,
  ]) {
    t.match(session('optional').answer(sdp('RTP/SAVP', line)), { ok: false, sip: 488 }, line)
    const clear = session('optional').answer(sdp('RTP/AVP', line))
    t.ok(clear.ok && clear.remote.srtp === undefined)
  }
})

const DIGEST = Array.from({ length: 32 }, (_, i) => i.toString(16).padStart(2, '0').toUpperCase()).join(':')
const BROWSER = {
  ...PAIR,
  dtls: { fingerprint: { hash: 'sha-256', digest: DIGEST }, ssrc: 7, cname: 'ours' },
} as const

/** An offer as Chromium writes it: no usable address, all candidates hidden. */
function browserOffer(changes: Readonly<Record<string, string | null>> = {}): string {
  const attributes = {
    'rtcp:': '9 IN IP4 0.0.0.0',
    'candidate:': '1 1 udp 2113937151 5d1c.local 51000 typ host',
    'ice-ufrag:': 'Ab+/',
    'ice-pwd:': 'abcdefghijklmnopqrstuv',
    'ice-options:': 'trickle',
    'fingerprint:': `sha-256 ${DIGEST.toLowerCase()}`,
    'setup:': 'actpass',
    'mid:': '0',
    'rtcp-mux': '',
    'rtpmap:': '111 opus/48000/2',
    ...changes,
  }
  const lines = Object.entries(attributes).flatMap(([name, value]) =>
    value === null ? [] : `a=${name}${value}`,
  )
  const head = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0']
  const media = [
    'm=audio 9 UDP/TLS/RTP/SAVPF 111 9 0 8 110 126',
    'c=IN IP4 0.0.0.0',
    ...lines,
    ...['a=rtpmap:8 PCMA/8000', 'a=rtpmap:110 telephone-event/48000', 'a=rtpmap:126 telephone-event/8000'],
  ]
  return [...head, ...media, ''].join('\r\n')
}

const browserSession = (srtp: SrtpPolicy = 'optional') =>
  new SdpSession(BROWSER, ['OPUS', 'PCMA'], '42', srtp)

t.test('an offer of DTLS-SRTP over ICE is answered with our address and the server role', async (t) => {
  const ours = browserSession()
  ours.peer = '203.0.113.9'
  const answer = ours.answer(browserOffer())
  if (!answer.ok) throw new Error(answer.reason)
  t.match(answer.remote, {
    codec: 'OPUS',
    send: true,
    receive: true,
    rtcp: { mux: true },
    dtls: { iceUfrag: 'Ab+/', fingerprint: { hash: 'sha-256', digest: DIGEST } },
  })
  t.equal(answer.remote.srtp, undefined)
  const { ufrag = '', password = '' } = answer.remote.dtls?.ice ?? {}
  const [session = '', section = ''] = answer.sdp.split(/(?=m=)/)
  t.match(session, /\r\na=ice-lite\r\na=group:BUNDLE 0\r\n$/)
  for (const line of [
    'm=audio 40000 UDP/TLS/RTP/SAVPF 111 110',
    'a=rtpmap:110 telephone-event/48000',
    'a=mid:0',
    `a=ice-ufrag:${ufrag}`,
    `a=ice-pwd:${password}`,
    `a=fingerprint:sha-256 ${DIGEST}`,
    'a=setup:passive',
    'a=rtcp-mux',
    'a=ssrc:7 cname:ours',
    'a=candidate:1 1 udp 2130706431 127.0.0.1 40000 typ host',
    'a=end-of-candidates',
    'a=sendrecv',
  ])
    t.ok(section.split('\r\n').includes(line), line)
  t.notMatch(section, /a=rtcp:|a=crypto/)
})

t.test('behind a NAT a browser learns the public address, too', async (t) => {
  const local = { ...BROWSER, dtls: { ...BROWSER.dtls, publicAddress: '203.0.113.80' } }
  const answer = new SdpSession(local, ['OPUS', 'PCMA'], '42', 'optional').answer(browserOffer())
  const sdp = answer.ok ? answer.sdp : answer.reason
  t.same(sdp.match(/a=candidate:.*/g), [
    'a=candidate:1 1 udp 2130706431 127.0.0.1 40000 typ host',
    'a=candidate:2 1 udp 2130706430 203.0.113.80 40000 typ host',
  ])
})

t.test('later offers keep the ICE session, restart it, and never change the certificate', async (t) => {
  const ours = browserSession()
  const credentials = () => ours.current?.dtls?.ice
  ours.answer(browserOffer())
  const first = credentials()
  const again = ours.answer(browserOffer({ 'ice-options:': 'renomination' }))
  t.ok(again.ok && again.sdp.includes('o=- 42 1 '), 'nothing changed')
  t.equal(credentials(), first)
  ours.answer(browserOffer({ 'ice-ufrag:': 'Cd+/' }))
  t.not(credentials()?.ufrag, first?.ufrag)
  t.not(credentials()?.password, first?.password)
  const other = DIGEST.replace('00', 'FF')
  t.match(ours.answer(browserOffer({ 'ice-ufrag:': 'Cd+/', 'fingerprint:': `sha-256 ${other}` })), {
    sip: 488,
    reason: /certificate/,
  })
  t.match(ours.answer(sdp('RTP/AVP')), { sip: 488, reason: /keying/ })
  const restarted = credentials()
  const offer = ours.offer()
  t.match(offer, new RegExp(`a=ice-lite\\r\\n[^]*a=ice-ufrag:${restarted?.ufrag.replaceAll('+', '\\+')}`))
  t.match(offer, /a=setup:actpass/)
  const refused = ours.accept(browserOffer({ 'ice-ufrag:': 'Cd+/', 'setup:': 'passive' }))
  t.match(refused, { sip: 488, reason: /role/ })
  t.ok(ours.accept(browserOffer({ 'ice-ufrag:': 'Cd+/', 'setup:': 'active' })).ok)
  t.equal(credentials(), restarted)
})

t.test('an offer of DTLS-SRTP that cannot be served is refused with a reason', async (t) => {
  const cases: readonly (readonly [Record<string, string | null>, RegExp])[] = [
    [{ 'rtcp-mux': null }, /rtcp-mux/],
    [{ 'ice-ufrag:': null }, /ice-ufrag/],
    [{ 'ice-ufrag:': 'a b' }, /ice-ufrag/],
    [{ 'ice-pwd:': 'tooshort' }, /ice-pwd/],
    [{ 'fingerprint:': null }, /fingerprint/],
    [{ 'fingerprint:': `sha-1 ${DIGEST}` }, /fingerprint/],
    [{ 'fingerprint:': `sha-384 ${DIGEST}` }, /fingerprint/],
    [{ 'fingerprint:': `sha-256 ${DIGEST}:00` }, /fingerprint/],
    [{ 'setup:': 'passive' }, /passive/],
    [{ 'setup:': null }, /setup/],
  ]
  for (const [changes, reason] of cases)
    t.match(browserSession().answer(browserOffer(changes)), { ok: false, sip: 488, reason }, `${reason}`)
  t.match(browserSession('off').answer(browserOffer()), { sip: 488, reason: /not supported/ })
  t.match(new SdpSession(PAIR, ['OPUS'], '42', 'optional').answer(browserOffer()), { sip: 488 })
  const plain = browserSession()
  plain.answer(sdp('RTP/AVP'))
  t.match(plain.answer(browserOffer()), { sip: 488, reason: /keying/ })
  t.ok(browserSession('required').answer(browserOffer()).ok, 'it is SRTP')
})

t.test('other sections of a browser are refused with their tags', async (t) => {
  const video = ['m=video 9 UDP/TLS/RTP/SAVPF 96', 'c=IN IP4 0.0.0.0', 'a=mid:1', 'a=rtpmap:96 VP8/90000', '']
  const answer = browserSession().answer(browserOffer() + video.join('\r\n'))
  t.ok(answer.ok && answer.sdp.endsWith('m=video 0 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\n'))
  t.ok(answer.ok && answer.sdp.includes('a=group:BUNDLE 0\r\n'))
})
