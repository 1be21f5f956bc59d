import t from 'tap'
import { isTransient } from './transient-error.js'

t.test('temporary errors of both dialects', async (t) => {
  const coded = (code: string) => Object.assign(new Error(code), { code })
  for (const code of [
    'SQLITE_BUSY',
    'SQLITE_BUSY_SNAPSHOT',
    '40001',
    '40P01',
    '08006',
    '57014',
    '57P01',
    'ECONNREFUSED',
  ]) {
    t.ok(isTransient(coded(code)), code)
  }
  for (const code of ['SQLITE_CONSTRAINT_UNIQUE', '23505', '42P01', 'EACCES']) {
    t.notOk(isTransient(coded(code)), code)
  }
  t.ok(isTransient(new Error('Connection terminated unexpectedly')))
  t.notOk(isTransient(new Error('no such column')))
  t.notOk(isTransient('ECONNREFUSED'))
})
