import { randomBytes } from 'node:crypto'
import t from 'tap'
import { base64Length, decodeBase64, encodeBase64 } from './base64.js'

function encoded(bytes: Uint8Array): string {
  const into = Buffer.alloc(base64Length(bytes.length) + 3)
  const end = encodeBase64(bytes, into, 3)
  return into.toString('latin1', 3, end)
}

function decoded(text: string): Buffer | null {
  const into = Buffer.alloc(text.length)
  const bytes = Buffer.from(`<${text}>`, 'latin1')
  const length = decodeBase64(bytes, 1, bytes.length - 1, into)
  return length < 0 ? null : into.subarray(0, length)
}

t.test('both directions agree with Node.js for every length', async (t) => {
  for (let length = 0; length < 100; length++) {
    const bytes = randomBytes(length)
    const text = bytes.toString('base64')
    t.equal(encoded(bytes), text)
    t.ok(decoded(text)?.equals(bytes), text)
    t.ok(decoded(text.replaceAll('=', ''))?.equals(bytes), `${text} without padding`)
  }
})

t.test('anything else is refused', async (t) => {
  for (const text of [
    'A',
    'AAAAA',
    'AA=A',
    'AA==A',
    '====',
    'AAA\\',
    'AA A',
    'A-A_',
    'AAA\xff',
    'AAA=====',
  ]) {
    t.equal(decoded(text), null, text)
  }
})
