import t from 'tap'
import { istDate, istMidnight } from '../base/ist.js'
import { financialYear, lastCreditNoteDay } from './financial-year.js'

t.test('a financial year begins on 1 April in India', async (t) => {
  t.equal(financialYear('2026-03-31'), '25-26')
  t.equal(financialYear('2026-04-01'), '26-27')
  t.equal(financialYear('1999-12-31'), '99-00')
  const begins = istMidnight('2026-04-01')
  t.equal(new Date(begins).toISOString(), '2026-03-31T18:30:00.000Z')
  t.equal(istDate(begins), '2026-04-01')
  t.equal(istDate(begins - 1), '2026-03-31')
})

t.test('credit notes lower the tax until 30 November after the year', async (t) => {
  t.equal(lastCreditNoteDay('2026-04-01'), '2027-11-30')
  t.equal(lastCreditNoteDay('2027-03-31'), '2027-11-30')
})
