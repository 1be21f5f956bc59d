import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { projectRoot } from '../../media/base/project-root.js'
import { parseAddress } from '../embedded/message/name-addr.js'
import { onlyUserIn, sipUri, userOf, usersIn } from './sip-uri.js'

/** A header value that peers sent or could send, and the users of the addresses in it. */
interface Oddity {
  readonly what: string
  readonly value: string
  readonly users: readonly string[]
}

const FOLDER = join(projectRoot, 'fixtures/oddities/name-addr')
const oddities = readdirSync(FOLDER).map(
  (name): Oddity => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')),
)

t.test('odd addresses name whom they are from, or nobody', async (t) => {
  for (const { what, value, users } of oddities) {
    t.same(usersIn(value), users, `${what} ${value}`)
    const isOne = parseAddress(value) !== null
    t.equal(onlyUserIn(value), isOne ? (users[0] ?? '') : '', what)
  }
  t.ok(oddities.length >= 30)
  t.same([usersIn(null), onlyUserIn(null)], [[], ''])
})

t.test('users of URIs', async (t) => {
  const cases: readonly [string, string][] = [
    ['sip:+919000000010@127.0.0.1:5060', '+919000000010'],
    ['sip:+919000000010@host;user=phone', '+919000000010'],
    ['sips:1001:secret@pbx.example', '1001'],
    ['sip:+91900;phone-context=+91@h;user=phone', '+91900'],
    ['tel:+919000000010;ext=1', '+919000000010'],
    ['TEL:+91900', '+91900'],
    ['sip:%2B91900@h', '+91900'],
    ['sip:%ZZ@h', '%ZZ'],
    ['sip:a%00b@h', 'a\ufffdb'],
    ['sip:host', ''],
    ['sip:+919000000010@', ''],
    ['sip:+919000000010@not a host', ''],
    ['<sip:+919000000010@h>', ''],
    ['tel:+91900@h', ''],
    ['', ''],
    ['nonsense', ''],
  ]
  for (const [uri, user] of cases) t.equal(userOf(uri), user, uri)
})

const FORGED = 'sip:+919999999999@x'
const REAL = 'sip:+919812345678@c'

/** Text inside of quotes, escaped as RFC 3261 25.1 says. */
const quotedName = fc
  .array(fc.constantFrom('<', '>', '"', '\\', `<${FORGED}>`, ';tag=f', ',', ' ', '(', ')', 'Al', '\u0930'))
  .map((parts) => `"${parts.join('').replaceAll(/["\\]/g, '\\$&')}"`)
const plainName = fc
  .array(fc.constantFrom('Al', "O'Neil", '(Sales)', '\u0930\u093e\u092e', '@', '=', '+91'))
  .map((p) => p.join(' '))

t.test('no display name and no parameter changes who calls', async (t) => {
  const params = fc.array(
    fc.oneof(
      fc.constantFrom(';tag=a', ';x', ' ; y=1'),
      quotedName.map((value) => `;q=${value}`),
    ),
  )
  fc.assert(
    fc.property(fc.oneof(quotedName, plainName), params, (name, more) => {
      const value = `${name} <${REAL}>${more.join('')}`
      return onlyUserIn(value) === '+919812345678' && usersIn(`${value}, ${value}`).length === 2
    }),
    { numRuns: 3_000 },
  )
  t.pass()
})

t.test('of an almost valid address, only a URI in brackets outside of quotes is read', async (t) => {
  const pieces = [
    '"',
    '\\',
    '<',
    '>',
    ',',
    ';',
    '=',
    ' ',
    '(',
    ')',
    '@',
    'Al',
    'tag=f',
    '\0',
    FORGED,
    `<${FORGED}>`,
  ]
  let read = 0
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces, `<${REAL}>`), { maxLength: 12 }), (parts) => {
      const value = parts.join('')
      const address = parseAddress(value)
      if (address === null) return true
      read++
      // The rest without quoted strings shows the only URI that can be meant.
      const bare = value.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""')
      const shown = bare.includes('<')
        ? /^\s*(?:""|[^"<>,;]*)[^"<>,;]*<([^"<>\s]+)>\s*(?:;[^<>,]*)?$/s.exec(bare)?.[1]
        : /^([^"<>,;?\s]+)\s*(?:;[^<>,]*)?$/s.exec(bare.trim())?.[1]
      return shown === address.uri
    }),
    { numRuns: 30_000 },
  )
  t.ok(read > 500, `${read} were addresses`)
})

t.test('long values are read in one pass', async (t) => {
  const long = 100_000
  for (const value of [
    '"'.repeat(long),
    '<'.repeat(long),
    '\\'.repeat(long),
    `"${'\\'.repeat(long)}" <${REAL}>`,
    `${' '.repeat(long)}<${REAL}>${';'.repeat(long)}`,
    `<${REAL}>${';x="a"'.repeat(long / 6)}`,
    `${'<,'.repeat(long / 2)}`,
  ])
    t.ok(usersIn(value).length <= 1)
})

t.test('formatted URIs', async (t) => {
  t.equal(
    sipUri({ user: '+91900', host: '127.0.0.1', port: 5060, transport: 'udp' }),
    'sip:+91900@127.0.0.1:5060',
  )
  t.equal(
    sipUri({ user: 'a#b@c', host: '::1', port: 5070, transport: 'tcp' }),
    'sip:a%23b%40c@[::1]:5070;transport=tcp',
  )
})
