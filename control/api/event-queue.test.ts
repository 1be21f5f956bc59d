import t from 'tap'
import { EventQueue } from './event-queue.js'

const event = (data: number) => ({ event: 'n', data, id: String(data) })

t.test('events wait and are merged by key, the newest last', async (t) => {
  let closed = 0
  const queue = new EventQueue(() => closed++)
  const first = queue.next()
  queue.push('a', event(1))
  t.same(await first, [event(1)], 'a waiting reader gets an event at once')
  queue.push('a', event(2))
  queue.push('b', event(3))
  queue.push('a', event(4))
  t.same(await queue.next(), [event(3), event(4)], 'ids stay in order')
  const pending = queue.next()
  queue.close()
  queue.close()
  t.equal(await pending, null)
  queue.push('a', event(5))
  t.equal(await queue.next(), null)
  t.equal(closed, 1)
})

t.test('an end follows the waiting events', async (t) => {
  const queue = new EventQueue(() => {})
  queue.push('a', event(1))
  queue.end('over')
  queue.push('b', event(2))
  t.same(await queue.next(), [event(1), { event: 'end', data: { reason: 'over' } }])
  t.equal(await queue.next(), null)
})

t.test('a reader that leaves too much unread is disconnected', async (t) => {
  const queue = new EventQueue(() => {}, 2)
  for (const key of ['a', 'b', 'c', 'd']) queue.push(key, event(1))
  t.same(await queue.next(), [{ event: 'end', data: { reason: 'slow' } }])
  t.equal(await queue.next(), null)
})
