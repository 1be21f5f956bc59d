import { isId } from '../../media/base/ids.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { findNumberEver, type Owner } from './store.js'

export type NamedRefusal = Refusal<'not_found' | 'environment_mismatch' | 'unprocessable_entity'>

/**
 * Returns the number that `numberId` of a body names, or a refusal: the number does not exist, belongs to the other environment, or
 * was released.
 */
export async function namedNumber(
  db: Db | Trx,
  owner: Owner,
  numberId: string,
): Promise<NumberRow | NamedRefusal> {
  const path = 'numberId'
  const find = (of: Owner) => (isId('num', numberId) ? findNumberEver(db, of, numberId) : null)
  const number = await find(owner)
  if (number !== null) {
    return number.releasedAt === null
      ? number
      : refuse('unprocessable_entity', 'The number was released. Use another number.', { path })
  }
  const environment = owner.environment === 'test' ? 'live' : 'test'
  return (await find({ ...owner, environment })) === null
    ? refuse('not_found', 'The number does not exist. Correct numberId.', { resource: 'number', path })
    : refuse(
        'environment_mismatch',
        'The number belongs to the other environment (test or live) than the API key.',
        { path },
      )
}
