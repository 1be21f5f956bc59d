import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { DtmfMerger, DUPLICATE_WAIT_MS } from './dtmf-merger.js'

function rig() {
  const clock = new VirtualClock()
  const heard: string[] = []
  return { clock, heard, digits: new DtmfMerger(clock, (digit) => heard.push(digit)) }
}

t.test('without telephone-event, every INFO digit is delivered at once', async (t) => {
  const { digits, heard, clock } = rig()
  for (const digit of ['1', '1', '#'] as const) digits.onInfo(digit, 100, false)
  t.strictSame(heard, ['1', '1', '#'])
  t.equal(clock.pending, 0)
})

t.test('with telephone-event, an INFO digit waits for its duplicate and is delivered in order', async (t) => {
  const { digits, heard, clock } = rig()
  digits.onInfo('4', 100, true)
  clock.advance(200)
  digits.onInfo('2', 100, true)
  clock.advance(DUPLICATE_WAIT_MS - 201)
  t.strictSame(heard, [])
  clock.advance(1)
  t.strictSame(heard, ['4'])
  clock.advance(200)
  t.strictSame(heard, ['4', '2'])
})

t.test('a digit sent in both ways counts once', async (t) => {
  const { digits, heard, clock } = rig()
  digits.onInfo('4', 100, true)
  clock.advance(100)
  digits.onRtpEvent()
  digits.onInfo('2', 100, true)
  digits.onRtpEvent()
  clock.advance(5_000)
  t.strictSame(heard, [], 'RTP has delivered them itself')
  t.equal(clock.pending, 0)
})

t.test('closing leaves no timer', async (t) => {
  const { digits, heard, clock } = rig()
  digits.onInfo('4', 100, true)
  digits.close()
  clock.advance(5_000)
  t.strictSame(heard, [])
  t.equal(clock.pending, 0)
})

t.test('digits from tones alone are delivered at once', async (t) => {
  const { digits, heard, clock } = rig()
  for (const digit of ['1', '1', '#'] as const) digits.onTone(digit, 80, false)
  t.strictSame(heard, ['1', '1', '#'])
  t.equal(clock.pending, 0)
  t.ok(digits.acceptsTones)
})

t.test('a tone followed by its INFO is one digit; INFO is the source from then on', async (t) => {
  const { digits, heard, clock } = rig()
  digits.onTone('1', 80, false)
  digits.onTone('1', 80, false)
  clock.advance(100)
  digits.onInfo('1', 100, false)
  digits.onInfo('1', 100, false)
  t.strictSame(heard, ['1', '1'])
  t.notOk(digits.acceptsTones)
  digits.onInfo('2', 100, false)
  digits.onTone('2', 80, false)
  t.strictSame(heard, ['1', '1', '2'])
  clock.advance(5_000)
  digits.onInfo('2', 100, false)
  t.strictSame(heard, ['1', '1', '2', '2'], 'the same key again is another press')
})

t.test('an old tone is not a duplicate', async (t) => {
  const { digits, heard, clock } = rig()
  digits.onTone('1', 80, false)
  clock.advance(DUPLICATE_WAIT_MS + 1)
  digits.onInfo('1', 100, false)
  t.strictSame(heard, ['1', '1'])
})

t.test('with telephone-event, a tone waits for its RTP event and is delivered without one', async (t) => {
  const { digits, heard, clock } = rig()
  digits.onTone('7', 80, true)
  clock.advance(DUPLICATE_WAIT_MS)
  t.strictSame(heard, ['7'], 'negotiated, but never used')
  digits.onTone('8', 80, true)
  clock.advance(60)
  digits.onRtpEvent()
  digits.onTone('9', 80, true)
  clock.advance(5_000)
  t.strictSame(heard, ['7'], 'RTP has delivered them itself')
  t.notOk(digits.acceptsTones)
  t.equal(clock.pending, 0)
})

t.test('INFO replaces waiting tones', async (t) => {
  const { digits, heard, clock } = rig()
  digits.onTone('3', 80, true)
  digits.onInfo('3', 80, true)
  clock.advance(5_000)
  t.strictSame(heard, ['3'])
  t.equal(clock.pending, 0)
})
