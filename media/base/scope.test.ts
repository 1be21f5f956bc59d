import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { settle } from '../../fixtures/host/settle.js'
import { Scope } from './scope.js'

t.test('closes newest first, once', async (t) => {
  const scope = new Scope()
  const order: string[] = []
  scope.own(() => {
    order.push('first')
  })
  scope.own(async () => {
    await Promise.resolve()
    order.push('second')
  })
  const forget = scope.own(() => {
    order.push('forgotten')
  })
  forget()
  scope.add({
    close: () => {
      order.push('thing')
    },
  })
  t.equal(scope.size, 3)
  t.equal(scope.closed, false)
  const closing = scope.close()
  t.equal(scope.closed, true)
  t.equal(scope.close(), closing)
  await closing
  t.strictSame(order, ['thing', 'second', 'first'])
  t.equal(scope.size, 0)
})

t.test('a closer added after close runs at once', async (t) => {
  const scope = new Scope()
  await scope.close()
  let closed = 0
  scope.own(() => {
    closed++
  })
  t.equal(closed, 1)
  t.equal(scope.size, 0)
})

t.test('a child closes with its parent, or leaves it', async (t) => {
  const parent = new Scope()
  const one = parent.child()
  const two = parent.child()
  let closed = 0
  one.own(() => {
    closed++
  })
  two.own(() => {
    closed++
  })
  t.equal(parent.size, 2)
  await one.close()
  t.equal(closed, 1)
  t.equal(parent.size, 1)
  await parent.close()
  t.equal(closed, 2)
  t.equal(two.closed, true)
})

t.test('a timer leaves when it fires, when it is cancelled and with its scope', async (t) => {
  const clock = new VirtualClock()
  const scope = new Scope()
  const ran: string[] = []
  scope.after(clock, 10, () => ran.push('fired'))
  scope.after(clock, 10, () => ran.push('cancelled')).cancel()
  scope.after(clock, 30, () => ran.push('too late'))
  t.equal(scope.size, 2)
  clock.advance(20)
  t.equal(scope.size, 1)
  await scope.close()
  clock.advance(100)
  t.strictSame(ran, ['fired'])
  t.equal(clock.pending, 0)
})

t.test('one failing closer does not prevent the others', async (t) => {
  const scope = new Scope()
  let closed = 0
  scope.own(() => {
    closed++
  })
  scope.own(() => {
    throw new Error('stuck')
  })
  scope.own(() => Promise.reject(new Error('also')))
  const error = await scope.close().catch((failure: unknown) => failure)
  t.ok(error instanceof AggregateError && error.errors.length === 2)
  t.equal(closed, 1)
})

t.test('a closer that is added too late and fails is a warning, not an unhandled rejection', async (t) => {
  const warnings: string[] = []
  const listener = (warning: Error & { code?: string }): void => {
    if (warning.code === 'scope_close_failed') warnings.push(warning.message)
  }
  process.on('warning', listener)
  t.teardown(() => process.off('warning', listener))
  const scope = new Scope()
  await scope.close()
  scope.own(async () => {
    throw new Error('one')
  })
  scope.own(() => {
    throw new Error('two')
  })
  await settle()
  t.strictSame(warnings.sort(), ['closing failed: one', 'closing failed: two'])
})
