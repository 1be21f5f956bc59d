import t from 'tap'
import { gstinProblem, isPan, panOfGstin, STATES, statesOfGstin } from './gstin.js'

const VALID = ['27AAPFU0939F1ZV', '29AAGCB7383J1Z4', '24AAACC1206D1ZM']

t.test('published examples are valid', async (t) => {
  for (const gstin of VALID) t.equal(gstinProblem(gstin), null, gstin)
  t.equal(panOfGstin('27AAPFU0939F1ZV'), 'AAPFU0939F')
  t.same(statesOfGstin('27AAPFU0939F1ZV'), ['27'])
})

t.test('every single wrong character is detected', async (t) => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
  for (const gstin of VALID) {
    for (let i = 0; i < gstin.length; i++) {
      for (const other of alphabet) {
        if (other === gstin[i]) continue
        const wrong = gstin.slice(0, i) + other + gstin.slice(i + 1)
        if (gstinProblem(wrong) === null) t.fail(wrong)
      }
    }
  }
})

t.test('form and state', async (t) => {
  const rows: readonly [string, RegExp][] = [
    ['', /not a GSTIN/],
    ['27aapfu0939f1zv', /not a GSTIN/],
    [' 27AAPFU0939F1ZV', /not a GSTIN/],
    ['27AAPFU0939F1ZV ', /not a GSTIN/],
    ['27AAPFU0939F1XV', /not a GSTIN/],
    ['27AAPFU0939F0ZV', /not a GSTIN/],
    ['97AAPFU0939F1ZV', /not a GSTIN/],
    ['00AAPFU0939F1ZV', /names no state/],
    ['39AAPFU0939F1ZV', /names no state/],
    ['27AAPFU0939F1ZW', /check character/],
  ]
  for (const [gstin, problem] of rows) t.match(gstinProblem(gstin), problem, gstin)
})

t.test('a registration older than a state reorganization belongs to the present state', async (t) => {
  // The check characters follow from the rule: computed with another implementation.
  t.equal(gstinProblem('25AAPFU0939F1ZZ'), null)
  t.same(statesOfGstin('25AAPFU0939F1ZZ'), ['26'])
  t.same(statesOfGstin('28AAPFU0939F1ZT'), ['37', '36'])
  t.notOk(Object.hasOwn(STATES, '25'), 'but it is no state of a new address')
  t.notOk(Object.hasOwn(STATES, '28'))
  t.notOk(Object.hasOwn(STATES, '96'), 'nor is a foreign country')
  t.equal(Object.keys(STATES).length, 37)
})

t.test('PAN', async (t) => {
  t.ok(isPan('AAPFU0939F'))
  for (const text of ['', 'AAPFU0939', 'AAPFU09399', 'aapfu0939f', 'AAPFU0939FX']) t.notOk(isPan(text), text)
})
