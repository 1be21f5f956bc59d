import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import type { ToolSpec } from '../agent-spec.js'
import type { TurnRecord } from '../conversation-events.js'

const LONG = 'We are open from nine in the morning until seven in the evening. On Sunday we are closed.'
const DOOR: ToolSpec = {
  name: 'door',
  description: 'Whether the door is open',
  parameters: [],
  speech: {},
  action: { kind: 'mock', response: 'It is open.' },
}

function ascending(times: readonly (number | null)[]): boolean {
  return times.every((at, i) => at !== null && (i === 0 || at >= (times[i - 1] ?? 0)))
}

/** The moments of a complete reply, in their order. */
function moments(record: TurnRecord | undefined): readonly (number | null)[] {
  if (!record) return [null]
  return [
    record.onsetMs,
    record.offsetMs,
    record.vadStopMs,
    record.sttFinalMs,
    record.decidedMs,
    record.modelRequestMs,
    record.modelFirstTokenMs,
    record.firstSentenceMs,
    record.ttsRequestMs,
    record.ttsFirstAudioMs,
    record.firstPacketMs,
    record.endMs,
  ]
}

async function begun(openingLine: string | null = null, tools: readonly ToolSpec[] = []) {
  const rig = new ConversationRig({ spec: { openingLine, tools } })
  await rig.start()
  return rig
}

t.test('a phrase and a reply each have a record', async (t) => {
  const rig = await begun('Good morning.')
  await rig.until(() => rig.turns('agent').length === 1)
  rig.modelScripts.push([
    { after: 150, text: 'We are open. ' },
    { after: 50, text: 'Do come.' },
    { after: 10, done: true, usage: { promptTokens: 90, completionTokens: 8 } },
  ])
  rig.callerSound(300, { ms: 900, text: 'Are you open?', finalAfterMs: 100 })
  await rig.until(() => rig.turns('agent').length === 2)
  const [line, reply] = rig.eventsOf('turn_record').map(({ record }) => record)
  t.match(line, {
    kind: 'line',
    ending: 'said',
    onsetMs: null,
    offsetMs: null,
    decidedMs: 0,
    modelRequestMs: null,
    ttsRequestMs: null,
    firstPacketMs: 0,
    speculation: null,
  })
  t.same(line?.usage.models, [])
  t.match(reply, { kind: 'reply', ending: 'said', interruptedMs: null, troubles: 0, speculation: null })
  t.ok(ascending(moments(reply)), JSON.stringify(moments(reply)))
  t.same(reply?.usage.models, [
    { vendor: 'main', model: 'm', requests: 1, counted: 1, promptTokens: 90, completionTokens: 8 },
  ])
  t.same(reply?.usage.speech, [{ vendor: 'main', model: null, requests: 2, characters: 20 }])
  t.equal(reply?.turnId, rig.turns('agent')[1]?.id)

  t.equal(rig.eventsOf('usage').length, 0)
  const beforeMs = rig.nowMs
  rig.close()
  const [total] = rig.eventsOf('usage').map(({ usage }) => usage)
  t.same(rig.events.at(-1)?.type, 'usage', 'the last thing that is told')
  t.same(total?.recognition, [{ vendor: 'main', model: null, audioMs: beforeMs }])
  t.same(total?.models, reply?.usage.models)
  // The greeting and the failure phrases were synthesised before the call was answered.
  t.ok((total?.speech[0]?.characters ?? 0) >= 20 + 'Good morning.'.length)
  const heardMs = [line, reply].map((record) => record?.usage.recognition[0]?.audioMs ?? 0)
  t.ok((heardMs[0] ?? 0) + (heardMs[1] ?? 0) <= beforeMs)
  t.notMatch(JSON.stringify(rig.eventsOf('turn_record')), /open|morning|come/i, 'nothing that was said')
  rig.close()
  t.equal(rig.eventsOf('usage').length, 1)
})

t.test('an interruption, and a vendor that reports no tokens', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 100, text: LONG },
    { after: 0, done: true },
  ])
  rig.callerSound(100, { ms: 900, text: 'When are you open?' })
  rig.callerSound(3200, { ms: 1200, text: 'Stop, please.', partials: [[200, 'Stop']] })
  await rig.until(() => rig.turns('agent').length === 1)
  const [record] = rig.eventsOf('turn_record').map(({ record }) => record)
  t.match(record, { ending: 'interrupted', interruptedMs: rig.turns('agent')[0]?.cutAtMs })
  t.same(record?.usage.models, [
    { vendor: 'main', model: 'm', requests: 1, counted: 0, promptTokens: null, completionTokens: null },
  ])
  rig.close()
})

t.test('an unheard reply is counted as well', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: 'Can I book' })
  rig.callerSound(1350, { ms: 900, text: 'a table?' })
  await rig.until(() => rig.turns('agent').length === 1)
  const records = rig.eventsOf('turn_record').map(({ record }) => record)
  t.match(records, [
    { ending: 'unheard', firstPacketMs: null, usage: { models: [{ requests: 1, counted: 0 }] } },
    { ending: 'said', usage: { models: [{ requests: 1 }] } },
  ])
  rig.close()
})

t.test('retries, tool rounds and a failed voice are counted', async (t) => {
  const rig = await begun(null, [DOOR])
  rig.modelScripts.push(
    [{ after: 50, fail: 'no' }],
    [
      { after: 50, tools: [{ id: 'c', name: 'door', arguments: {} }] },
      { after: 0, done: true, usage: { promptTokens: 40, completionTokens: 5 } },
    ],
    [
      { after: 50, text: 'It is open.' },
      { after: 0, done: true, usage: { promptTokens: 60, completionTokens: 4 } },
    ],
  )
  rig.speechScripts.push({ fail: 'no' }, { fail: 'no' })
  rig.callerSound(0, { ms: 900, text: 'Is it open?' })
  await rig.until(() => rig.turns('agent').length === 1)
  const [record] = rig.eventsOf('turn_record').map(({ record }) => record)
  t.equal(record?.troubles, 3)
  t.same(record?.usage.models, [
    { vendor: 'main', model: 'm', requests: 3, counted: 2, promptTokens: 100, completionTokens: 9 },
  ])
  t.same(record?.usage.speech, [
    { vendor: 'main', model: null, requests: 2, characters: 22 },
    { vendor: 'embedded', model: null, requests: 1, characters: 11 },
  ])
  rig.close()
})
