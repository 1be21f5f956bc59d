import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openRootKey, rootKeyOf } from './root-key.js'

const SECRET = Buffer.from([...Array(32).keys()])

t.test('subkeys are HKDF-SHA256 by purpose and context', async (t) => {
  const rootKey = rootKeyOf(SECRET)
  // Computed with another implementation of RFC 5869.
  t.equal(
    rootKey.subkey('cursor-signing').toString('hex'),
    'c269b15a0f3c1aa5fad222bb69432ace321294d636de80aa5038f5b211c02684',
  )
  t.equal(
    rootKey.subkey('evidence-e164', 'org_1').toString('hex'),
    '50ea158fa1eae3d349f6d60a128a4b08277f45a19e52dcbfce4c3d88582ce594',
  )
  t.same(rootKey.subkey('cursor-signing'), rootKey.subkey('cursor-signing'))
  t.notSame(rootKey.subkey('permit'), rootKey.subkey('cursor-signing'))
  t.throws(() => rootKeyOf(Buffer.alloc(31)), { code: 'config_invalid' })
})

t.test('without a variable the key is a file of the data folder, for its owner only', async (t) => {
  const folder = t.testdir({})
  const data = join(folder, 'data')
  const first = openRootKey(null, data).subkey('permit')
  const path = join(data, 'root.key')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.match(readFileSync(path, 'utf8'), /^[0-9a-f]{64}\n$/)
  t.same(openRootKey(null, data).subkey('permit'), first, 'the same after a restart')

  chmodSync(path, 0o644)
  t.throws(() => openRootKey(null, data), { code: 'config_invalid', message: /chmod 600/ })
  chmodSync(path, 0o600)
  writeFileSync(path, 'abc')
  t.throws(() => openRootKey(null, data), { code: 'config_invalid', message: /64 hexadecimal digits/ })
})

t.test('the variable takes precedence and is not written', async (t) => {
  const folder = t.testdir({})
  const key = openRootKey(SECRET.toString('hex'), folder)
  t.same(key.subkey('permit'), rootKeyOf(SECRET).subkey('permit'))
  t.throws(() => statSync(join(folder, 'root.key')), { code: 'ENOENT' })
  t.throws(() => openRootKey('short', folder), { code: 'config_invalid', message: /PARLEY_ROOT_KEY/ })
})
