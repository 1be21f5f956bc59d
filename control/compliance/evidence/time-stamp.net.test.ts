import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { hasOpenssl, TimeStampAuthority } from '../../../fixtures/evidence/time-stamp-authority.js'
import { timeStampQuery, tokenOfReply, verifyTimeStamp } from './time-stamp.js'

const HASH = createHash('sha256').update('a head').digest('hex')
const skip = hasOpenssl ? false : 'openssl is not installed'

function stampWith(authority: TimeStampAuthority) {
  const roots = [new X509Certificate(readFileSync(authority.root))]
  const { query, nonce } = timeStampQuery(HASH)
  const reply = authority.reply(query)
  return { roots, query, nonce, reply, ...tokenOfReply(reply, { hash: HASH, nonce }, roots) }
}

for (const options of [
  { key: 'rsa', namedBy: 'sha1' },
  { key: 'rsa', namedBy: 'sha256' },
  { key: 'ec' },
] as const) {
  t.test(`openssl and this verifier agree (${JSON.stringify(options)})`, { skip }, async (t) => {
    const authority = new TimeStampAuthority(options)
    t.teardown(() => authority.close())
    const { token, stamp, roots } = stampWith(authority)
    t.equal(stamp.authority, 'O=Test, CN=Time Stamps')
    t.ok(authority.accepts(token, HASH), 'openssl verifies the token with the hash of the head')
    t.same(verifyTimeStamp(token, HASH, roots), stamp)
    const other = createHash('sha256').update('another head').digest('hex')
    t.throws(() => verifyTimeStamp(token, other, roots), { message: 'The time stamp is of another hash.' })
  })
}

t.test('a changed token, a foreign authority and a wrong reply are refused', { skip }, async (t) => {
  const authority = new TimeStampAuthority({ key: 'ec' })
  t.teardown(() => authority.close())
  const { token, reply, nonce, query, roots } = stampWith(authority)

  // The signature covers the time stamp, the signed attributes and the certificate that they name.
  const signed = [...tokenParts(token)]
  t.equal(signed.length, 450)
  for (const at of signed) {
    const changed = Buffer.from(token)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.throws(() => verifyTimeStamp(changed, HASH, roots), { name: 'TimeStampError' }, `byte ${at}`)
  }
  for (let length = 0; length < token.length; length += 7) {
    t.throws(() => verifyTimeStamp(token.subarray(0, length), HASH, null), { name: 'TimeStampError' })
  }

  const stranger = new TimeStampAuthority({ key: 'rsa' })
  t.teardown(() => stranger.close())
  const foreign = [new X509Certificate(readFileSync(stranger.root))]
  t.throws(() => verifyTimeStamp(token, HASH, foreign), {
    message: /^No given authority issued .*Time Stamps/,
  })
  t.ok(verifyTimeStamp(token, HASH, null), 'without authorities every issuer is accepted')

  const asked = { hash: HASH, nonce }
  const again = timeStampQuery(HASH)
  t.throws(() => tokenOfReply(reply, { ...again, hash: HASH }, roots), { message: /another nonce/ })
  const refused = Buffer.from('3005300302010230', 'hex').subarray(0, 7)
  t.throws(() => tokenOfReply(refused, asked, roots), { message: 'The authority refused with status 2.' })
  for (const junk of [Buffer.alloc(0), Buffer.from('<html>'), query]) {
    t.throws(() => tokenOfReply(junk, asked, roots), { name: 'TimeStampError' })
  }
})

/** Yields the positions of bytes of a token that its signature protects. */
function* tokenParts(token: Buffer): Generator<number> {
  const imprint = token.indexOf(Buffer.from(HASH, 'hex'))
  const certificate = token.indexOf('Time Stamps')
  const attributes = token.lastIndexOf(Buffer.from('06092a864886f70d010903', 'hex'))
  const signature = token.length - 60
  for (const [from, length] of [
    [imprint, 40],
    [certificate - 30, 200],
    [attributes, 150],
    [signature, 60],
  ] as const) {
    for (let at = from; at < from + length; at++) yield at
  }
}
