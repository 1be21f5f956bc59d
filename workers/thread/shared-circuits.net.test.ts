import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { until } from '../../fixtures/host/until.js'
import { openSharedCircuits } from './shared-circuits.js'

const KEY = 'language_model a m'

t.test('threads of one service share what they learn of a vendor', async (t) => {
  const clock = new VirtualClock()
  const [one, two, other] = ['x', 'x', 'y'].map((name) => {
    const circuits = openSharedCircuits(clock, `test-circuits-${process.pid}-${name}`)
    t.teardown(() => circuits.close())
    return circuits.breakers
  })
  for (let i = 0; i < 3; i++) one?.failed(KEY, false)
  await until(() => two?.isOpen(KEY) === true)
  t.same(two?.openKeys(), [KEY])
  two?.succeeded(KEY)
  await until(() => one?.isOpen(KEY) === false)
  t.ok(one?.allows(KEY))
  t.same(other?.openKeys(), [], 'another service in the same process')
  const bounds = { leastMs: 1000, usualMs: 1800, mostMs: 6000 }
  for (let i = 0; i < 3; i++) {
    const wait = one?.deadlines.begin(KEY)
    clock.advance(2000)
    wait?.answered()
  }
  await until(() => two?.deadlines.of(KEY, bounds) === 2600)
  t.equal(one?.deadlines.of(KEY, bounds), 2600)
  t.equal(other?.deadlines.of(KEY, bounds), 1800)
  const manners = [one, two, other].map((breakers) => breakers?.manners.of<readonly string[]>('a'))
  manners[1]?.set('m', ['no stream_options'])
  await until(() => manners[0]?.get('m') !== undefined)
  t.same(manners[0]?.get('m'), ['no stream_options'])
  t.equal(manners[2]?.get('m'), undefined, 'another service in the same process')
  t.equal(one?.manners.of('b').get('m'), undefined, 'another vendor with a model of the same name')
})
