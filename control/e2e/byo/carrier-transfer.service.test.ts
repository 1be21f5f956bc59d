import t from 'tap'
import { openCalls, requested, taken, WIRES } from '../../../fixtures/bots/transferring-bot.js'

/* Screened and blind transfers that a bot asks for over the trunk of a carrier. */

for (const wire of WIRES) {
  t.test(`${wire.name}: over a carrier, screened and then blind`, { timeout: 500_000 }, async (t) => {
    const calls = await openCalls(t, wire, 'carrier')
    const screened = await requested(t, calls, wire, {
      mode: 'screened',
      frame: { handoff: 'cold', note: 'The order is late.' },
    })
    await screened.answer()
    const waits = await screened.hear()
    // The brief is no hum, so that it reads as music.
    t.same(waits, ['music', 'music', 'nothing'], 'music, a brief, and a bot that hears neither party')
    screened.person.press('1')
    await taken(t, screened)
    screened.dialog.bye()
    await screened.caller.dialog.ended()
    const charges = [
      { kind: 'agent', ratePaisePerMinute: 200 },
      { kind: 'human', ratePaisePerMinute: 200 },
    ]
    t.match(await screened.record(), {
      ...{ endedReason: 'transfer_completed', charges },
      transfer: {
        ...{ mode: 'screened', trigger: 'byo', status: 'completed', outcome: 'connected' },
        brief: /The order is late\.$/,
      },
    })

    const blind = await requested(t, calls, wire, { mode: 'blind', frame: { blind: true } })
    const rings = await blind.hear()
    t.same(rings, ['ringback', 'nothing', 'nothing'], 'the telephone of the person rings')
    await blind.answer()
    await taken(t, blind)
    await blind.caller.hangUp()
    await blind.dialog.ended()
    t.match(await blind.record(), {
      ...{ endedReason: 'caller_hangup', charges },
      transfer: { mode: 'blind', trigger: 'byo', status: 'completed', outcome: 'connected', brief: null },
    })
  })
}
