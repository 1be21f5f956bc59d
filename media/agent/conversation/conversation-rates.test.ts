import t from 'tap'
import { ConversationRig, type RigOptions } from '../../../fixtures/rigs/conversation-rig.js'
import type { SessionRate } from '../../base/frame.js'

/* A conversation has the same timing in sessions of 8 and 16 kHz. */

const ANSWER =
  'We are open from nine in the morning until seven in the evening. On Sunday we are closed all day. Shall I book a visit?'

/** A greeting, an interrupted answer, and one that a cough does not stop. */
async function talk(rate: SessionRate, options: RigOptions = {}) {
  const rig = new ConversationRig({
    ...options,
    rate,
    spec: { openingLine: 'Good morning, how can I help?' },
  })
  for (let i = 0; i < 4; i++) rig.speechScripts.push({ words: true, rate: 24_000 })
  await rig.start()
  await rig.until(() => rig.turns('agent').length === 1 && !rig.agentSounding)
  rig.modelScripts.push([
    { after: 100, text: ANSWER },
    { after: 0, done: true },
  ])
  rig.callerSound(300, { ms: 900, text: 'When are you open?' })
  await rig.until(() => rig.agentSounding)
  await rig.run(1200)
  rig.callerSound(0, { ms: 1400, text: 'Wait, how much is it?', partials: [[160, 'Wait']] })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  await rig.until(() => rig.requests.length === 2)
  await rig.until(() => rig.agentSounding)
  rig.callerSound(100, { ms: 160, text: '' })
  await rig.run(3000)
  const sent = rig.sentSamples() / rate
  return {
    events: rig.events,
    told: rig.contextLines(),
    sentMs: Math.round(sent * 1000),
    timers: rig.close(),
  }
}

t.test('both rates give the same events, the same context and the same amount of speech', async (t) => {
  const narrow = await talk(8000)
  const wide = await talk(16_000)
  t.ok(narrow.events.length > 8, `${narrow.events.length} events`)
  t.strictSame(wide.events, narrow.events)
  t.strictSame(wide.told, narrow.told)
  t.equal(wide.sentMs, narrow.sentMs)
  t.equal(wide.timers, 0)
})
