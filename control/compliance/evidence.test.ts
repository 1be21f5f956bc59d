import { createHash } from 'node:crypto'
import t from 'tap'
import { rootKeyOf } from '../base/root-key.js'
import { type ChainLink, GENESIS_HASH, openEvidenceKeys, sealRecord, verifyChain } from './evidence.js'

const keys = openEvidenceKeys(rootKeyOf(Buffer.alloc(32, 7)))

function chain(length: number): ChainLink[] {
  const links: ChainLink[] = []
  let prevHash = GENESIS_HASH
  for (let seq = 1; seq <= length; seq++) {
    const sealed = sealRecord({ kind: 'gate', callId: `call_${seq}` }, { seq, prevHash }, keys)
    links.push({ ...sealed, seq, prevHash })
    prevHash = sealed.hash
  }
  return links
}

t.test('the hash is SHA-256 over prevHash and canonical JSON', async (t) => {
  const [first] = chain(1)
  t.ok(first)
  if (!first) return
  t.equal(
    first.record,
    `{"alg":"sha256-jcs","callId":"call_1","keyId":"${keys.keyId}","kind":"gate","prevHash":"${GENESIS_HASH}","seq":1}`,
  )
  t.equal(first.hash, createHash('sha256').update(`${GENESIS_HASH}${first.record}`).digest('hex'))
  t.equal(Buffer.from(first.signature, 'base64').length, 64)
})

t.test('a complete chain verifies, also from the middle', async (t) => {
  const links = chain(5)
  t.match(verifyChain(links, keys.publicKey), { valid: true, seq: 5, hash: links[4]?.hash })
  t.match(verifyChain([], keys.publicKey), { valid: true, seq: 0, hash: GENESIS_HASH })
  const [, second, third] = links
  t.ok(second && third)
  if (!second || !third) return
  t.match(verifyChain([third], keys.publicKey, second), { valid: true, seq: 3 })
})

t.test('every kind of tampering is detected', async (t) => {
  const forgery = (change: (links: ChainLink[]) => ChainLink[]) =>
    verifyChain(change(chain(4)), keys.publicKey)
  const edit = (at: number, change: (link: ChainLink) => ChainLink) => (links: ChainLink[]) =>
    links.map((link, index) => (index === at ? change(link) : link))
  const rows: readonly [string, (links: ChainLink[]) => ChainLink[], number][] = [
    ['record', edit(1, (link) => ({ ...link, record: link.record.replace('call_2', 'call_9') })), 2],
    ['hash', edit(2, (link) => ({ ...link, hash: GENESIS_HASH })), 3],
    ['signature', edit(0, (link) => ({ ...link, signature: Buffer.alloc(64).toString('base64') })), 1],
    ['dropped', (links) => links.filter((_, index) => index !== 1), 2],
    [
      'dropped and renumbered',
      (links) => links.filter((_, i) => i !== 1).map((l, i) => ({ ...l, seq: i + 1 })),
      2,
    ],
    ['swapped', ([a, b, ...rest]) => [b, a, ...rest].filter((link) => link !== undefined), 1],
  ]
  for (const [name, change, brokenAt] of rows) t.match(forgery(change), { valid: false, brokenAt }, name)

  // An attacker with the database but without the key: consistent hashes, signed with another key.
  const other = openEvidenceKeys(rootKeyOf(Buffer.alloc(32, 8)))
  const forged = sealRecord({ kind: 'gate' }, { seq: 1, prevHash: GENESIS_HASH }, other)
  t.match(verifyChain([{ ...forged, seq: 1, prevHash: GENESIS_HASH }], keys.publicKey), {
    valid: false,
    why: /signature/,
  })
  // A record that states another position than the one at which it is stored.
  const record = '{"prevHash":"x","seq":9}'
  const hash = createHash('sha256').update(`${GENESIS_HASH}${record}`).digest('hex')
  t.match(
    verifyChain(
      [{ record, hash, signature: keys.sign(hash), seq: 1, prevHash: GENESIS_HASH }],
      keys.publicKey,
    ),
    { valid: false, why: /moved/ },
  )
})

t.test('pseudonyms are stable per organization', async (t) => {
  t.equal(keys.pseudonym('org_1', '+919876543210'), keys.pseudonym('org_1', '+919876543210'))
  t.not(keys.pseudonym('org_1', '+919876543210'), keys.pseudonym('org_2', '+919876543210'))
})
