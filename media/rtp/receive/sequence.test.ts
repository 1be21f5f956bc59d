import t from 'tap'
import {
  DUPLICATE,
  FRESH,
  RESTART,
  SequenceTracker,
  STALE,
  sequenceDelta,
  timestampDelta,
} from './sequence.js'

t.test('differences across the wrap', (t) => {
  t.equal(sequenceDelta(1, 65535), 2)
  t.equal(sequenceDelta(65535, 1), -2)
  t.equal(sequenceDelta(32767, 0), 32767)
  t.equal(sequenceDelta(32768, 0), -32768)
  t.equal(timestampDelta(100, 0xffffffff), 101)
  t.equal(timestampDelta(0xffffffff, 100), -101)
  t.equal(timestampDelta(0x80000000, 0), -0x80000000)
  t.end()
})

t.test('in order over three wraps: nothing lost, numbers grow by one', (t) => {
  const tracker = new SequenceTracker()
  let last = -1
  for (let i = 0; i < 3 * 65536; i++) {
    if (tracker.update((65000 + i) & 0xffff) !== FRESH) throw new Error(`packet ${i} is not fresh`)
    if (last !== -1 && tracker.extended !== last + 1) throw new Error(`packet ${i} jumped`)
    last = tracker.extended
  }
  t.equal(tracker.lost, 0)
  t.equal(tracker.duplicates, 0)
  t.end()
})

t.test('loss, reordering and duplicates around the wrap', (t) => {
  const tracker = new SequenceTracker()
  t.equal(tracker.update(65534), FRESH)
  t.equal(tracker.update(1), FRESH)
  t.equal(tracker.lost, 2)
  t.equal(tracker.update(65535), FRESH)
  t.equal(tracker.lost, 1)
  t.equal(tracker.update(65535), DUPLICATE)
  t.equal(tracker.update(1), DUPLICATE)
  t.equal(tracker.duplicates, 2)
  t.equal(tracker.lost, 1)
  t.equal(tracker.update(65533), FRESH, 'from before the first')
  t.equal(tracker.lost, 1)
  t.end()
})

t.test('far behind is stale, a wild jump starts over and keeps the count', (t) => {
  const tracker = new SequenceTracker()
  tracker.update(1000)
  tracker.update(1400)
  t.equal(tracker.lost, 399)
  t.equal(tracker.update(1001), STALE)
  t.equal(tracker.update(30000), RESTART)
  t.equal(tracker.update(30001), FRESH)
  t.equal(tracker.lost, 399)
  t.equal(tracker.update(30003), FRESH)
  t.equal(tracker.lost, 400)
  tracker.restart()
  t.equal(tracker.update(5), FRESH)
  t.equal(tracker.lost, 400)
  t.end()
})
