import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import type { Digit } from '../../media/base/frame.js'
import type { CollectOptions } from '../channel/protocol.js'
import { KeyCollector } from './key-collector.js'

const FOUR: CollectOptions = { maxDigits: 4, terminator: '#', timeoutMs: 5000 }

function press(keys: KeyCollector, digits: string): readonly boolean[] {
  return [...digits].map((digit) => keys.take(digit as Digit))
}

t.test('a collection ends at its last key, and later keys are not its own', async (t) => {
  const keys = new KeyCollector(new VirtualClock())
  const collected = keys.collect(FOUR)
  t.strictSame(press(keys, '12345'), [true, true, true, true, false])
  t.strictSame(await collected, { digits: '1234', ending: 'complete' })
})

t.test('the terminator ends a collection and is not part of it', async (t) => {
  const keys = new KeyCollector(new VirtualClock())
  const collected = keys.collect(FOUR)
  t.strictSame(press(keys, '12#'), [true, true, true])
  t.strictSame(await collected, { digits: '12', ending: 'terminator' })
  const plain = keys.collect({ ...FOUR, terminator: null })
  press(keys, '12#4')
  t.strictSame(await plain, { digits: '12#4', ending: 'complete' })
})

t.test('a collection ends at its time limit with the keys so far', async (t) => {
  const clock = new VirtualClock()
  const keys = new KeyCollector(clock)
  const collected = keys.collect(FOUR)
  press(keys, '7')
  clock.advance(4999)
  t.strictSame(press(keys, '8'), [true])
  clock.advance(1)
  t.strictSame(await collected, { digits: '78', ending: 'timeout' })
  t.strictSame(press(keys, '9'), [false])
})

t.test('another collection and the end of the leg end a collection', async (t) => {
  const keys = new KeyCollector(new VirtualClock())
  const first = keys.collect(FOUR)
  press(keys, '1')
  const second = keys.collect(FOUR)
  t.strictSame(await first, { digits: '1', ending: 'left' })
  keys.close()
  t.strictSame(await second, { digits: '', ending: 'left' })
})

t.test('values out of range are refused', (t) => {
  const keys = new KeyCollector(new VirtualClock())
  for (const wrong of [{ maxDigits: 0 }, { maxDigits: 65 }, { timeoutMs: 0 }, { timeoutMs: 120_001 }]) {
    t.throws(() => keys.collect({ ...FOUR, ...wrong }), { code: 'config_invalid' })
  }
  t.end()
})
