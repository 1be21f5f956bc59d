import fc from 'fast-check'
import t from 'tap'
import { divideRefund, divideUse, gstOn, NO_TAX, rateAt, type TaxedAmount, taxTotal } from './gst.js'

const RATE = { ratePercent: 18, supplierState: '29' }

t.test('within a state CGST and SGST, in a union territory UTGST, else IGST', async (t) => {
  t.same(gstOn(10_000, { ...RATE, placeOfSupply: '29' }), { ...NO_TAX, cgstPaise: 900, sgstPaise: 900 })
  t.same(gstOn(10_000, { ...RATE, placeOfSupply: '27' }), { ...NO_TAX, igstPaise: 1_800 })
  t.same(gstOn(10_000, { ...RATE, placeOfSupply: '29', sez: true }), { ...NO_TAX, igstPaise: 1_800 })
  for (const state of ['04', '26', '31', '35', '38', '97']) {
    const tax = gstOn(10_000, { ratePercent: 18, supplierState: state, placeOfSupply: state })
    t.same(tax, { ...NO_TAX, cgstPaise: 900, utgstPaise: 900 }, state)
  }
  for (const state of ['01', '07', '34']) {
    const tax = gstOn(10_000, { ratePercent: 18, supplierState: state, placeOfSupply: state })
    t.same(tax, { ...NO_TAX, cgstPaise: 900, sgstPaise: 900 }, `${state} has a legislature`)
  }
})

t.test('each head is rounded half up', async (t) => {
  t.equal(taxTotal(gstOn(10_003, { ...RATE, placeOfSupply: '29' })), 1_800)
  t.equal(taxTotal(gstOn(10_003, { ...RATE, placeOfSupply: '27' })), 1_801)
  t.equal(gstOn(50, { ratePercent: 5, supplierState: '29', placeOfSupply: '29' }).cgstPaise, 1, '1.25')
  t.equal(gstOn(20, { ratePercent: 5, supplierState: '29', placeOfSupply: '29' }).cgstPaise, 1, '0.5')
})

t.test('the rate of a day', async (t) => {
  const rate = (effectiveFrom: string, ratePercent: number) => ({
    effectiveFrom,
    ratePercent,
    sac: '9984',
    description: 'Calls',
    source: 'A notification',
  })
  const rates = [rate('2027-04-01', 12), rate('2017-07-01', 18)]
  t.equal(rateAt(rates, '2017-06-30'), null)
  t.equal(rateAt(rates, '2027-03-31')?.ratePercent, 18)
  t.equal(rateAt(rates, '2027-04-01')?.ratePercent, 12)
})

const NOTHING: TaxedAmount = { taxablePaise: 0, tax: NO_TAX }

t.test('a refund is divided like its payment', async (t) => {
  const interState = { taxablePaise: 10_000, tax: gstOn(10_000, { ...RATE, placeOfSupply: '27' }) }
  const part = divideRefund(interState, NOTHING, 5_000)
  t.same(part, { taxablePaise: 4_237, tax: { ...NO_TAX, igstPaise: 763 } })
  t.same(divideRefund(interState, part, 6_800), {
    taxablePaise: 5_763,
    tax: { ...NO_TAX, igstPaise: 1_037 },
  })
  const withinState = { taxablePaise: 10_000, tax: gstOn(10_000, { ...RATE, placeOfSupply: '29' }) }
  t.same(
    divideRefund(withinState, NOTHING, 5_000),
    { taxablePaise: 4_238, tax: { ...NO_TAX, cgstPaise: 381, sgstPaise: 381 } },
    'the halves are equal',
  )
})

t.test('refunds in any parts return the payment exactly', async () => {
  const state = fc.constantFrom('29', '27', '38')
  const parts = fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 8 })
  fc.assert(
    fc.property(
      fc.integer({ min: 10_000, max: 50_000_000 }),
      state,
      state,
      parts,
      (value, from, to, grosses) => {
        const paid = {
          taxablePaise: value,
          tax: gstOn(value, { ratePercent: 18, supplierState: from, placeOfSupply: to }),
        }
        const payable = value + taxTotal(paid.tax)
        let sum = NOTHING
        let left = payable
        for (const gross of [...grosses.filter((gross) => gross < payable / 10), Number.NaN]) {
          const amount = Number.isNaN(gross) ? left : gross
          const { taxablePaise, tax } = divideRefund(paid, sum, amount)
          if (taxablePaise + taxTotal(tax) !== amount) throw new Error('the parts are not the refund')
          if (tax.cgstPaise !== tax.sgstPaise + tax.utgstPaise) throw new Error('the halves differ')
          if (taxablePaise < 0 || tax.igstPaise < 0 || tax.cgstPaise < 0)
            throw new Error('a part is negative')
          sum = {
            taxablePaise: sum.taxablePaise + taxablePaise,
            tax: {
              cgstPaise: sum.tax.cgstPaise + tax.cgstPaise,
              sgstPaise: sum.tax.sgstPaise + tax.sgstPaise,
              utgstPaise: sum.tax.utgstPaise + tax.utgstPaise,
              igstPaise: sum.tax.igstPaise + tax.igstPaise,
            },
          }
          left -= amount
        }
        if (JSON.stringify(sum) !== JSON.stringify(paid)) throw new Error('the sum is not the payment')
      },
    ),
  )
})

t.test('use in any parts names the tax of the payment exactly', async () => {
  const state = fc.constantFrom('29', '27', '38')
  const parts = fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(state, parts, (placeOfSupply, uses) => {
      const taxablePaise = uses.reduce((sum, paise) => sum + paise, 0)
      const paid = { taxablePaise, tax: gstOn(taxablePaise, { ...RATE, placeOfSupply }) }
      let named = NOTHING
      for (const paise of uses) {
        const part = divideUse(paid, named, paise)
        const { cgstPaise, sgstPaise, utgstPaise } = part.tax
        if (cgstPaise !== sgstPaise + utgstPaise) return false
        if (Math.abs(taxTotal(part.tax) - paise * 0.18) > 3) return false
        named = {
          taxablePaise: named.taxablePaise + paise,
          tax: {
            cgstPaise: named.tax.cgstPaise + cgstPaise,
            sgstPaise: named.tax.sgstPaise + sgstPaise,
            utgstPaise: named.tax.utgstPaise + utgstPaise,
            igstPaise: named.tax.igstPaise + part.tax.igstPaise,
          },
        }
      }
      return JSON.stringify(named) === JSON.stringify(paid)
    }),
  )
})
