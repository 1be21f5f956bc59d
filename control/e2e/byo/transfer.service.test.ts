import t from 'tap'
import { presented, WIRES } from '../../../fixtures/bots/transferring-bot.js'

/* Consultations that a bot asks for over the trunk of the customer. */

for (const wire of WIRES) {
  t.test(`${wire.name}: the person takes the call by a key`, { timeout: 250_000 }, async (t) => {
    const { caller, there, dialog, person, step, hear, record } = await presented(t, wire)
    t.same(await hear(), ['music', 'second', 'person'], 'bot and person talk, the caller waits')
    person.press('1')
    await step('completed')
    await there.until('the end of the bot', () => there.closed !== null)
    t.equal(there.closed?.code, 1000)
    const stop = there.messagesOfType('stop').at(-1)?.json
    if (wire.endpoint.type === 'static') t.match(stop, { stop: { reason: 'transferred' } })
    t.same((await hear()).slice(0, 2), ['person', 'caller'])
    dialog.bye()
    await caller.dialog.ended()
    t.match(await record(), {
      endedReason: 'transfer_completed',
      charges: [
        { kind: 'agent', ratePaisePerMinute: 150 },
        { kind: 'human', ratePaisePerMinute: 150 },
      ],
      transfer: { mode: 'consult', trigger: 'byo', status: 'completed', outcome: 'connected' },
    })
  })

  if (wire.endpoint.type !== 'twilio') {
    t.test(`${wire.name}: the bot understands the person, who declines`, { timeout: 250_000 }, async (t) => {
      const { caller, there, dialog, step, hear } = await presented(t, wire, 'warm')
      t.same(await hear(), ['music', 'second', 'person'], 'bot and person talk, the caller waits')
      there.send({ event: 'transfer', transfer: { id: 't1', decision: 'decline' } })
      t.match(await step('failed'), { id: 't1', mode: 'consult', code: 'declined' })
      await dialog.ended()
      t.same((await hear())[0], 'second', 'the bot has its caller back')
      await caller.hangUp()
    })
    t.test(`${wire.name}: the bot understands the person, who accepts`, { timeout: 250_000 }, async (t) => {
      const { caller, there, dialog, step, hear } = await presented(t, wire, 'warm')
      there.send({ event: 'transfer', transfer: { id: 't1', decision: 'accept' } })
      t.match(await step('completed'), { id: 't1', mode: 'consult' })
      t.same((await hear()).slice(0, 2), ['person', 'caller'])
      caller.rtp.press('5')
      dialog.bye()
      await caller.dialog.ended()
    })
    continue
  }
  t.test(`${wire.name}: what the person says decides nothing`, { timeout: 250_000 }, async (t) => {
    const { caller, there, dialog, step, hear } = await presented(t, wire)
    // The person hums on and presses no key: only the bot listens to it.
    t.match(await step('failed'), { id: 't1', code: 'no_answer' })
    await dialog.ended()
    t.same(await hear(), ['second', 'nothing', 'caller'], 'the bot has its caller back')
    there.send({ event: 'transfer', transfer: { id: 't2', destination: '+918045000000' } })
    t.match(await step('rejected'), { id: 't2', code: 'destination_not_allowed' })
    await caller.hangUp()
  })
}
