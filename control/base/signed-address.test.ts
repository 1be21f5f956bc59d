import t from 'tap'
import { rootKeyOf } from './root-key.js'
import { readAddressToken, writeAddressToken } from './signed-address.js'

const key = rootKeyOf(Buffer.alloc(32, 1))
const grant = { subject: 'call_1', expiresAt: 1_000 }

t.test('a token is valid for its purpose until it expires', async (t) => {
  const token = writeAddressToken(key, 'recording', grant)
  t.match(token, /^[\w-]+$/)
  t.same(readAddressToken(key, 'recording', token, 999), grant)
  t.equal(readAddressToken(key, 'recording', token, 1_000), null)
  t.equal(readAddressToken(key, 'upload', token, 999), null)
})

t.test('a changed token or another key is rejected', async (t) => {
  const token = writeAddressToken(key, 'recording', grant)
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    const changed = token.slice(0, at) + other + token.slice(at + 1)
    t.equal(readAddressToken(key, 'recording', changed, 0), null, `character ${at}`)
  }
  for (const text of ['', 'x', `${token}A`, `${token}=`, token.slice(0, -1), token.slice(0, 43)]) {
    t.equal(readAddressToken(key, 'recording', text, 0), null, text)
  }
  t.equal(readAddressToken(rootKeyOf(Buffer.alloc(32, 2)), 'recording', token, 0), null)
})
