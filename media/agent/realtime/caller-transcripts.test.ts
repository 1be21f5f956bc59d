import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import type { ConversationEvent } from '../conversation-events.js'
import { isBackchannel } from '../language/backchannel.js'
import { CallerTranscripts, EventQueue, keyedDigits } from './caller-transcripts.js'

const interrupted = (turnId: number): ConversationEvent => ({ type: 'interrupted', turnId, atMs: 0 })

/** A queue whose events are identified by a number. */
function line() {
  const clock = new VirtualClock()
  const told: string[] = []
  const events = new EventQueue(
    (event) => told.push('turnId' in event ? `${event.turnId}` : event.type),
    clock,
  )
  return { clock, told, events }
}

t.test('transcripts replace their placeholders whenever they arrive', async (t) => {
  const words = new CallerTranscripts()
  const text = `${words.mark('a')} ${words.mark('b', 'haan')} 12`
  t.equal(words.read(text, true), null, 'the first is awaited')
  t.equal(words.read(text, false), '[…] haan 12')
  words.resolve('a', 'My number is')
  t.equal(words.read(text, true), 'My number is haan 12')
  t.equal(keyedDigits(text), '12')
  words.resolve('b', null)
  t.equal(words.read(words.mark('b'), true), '[…]', 'they will not come')
  words.resolve('c', '')
  t.equal(words.read(words.mark('c'), true), '')
  words.mark('d')
  words.giveUp()
  t.equal(words.read(words.mark('d'), true), '[…]')
  t.equal(words.read('no mark at all', true), 'no mark at all')
})

t.test('a placeholder alone is not a word and does not change its words', async (t) => {
  const words = new CallerTranscripts()
  t.equal(isBackchannel(words.mark('a'), true), false)
  t.equal(isBackchannel(words.mark('b', 'mm-hmm'), false), true)
  t.equal(isBackchannel(words.mark('c', 'stop'), false), false)
})

t.test('events keep their order; DTMF and answered_by are not delayed', async (t) => {
  const { told, events, clock } = line()
  let known = false
  events.push(interrupted(1))
  events.pushDeferred((waiting) => (known || !waiting ? interrupted(2) : null))
  events.push(interrupted(3))
  events.push({ type: 'dtmf', digit: '1', atMs: 0, durationMs: 100 })
  t.same(told, ['1', 'dtmf'])
  known = true
  events.advance()
  t.same(told, ['1', 'dtmf', '2', '3'])
  events.pushDeferred(() => 'none')
  events.push(interrupted(4))
  t.same(told.slice(4), ['4'], 'nothing to tell holds nothing up')
  t.equal(clock.pending, 0)
})

t.test('overdue events are emitted one by one; the end emits all', async (t) => {
  const { told, events, clock } = line()
  const overdue = (turnId: number) => (waiting: boolean) => (waiting ? null : interrupted(turnId))
  events.pushDeferred(overdue(1))
  clock.advance(3000)
  events.pushDeferred(overdue(2))
  events.push(interrupted(3))
  clock.advance(1000)
  t.same(told, ['1'])
  clock.advance(4000)
  t.same(told, ['1', '2', '3'])
  events.pushDeferred(overdue(4))
  events.push({ type: 'finished', why: 'silence' })
  t.same(told.slice(3), ['4', 'finished'])
  t.equal(clock.pending, 0, 'no timer left')
})
