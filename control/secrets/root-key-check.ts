import { EngineError } from '../../media/base/errors.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'

/** The only row. */
const ID = 1

const digestOf = (key: RootKey): string => key.subkey('key-check').toString('hex')

/**
 * Compares the root key with that of the database, which the first start stores. After a rotation the new key is
 * stored instead, if its earlier keys include the stored one. Throws EngineError `config_invalid` for any other key:
 * other processes of the database could not read what this one encrypts and seals.
 */
export async function checkRootKey(db: Db, rootKey: RootKey): Promise<void> {
  const own = digestOf(rootKey)
  await db
    .insertInto('keyChecks')
    .values({ id: ID, digest: own })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  const { digest } = await db
    .selectFrom('keyChecks')
    .select('digest')
    .where('id', '=', ID)
    .executeTakeFirstOrThrow()
  if (digest === own) return
  if (!rootKey.previous.some((key) => digestOf(key) === digest)) {
    throw new EngineError(
      'config_invalid',
      'This root key is not the one of the database. Give all processes of a database the same PARLEY_ROOT_KEY or root.key; ' +
        'after a rotation it holds the new key and the earlier ones.',
    )
  }
  await db
    .updateTable('keyChecks')
    .set({ digest: own })
    .where('id', '=', ID)
    .where('digest', '=', digest)
    .execute()
}
