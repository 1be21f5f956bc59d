import t from 'tap'
import { idOfUuid, isId, minimumId, newId, ulid, uuidOf } from './ids.js'

t.test('ids of one process sort by creation, within a millisecond too', (t) => {
  const start = Date.UTC(2025, 0, 15)
  const made = Array.from({ length: 5000 }, (_, i) => ulid(start + Math.floor(i / 1000)))
  t.strictSame([...made].sort(), made)
  t.equal(new Set(made).size, made.length)
  t.end()
})

t.test('a clock that steps back does not break the order', (t) => {
  const later = ulid(Date.UTC(2030, 0, 1, 12))
  const after = ulid(Date.UTC(2030, 0, 1, 11))
  t.ok(after > later)
  t.end()
})

t.test('ids follow a clock that was more than an hour ahead', (t) => {
  ulid(Date.UTC(2030, 0, 1, 12))
  const right = Date.UTC(2029, 0, 1)
  const id = newId('call', right)
  t.ok(id >= minimumId('call', right) && id < minimumId('call', right + 1))
  t.end()
})

t.test('ids of a kind sort below or above a given time', (t) => {
  // Later than all ids made above, because the time of ids never goes back.
  const at = Date.UTC(2100, 0, 1)
  const floor = minimumId('call', at)
  t.equal(isId('call', floor), true)
  t.ok(newId('call', at - 1) < floor)
  t.ok(newId('call', at) >= floor)
  t.end()
})

t.test('the first ten characters are the time', (t) => {
  // The example of the ULID specification.
  t.equal(ulid(2 ** 48 - 1).slice(0, 10), '7ZZZZZZZZZ')
  t.end()
})

t.test('an id converts to a strictly valid UUID and back', (t) => {
  const start = Date.UTC(2101, 0, 1)
  const ids = Array.from({ length: 2000 }, (_, i) => newId('call', start + Math.floor(i / 4)))
  const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  t.strictSame(
    ids.filter((id) => !version7.test(uuidOf(id))),
    [],
  )
  t.strictSame(
    ids.map((id) => idOfUuid('call', uuidOf(id))),
    ids,
  )
  t.end()
})

t.test('isId accepts only well-formed ids of the prefix', (t) => {
  const id = newId('call', Date.UTC(2026, 0, 15))
  t.match(id, /^call_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  t.equal(isId('call', id), true)
  t.equal(isId('agt', id), false)
  for (const bad of [
    '',
    'call_',
    `${id}0`,
    id.toLowerCase(),
    `call_8${id.slice(6)}`,
    id.replace(/.$/, 'U'),
  ]) {
    t.equal(isId('call', bad), false, bad)
  }
  t.end()
})
