import t from 'tap'
import { AckQueue } from './ack-queue.js'

function rig() {
  const given: string[] = []
  const words = { markAck: (name: string) => name, playedAck: (id: string) => id, clearAck: () => 'clear' }
  const answers = new AckQueue(words, (message) => given.push(message ?? 'nothing'))
  const mark = (name: string) => answers.push({ type: 'mark', name, how: 'played' })
  return { given, answers, mark }
}

t.test('a few marks are acknowledged at once', async (t) => {
  const { given, answers, mark } = rig()
  mark('a')
  answers.push({ type: 'clear', droppedMs: 20 })
  t.strictSame(given, ['a', 'clear'])
  t.equal(answers.active, true)
  answers.tick()
  t.equal(answers.active, false)
})

t.test('thousands are acknowledged in order, 25 per tick', async (t) => {
  const { given, answers, mark } = rig()
  for (let i = 0; i < 10_000; i++) mark(String(i))
  answers.push({ type: 'clear', droppedMs: 20 })
  t.equal(given.length, 25)
  let beats = 0
  let most = 0
  while (answers.pending > 0) {
    const before = given.length
    answers.tick()
    if (beats++ < 300) mark('late')
    most = Math.max(most, given.length - before)
  }
  t.equal(most, 25)
  t.equal(beats, Math.ceil((10_001 + 300 - 25) / 25))
  t.strictSame(
    given.slice(0, 10_000),
    Array.from({ length: 10_000 }, (_, i) => String(i)),
  )
  t.equal(given[10_000], 'clear')
  t.ok(
    given.slice(10_001).every((name) => name === 'late'),
    'what comes later waits its turn',
  )
})

t.test('the queue is limited', async (t) => {
  const { answers, mark } = rig()
  let taken = 0
  while (mark('x')) taken++
  t.equal(taken, 20_025)
  t.equal(answers.pending, 20_000)
})
