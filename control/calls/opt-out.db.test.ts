import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import type { AnsweredBy } from '../../media/agent/answering-machine/answering-machine-detector.js'
import type { Turn } from '../../media/agent/conversation-events.js'
import { optOutTool } from './opt-out.js'

const PERSON = '+919876543210'
const ENDED = {
  type: 'ended',
  ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
  rtp: null,
  recording: null,
} as const

const said = (text: string, id: number) => ({
  type: 'turn' as const,
  turn: {
    ...{ id, speaker: 'caller', text, heardText: text, language: 'en-IN' },
    ...{ startMs: 0, endMs: 900, words: null },
  } satisfies Turn as Turn,
})
const pressed = (digit: '9') => ({ type: 'dtmf' as const, digit, atMs: 0, durationMs: 100 })

await onEachDialect(t, async (t, open) => {
  const start = async (optOut: object = {}) => {
    const calling = await openTestCalling(await open())
    await calling.publishAgent({ callSettings: { optOut } })
    const placed = await calling.send('POST', '/v1/calls', {
      json: { to: PERSON, numberId: calling.numberId },
    })
    const id = String(dataOf(placed).id)
    await calling.emitCallEvent(id, { type: 'answered' })
    return {
      calling,
      id,
      emit: (...events: Parameters<typeof calling.emitCallEvent>[1][]) =>
        calling.emitCallEvent(id, ...events),
      by: (by: AnsweredBy) =>
        calling.emitCallEvent(id, { type: 'answered_by', by, evidence: 'words', atMs: 0 }),
      listed: async () => itemsOf(await calling.send('GET', '/v1/dnc')),
    }
  }

  await t.test('words of a person suppress the number, and the next call is refused', async (t) => {
    const { calling, id, emit, by, listed } = await start()
    await by('human')
    await emit(said('Please call me tomorrow.', 1))
    t.same(await listed(), [])
    await emit(said('No. Please do not call me again.', 2))
    t.match(await listed(), [
      {
        e164: PERSON,
        source: 'opt_out',
        callId: id,
        reason: 'Asked for no more calls',
        createdBy: { type: 'call', id },
      },
    ])
    const again = await calling.send('POST', '/v1/calls', {
      json: { to: PERSON, numberId: calling.numberId },
    })
    t.match(again, {
      status: 403,
      body: { error: { code: 'blocked_dnd', details: { checkType: 'dnc' } } },
    })
    await calling.close()
  })

  await t.test('an opt-out of somebody who called says that the number is not proven', async (t) => {
    const { calling, id, emit, listed } = await start()
    await calling.deps.db
      .updateTable('calls')
      .set({ direction: 'inbound', fromNumber: PERSON, toNumber: calling.number })
      .where('id', '=', id)
      .execute()
    await emit(said('No. Please do not call me again.', 1))
    t.match(await listed(), [
      { e164: PERSON, reason: 'Asked for no more calls (the number that called is not proven)' },
    ])
    await calling.close()
  })

  await t.test('words wait until a person is known to have answered; voicemail never opts out', async (t) => {
    const first = await start()
    await first.emit(said('Stop calling me.', 1))
    t.same(await first.listed(), [])
    await first.by('human')
    t.equal((await first.listed()).length, 1)
    await first.calling.close()

    const machine = await start({ dtmfKey: '9' })
    await machine.emit(said('Please do not call me again.', 1))
    await machine.by('voicemail')
    await machine.emit(pressed('9'), said('9', 2), said('Do not call us.', 3), ENDED)
    t.same(await machine.listed(), [])
    const tool = optOutTool(machine.calling.deps)
    t.match(await tool(machine.id, { reason: '' }), { status: 'refused' })
    await machine.calling.close()

    const undecided = await start()
    await undecided.emit(said('Stop calling me.', 1), ENDED)
    t.equal((await undecided.listed()).length, 1, 'nothing detected a machine')
    await undecided.calling.close()
  })

  await t.test('the key counts when the agent has one and the person pressed it alone', async (t) => {
    const off = await start()
    await off.by('human')
    await off.emit(pressed('9'), said('9', 1))
    t.same(await off.listed(), [])
    await off.calling.close()

    const on = await start({ dtmfKey: '9', phrases: false })
    await on.by('human')
    await on.emit(said('Stop calling me.', 1), said('9', 2))
    t.same(await on.listed(), [], 'phrases are off, and a spoken nine is no key')
    await on.emit(pressed('9'), said('1990', 3))
    t.same(await on.listed(), [], 'part of a number')
    await on.emit(pressed('9'), said('9', 4))
    t.match(await on.listed(), [{ source: 'opt_out', reason: 'Pressed the opt-out key' }])
    await on.calling.close()
  })

  await t.test('the tool of the agent, with its reason', async (t) => {
    const { calling, id, listed } = await start()
    const tool = optOutTool(calling.deps)
    t.same(await tool(id, { reason: 'too many calls' }), { status: 'done' })
    t.match(await listed(), [{ e164: PERSON, reason: 'too many calls', callId: id }])
    t.match(await tool('call_nobody', { reason: '' }), { status: 'refused' })
    await calling.close()
  })
})
