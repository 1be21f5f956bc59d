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

t.test('an invalid call is an error', async (t) => {
  t.throws(() => assemble([{ index: 0, function: { name: 'one', arguments: '{"x":' } }]), {
    code: 'vendor_failed',
  })
  t.throws(() => assemble([{ index: 0, function: { name: 'one', arguments: '[1]' } }]), {
    code: 'vendor_failed',
  })
  t.throws(() => assemble(...Array.from({ length: 33 }, (_, index) => [{ index }])), {
    code: 'vendor_failed',
  })
  t.throws(() => assemble([{ index: 0, function: { arguments: 'x'.repeat(70_000) } }]), {
    code: 'vendor_failed',
  })
})
