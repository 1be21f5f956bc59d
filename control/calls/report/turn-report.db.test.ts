import t from 'tap'
import { dataOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import type { Usage } from '../../../media/agent/conversation/usage-meter.js'
import type { TurnRecord } from '../../../media/agent/conversation-events.js'
import { sweepCallEvents } from '../lifecycle/retention.js'
import { readTurnReport } from './turn-report.js'
import { turnTable } from './turn-table.js'

const DAY = 24 * 3_600_000
const USAGE: Usage = {
  recognition: [{ vendor: 'deepgram', model: 'nova-3', audioMs: 12_340 }],
  models: [
    { vendor: 'openai', model: 'm', requests: 3, counted: 2, promptTokens: 190, completionTokens: 21 },
    { vendor: 'embedded', model: 'r', requests: 1, counted: 0, promptTokens: null, completionTokens: null },
  ],
  speech: [{ vendor: 'sarvam', model: null, requests: 2, characters: 77 }],
}
/** Use of a transfer besides. */
const MORE: Usage = {
  recognition: [{ vendor: 'deepgram', model: 'nova-3', audioMs: 660 }],
  models: [],
  speech: [{ vendor: 'embedded', model: null, requests: 1, characters: 20 }],
}
const BOTH: Usage = {
  recognition: [{ vendor: 'deepgram', model: 'nova-3', audioMs: 13_000 }],
  models: USAGE.models,
  speech: [...MORE.speech, ...USAGE.speech],
}
const NOTHING: Usage = { recognition: [], models: [], speech: [] }
const REPLY: TurnRecord = {
  turnId: 3,
  kind: 'reply',
  ending: 'interrupted',
  speculation: 'kept',
  troubles: 1,
  onsetMs: 4_000,
  offsetMs: 5_000.4,
  vadStopMs: 5_300,
  sttFinalMs: 5_410,
  decidedMs: 5_410,
  modelRequestMs: 5_300,
  modelFirstTokenMs: 5_600,
  firstSentenceMs: 5_650,
  ttsRequestMs: 5_650,
  ttsFirstAudioMs: 5_800,
  firstPacketMs: 5_820,
  interruptedMs: 7_000,
  endMs: 7_020,
  usage: USAGE,
}
const LINE: TurnRecord = {
  ...REPLY,
  turnId: 1,
  kind: 'line',
  ending: 'said',
  speculation: null,
  troubles: 0,
  onsetMs: null,
  offsetMs: null,
  vadStopMs: null,
  sttFinalMs: null,
  decidedMs: 0,
  modelRequestMs: null,
  modelFirstTokenMs: null,
  firstSentenceMs: null,
  ttsRequestMs: null,
  ttsFirstAudioMs: 0,
  firstPacketMs: 20,
  interruptedMs: null,
  endMs: 2_000,
  usage: NOTHING,
}

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const { db } = database
  const calling = await openTestCalling(database)
  await calling.publishAgent()
  const placed = await calling.send('POST', '/v1/calls', {
    json: { to: '+919876543210', numberId: calling.numberId },
  })
  const id = String(dataOf(placed).id)
  t.same(await readTurnReport(db, id), { turns: [], usage: null })
  await calling.emitCallEvent(
    id,
    { type: 'answered' },
    { type: 'turn_record', record: LINE },
    { type: 'turn_record', record: REPLY },
    { type: 'usage', usage: MORE },
    { type: 'usage', usage: USAGE },
  )
  t.same(await readTurnReport(db, id), { turns: [LINE, REPLY], usage: BOTH })
  const segments = await db.selectFrom('transcriptSegments').selectAll().where('callId', '=', id).execute()
  t.same(segments, [], 'an account is no part of the transcript')
  while (await sweepCallEvents(db, calling.clock.wall() + 367 * DAY));
  t.same(await readTurnReport(db, id), { turns: [], usage: null }, 'it leaves with the transcript')
  await calling.close()
})

t.test('a line for each utterance, then the totals', async (t) => {
  t.equal(
    turnTable({ turns: [LINE, REPLY], usage: USAGE }),
    [
      'turn   what       ending  onset  offset  vad  text  decided  asked  token  sentence  speak  audio  packet   cut   end  tokens  chars  heard  fails',
      '   1   line         said      -    0.00    -     -        0      -      -         -      -      0      20     -  2.00       -      0   0.00      0',
      '   3  early  interrupted   4.00    5.00  300   410      410    300    600       650    650    800     820  7.00  7.02  190+21     77  12.34      1',
      '',
      'onset, offset, cut, end, heard in seconds; vad to packet in ms after the offset; tokens in+out',
      'deepgram nova-3: heard 12.34 s',
      'openai m: 3 requests, tokens of 2 of them: 190 in, 21 out',
      'embedded r: 1 requests, tokens of 0 of them: - in, - out',
      'sarvam: 2 requests, 77 characters spoken',
      '',
    ].join('\n'),
  )
  t.match(turnTable({ turns: [LINE], usage: null }), /no totals/)
})
