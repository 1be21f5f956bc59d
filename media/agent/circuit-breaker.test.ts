import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { CircuitBreakers } from './circuit-breaker.js'

const KEY = 'language_model a m'

t.test('consecutive failures open the circuit; one request probes it', async (t) => {
  const clock = new VirtualClock()
  const breakers = new CircuitBreakers(clock)
  for (let i = 0; i < 2; i++) breakers.failed(KEY, false)
  t.ok(breakers.allows(KEY), 'twice is nothing')
  breakers.failed(KEY, false)
  t.notOk(breakers.allows(KEY))
  t.ok(breakers.isOpen(KEY))
  breakers.failed('language_model b m', false)
  t.same(breakers.openKeys(), [KEY])
  t.ok(breakers.allows('language_model b m'), 'each for itself')
  clock.advance(29_999)
  t.notOk(breakers.allows(KEY))
  clock.advance(1)
  t.notOk(breakers.isOpen(KEY))
  t.same(breakers.openKeys(), [])
  t.ok(breakers.allows(KEY), 'the probe')
  t.notOk(breakers.allows(KEY), 'only one')
  breakers.failed(KEY, false)
  clock.advance(59_999)
  t.notOk(breakers.allows(KEY), 'twice as long')
  clock.advance(1)
  t.ok(breakers.allows(KEY))
  breakers.succeeded(KEY)
  t.ok(breakers.allows(KEY) && breakers.allows(KEY), 'as if nothing had been')
  breakers.failed(KEY, false)
  t.ok(breakers.allows(KEY))
})

t.test('stalls weigh more; a success resets the count', async (t) => {
  const breakers = new CircuitBreakers(new VirtualClock())
  breakers.failed(KEY, true)
  t.ok(breakers.allows(KEY))
  breakers.failed(KEY, true)
  t.notOk(breakers.allows(KEY), 'two waits are enough')
  const other = 'x'
  breakers.failed(other, true)
  breakers.succeeded(other)
  breakers.failed(other, true)
  t.ok(breakers.allows(other))
})

t.test('an unanswered probe expires; late failures do not extend the open time', async (t) => {
  const clock = new VirtualClock()
  const breakers = new CircuitBreakers(clock)
  for (let i = 0; i < 8; i++) breakers.failed(KEY, false)
  clock.advance(30_000)
  t.ok(breakers.allows(KEY))
  clock.advance(9_999)
  t.notOk(breakers.allows(KEY))
  clock.advance(1)
  t.ok(breakers.allows(KEY))
})
