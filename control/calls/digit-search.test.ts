import t from 'tap'
import { searchDigits } from './digit-search.js'

t.test('only digits count', async (t) => {
  t.equal(searchDigits('+91 98765-43210'), '919876543210')
  t.equal(searchDigits('(987) 65'), '98765')
  t.equal(searchDigits('432'), '432')
  t.equal(searchDigits('4-3'), null)
  t.equal(searchDigits('anna'), null)
  t.equal(searchDigits('%_%'), null, 'no wildcard gets through')
})
