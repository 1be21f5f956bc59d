import { canonicalJson } from '../../base/canonical-json.js'
import type { Db } from '../../db/database.js'
import type { EvidenceRow } from '../../db/tables/calling.js'
import { listPolicies } from '../policy-store.js'
import { anchorsOf } from './anchors.js'
import type { EvidenceKeys } from './seal.js'
import { type Owner, readChain, readHead } from './store.js'
import { chainStart } from './stored-chain.js'
import { BUNDLE_FORMAT, policyLine, timeStampLine } from './verify-bundle.js'

/**
 * Writes a chain as a bundle for the offline verifier (docs/evidence.md): a header line, the rules of operators,
 * then one line per record, followed by the line of its time stamp if it has one.
 * Records that are appended meanwhile are not part of it.
 */
export async function* writeBundle(db: Db, owner: Owner, keys: EvidenceKeys): AsyncGenerator<Buffer> {
  const head = await readHead(db, owner)
  const start = await chainStart(db, owner, keys)
  const { organizationId, environment } = owner
  const header = {
    ...{ format: BUNDLE_FORMAT, organizationId, environment },
    start: { ...start },
    head: { seq: head.seq, hash: head.hash },
  }
  yield Buffer.from(`${canonicalJson(header)}\n`)
  for (const { version, rules } of await listPolicies(db)) {
    yield Buffer.from(`${policyLine(version, JSON.parse(rules))}\n`)
  }
  for await (const rows of readChain(db, owner, head.keptFrom, head.seq)) {
    const tokens = await tokensOf(db, owner, rows)
    yield Buffer.from(rows.map((row) => recordLine(row) + (tokens.get(row.seq) ?? '')).join(''))
  }
}

/** Returns the lines of the time stamps of these records by their numbers. */
async function tokensOf(
  db: Db,
  owner: Owner,
  rows: readonly EvidenceRow[],
): Promise<ReadonlyMap<number, string>> {
  const anchors = await anchorsOf(db, owner)
    .where('seq', '>=', rows[0]?.seq ?? 0)
    .where('seq', '<=', rows.at(-1)?.seq ?? 0)
    .where('token', 'is not', null)
    .execute()
  return new Map(anchors.map(({ seq, token }) => [seq, `${timeStampLine(token ?? '')}\n`]))
}

function recordLine({ record, hash, signature, e164, salt, personal }: EvidenceRow): string {
  return `${canonicalJson({ record, hash, signature, e164, salt, personal })}\n`
}
