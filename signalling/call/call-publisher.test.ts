import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { CallEvent } from './call-events.js'
import { CallPublisher } from './call-publisher.js'

t.test('setting the time of the machine during a call does not change how long it lasts', (t) => {
  const clock = new VirtualClock()
  let setMs = 0
  const moved = {
    now: () => clock.now(),
    wall: () => clock.wall() + setMs,
    after: (ms: number, run: () => void) => clock.after(ms, run),
  }
  const events: CallEvent[] = []
  const sink = { publish: (event: CallEvent) => void events.push(event) }
  const publisher = new CallPublisher('call_1', { events: sink, clock: moved, log: silentLog })
  const startedAt = moved.wall()
  publisher.answered()
  clock.advance(10_000)
  setMs = 300_000
  publisher.publish({ type: 'held', on: true })
  setMs = -300_000
  clock.advance(10_000)
  publisher.publish({ type: 'held', on: false })
  t.same(
    events.map(({ seq, at }) => [seq, at - startedAt]),
    [
      [1, 0],
      [2, 10_000],
      [3, 20_000],
    ],
  )
  t.end()
})
