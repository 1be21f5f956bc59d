import t from 'tap'
import { rootKeyOf } from '../base/root-key.js'
import { readMediaToken, writeMediaToken } from './media-token.js'

const key = rootKeyOf(Buffer.alloc(32, 1))
const grant = { callId: 'call_1', expiresAt: 1_000 }

t.test('a token is valid until it expires', async (t) => {
  const token = writeMediaToken(key, grant)
  t.match(token, /^[\w-]+$/)
  t.same(readMediaToken(key, token, 999), grant)
  t.equal(readMediaToken(key, token, 1_000), null)
})

t.test('a changed token or another key is rejected', async (t) => {
  const token = writeMediaToken(key, grant)
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    t.equal(readMediaToken(key, token.slice(0, at) + other + token.slice(at + 1), 0), null, `character ${at}`)
  }
  for (const text of ['', 'x', `${token}A`, `${token}=`, token.slice(0, -1), token.slice(0, 43)]) {
    t.equal(readMediaToken(key, text, 0), null, text)
  }
  t.equal(readMediaToken(rootKeyOf(Buffer.alloc(32, 2)), token, 0), null)
})
