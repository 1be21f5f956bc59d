import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { DEFAULT_SPEC } from '../../../fixtures/rigs/conversation-rig.js'
import { CallLanguage } from '../language/call-language.js'
import { TurnLoop } from './turn-loop.js'
import { policyFor } from './turn-policy.js'
import type { TurnEffect } from './turn-types.js'

const POLICY = policyFor(DEFAULT_SPEC, {
  finalDeadlineMs: 800,
  firstTokenDeadlineMs: 1200,
  understandsSpeech: true,
  partials: true,
})

function openLoop(
  clock: VirtualClock,
  run: (effect: TurnEffect, loop: TurnLoop) => void = () => {},
  onFault?: (error: unknown) => void,
) {
  const language = new CallLanguage(['en-IN'], false)
  const loop = new TurnLoop({ clock, language, emit: () => {}, onFault })
  let policies = 0
  loop.attach({
    run: (effect) => run(effect, loop),
    policy: () => {
      policies++
      return POLICY
    },
  })
  return { loop, policies: () => policies }
}

t.test('session time follows the packets even when the first tick is late', async (t) => {
  const clock = new VirtualClock({ nowMs: 5_000 })
  const { loop } = openLoop(clock)
  loop.begin()
  t.equal(loop.now(), 0)
  // Due at 5,015 ms, run at 5,095 ms; the next three ticks catch up at once.
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
  // A late tick does not change session time.
  clock.advance(70)
  loop.tick(140)
  t.equal(loop.now(), 190)
})

t.test('an input fed by an effect waits until all effects of the current one have run', async (t) => {
  const order: string[] = []
  const { loop } = openLoop(new VirtualClock(), (effect, loop) => {
    order.push(effect.type)
    if (effect.type !== 'sayPhrase') return
    loop.feed({ type: 'close', atMs: 0 })
    order.push('fed')
  })
  loop.feed({ type: 'start', opening: true, atMs: 0 })
  t.same(order.slice(0, 4), ['startTimer', 'sayPhrase', 'fed', 'finishSpeech'])
  t.equal(order.at(-1), 'stop')
  t.equal(loop.phase, 'ended')
})

t.test('the policy is derived once, and again after a change', async (t) => {
  const { loop, policies } = openLoop(new VirtualClock())
  loop.feed({ type: 'start', opening: false, atMs: 0 })
  loop.feed({ type: 'onset', fromMs: 0, atMs: 60 })
  t.equal(policies(), 1)
  loop.policyChanged()
  t.equal(policies(), 1, 'not before it is needed')
  loop.feed({ type: 'offset', lastVoicedMs: 300, atMs: 600 })
  t.equal(policies(), 2)
})

t.test('a failed effect ends the conversation and is reported once', async (t) => {
  const faults: unknown[] = []
  const broken = new Error('broken')
  const { loop } = openLoop(
    new VirtualClock(),
    () => {
      throw broken
    },
    (error) => faults.push(error),
  )
  loop.feed({ type: 'start', opening: true, atMs: 0 })
  loop.failed(new Error('second'))
  t.same(faults, [broken])
  t.equal(loop.phase, 'ended')
})

t.test('inputs before the conversation is complete are an error', async (t) => {
  const language = new CallLanguage(['en-IN'], false)
  const loop = new TurnLoop({ clock: new VirtualClock(), language, emit: () => {}, onFault: undefined })
  t.throws(() => loop.feed({ type: 'start', opening: false, atMs: 0 }), /not complete/)
})
