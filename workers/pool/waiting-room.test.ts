import t, { type Test } from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { settle } from '../../fixtures/host/settle.js'
import { HOLD_MS, WaitingRoom } from './waiting-room.js'

function setUp(t: Test) {
  const clock = new VirtualClock()
  const state = { room: 0, refreshed: 0 }
  const waitingRoom = new WaitingRoom<number>(clock, () => {
    state.refreshed++
  })
  t.teardown(() => waitingRoom.close())
  const outcomes = new Map<string, number | string | null>()
  const wait = (session: string): void => {
    const attempt = () => (state.room > 0 ? state.room-- : null)
    waitingRoom.wait(session, attempt).then(
      (place) => outcomes.set(session, place),
      (error: Error) => outcomes.set(session, error.message),
    )
  }
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settle()
  }
  return { clock, state, waitingRoom, outcomes, wait, pass }
}

t.test('a session that finds room within half a second is served, in order of arrival', async (t) => {
  const { state, waitingRoom, outcomes, wait, pass } = setUp(t)
  wait('a')
  wait('b')
  t.equal(waitingRoom.size, 2)
  t.ok(state.refreshed > 0)
  await pass(200)
  t.equal(outcomes.size, 0)
  state.room = 1
  await pass(100)
  t.strictSame([...outcomes], [['a', 1]])
  state.room = 1
  await pass(100)
  t.strictSame([...outcomes.keys()], ['a', 'b'])
  t.equal(waitingRoom.size, 0)
})

t.test('without room the wait ends after half a second, and no timer is left', async (t) => {
  const { clock, outcomes, wait, pass } = setUp(t)
  wait('a')
  await pass(HOLD_MS - 60)
  t.equal(outcomes.size, 0)
  await pass(120)
  t.strictSame([...outcomes], [['a', null]])
  await pass(100)
  t.equal(clock.pending, 0)
})

t.test('a session that closes leaves the queue', async (t) => {
  const { state, waitingRoom, outcomes, wait, pass } = setUp(t)
  wait('a')
  wait('b')
  t.equal(waitingRoom.leave('a'), true)
  t.equal(waitingRoom.leave('a'), false)
  state.room = 1
  await pass(100)
  t.match(outcomes.get('a'), /closed/)
  t.equal(outcomes.get('b'), 1)
})

t.test('at most 200 wait, and closing ends all waits', async (t) => {
  const { waitingRoom, outcomes, wait, pass } = setUp(t)
  for (let i = 0; i <= 200; i++) wait(`s${i}`)
  await pass(0)
  t.equal(waitingRoom.size, 200)
  t.equal(outcomes.get('s200'), null)
  waitingRoom.close()
  await pass(0)
  t.equal(waitingRoom.size, 0)
  t.match(outcomes.get('s0'), /closed/)
})
