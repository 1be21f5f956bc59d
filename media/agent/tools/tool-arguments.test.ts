import t from 'tap'
import { declaredArguments } from './tool-arguments.js'

const parameter = (name: string, type: 'string' | 'number' | 'integer' | 'boolean', required = false) => ({
  name,
  type,
  required,
  description: '',
})

t.test('only declared arguments are kept', async (t) => {
  const parameters = [parameter('phone', 'string', true), parameter('note', 'string')]
  t.same(declaredArguments(parameters, { phone: '1', shop: '8', admin: true, __proto__: { note: 'x' } }), {
    phone: '1',
  })
  t.same(declaredArguments(parameters, { phone: '1', note: null }), { phone: '1' })
  t.equal(
    declaredArguments(parameters, { note: 'x' }),
    'Failed: the parameter phone is missing. Nothing was sent.',
  )
  t.equal(
    declaredArguments(parameters, { phone: null }),
    'Failed: the parameter phone is missing. Nothing was sent.',
  )
  // Every object inherits this name, so it does not count as given.
  t.match(declaredArguments([parameter('constructor', 'string', true)], {}), /constructor is missing/)
})

t.test('arguments get their declared type or are refused', async (t) => {
  const rows = [
    ['string', 'a', 'a'],
    ['string', 7, '7'],
    ['string', false, 'false'],
    ['string', { a: 1 }, null],
    ['string', ['a'], null],
    ['number', 1.5, 1.5],
    ['number', ' -1.5e3 ', -1500],
    ['number', '1,5', null],
    ['number', '', null],
    ['number', '0x10', null],
    ['number', '1e999', null],
    ['number', Number.NaN, null],
    ['number', true, null],
    ['integer', 2, 2],
    ['integer', '2', 2],
    ['integer', 2.5, null],
    ['integer', '12345678901234567890', null],
    ['boolean', true, true],
    ['boolean', 'False', false],
    ['boolean', 'yes', null],
    ['boolean', 1, null],
  ] as const
  for (const [type, given, expected] of rows) {
    const found = declaredArguments([parameter('a', type, true)], { a: given })
    if (expected === null)
      t.match(found, /^Failed: the parameter a must be .* Nothing was sent\.$/, `${given}`)
    else t.same(found, { a: expected }, `${type} ${given}`)
  }
})

t.test(
  'a blank text for an optional parameter is no argument, unless the parameter is any text',
  async (t) => {
    const size = { ...parameter('size', 'string'), values: ['Small', 'Large'] }
    const count = { ...parameter('count', 'integer'), values: ['1', '2'] }
    const all = [
      size,
      count,
      parameter('price', 'number'),
      parameter('new', 'boolean'),
      parameter('note', 'string'),
    ]
    for (const blank of ['', ' ', '\n']) {
      const given = { size: blank, count: blank, price: blank, new: blank, note: blank }
      t.same(declaredArguments(all, given), { note: blank })
      t.match(declaredArguments([{ ...size, required: true }], given), /size must be one of: Small, Large/)
      t.match(declaredArguments([{ ...count, required: true }], given), /count must be a whole number/)
    }
    const empty = { ...size, values: ['', 'Large'] }
    t.same(declaredArguments([empty], { size: '' }), { size: '' }, 'a declared value')
    t.match(declaredArguments([size], { size: 'huge' }), /size must be one of/)
  },
)

t.test('only a declared value is taken, in its declared spelling', async (t) => {
  const parameters = [{ ...parameter('size', 'string', true), values: ['Small', 'Large'] }]
  t.same(declaredArguments(parameters, { size: ' large ' }), { size: 'Large' })
  t.equal(
    declaredArguments(parameters, { size: 'huge' }),
    'Failed: the parameter size must be one of: Small, Large. Nothing was sent.',
  )
  const many = [
    { ...parameter('size', 'string', true), values: Array.from({ length: 500 }, (_, n) => `v${n}`) },
  ]
  t.ok(String(declaredArguments(many, { size: 'x' })).length < 500, 'the message is bounded')
})
