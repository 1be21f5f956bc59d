import t from 'tap'
import { z } from 'zod'
import { validate } from './validate.js'

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
