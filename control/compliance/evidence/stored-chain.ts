import type { Db } from '../../db/database.js'
import type { EvidenceKeys } from './seal.js'
import { findPublicKey, type Owner, readChain, readHead, recordsOf } from './store.js'
import { type ChainPosition, ChainVerifier, type Problem } from './verify.js'

export type ChainVerdict =
  | { readonly valid: true; readonly seq: number; readonly hash: string }
  | { readonly valid: false; readonly problem: Problem }

/** Verifies a whole stored chain up to its head. Returns the first problem. */
export async function verifyStoredChain(db: Db, owner: Owner, keys: EvidenceKeys): Promise<ChainVerdict> {
  // Reads the head first. Links appended meanwhile lie beyond it and are not expected.
  const head = await readHead(db, owner)
  const start = await chainStart(db, owner, keys)
  const verifier = new ChainVerifier(owner, start)
  for await (const rows of readChain(db, owner, head.keptFrom, head.seq)) {
    for (const row of rows) {
      const [problem] = verifier.take(row).problems
      if (problem !== undefined) return { valid: false, problem }
    }
  }
  const { seq, hash } = verifier.at
  if (seq !== head.seq || hash !== head.hash) {
    const message = `The chain ends with record ${seq}, which is not its head, record ${head.seq}.`
    return { valid: false, problem: { seq: seq + 1, code: 'records_missing', message } }
  }
  if (start.seq > 0 && !verifier.isRemoved(start.seq, start.hash)) {
    const message = `The chain begins after record ${start.seq}, and no retention record names it.`
    return { valid: false, problem: { seq: start.seq, code: 'records_missing', message } }
  }
  const [problem] = verifier.finish()
  return problem === undefined ? { valid: true, seq, hash } : { valid: false, problem }
}

/** Returns the position before the first record that is kept, with the key that signed that record. */
export async function chainStart(db: Db, owner: Owner, keys: EvidenceKeys): Promise<ChainPosition> {
  const head = await readHead(db, owner)
  const first = await recordsOf(db, owner).orderBy('seq').limit(1).executeTakeFirst()
  const own = keys.current.publicKey
  if (first === undefined) return { seq: head.keptFrom - 1, hash: head.hash, publicKey: own }
  const known = [keys.current, ...keys.earlier].find(({ keyId }) => keyId === first.keyId)?.publicKey
  const publicKey = known ?? (await findPublicKey(db, first.keyId)) ?? own
  return { seq: head.keptFrom - 1, hash: first.prevHash, publicKey }
}
