import { Readable } from 'node:stream'
import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { writeWav } from '../../fixtures/audio/wav.js'
import { onEachDialect } from '../../fixtures/database/databases.js'

/** A trace whose stages but the first and the last did not happen. */
const trace = (speechEndMs: number, firstPacketMs: number | null) => ({
  ...{
    turnId: 1,
    speechEndMs,
    vadStopMs: null,
    sttFinalMs: speechEndMs + 99.6,
    decidedMs: speechEndMs + 200,
  },
  ...{ modelFirstTokenMs: null, firstSentenceMs: null, ttsFirstAudioMs: null, firstPacketMs },
})

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), {})
  const { api, deps, clock, owner } = calling
  const { db } = deps
  await calling.publishAgent()
  const json = { to: '+919876543210', numberId: calling.numberId }
  const id = String(dataOf(await calling.send('POST', '/v1/calls', { json })).id)
  const at = clock.wall()
  const read = (call = id, key = api.testKey) => api.send('GET', `/v1/calls/${call}/timeline`, { key })

  await t.test('a call that nobody answered', async (t) => {
    t.match(dataOf(await read()), {
      callId: id,
      durationMs: 0,
      waveform: null,
      turns: [],
      replies: [],
      legs: [{ party: 'caller', answeredMs: null, endMs: null }],
    })
    t.match(await read('call_01JZZZZZZZZZZZZZZZZZZZZZZZ'), { status: 404 })
    t.match(await read(id, api.liveKey), { status: 404 }, 'keys of the other environment do not see it')
  })

  await t.test('a call with everything', async (t) => {
    const turn = { id: 1, language: 'en-IN', words: null }
    const events: readonly [type: string, at: number, body: object][] = [
      ['dialing', at - 5_000, { sipCallId: 'a@b' }],
      ['ringing', at - 3_000, { sip: 180 }],
      ['answered', at, {}],
      [
        'turn',
        at + 2_000,
        {
          turn: {
            ...turn,
            speaker: 'agent',
            text: 'Welcome to us.',
            heardText: 'Welcome',
            startMs: 100,
            endMs: 1_900,
            cutAtMs: 1_900.4,
          },
        },
      ],
      [
        'turn',
        at + 2_000,
        { turn: { ...turn, speaker: 'agent', text: 'Unheard.', heardText: '', startMs: 1, endMs: 2 } },
      ],
      [
        'turn',
        at + 4_000,
        {
          turn: {
            ...turn,
            speaker: 'caller',
            text: 'Hello',
            heardText: 'Hello',
            startMs: 2_600,
            endMs: 4_000,
          },
        },
      ],
      ['trace', at + 4_640, { trace: trace(4_000, 4_640) }],
      ['trace', at + 4_700, { trace: trace(4_100, null) }],
      ['dtmf', at + 5_000, { digit: '#', atMs: 5_000, durationMs: 90 }],
      ['tool', at + 6_000, { name: 'book', arguments: {}, result: 'x'.repeat(600), atMs: 6_000 }],
      ['trouble', at + 6_500, { part: 'speech_to_text', code: 'vendor_failed', message: 'no', atMs: 1e300 }],
      ['held', at + 7_000, { on: true }],
      [
        'transfer',
        at + 8_000,
        { attempt: 1, mode: 'blind', destination: 'd', status: 'ringing', outcome: null },
      ],
      [
        'ended',
        at + 9_000,
        { ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' }, rtp: null, recording: null },
      ],
    ]
    await db
      .insertInto('callEvents')
      .values(
        events.map(([type, when, body], i) => ({
          callId: id,
          seq: 100 + i,
          type,
          at: when,
          body: JSON.stringify(body),
        })),
      )
      .execute()
    await db
      .updateTable('calls')
      .set({ startedAt: at - 5_000, answeredAt: at, endedAt: at + 9_000 })
      .where('id', '=', id)
      .execute()
    const left = new Int16Array(8_000 * 10)
    left[8_000] = -32_768
    const wav = writeWav({ rate: 8000, channels: [left, new Int16Array(left.length).fill(8_192)] })
    const key = `recordings/${id}.wav`
    await deps.objects.put(key, Readable.from([wav]), { maxBytes: wav.length })
    await db
      .insertInto('recordings')
      .values({
        ...{ callId: id, organizationId: owner.organizationId, environment: owner.environment, key },
        ...{ bytes: wav.length, durationMs: 10_000, sha256: '0'.repeat(64), createdAt: at },
      })
      .execute()
    const timeline = dataOf(await read())
    t.match(timeline, {
      zeroAt: new Date(at).toISOString(),
      durationMs: 10_000,
      turns: [
        { speaker: 'agent', text: 'Welcome', startMs: 100, endMs: 1_900, interruptedAtMs: 1_900 },
        { speaker: 'caller', text: 'Hello', startMs: 2_600, endMs: 4_000, interruptedAtMs: null },
      ],
      replies: [{ speechEndMs: 4_000, firstPacketMs: 4_640, latencyMs: 640, stages: { sttFinalMs: 4_100 } }],
      marks: [
        { kind: 'key', atMs: 5_000, text: '#' },
        { kind: 'tool', atMs: 6_000, text: /^book: x{494}$/ },
        { kind: 'failure', atMs: 0, text: 'speech to text: vendor_failed' },
      ],
      legs: [{ party: 'caller', startMs: -5_000, answeredMs: 0, endMs: 9_000 }],
      sip: [
        { atMs: -5_000, step: 'invite', status: null },
        { atMs: -3_000, step: 'ringing', status: 180 },
        { atMs: 0, step: 'answered', status: 200 },
        { atMs: 7_000, step: 'hold' },
        { atMs: 8_000, party: 'person', step: 'ringing' },
        { atMs: 9_000, party: 'caller', step: 'ended', status: null },
      ],
    })
    const waveform = timeline.waveform as { pixelsPerSecond: number; caller: number[]; agent: number[] }
    t.equal(waveform.pixelsPerSecond, 10)
    t.same(waveform.agent, Array(100).fill(32))
    t.same(
      waveform.caller,
      Array.from({ length: 100 }, (_, i) => (i === 10 ? 128 : 0)),
    )
    await deps.objects.delete(key)
    t.equal(dataOf(await read()).waveform, null, 'a recording that was deleted leaves the rest')
  })
  await calling.close()
})
