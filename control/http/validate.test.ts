import t from 'tap'
import { z } from 'zod'
import { listIssues, MAX_ISSUES, validate } from './validate.js'

const Body = z
  .strictObject({
    mode: z.enum(['a', 'b']),
    count: z.int().optional(),
    names: z.array(z.string()).min(1).optional(),
    label: z.string().min(1).optional(),
    to: z
      .string()
      .regex(/^\+/, 'must begin with +')
      .refine((text) => text.length > 9, 'is too short')
      .optional(),
    headers: z.record(z.string().regex(/^[a-z]+$/), z.string()).optional(),
    either: z.union([z.string(), z.number()]).optional(),
  })
  .refine((body) => Object.keys(body).length > 1, 'must hold another field')

const reasons = (body: object) => {
  const result = validate(Body, body, 'body')
  return result.ok ? [] : result.issues.map(({ path, reason }) => `${path}: ${reason}`)
}

t.test('a reason fits the mistake', async (t) => {
  t.same(reasons({ mode: 'a', count: 1 }), [])
  t.same(reasons({ count: 1 }), ['mode: required'], 'a missing choice is missing, not wrong')
  t.match(reasons({ mode: 'c', count: 1 }), [/^mode: .*one of/])
  t.match(reasons({ mode: undefined, count: 1 }), ['mode: required'])
  t.same(reasons({ mode: 'a', count: 1.5 }), ['count: must be an integer'])
  t.match(reasons({ mode: 'a', headers: { 'a b': 'x' } }), [/^headers\.a b: the name is invalid: .*pattern/])
  t.match(reasons({ mode: 'a', headers: [] }), [/^headers: .*expected object, received array$/])
  t.match(reasons({ mode: 'a', either: null }), [/^either: /])
})

t.test('a rule that only follows from another mistake is not reported', async (t) => {
  t.match(reasons({ mode: 'a', label: [] }), [/^label: .*expected string/])
  t.match(reasons({ mode: 'a', names: '' }), [/^names: .*expected array/])
  t.same(reasons({ mode: 'a', to: '12' }), ['to: must begin with +'])
  t.same(reasons({ mode: 'a', to: '+12' }), ['to: is too short'])
  t.same(reasons({ mode: 'a', typo: 1 }), ['typo: unknown field'])
  t.same(reasons({ mode: 'a' }), [': must hold another field'])
  t.match(reasons({ mode: 'c', label: '' }), [/^mode: /, /^label: /], 'mistakes of several fields')
})

t.test('the first issues are listed, and all are counted', async (t) => {
  const wrong = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`h${'x'.repeat(i % 3)}`, i]))
  t.match(reasons({ mode: 'a', headers: wrong }), [/^headers\.h: /, /^headers\.hx: /, /^headers\.hxx: /])

  const headers = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, i) => [
      `h${i.toString(26).replace(/\d/g, (d) => 'qrstuvwxyz'[Number(d)] ?? '')}`,
      i,
    ]),
  )
  const count = Object.keys(headers).length
  const unknown = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`u${i}`, 1]))
  const result = validate(Body, { mode: 'a', headers, ...unknown }, 'body')
  if (result.ok) throw new Error('the body is invalid')
  t.equal(result.issues.length, MAX_ISSUES)
  t.equal(result.issues.length + result.unlisted, count + 300)

  const [first] = result.issues
  const many = Array.from({ length: 250 }, () => first ?? { path: '', reason: '' })
  t.same(listIssues(many.slice(0, 100)), { issues: many.slice(0, 100) })
  t.match(listIssues(many, 7), { issues: { length: MAX_ISSUES }, issueCount: 257 })
})

t.test('no step of the judgement looks at each pair of issues', async (t) => {
  // Each look at a path of an issue is counted: their number grows with the issues, not with their square.
  let looks = 0
  const counted = (path: PropertyKey[]): PropertyKey[] =>
    new Proxy(path, {
      get: (target, key, receiver) => {
        looks++
        return Reflect.get(target, key, receiver)
      },
    })
  const schema = z.unknown().superRefine((_value, context) => {
    for (let i = 0; i < 2_000; i++)
      context.addIssue({ code: 'custom', path: counted(['list', i]), message: 'bad' })
  })
  const result = validate(schema, {}, 'body')
  t.equal(result.ok, false)
  t.ok(looks < 2_000 * 100, `${looks} looks`)
})
