import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { tone, usualToneLevel } from '../../fixtures/audio/tones.js'
import { readWav } from '../../fixtures/audio/wav.js'
import { HUMS, PARTING_LINES, TransferRig } from '../../fixtures/rigs/transfer-rig.js'
import { openVirtualCall } from '../../fixtures/virtual-call/virtual-call.js'
import type { TakeoverPlan, TransferPlan } from './ports.js'

/*
 * Takeovers over real RTP: tones prove who hears whom at each moment.
 */

const outcomes = ({ monitored }: TransferRig) =>
  monitored.map(({ mode, status, outcome }) => `${mode} ${status} ${outcome}`)

t.test('a person takes the caller over by telephone, and gives the caller back', async (t) => {
  const rig = await TransferRig.open({ heard: ['Where is my order?', 'It leaves today.'], hums: false })
  rig.phone('person', { answersAfterMs: 2_000, hums: false })
  t.equal(rig.takeOver({ languages: ['en-IN'] }), null)
  t.equal(rig.takeOver(), 'taken_over', 'one at a time')
  await rig.until('the answer', () => rig.dialled.length === 1)
  await rig.clock.wait(2_100)
  const { peer } = rig.person()
  t.same(
    await rig.hear(rig.caller, peer),
    ['nothing', 'agent'],
    'the person is asked for a key; the caller hears none of it',
  )
  t.same(rig.agent, [], 'the agent still has the caller')
  peer.press('1')
  await rig.takeover('begun')
  t.same(rig.agent, ['left'])
  const both = [rig.caller, peer] as const
  rig.caller.say(tone(HUMS.caller, 1_000))
  await rig.until('the words of the caller', () => rig.kept.length === 1)
  peer.say(tone(HUMS.person, 1_000))
  await rig.until('the words of the person', () => rig.kept.length === 2)
  rig.caller.say(tone(HUMS.caller, 3_500))
  peer.say(tone(HUMS.person, 3_500))
  t.same(await rig.hear(...both), ['person', 'caller'], 'caller and person hear each other only')

  t.equal(rig.giveBack('Offer a refund.'), true)
  t.equal(rig.giveBack(), false, 'once')
  t.same(await rig.hear(...both), ['agent', 'nothing'], 'the caller hears the agent again')
  t.same(rig.agent, ['left', 'returned'])
  t.same(rig.kept.slice(0, 2), ['caller: Where is my order?', 'human: It leaves today.'])
  t.match(JSON.parse(rig.notes[0] ?? ''), {
    lines: [
      { by: 'caller', text: 'Where is my order?' },
      { by: 'person', text: 'It leaves today.' },
    ],
    message: 'Offer a refund.',
  })
  t.same(outcomes(rig), ['takeover begun null', 'takeover over given_back'])
  await rig.until('the end of the leg', () => rig.released === 1)

  t.equal(rig.takeOver({ prompt: null, announcement: null, returnLine: null }), null, 'and once more')
  await rig.takeover('begun', 2)
  await rig.close()
  t.equal(outcomes(rig).at(-1), 'takeover over call_ended')
})

t.test('the person hangs up, and the agent has the caller again', async (t) => {
  const rig = await TransferRig.open()
  rig.phone('person', { answersAfterMs: 1_000 })
  rig.takeOver({ prompt: null })
  await rig.clock.wait(1_100)
  t.same(await rig.hear(rig.caller), ['agent'], 'the caller hears that somebody comes')
  await rig.takeover('begun')
  t.same(await rig.hear(rig.caller, rig.person().peer), ['person', 'caller'])
  rig.person().hangUp()
  t.same(await rig.hear(rig.caller), ['agent'])
  t.same(outcomes(rig), ['takeover begun null', 'takeover over left'])
  t.equal(rig.ending, null, 'the call goes on')
  await rig.close()
})

t.test('nobody takes the call: the agent never left', async (t) => {
  const busy = { by: 'callee', cause: 'busy', fault: 'none', sip: 486 } as const
  const rows = [
    [{ answersAfterMs: null, refuses: busy }, 'busy'],
    [{ answersAfterMs: null }, 'no_answer'],
    // A mailbox presses no key.
    [{ answersAfterMs: 1_000 }, 'no_answer'],
  ] as const
  for (const [phone, outcome] of rows) {
    const rig = await TransferRig.open()
    rig.phone('person', phone)
    rig.takeOver()
    await rig.takeover('over')
    t.same(outcomes(rig), [`takeover over ${outcome}`])
    t.same([rig.agent, rig.notes], [[], []])
    t.equal(rig.ending, null)
    await rig.close()
  }
  const rig = await TransferRig.open()
  rig.phone('person', { answersAfterMs: 1_000 })
  rig.takeOver()
  await rig.clock.wait(2_000)
  rig.person().peer.press('2')
  await rig.takeover('over')
  const again = (change: Partial<TakeoverPlan>) => rig.until('the next', () => rig.takeOver(change) === null)
  await again({ clear: async () => null })
  await rig.takeover('over', 2)
  await again({})
  t.equal(rig.giveBack(), true)
  await rig.takeover('over', 3)
  t.same(
    outcomes(rig),
    ['declined', 'destination_unavailable', 'withdrawn'].map((why) => `takeover over ${why}`),
  )
  t.same(rig.agent, [])
  await rig.close()
})

t.test('the call ends while the person is asked for a key, or waits for the caller', async (t) => {
  for (const by of ['caller', 'other'] as const) {
    for (const accepts of [false, true]) {
      const rig = await TransferRig.open()
      rig.phone('person', { answersAfterMs: 1_000 })
      rig.takeOver()
      await rig.until('the question', () => rig.spoken.some((text) => text.includes('Press one')))
      await rig.clock.wait(500)
      const person = rig.person()
      if (accepts) {
        person.peer.press('1')
        await rig.until('the line to the caller', () => rig.spoken.at(-1)?.startsWith('One moment') === true)
      }
      const { heard, voiceMs } = await rig.hangUp(person, by)
      t.same(heard, ['nothing', 'agent'], 'the person alone hears a line')
      t.equal(rig.spoken.at(-1), PARTING_LINES[by])
      t.ok(voiceMs > 1_000, `${voiceMs} ms`)
      t.same(outcomes(rig), ['takeover over call_ended'])
      t.same([rig.released, rig.left, rig.agent], [1, ['person'], []])
      await rig.close()
    }
  }
})

t.test('a recording masks the person when it is to', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-takeover-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const levels = async (records: boolean) => {
    const rig = await TransferRig.open({ recordTo: join(folder, `${records}.wav`) })
    rig.phone('person', { answersAfterMs: 500 })
    rig.takeOver({ prompt: null, announcement: null, returnLine: null, records })
    await rig.takeover('begun')
    await rig.clock.wait(3_000)
    rig.giveBack()
    await rig.takeover('over')
    await rig.clock.wait(500)
    const { recording } = await rig.close()
    const { channels } = readWav(readFileSync(recording?.path ?? ''))
    const [left, right] = channels.map((pcm) => pcm.subarray(16_000, 24_000))
    return [
      usualToneLevel(left ?? new Int16Array(), HUMS.caller),
      usualToneLevel(right ?? new Int16Array(), HUMS.person),
    ]
  }
  for (const level of await levels(true)) t.ok(level > 0.1, `${level}`)
  for (const level of await levels(false)) t.ok(level < 0.01, `${level}`)
})

t.test('takeovers and transfers exclude each other', async (t) => {
  const call = await openVirtualCall()
  const takeover: TakeoverPlan = {
    ...{ id: 'mon_1', by: 'usr_1', ringTimeoutMs: 5_000, prompt: null, announcement: null, returnLine: null },
    ...{ languages: null, records: true, partingLine: null },
    ...{ report: () => '', clear: () => new Promise(() => {}) },
  }
  const transfer = {
    ...{ mode: 'blind', destination: 'xfr_1', fallback: null, ringTimeoutMs: 5_000, announcement: null },
    ...{ waitLine: null, missLine: null, returnLine: null, report: null, listening: null, recordTo: null },
    ...{
      describe: () => ({}),
      brief: () => ({ text: '', keys: '' }),
      partingLine: () => null,
      clear: () => new Promise(() => {}),
    },
  } as TransferPlan
  t.equal(call.control.takeOver('call_9', takeover), 'call_ending')
  t.equal(call.control.giveBack('call_1', null), false)
  t.equal(call.control.takeOver('call_1', takeover), null)
  t.equal(call.control.transfer('call_1', transfer), 'transfer_in_progress')
  t.equal(call.control.giveBack('call_1', null), true)
  await call.run(6_000)
  t.equal(call.control.transfer('call_1', transfer), null)
  t.equal(call.control.takeOver('call_1', { ...takeover, id: 'mon_2' }), 'transfer_in_progress')
  await call.run(6_000)
  t.equal(call.control.takeOver('call_1', { ...takeover, id: 'mon_3' }), null, 'after the transfer failed')
  call.caller.hangUp()
  await call.until('the end', () => call.of('ended').length > 0)
  t.match(call.of('monitored').at(-1), { id: 'mon_3', status: 'over', outcome: 'call_ended' })
  t.equal(call.control.takeOver('call_1', takeover), 'call_ending')
  await call.close()
})
