import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { type DigestAlgorithm, digestKey, digestResponse, parseDigests } from './digest.js'
import { DigestClient } from './digest-client.js'
import { DigestServer } from './digest-server.js'

const RFC7616 = {
  method: 'GET',
  uri: '/dir/index.html',
  nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
  qop: 'auth',
  nonceCount: '00000001',
  cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
  body: '',
  session: false,
} as const

t.test('the examples of RFC 7616 3.9.1 and RFC 2617 3.5', async (t) => {
  const key = (algorithm: 'MD5' | 'SHA-256') =>
    digestKey(algorithm, 'Mufasa', 'http-auth@example.org', 'Circle of Life')
  t.equal(digestResponse('MD5', key('MD5'), RFC7616), '8ca523f5e9506fed4657c9700eebdbec')
  t.equal(
    digestResponse('SHA-256', key('SHA-256'), RFC7616),
    '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1',
  )
  const old = digestKey('MD5', 'Mufasa', 'testrealm@host.com', 'Circle Of Life')
  const input = { ...RFC7616, nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093', cnonce: '0a4f113b' }
  t.equal(digestResponse('MD5', old, input), '6629fae49393a05397450978507c4ef1')
})

t.test('challenges in the forms that servers send', async (t) => {
  t.strictSame(
    parseDigests(
      'Digest realm="a, b", nonce="n\\"1", qop="auth,auth-int",Digest realm=x,nonce="2" , algorithm=MD5',
    ),
    [
      { realm: 'a, b', nonce: 'n"1', qop: 'auth,auth-int' },
      { realm: 'x', nonce: '2', algorithm: 'MD5' },
    ].map((fields) => Object.assign(Object.create(null), fields)),
  )
  t.match(parseDigests('Basic realm="x", DIGEST Realm = "y" , Nonce="z",'), [{ realm: 'y', nonce: 'z' }])
  for (const broken of [
    '',
    'Digest',
    'Digest realm',
    'Bearer x',
    ',,,',
    `Digest ${'a'.repeat(20_000)}`,
    'Digest a="',
  ]) {
    t.strictSame(parseDigests(broken), [], broken.slice(0, 20))
  }
  t.strictSame(parseDigests('Digest realm="a", realm="b"'), [], 'a name given twice')
})

const REQUEST = { method: 'INVITE', uri: 'sip:+911171366900@edge.example', body: 'v=0' }
const who = { username: 'trunk', password: 's3cret' }

function rig(options: Partial<ConstructorParameters<typeof DigestServer>[0]> = {}) {
  const clock = new VirtualClock({ nowMs: 5000 })
  return { clock, server: new DigestServer({ clock, ...options }) }
}

/** Returns the headers that `client` sends after a challenge by `server`. */
function answer(
  server: DigestServer,
  client: DigestClient,
  algorithm: DigestAlgorithm = 'SHA-256',
  realm = 'parley',
  request = REQUEST,
) {
  const header = server.challenge(realm, algorithm, false)
  client.onChallenge(401, header)
  return client.headers(request)[0]?.value ?? ''
}

function verify(
  server: DigestServer,
  header: string,
  password: string | null = who.password,
  request = REQUEST,
) {
  const claim = server.claim(header, (realm) => realm === 'parley')
  return claim === null ? 'no claim' : server.verify(claim, password, request)
}

t.test('client and server agree, with every algorithm', async (t) => {
  for (const algorithm of ['MD5', 'SHA-256'] as const) {
    const { server } = rig()
    const header = answer(server, new DigestClient(who), algorithm)
    t.match(header, `algorithm=${algorithm}`)
    t.strictSame(verify(server, header), { ok: true })
  }
  const choosing = new DigestClient(who)
  const { server } = rig()
  const offers = (['MD5', 'SHA-256'] as const).map((algorithm) =>
    server.challenge('parley', algorithm, false),
  )
  t.ok(choosing.onChallenge(401, offers.join(', ')))
  t.match(choosing.headers(REQUEST)[0]?.value, 'algorithm=SHA-256', 'the better one is chosen')
})

t.test('rejected credentials', async (t) => {
  const { server, clock } = rig()
  const wrong = { ok: false, stale: false }
  const stale = { ok: false, stale: true }
  const header = () => answer(server, new DigestClient(who))
  t.strictSame(verify(server, header(), 'other'), wrong)
  t.strictSame(verify(server, header(), null), wrong, 'an unknown user looks like a wrong password')
  t.strictSame(verify(server, header(), who.password, { ...REQUEST, method: 'REGISTER' }), wrong)
  t.strictSame(
    verify(server, header(), who.password, { ...REQUEST, uri: 'sip:+911171366901@edge.example' }),
    wrong,
    'credentials for another number',
  )
  t.strictSame(verify(server, answer(server, new DigestClient(who), 'MD5', 'other')), 'no claim')
  const expired = header()
  clock.advance(60_001)
  t.strictSame(verify(server, expired), stale, 'a nonce beyond its life')
  t.strictSame(verify(rig().server, header()), stale, 'a nonce of another process')
  const forged = header().replace(/nonce="[^"]*"/, 'nonce="AAAA"')
  t.strictSame(verify(server, forged), wrong, 'a changed nonce changes the response')
  for (const broken of ['nc=00000000', 'nc=xyz', 'nc=1'])
    t.strictSame(verify(server, header().replace(/nc=\w+/, broken)), wrong, broken)
  t.strictSame(verify(server, header().replace(/response="[^"]*"/, 'response=""')), wrong)
})

t.test('each nonce count is accepted once, in any order within a window', async (t) => {
  const { server } = rig()
  const client = new DigestClient(who)
  const first = answer(server, client)
  const more = Array.from({ length: 100 }, () => client.headers(REQUEST)[0]?.value ?? '')
  t.strictSame(verify(server, first), { ok: true })
  t.strictSame(verify(server, first), { ok: false, stale: true }, 'a replay')
  t.strictSame(verify(server, more[5] ?? ''), { ok: true })
  t.strictSame(verify(server, more[3] ?? ''), { ok: true }, 'late, but new')
  t.strictSame(verify(server, more[3] ?? ''), { ok: false, stale: true })
  t.strictSame(verify(server, more[99] ?? ''), { ok: true })
  t.strictSame(verify(server, more[10] ?? ''), { ok: false, stale: true }, 'too far behind to tell')
  t.strictSame(verify(server, first), { ok: false, stale: true })
})

t.test('credentials without qop are accepted once per nonce', async (t) => {
  const { server } = rig()
  const client = new DigestClient(who)
  const challenge = server.challenge('parley', 'SHA-256', false)
  client.onChallenge(401, challenge.replace(', qop="auth"', ''))
  const header = client.headers(REQUEST)[0]?.value ?? ''
  t.notMatch(header, /qop|nc=/)
  t.strictSame(verify(server, header), { ok: true })
  t.strictSame(verify(server, header), { ok: false, stale: true })
})

t.test('the nonce memory is limited and expires safely; failures use no memory', async (t) => {
  const { server, clock } = rig({ maxNonces: 10 })
  for (let i = 0; i < 50; i++) verify(server, answer(server, new DigestClient(who)), 'wrong')
  t.equal(server.size, 0)
  const headers: string[] = []
  for (let i = 0; i < 30; i++) {
    clock.advance(10)
    const header = answer(server, new DigestClient(who))
    headers.push(header)
    t.strictSame(verify(server, header), { ok: true })
  }
  t.equal(server.size, 10)
  for (const header of headers)
    t.strictSame(verify(server, header), { ok: false, stale: true }, 'no replay of any')
  clock.advance(61_000)
  t.strictSame(verify(server, answer(server, new DigestClient(who))), { ok: true })
  t.equal(server.size, 1)
})

t.test('the client retries after stale, never after a rejected password', async (t) => {
  const { server } = rig()
  const client = new DigestClient(who, () => 'cn')
  t.strictSame(client.headers(REQUEST), [], 'nothing before the first challenge')
  t.ok(client.onChallenge(401, server.challenge('parley', 'MD5', false)))
  t.match(client.headers(REQUEST)[0]?.value, /nc=00000001/)
  t.ok(client.onChallenge(401, server.challenge('parley', 'MD5', true)), 'stale: with the new nonce')
  t.match(client.headers(REQUEST)[0]?.value, /nc=00000001/)
  t.match(client.headers(REQUEST)[0]?.value, /nc=00000002/, 'the same nonce, counted')
  t.notOk(client.onChallenge(401, server.challenge('parley', 'MD5', false)), 'refused')

  const lasting = new DigestClient(who)
  t.ok(lasting.onChallenge(401, server.challenge('parley', 'MD5', false)))
  lasting.headers(REQUEST)
  lasting.onAccepted()
  lasting.headers(REQUEST)
  t.ok(lasting.onChallenge(401, server.challenge('parley', 'MD5', false)), 'what was accepted grew old')

  const both = new DigestClient(who)
  t.ok(both.onChallenge(407, 'Digest realm="proxy", nonce="p", opaque="o"'))
  t.ok(both.onChallenge(401, 'Digest realm="server", nonce="s", qop="auth-int", algorithm=md5-sess'))
  const headers = both.headers(REQUEST)
  t.match(headers, [
    { name: 'Proxy-Authorization', value: /opaque="o"/ },
    { name: 'Authorization', value: /algorithm=md5-sess.*qop=auth-int/ },
  ])
  for (const unanswerable of [
    '',
    'Basic realm="x"',
    'Digest realm="x", nonce="n", algorithm=SHA-512-256',
    'Digest realm="x", nonce="n", qop="token"',
  ])
    t.notOk(new DigestClient(who).onChallenge(401, unanswerable), unanswerable)

  const endless = new DigestClient(who)
  let rounds = 0
  while (endless.onChallenge(401, `Digest realm="x", nonce="${rounds}", stale=true`)) {
    endless.headers(REQUEST)
    rounds++
  }
  t.equal(rounds, 4)
})
