import t from 'tap'
import { base62, randomBase62 } from '../../base/crypto.js'
import { keyEnvironment, keyHash, keyStart, newKey } from './key-format.js'

// CRC-32 and HMAC computed with another implementation (Python's zlib and hmac).
const TEST_KEY = `svc_test_${'0'.repeat(32)}1riOPW`
const LIVE_KEY = 'svc_live_abcdefghijklmnopqrstuvwxyzABCDEF0Mo0x7'

t.test('a key carries its environment and a check that typing errors fail', async (t) => {
  t.equal(keyEnvironment(TEST_KEY), 'test')
  t.equal(keyEnvironment(LIVE_KEY), 'live')
  for (let i = 0; i < TEST_KEY.length; i++) {
    const other = TEST_KEY[i] === 'x' ? 'y' : 'x'
    const mistyped = TEST_KEY.slice(0, i) + other + TEST_KEY.slice(i + 1)
    t.equal(keyEnvironment(mistyped), null, `position ${i}`)
  }
  for (const wrong of [
    '',
    'svc_test_',
    TEST_KEY.slice(1),
    `${TEST_KEY}0`,
    TEST_KEY.replace('test', 'live'),
  ]) {
    t.equal(keyEnvironment(wrong), null, wrong)
  }
})

t.test('the start is 13 characters and the stored hash is keyed', async (t) => {
  t.equal(keyStart(LIVE_KEY), 'svc_live_abcd')
  t.equal(
    keyHash(Buffer.alloc(32, 1), LIVE_KEY),
    'a0c17691fcda287fd453bb1d4c466ac7fa1687772fcbef8063d6b51bd0690565',
  )
  t.not(keyHash(Buffer.alloc(32, 2), LIVE_KEY), keyHash(Buffer.alloc(32, 1), LIVE_KEY))
})

t.test('new keys are well-formed and differ', async (t) => {
  const keys = new Set<string>()
  for (let i = 0; i < 200; i++) {
    const key = newKey(i % 2 === 0 ? 'test' : 'live')
    t.match(key, /^svc_(test|live)_[0-9A-Za-z]{38}$/)
    t.equal(keyEnvironment(key), i % 2 === 0 ? 'test' : 'live')
    keys.add(key)
  }
  t.equal(keys.size, 200)
})

t.test('base 62', async (t) => {
  t.equal(base62(0, 6), '000000')
  t.equal(base62(61, 1), 'z')
  t.equal(base62(0xffffffff, 6), '4gfFC3')
  const seen = new Set(randomBase62(20_000))
  t.equal(seen.size, 62, 'every character occurs')
})
