import t from 'tap'
import { VirtualClock } from '../fixtures/clock.js'
import { InfoDigits, TWIN_WAIT_MS } from './info-digits.js'

function rig() {
  const clock = new VirtualClock()
  const heard: string[] = []
  return { clock, heard, digits: new InfoDigits(clock, (digit) => heard.push(digit)) }
}

t.test('without telephone-event every INFO is a key, at once', async (t) => {
  const { digits, heard, clock } = rig()
  for (const digit of ['1', '1', '#'] as const) digits.told(digit, 100, false)
  t.strictSame(heard, ['1', '1', '#'])
  t.equal(clock.pending, 0)
})

t.test('with it, a key waits for its twin and comes in order', async (t) => {
  const { digits, heard, clock } = rig()
  digits.told('4', 100, true)
  clock.advance(200)
  digits.told('2', 100, true)
  clock.advance(TWIN_WAIT_MS - 201)
  t.strictSame(heard, [])
  clock.advance(1)
  t.strictSame(heard, ['4'])
  clock.advance(200)
  t.strictSame(heard, ['4', '2'])
})

t.test('a peer that sends both is heard once', async (t) => {
  const { digits, heard, clock } = rig()
  digits.told('4', 100, true)
  clock.advance(100)
  digits.heard()
  digits.told('2', 100, true)
  digits.heard()
  clock.advance(5_000)
  t.strictSame(heard, [], 'RTP has delivered them itself')
  t.equal(clock.pending, 0)
})

t.test('closing leaves nothing', async (t) => {
  const { digits, heard, clock } = rig()
  digits.told('4', 100, true)
  digits.close()
  clock.advance(5_000)
  t.strictSame(heard, [])
  t.equal(clock.pending, 0)
})
