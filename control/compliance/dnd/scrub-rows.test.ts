import t from 'tap'
import { scrubColumns, scrubNumber } from './scrub-rows.js'

const row = (text: string) => ({ line: 2, cells: text.split(',') })

t.test('the header names the columns in any order', async (t) => {
  t.same(scrubColumns(row('listed, e164')), { e164: 1, listed: 0, category: -1 })
  t.same(scrubColumns(row('e164,listed,category')), { e164: 0, listed: 1, category: 2 })
  for (const wrong of ['', 'e164', 'e164,listed,listed', 'e164,listed,extra', 'E164,listed']) {
    t.match(scrubColumns(row(wrong)), /the header row must have/, wrong)
  }
})

t.test('rows', async (t) => {
  const columns = { e164: 0, listed: 1, category: 2 }
  const number = { e164: '+919876543210', state: 'listed', category: null }
  t.same(scrubNumber(row('+919876543210,true,'), columns), number)
  t.same(scrubNumber(row(' +919876543210 ,TRUE, full '), columns), { ...number, category: 'full' })
  t.same(scrubNumber(row('+919876543210,false,'), columns), { ...number, state: 'not_listed' })
  const wrong: readonly [string, RegExp][] = [
    ['919876543210,true,', /e164 must be/],
    ['+91987654321,true,', /e164 must be/],
    ['+14155550100,true,', /e164 must be/],
    ['+919876543210,yes,', /listed must be/],
    ['+919876543210,,', /listed must be/],
    ['+919876543210,true', /2 cells, the header row has 3/],
    ['+919876543210,true,a,b', /4 cells/],
    [`+919876543210,true,${'x'.repeat(101)}`, /more than 100/],
    ['+919876543210,true,a\0b', /control character/],
  ]
  for (const [text, reason] of wrong) t.match(scrubNumber(row(text), columns), reason, text)
})
