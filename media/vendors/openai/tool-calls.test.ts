import fc from 'fast-check'
import t from 'tap'
import { ToolCallAssembly } from './tool-calls.js'

function assemble(...deltas: readonly unknown[]): unknown {
  const assembly = new ToolCallAssembly()
  for (const delta of deltas) assembly.add(delta)
  return assembly.finish()
}

t.test('fragments by index, interleaved', async (t) => {
  t.same(
    assemble(
      [{ index: 0, id: 'a', type: 'function', function: { name: 'one', arguments: '' } }],
      [{ index: 1, id: 'b', type: 'function', function: { name: 'two', arguments: '{"x"' } }],
      [{ index: 1, function: { arguments: ':1}' } }],
      [{ index: 0, function: { arguments: '{"y":"z"}' } }],
    ),
    [
      { id: 'a', name: 'one', arguments: { y: 'z' } },
      { id: 'b', name: 'two', arguments: { x: 1 } },
    ],
  )
})

t.test('variants of compatible servers', async (t) => {
  t.same(
    assemble([{ id: 'a', function: { name: 'one', arguments: '{"x":1}' } }]),
    [{ id: 'a', name: 'one', arguments: { x: 1 } }],
    'no index, all in one fragment',
  )
  t.same(
    assemble(
      [{ id: 'a', function: { name: 'one', arguments: '{' } }],
      [{ id: 'a', function: { arguments: '}' } }],
      [{ id: 'b', function: { name: 'two' } }],
    ),
    [
      { id: 'a', name: 'one', arguments: {} },
      { id: 'b', name: 'two', arguments: {} },
    ],
    'no index: told apart by id',
  )
  t.same(
    assemble([{ function: { name: 'one' } }], [{ function: { arguments: '{"x":2}' } }]),
    [{ id: 'call_0', name: 'one', arguments: { x: 2 } }],
    'neither index nor id: by position; an id is invented',
  )
  t.same(
    assemble(
      [{ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }],
      [{ index: 0, id: 'b', function: { name: 'two', arguments: '{"x":1}' } }],
    ),
    [
      { id: 'a', name: 'one', arguments: {} },
      { id: 'b', name: 'two', arguments: { x: 1 } },
    ],
    'every call under index 0',
  )
  t.same(
    assemble([{ index: 0, id: 'a', function: { name: 'one', arguments: { x: [1] } } }]),
    [{ id: 'a', name: 'one', arguments: { x: [1] } }],
    'arguments as an object',
  )
  t.same(
    assemble([{ index: 0, id: 'a', function: { name: 'one', arguments: 'null' } }]),
    [{ id: 'a', name: 'one', arguments: {} }],
    'null arguments',
  )
  t.same(assemble(undefined, null, 'x', [null, 3], [{}]), [], 'nonsense is no call')
})

t.test('an id that changes with each fragment does not begin a call: the index is the key', async (t) => {
  const args = ['', '{"day"', ':"Mon', 'day"}', '']
  for (const index of [0, '0', undefined]) {
    t.same(
      assemble(
        ...args.map((text, n) => [
          { index, id: `id-${n}`, function: { name: n === 0 ? 'book' : undefined, arguments: text } },
        ]),
      ),
      [{ id: 'id-0', name: 'book', arguments: { day: 'Monday' } }],
      `index ${index}`,
    )
  }
  t.same(
    assemble(
      ...args.map((text, n) => [{ index: 0, id: `id-${n}`, function: { name: 'book', arguments: text } }]),
    ),
    [{ id: 'id-0', name: 'book', arguments: { day: 'Monday' } }],
    'and the name with each',
  )
  t.same(
    assemble(
      [{ index: 0, id: 'a', function: { name: 'book', arguments: '{"x"' } }],
      [{ index: 1, id: 'a', function: { arguments: ':1' } }],
      [{ index: 2, function: { arguments: '}' } }],
    ),
    [{ id: 'a', name: 'book', arguments: { x: 1 } }],
    'the index counts fragments',
  )
})

t.test('calls under one index are told apart by their arguments', async (t) => {
  const whole = (id: string | undefined, name: string | undefined, text: unknown) => ({
    index: 0,
    id,
    function: { name, arguments: text },
  })
  const two = [{ x: 1 }, { x: 2 }]
  const given = (calls: unknown) => (calls as { arguments: unknown }[]).map((call) => call.arguments)
  for (const [names, ids] of [
    [
      ['one', 'one'],
      ['a', 'b'],
    ],
    [
      ['one', 'one'],
      [undefined, undefined],
    ],
    [
      ['one', 'two'],
      ['a', undefined],
    ],
  ] as const) {
    const fragments = two.map((value, n) => whole(ids[n], names[n], JSON.stringify(value)))
    t.same(given(assemble(fragments)), two, `in one delta: ${names} ${ids}`)
    t.same(given(assemble(...fragments.map((one) => [one]))), two, `in two deltas: ${names} ${ids}`)
  }
  t.same(given(assemble([whole('a', 'one', two[0]), whole('b', 'one', two[1])])), two, 'as objects')
  t.same(
    assemble([
      { id: 'a', function: { name: 'door' } },
      { id: 'b', function: { name: 'door' } },
    ]),
    [
      { id: 'a', name: 'door', arguments: {} },
      { id: 'b', name: 'door', arguments: {} },
    ],
    'without arguments and index',
  )
})

t.test('arguments that come more than once count once', async (t) => {
  const expected = [{ id: 'a', name: 'one', arguments: { x: 1 } }]
  for (const texts of [
    ['{}', '{"x"', ':1}'],
    ['{"x":1}', '{"x":1}'],
    ['{"x":1}', ' \n'],
    [{ x: 1 }, ''],
    [{ x: 1 }, '{"x"', ':1}'],
    ['"{\\"x\\":', '1}"'],
  ]) {
    const [first, ...rest] = texts
    t.same(
      assemble(
        [{ index: 0, id: 'a', function: { name: 'one', arguments: first } }],
        ...rest.map((text) => [{ index: 0, function: { arguments: text } }]),
      ),
      expected,
      JSON.stringify(texts),
    )
  }
})

t.test('the whole call once more with another id counts once; other arguments are refused', async (t) => {
  const first = { index: 0, id: 'a', function: { name: 'one', arguments: '{"x":1}' } }
  t.same(assemble([first], [{ index: 0, id: 'b', function: { arguments: '{"x":1}' } }]), [
    { id: 'a', name: 'one', arguments: { x: 1 } },
  ])
  t.match(assemble([first], [{ index: 0, id: 'b', function: { arguments: '{"x":2}' } }]), [
    { id: 'a', name: 'one', arguments: {}, unusable: /JSON/ },
  ])
})

t.test('a name in pieces', async (t) => {
  const assembly = new ToolCallAssembly(['find_price', 'find'])
  for (const name of ['find_', 'pri', 'ce']) assembly.add([{ index: 0, id: 'a', function: { name } }])
  assembly.add([{ index: 0, function: { name: '', arguments: '{"x":1}' } }])
  t.same(assembly.finish(), [{ id: 'a', name: 'find_price', arguments: { x: 1 } }])
})

t.test('however the arguments are cut, with an id for each piece', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), { minLength: 1, maxLength: 3 }),
      fc.array(fc.nat(20), { minLength: 1, maxLength: 8 }),
      (values, cuts) => {
        const deltas = values.flatMap((value, index) => {
          const text = JSON.stringify(value)
          const pieces: string[] = []
          for (let at = 0, n = 0; at < text.length; n++) {
            const next = at + 1 + (cuts[n % cuts.length] ?? 0)
            pieces.push(text.slice(at, next))
            at = next
          }
          return pieces.map((piece, n) => [
            { index, id: `${index}-${n}`, function: { name: n === 0 ? 'one' : null, arguments: piece } },
          ])
        })
        const calls = assemble(...deltas) as { id: string; arguments: unknown }[]
        t.equal(calls.length, values.length)
        for (const [n, { arguments: found }] of calls.entries()) {
          if (JSON.stringify(found) !== JSON.stringify(JSON.parse(JSON.stringify(values[n])))) return false
        }
        return true
      },
    ),
    { numRuns: 300 },
  )
})

t.test('arguments that cannot be read make the call unusable', async (t) => {
  for (const [given, reason] of [
    ['{"x":', 'the arguments are not valid JSON'],
    ["{'x': 1}", 'the arguments are not valid JSON'],
    ['{"x":1}{"x":2}', 'the arguments are not valid JSON'],
    ['[1]', 'the arguments are not a JSON object'],
    ['7', 'the arguments are not a JSON object'],
    ['"\\"\\\\\\"x\\\\\\"\\""', 'the arguments are not a JSON object'],
  ] as const) {
    t.same(
      assemble([{ index: 0, function: { name: 'one', arguments: given } }]),
      [{ id: 'call_0', name: 'one', arguments: {}, unusable: reason }],
      given,
    )
  }
  for (const empty of ['', ' ', 'null', '[]', '""', null, undefined]) {
    t.same(assemble([{ index: 0, id: 'a', function: { name: 'one', arguments: empty } }]), [
      { id: 'a', name: 'one', arguments: {} },
    ])
  }
})

t.test('calls without a bound are an error', async (t) => {
  t.throws(
    () => assemble(...Array.from({ length: 33 }, (_, n) => [{ index: n, function: { name: `n${n}` } }])),
    {
      code: 'vendor_failed',
    },
  )
  t.throws(() => assemble([{ index: 0, function: { arguments: 'x'.repeat(70_000) } }]), {
    code: 'vendor_failed',
  })
  t.throws(() => assemble([{ index: 0, function: { name: 'one', arguments: { x: 'x'.repeat(70_000) } } }]), {
    code: 'vendor_failed',
  })
})
