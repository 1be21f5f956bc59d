import t from 'tap'
import { toolCallsOf } from './live-messages.js'

const made = (...functionCalls: unknown[]) => toolCallsOf({ toolCall: { functionCalls } })

t.test('calls of tools, however the arguments are given', async (t) => {
  t.same(made({ id: 'a', name: 'one', args: { x: 1 } }, { id: 'b', name: 'two' }), [
    { id: 'a', name: 'one', arguments: { x: 1 } },
    { id: 'b', name: 'two', arguments: {} },
  ])
  t.same(made({ id: 'a', name: 'one', args: '{"x":1}' }), [{ id: 'a', name: 'one', arguments: { x: 1 } }])
  t.match(made({ id: 'a', name: 'one', args: '{"x":' }), [{ arguments: {}, unusable: /JSON/ }])
  t.match(made({ id: 'a', name: 'one', args: [1] }), [{ arguments: {}, unusable: /object/ }])
  t.same(made({ name: 'one' }, { id: '', name: 'two' }), [
    { id: 'call_0', name: 'one', arguments: {} },
    { id: 'call_1', name: 'two', arguments: {} },
  ])
  t.same(made(null, 7, {}, { id: 'a' }), [])
  t.throws(() => made(...Array.from({ length: 33 }, () => ({ name: 'one' }))), { code: 'vendor_failed' })
})
