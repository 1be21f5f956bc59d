import t from 'tap'
import { z } from 'zod'
import { settle } from '../../fixtures/host/settle.js'
import { MAX_ISSUES, validate } from './validate.js'
import { validateInTurns } from './validate-in-turns.js'

const Body = z
  .strictObject({
    name: z.string().trim(),
    rows: z
      .array(
        z.strictObject({
          id: z.string().max(5).trim(),
          kind: z.enum(['a', 'b']).default('a'),
          values: z
            .record(z.string().max(6), z.string().transform(Number))
            .refine((values) => Object.keys(values).length < 3_000, 'too many values')
            .optional(),
        }),
      )
      .min(1)
      .max(3_000)
      .optional(),
    texts: z.record(z.string().min(1), z.union([z.string(), z.array(z.string())])).optional(),
  })
  .refine(({ name }) => name !== 'bad', { message: 'a bad name', path: ['name'] })

const rows = (count: number, row: (i: number) => unknown = (i) => ({ id: ` ${i}` })) =>
  Array.from({ length: count }, (_, i) => row(i))
const values = (count: number, value: (i: number) => unknown = String) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, value(i)]))

/** Bodies with many values, right and wrong ones. */
const BODIES: Readonly<Record<string, unknown>> = {
  'right rows': { name: ' x ', rows: rows(2_000) },
  'right values of a row': { name: 'x', rows: [{ id: '1', kind: 'b', values: values(2_000) }] },
  'right texts': { name: 'x', texts: values(2_000) },
  'a text with many parts': { name: 'x', texts: { ...values(10), long: rows(2_000, String) } },
  'wrong rows': { name: 1, rows: rows(2_000, (i) => ({ id: i, extra: 1 })) },
  'one wrong row': { name: 'x', rows: rows(2_000, (i) => ({ id: i === 1_999 ? 1 : 'x' })) },
  'too many rows': { name: 'x', rows: rows(3_001) },
  'too many wrong rows': { name: 'x', rows: rows(3_001, () => null) },
  'wrong values of rows': { name: 'x', rows: rows(50, () => ({ id: '1', values: values(40, (i) => i) })) },
  'wrong values of a row': { name: 'x', rows: [{ id: '1', values: values(2_000, (i) => i) }, { id: 2 }] },
  'too many values of a row': { name: 'x', rows: [{ id: '1', values: values(3_000) }] },
  'too many wrong values of a row': { name: 'x', rows: [{ id: '1', values: values(3_000, (i) => i) }] },
  'wrong names': { name: 'x', rows: [{ id: '1', values: { ...values(2_000), v1234567: '1' } }] },
  'a wrong large value': { name: 'x', texts: { ...values(10), long: rows(2_000, (i) => i) } },
  'a rule about the whole': { name: 'bad', rows: rows(2_000) },
  'unknown fields': { name: 'x', ...values(2_000) },
  'a list for an object': { name: 'x', texts: rows(2_000, String) },
  'an object for a list': { name: 'x', rows: values(2_000) },
  'a list at the top': rows(2_000),
  'a small one': { name: 2, rows: [{ id: 1 }] },
}

t.test('a body with many values is judged as one with few', async (t) => {
  for (const [name, body] of Object.entries(BODIES)) {
    const whole = validate(Body, body, 'body')
    const inTurns = await validateInTurns(Body, structuredClone(body))
    if (whole.ok || inTurns.ok) {
      t.same(inTurns, whole, name)
      continue
    }
    const count = ({ issues, unlisted }: typeof whole): number => issues.length + unlisted
    t.equal(count(inTurns), count(whole), `${name}: the number of issues`)
    t.equal(inTurns.issues.length, whole.issues.length, name)
    if (count(whole) > MAX_ISSUES) continue
    const sorted = (result: typeof whole) => result.issues.toSorted((a, b) => (a.path < b.path ? -1 : 1))
    t.same(sorted(inTurns), sorted(whole), name)
  }
})

t.test('what is wrong beside a long list is listed', async (t) => {
  const judged = await validateInTurns(Body, BODIES['wrong rows'])
  t.match(judged, { ok: false, issues: [{ path: 'name' }, { path: 'rows[0].id' }] })
})

t.test('other work of the thread runs meanwhile', async (t) => {
  const turnsDuring = async (body: unknown): Promise<number> => {
    let turns = 0
    let over = false
    const judging = validateInTurns(Body, body).finally(() => {
      over = true
    })
    for (; !over; turns++) await settle()
    await judging
    return turns
  }
  const wrong = rows(1_000, () => ({ id: 1, values: values(40, (i) => i) }))
  t.ok((await turnsDuring({ name: 'x', rows: wrong })) >= 40, 'wrong values of rows')
  t.ok((await turnsDuring({ name: 'x', texts: values(9_000, (i) => i) })) >= 9, 'wrong texts')
  t.ok((await turnsDuring({ name: 'x', rows: rows(1_000) })) >= 2, 'right rows')
})
