import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { rootKeyOf } from '../base/root-key.js'
import { checkRootKey } from './root-key-check.js'

const first = Buffer.alloc(32, 1)
const second = Buffer.alloc(32, 2)

await onEachDialect(t, async (t, open) => {
  const { db } = await open()
  await checkRootKey(db, rootKeyOf(first))
  await checkRootKey(db, rootKeyOf(first))
  await t.rejects(checkRootKey(db, rootKeyOf(second)), { code: 'config_invalid' })
  await checkRootKey(db, rootKeyOf(second, [rootKeyOf(first)]))
  await checkRootKey(db, rootKeyOf(second))
  await t.rejects(checkRootKey(db, rootKeyOf(first)), { code: 'config_invalid' }, 'from before the rotation')
})
