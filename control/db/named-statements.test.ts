import t from 'tap'
import { NamedStatements } from './named-statements.js'

t.test('a statement that is used often has one name', async (t) => {
  const statements = new NamedStatements()
  const names = Array.from({ length: 6 }, () => statements.nameOf('select 1'))
  t.same(names.slice(0, 4), [undefined, undefined, undefined, undefined])
  t.type(names[4], 'string')
  t.equal(names[5], names[4])
  const other = Array.from({ length: 5 }, () => statements.nameOf('select 2')).at(-1)
  t.type(other, 'string')
  t.not(other, names[4])
})

t.test('a statement whose plan was refused has none any longer', async (t) => {
  const statements = new NamedStatements()
  for (let i = 0; i < 5; i++) statements.nameOf('select 1')
  statements.unname('select 1')
  for (let i = 0; i < 10; i++) t.equal(statements.nameOf('select 1'), undefined)
})

t.test('names are few, and long statements have none', async (t) => {
  const statements = new NamedStatements()
  const long = `select '${'a'.repeat(8_000)}'`
  for (let i = 0; i < 10; i++) t.equal(statements.nameOf(long), undefined)
  const names = new Set<string | undefined>()
  for (let text = 0; text < 600; text++) {
    for (let i = 0; i < 5; i++) names.add(statements.nameOf(`select ${text}`))
  }
  names.delete(undefined)
  t.equal(names.size, 500)
  for (let text = 0; text < 3_000; text++) statements.nameOf(`values (${text})`)
  t.equal(statements.nameOf('values (0)'), undefined)
})
