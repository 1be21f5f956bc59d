import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { DEFAULT_SPEC } from '../../../fixtures/rigs/conversation-rig.js'
import { TurnLoop } from './turn-loop.js'
import { policyFor } from './turn-policy.js'

const POLICY = policyFor(DEFAULT_SPEC, {
  finalDeadlineMs: 800,
  firstTokenDeadlineMs: 1200,
  understandsSpeech: true,
  partials: true,
})

t.test('session time is that of the packets, however late the first beat was', async (t) => {
  const clock = new VirtualClock({ nowMs: 5_000 })
  const loop = new TurnLoop({ clock, policy: POLICY, run: () => {}, onFault: undefined })
  loop.begin()
  t.equal(loop.now(), 0)
  // Due at 5,015, run at 5,095, and the three after it at once: those behind are caught up.
  clock.advance(95)
  loop.tick(0)
  t.equal(loop.now(), 0, 'as far as it knows')
  for (const atMs of [20, 40, 60]) loop.tick(atMs)
  t.equal(loop.now(), 60)
  clock.advance(3)
  loop.tick(80)
  t.equal(loop.now(), 80)
  // On time from here on.
  clock.advance(17)
  loop.tick(100)
  t.equal(loop.now(), 100)
  clock.advance(20)
  loop.tick(120)
  t.equal(loop.now(), 120)
  // Late again: what is known does not change.
  clock.advance(70)
  loop.tick(140)
  t.equal(loop.now(), 190)
})
