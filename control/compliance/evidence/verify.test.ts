import { createHash } from 'node:crypto'
import t from 'tap'
import { rootKeyOf } from '../../base/root-key.js'
import { GENESIS_HASH } from './hashes.js'
import { commitTo, openEvidenceKeys, sealRecord } from './seal.js'
import { ChainVerifier, type EvidenceLine, type Problem } from './verify.js'

const owner = { organizationId: 'org_1', environment: 'test' } as const
const keys = openEvidenceKeys(rootKeyOf(Buffer.alloc(32, 7)))
const stranger = openEvidenceKeys(rootKeyOf(Buffer.alloc(32, 8)))
const start = { seq: 0, hash: GENESIS_HASH, publicKey: keys.current.publicKey }

function chain(length: number, key = keys.current): EvidenceLine[] {
  const lines: EvidenceLine[] = []
  let prevHash = GENESIS_HASH
  for (let seq = 1; seq <= length; seq++) {
    const person = commitTo('+919876543210', { consents: [`con_${seq}`] })
    const part = { ...owner, kind: 'gate', callId: `call_${seq}`, ...person.sealed }
    const sealed = sealRecord(part, { seq, prevHash }, key)
    lines.push({ ...sealed, ...person.stored })
    prevHash = sealed.hash
  }
  return lines
}

function problemsOf(lines: readonly EvidenceLine[], from = start): Problem[] {
  const verifier = new ChainVerifier(owner, from)
  return [...lines.flatMap((line) => verifier.take(line).problems), ...verifier.finish()]
}

t.test('the hash is SHA-256 over prevHash and canonical JSON', async (t) => {
  const sealed = sealRecord(
    { kind: 'gate', callId: 'call_1' },
    { seq: 1, prevHash: GENESIS_HASH },
    keys.current,
  )
  t.equal(
    sealed.record,
    `{"alg":"sha256-jcs","callId":"call_1","keyId":"${keys.current.keyId}","kind":"gate","prevHash":"${GENESIS_HASH}","seq":1,"v":2}`,
  )
  t.equal(sealed.hash, createHash('sha256').update(`${GENESIS_HASH}${sealed.record}`).digest('hex'))
  t.equal(Buffer.from(sealed.signature, 'base64').length, 64)
})

t.test('a complete chain verifies, also from the middle', async (t) => {
  const lines = chain(5)
  t.same(problemsOf(lines), [])
  const [, second, third] = lines
  if (second === undefined || third === undefined) throw new Error('no records')
  t.same(problemsOf([third], { ...start, seq: 2, hash: second.hash }), [])
})

t.test('every flipped bit of a record is found, and the record is named', async (t) => {
  const fields = ['record', 'hash', 'signature', 'e164', 'salt', 'personal'] as const
  const lines = chain(3)
  for (const field of fields) {
    const text = lines[1]?.[field] ?? ''
    for (let at = 0; at < text.length; at++) {
      const flipped = `${text.slice(0, at)}${String.fromCharCode(text.charCodeAt(at) ^ 1)}${text.slice(at + 1)}`
      const [first] = problemsOf(lines.map((line, i) => (i === 1 ? { ...line, [field]: flipped } : line)))
      // A flipped digit of the record's own number makes it another record.
      if (first === undefined || (first.seq !== 2 && !text.slice(at - 7, at).includes('"seq":'))) {
        t.fail(`${field} at ${at}: ${JSON.stringify(first)}`)
      }
    }
  }
})

t.test('dropped, swapped, inserted and forged records are found', async (t) => {
  const first = (lines: readonly EvidenceLine[]) => problemsOf(lines)[0]
  const [a, b, c, d] = chain(4)
  if (!a || !b || !c || !d) throw new Error('no records')
  t.match(first([a, c, d]), { seq: 2, code: 'records_missing' })
  t.match(first([c, d]), { seq: 1, message: 'Records 1 to 2 are missing before record 3.' })
  t.match(problemsOf([a, c, b, d]), [
    { seq: 2, code: 'records_missing' },
    { seq: 2, code: 'wrong_position' },
  ])
  t.match(problemsOf([a, b, b, c, d]), [{ seq: 2, code: 'wrong_position' }], 'only the copy is reported')
  const [other] = chain(1)
  t.match(first([...(other ? [other] : []), b]), { seq: 2, code: 'not_linked' })
  // An attacker with the database but without the key: consistent hashes, signed with another key.
  t.match(first(chain(2, stranger.current)), { seq: 1, code: 'wrong_key' })
  const part = { ...owner, kind: 'gate' }
  const forged = sealRecord(
    part,
    { seq: 1, prevHash: GENESIS_HASH },
    { ...stranger.current, keyId: keys.current.keyId },
  )
  t.match(first([{ ...forged, e164: null, salt: null, personal: null }]), { seq: 1, code: 'wrong_signature' })
  const foreign = sealRecord(
    { ...part, organizationId: 'org_2' },
    { seq: 1, prevHash: GENESIS_HASH },
    keys.current,
  )
  t.match(first([{ ...foreign, e164: null, salt: null, personal: null }]), { seq: 1, code: 'wrong_owner' })
  t.match(first([{ ...a, record: '[]' }]), { seq: 1, code: 'not_a_record' })
  t.match(first([{ ...a, record: 'x' }]), { seq: 1, code: 'not_a_record' })
})

t.test('personal data may be absent only if an erasure record names it', async (t) => {
  const [a, b] = chain(2)
  if (!a || !b) throw new Error('no records')
  const bare = { e164: null, salt: null, personal: null }
  t.match(problemsOf([{ ...a, ...bare }, b]), [{ seq: 1, code: 'person_missing' }])
  t.match(problemsOf([{ ...a, personal: null }, b]), [{ seq: 1, code: 'person_altered' }])
  const erasure = sealRecord(
    { ...owner, kind: 'erasure', erased: [1] },
    { seq: 3, prevHash: b.hash },
    keys.current,
  )
  t.same(problemsOf([{ ...a, ...bare }, b, { ...erasure, ...bare }]), [])
})
