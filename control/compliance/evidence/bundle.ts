import { canonicalJson } from '../../base/canonical-json.js'
import type { Db } from '../../db/database.js'
import type { EvidenceRow } from '../../db/tables/calling.js'
import type { EvidenceKeys } from './seal.js'
import { type Owner, readChain, readHead } from './store.js'
import { chainStart } from './stored-chain.js'
import { BUNDLE_FORMAT } from './verify-bundle.js'

/**
 * Writes a chain as a bundle for the offline verifier (docs/evidence.md): a header line, then one line per record.
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
  for await (const rows of readChain(db, owner, head.keptFrom, head.seq)) {
    yield Buffer.from(rows.map(recordLine).join(''))
  }
}

function recordLine({ record, hash, signature, e164, salt, personal }: EvidenceRow): string {
  return `${canonicalJson({ record, hash, signature, e164, salt, personal })}\n`
}
