import { EngineError } from '../../media/base/errors.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { insertNumber } from './store.js'

/*
 * Sandbox numbers are +919000000100 to +919000009999. The simulated persons have +919000000001 to
 * +919000000013 in the same block.
 */
const FIRST = 100
const LAST = 9_999
const sandboxNumber = (index: number): string => `+91900000${String(index).padStart(4, '0')}`

/**
 * Assigns the lowest free sandbox number to a new organization, so that its test keys can place calls. A
 * new installation gets +919000000100.
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
  const used = new Set(taken.map((row) => row.e164))
  for (let index = FIRST; index <= LAST; index++) {
    const e164 = sandboxNumber(index)
    if (used.has(e164)) continue
    // Another organization took the number in the meantime: try the next one.
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
