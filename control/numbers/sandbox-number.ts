import { EngineError } from '../../media/base/errors.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { insertNumber } from './store.js'

/*
 * Sandbox numbers +919000000100 to +919000009999: the same mobile-shaped block as the simulated
 * people (+919000000001 to ...013), above them, so that none of ours ever is one of theirs.
 */
const FIRST = 100
const LAST = 9_999
const sandboxNumber = (index: number): string => `+91900000${String(index).padStart(4, '0')}`

/**
 * Gives a new organization its number of the test environment, without which a test key could place
 * no call. The lowest free one, so that a fresh installation has +919000000100.
 */
export async function assignSandboxNumber(
  db: Db | Trx,
  organizationId: string,
  now: number,
): Promise<NumberRow> {
  const taken = await db
    .selectFrom('numbers')
    .select('e164')
    .where('e164', '>=', sandboxNumber(FIRST))
    .where('e164', '<=', sandboxNumber(LAST))
    .where('releasedAt', 'is', null)
    .execute()
  const held = new Set(taken.map((row) => row.e164))
  for (let index = FIRST; index <= LAST; index++) {
    const e164 = sandboxNumber(index)
    if (held.has(e164)) continue
    // Null when another organization took it in between: the next one then.
    const number = await insertNumber(
      db,
      {
        organizationId,
        environment: 'test',
        e164,
        label: 'Sandbox number',
        provider: 'sandbox',
        region: 'DL',
        numberType: 'mobile',
      },
      now,
    )
    if (number !== null) return number
  }
  throw new EngineError('overloaded', 'no sandbox number is left')
}
