import fc from 'fast-check'
import t from 'tap'
import { chargeAdvances, type UseStep } from './charge-advances.js'

const advance = (topupId: string, leftPaise: number) => ({ topupId, leftPaise })
const paid = (topupId: string, leftPaise: number, debtPaise = 0): UseStep => ({
  kind: 'advance',
  advance: advance(topupId, leftPaise),
  debtPaise,
})
const use = (paise: number): UseStep => ({ kind: 'use', paise })
const sumOf = ({ charged }: ReturnType<typeof chargeAdvances>) =>
  [...charged.values()].reduce((sum, paise) => sum + paise, 0)

t.test('use is charged to the oldest advance, and not to one that came later', async (t) => {
  const { charged, givenBackPaise } = chargeAdvances(
    [advance('a', 100)],
    [use(60), paid('b', 50), use(60), use(200)],
    0,
  )
  t.same(
    [...charged],
    [
      ['a', 100],
      ['b', 50],
    ],
  )
  t.equal(givenBackPaise, 0)
  t.same([...chargeAdvances([], [use(60), paid('b', 50)], 0).charged], [], 'other money paid for it')
  t.same([...chargeAdvances([], [use(60), paid('b', 50, 20)], 0).charged], [['b', 20]], 'a debt is paid')
})

t.test('what is given back lowers the use after it', async (t) => {
  t.same(chargeAdvances([advance('a', 100)], [use(-30)], 5), { charged: new Map(), givenBackPaise: 35 })
  t.same([...chargeAdvances([advance('a', 100)], [use(40)], 35).charged], [['a', 5]])
})

t.test('no advance is charged more than it is, and no use twice', async () => {
  const paise = fc.integer({ min: 1, max: 1_000 })
  const step = fc.oneof(
    fc.integer({ min: -200, max: 1_000 }).map(use),
    fc.tuple(fc.uuid(), paise, fc.integer({ min: 0, max: 300 })).map((made) => paid(...made)),
  )
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 0, max: 500 }), (steps, givenBack) => {
      const whole = chargeAdvances([advance('first', 400)], steps, givenBack)
      const sizes = new Map([['first', 400]])
      let used = 0
      for (const one of steps) {
        if (one.kind === 'advance') sizes.set(one.advance.topupId, one.advance.leftPaise)
        used += one.kind === 'use' ? Math.max(0, one.paise) : one.debtPaise
      }
      for (const [topupId, charge] of whole.charged) if (charge > (sizes.get(topupId) ?? 0)) return false
      return sumOf(whole) <= used && whole.givenBackPaise >= 0
    }),
  )
})
