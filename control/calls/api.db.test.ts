import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import type { CallEvent } from '../../signalling/call/call-events.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const pagination = (answer: { body: unknown }) =>
  (answer.body as { meta: { pagination: { cursor: string | null; total?: number } } }).meta.pagination

async function place(calling: TestCalling, to = '+919876543210'): Promise<string> {
  const placed = await calling.send('POST', '/v1/calls', { json: { to, numberId: calling.numberId } })
  return String(dataOf(placed).id)
}

const turn = (speaker: 'agent' | 'caller', text: string, startMs: number, more: object = {}) =>
  ({
    type: 'turn',
    turn: {
      id: startMs,
      speaker,
      text,
      heardText: text,
      language: 'en-IN',
      startMs,
      endMs: startMs + 900,
      words: null,
      ...more,
    },
  }) as const

const busy: Omit<CallEvent & { type: 'ended' }, 'callId' | 'seq' | 'at'> = {
  type: 'ended',
  ending: { by: 'callee', cause: 'busy', fault: 'none', sip: 486 },
  rtp: null,
  recording: null,
}

await onEachDialect(t, async (t, open) => {
  await t.test('without a SIP server calls are refused and leave no trace', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, control, numberId } = calling
    await calling.publishAgent()
    control.connected = false
    const refused = await send('POST', '/v1/calls', { json: { to: '+919876543210', numberId } })
    t.match(refused, { status: 503, body: { error: { message: /SIP server is not connected/ } } })
    const from = '+919876543210'
    t.equal((await send('POST', '/v1/sandbox/inbound-calls', { json: { numberId, from } })).status, 503)
    t.same(calling.ringing, [])
    t.same(itemsOf(await send('GET', '/v1/calls')), [])
    control.connected = true
    t.equal((await send('POST', '/v1/calls', { json: { to: '+919876543210', numberId } })).status, 201)
    await calling.close()
  })

  await t.test('the life of a call as the API shows it', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, clock, folder } = calling
    await calling.publishAgent()
    const id = await place(calling)
    const path = `/v1/calls/${id}`
    const shown = async () => dataOf(await send('GET', path))
    t.equal((await send('GET', `${path}/recording`)).status, 404)
    t.equal((await send('GET', `${path}/transcript`)).status, 404, 'nothing was said yet')

    await calling.emitCallEvent(id, { type: 'dialing', sipCallId: 'abc' })
    t.equal((await shown()).status, 'initiated')
    clock.advance(500)
    await calling.emitCallEvent(id, { type: 'ringing', sip: 180 })
    t.match(await shown(), { status: 'ringing', ringingAt: new Date(clock.wall()).toISOString() })
    clock.advance(2_000)
    await calling.emitCallEvent(id, { type: 'answered' })
    const answeredAt = new Date(clock.wall()).toISOString()
    t.match(await shown(), { status: 'in_progress', answeredAt, answeredBy: 'unknown' })

    const trace = (speechEndMs: number, firstPacketMs: number) =>
      ({
        type: 'trace',
        trace: {
          turnId: 1,
          speechEndMs,
          vadStopMs: null,
          sttFinalMs: null,
          decidedMs: speechEndMs,
          modelFirstTokenMs: null,
          firstSentenceMs: null,
          ttsFirstAudioMs: null,
          firstPacketMs,
        },
      }) as const
    await calling.emitCallEvent(
      id,
      turn('agent', 'Hello, this is Asha and I', 40, {
        text: 'Hello, this is Asha and I am calling about your order.',
        cutAtMs: 940,
        words: [{ text: 'Hello', startMs: 40.4, endMs: 300 }],
      }),
      turn('caller', 'Wait, one moment please.', 900),
      trace(1_800, 2_100),
      turn('agent', '', 2_100, { text: 'Never heard.' }),
      { type: 'dtmf', digit: '5', atMs: 2_500, durationMs: 100 },
      { type: 'tool', name: 'end_call', arguments: { why: 'bye' }, result: 'ok', atMs: 2_700 },
      { type: 'trouble', part: 'language_model', code: 'vendor_stalled', message: 'no token', atMs: 2_600 },
      turn('agent', 'Goodbye.', 2_800),
      trace(2_500, 3_000),
    )
    mkdirSync(folder, { recursive: true })
    const wav = randomBytes(5_000)
    const recordedTo = join(folder, `${id}.wav`)
    writeFileSync(recordedTo, wav)
    const sha256 = createHash('sha256').update(wav).digest('hex')
    clock.advance(30_500)
    await calling.emitCallEvent(id, {
      type: 'ended',
      ending: { by: 'agent', cause: 'agent_hangup', fault: 'none' },
      rtp: null,
      recording: { path: recordedTo, bytes: wav.length, durationMs: 30_480, sha256 },
    })
    t.match(await shown(), {
      status: 'ended',
      disposition: 'answered',
      endedReason: 'agent_hangup',
      endedAt: new Date(clock.wall()).toISOString(),
      durationSeconds: 31,
      agentSeconds: 31,
      humanSeconds: 0,
      charges: [{ kind: 'agent', seconds: 31, ratePaisePerMinute: 500, amountPaise: 259 }],
      billedPaise: 259,
      hasRecording: true,
      hasTranscript: true,
      latency: { firstAudioMs: 40, turnP50Ms: 300, turnP95Ms: 500 },
      error: null,
    })

    const transcript = dataOf(await send('GET', `${path}/transcript`))
    t.match(transcript, { callId: id, languages: ['en-IN'] })
    const segments = transcript.segments as Record<string, unknown>[]
    t.same(
      segments.map(({ index, role, text, interrupted }) => [index, role, text, interrupted]),
      [
        [0, 'agent', 'Hello, this is Asha and I', true],
        [1, 'caller', 'Wait, one moment please.', false],
        [2, 'system', 'The caller pressed 5.', false],
        [3, 'system', 'Trouble with language model (vendor_stalled).', false],
        [4, 'tool', 'end_call({"why":"bye"}) -> ok', false],
        [5, 'agent', 'Goodbye.', false],
      ],
    )
    t.match(segments[0], { startMs: 40, endMs: 940, words: [{ w: 'Hello', s: 40, e: 300 }] })

    const recording = dataOf(await send('GET', `${path}/recording`))
    t.match(recording, {
      contentType: 'audio/wav',
      bytes: 5_000,
      channels: 2,
      durationSeconds: 30.48,
      sha256,
      expiresAt: new Date(clock.wall() + 600_000).toISOString(),
    })
    const url = String(recording.url)
    t.ok(url.startsWith(`${calling.api.url}/v1/media/`))
    const whole = await fetch(url)
    t.equal(whole.status, 200)
    t.equal(whole.headers.get('content-type'), 'audio/wav')
    t.ok(Buffer.from(await whole.arrayBuffer()).equals(wav))
    const part = await fetch(url, { headers: { range: 'bytes=100-199' } })
    t.equal(part.status, 206)
    t.equal(part.headers.get('content-range'), 'bytes 100-199/5000')
    t.ok(Buffer.from(await part.arrayBuffer()).equals(wav.subarray(100, 200)))
    t.equal((await fetch(url, { headers: { range: 'bytes=9000-' } })).status, 416)
    const swapped = url.endsWith('A') ? `${url.slice(0, -1)}B` : `${url.slice(0, -1)}A`
    for (const wrong of [swapped, `${url}A`, url.slice(0, -4), `${calling.api.url}/v1/media/x`]) {
      t.equal((await fetch(wrong)).status, 404, wrong.slice(-8))
    }
    clock.advance(599_999)
    t.equal((await fetch(url)).status, 200, 'the last millisecond')
    clock.advance(1)
    t.equal((await fetch(url)).status, 404, 'expired')

    const events = itemsOf(await send('GET', '/v1/events'))
    t.same(events.map((event) => event.type).sort(), ['call.answered', 'call.completed', 'call.initiated'])
    const completed = events.find((event) => event.type === 'call.completed')
    const read = dataOf(await send('GET', `/v1/events/${completed?.id}`))
    t.match(read, {
      delivery: null,
      payload: {
        id: completed?.id,
        type: 'call.completed',
        environment: 'test',
        created_at: completed?.createdAt,
        links: {
          self: `${calling.api.url}${path}`,
          recording: `${calling.api.url}${path}/recording`,
          transcript: `${calling.api.url}${path}/transcript`,
        },
      },
    })
    t.same(
      (read.payload as { data: { call: unknown } }).data.call,
      await shown(),
      'data.call is the GET body',
    )
    t.equal(itemsOf(await send('GET', '/v1/events?type=call.answered')).length, 1)
    t.same(itemsOf(await send('GET', '/v1/events?type=call.failed')), [])
    t.equal((await send('GET', '/v1/events?typo=1')).status, 400)
    clock.advance(30 * 86_400_000)
    t.equal((await send('GET', `/v1/events/${completed?.id}`)).status, 404, 'beyond retention')
    t.same(itemsOf(await send('GET', '/v1/events')), [])
    await calling.close()
  })

  await t.test('hang-up', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, control, deps } = calling
    await calling.publishAgent()
    const id = await place(calling)
    const hung = await send('POST', `/v1/calls/${id}/hangup`)
    t.equal(hung.status, 200)
    t.same(control.hungUp, [id])
    await calling.emitCallEvent(id, busy)
    const again = await send('POST', `/v1/calls/${id}/hangup`)
    t.equal(again.status, 200, 'on an ended call nothing happens')
    t.match(dataOf(again), { status: 'ended', disposition: 'busy' })
    t.same(control.hungUp, [id])

    const elsewhere = await place(calling)
    await deps.db.updateTable('calls').set({ nodeId: 'node-2' }).where('id', '=', elsewhere).execute()
    t.equal((await send('POST', `/v1/calls/${elsewhere}/hangup`)).status, 200)
    t.same(control.hungUp, [id], 'not ours to hang up')
    const row = await deps.db.selectFrom('calls').selectAll().where('id', '=', elsewhere).executeTakeFirst()
    t.type(row?.hangupRequestedAt, 'number', 'its owner is asked')
    t.equal((await send('POST', `/v1/calls/${id}/hangup`, { json: { force: true } })).status, 400)
    await calling.close()
  })

  await t.test('list: filters, search, totals, complete pages', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, clock, deps, owner } = calling
    const agentId = await calling.publishAgent()
    await deps.db
      .insertInto('callingProfiles')
      .values({
        organizationId: owner.organizationId,
        enforcedAt: null,
        enforcedReason: null,
        windowStartMinute: null,
        windowEndMinute: null,
        agentCallsTest: 100,
        agentCallsLive: null,
        ratePaisePerMinute: 400,
      })
      .execute()
    const ids: string[] = []
    for (let i = 0; i < 7; i++) {
      // Two calls in the same millisecond, so that ids break ties.
      if (i % 2 === 0) clock.advance(1_000)
      ids.push(await place(calling, `+91987654321${i}`))
    }
    const first = ids[0] ?? ''
    await calling.emitCallEvent(first, busy)

    const all = await send('GET', '/v1/calls')
    t.equal(pagination(all).total, 7)
    t.same(
      itemsOf(all).map((call) => call.id),
      [...ids].reverse(),
      'newest first',
    )
    t.equal(itemsOf(all)[0]?.ratePaisePerMinute, 400, 'the agreed rate')
    const count = async (query: string) => {
      const answer = await send('GET', `/v1/calls?${query}`)
      t.equal(answer.status, 200, query)
      return pagination(answer).total
    }
    t.equal(await count('search=9876543210'), 1)
    t.equal(await count(`search=${encodeURIComponent('+91 98765-4321')}`), 7, 'formatting ignored')
    t.equal(await count('search=9000000100'), 7, 'our end counts too')
    t.equal(await count('search=000000000'), 0)
    t.equal(await count('status=ended'), 1)
    t.equal(await count('status=queued'), 6)
    t.equal(await count('disposition=busy'), 1)
    t.equal(await count('direction=inbound'), 0)
    t.equal(await count(`agentId=${agentId}`), 7)
    t.equal(await count('agentId=agt_unknown'), 0)
    t.equal(await count(`numberId=${calling.numberId}`), 7)
    t.equal(await count('campaignId=cmp_1'), 0)
    const since = encodeURIComponent(new Date(clock.wall()).toISOString())
    t.equal(await count(`startedAfter=${since}`), 1)
    t.equal(await count(`startedBefore=${since}`), 6)
    for (const query of [
      'search=98',
      'search=abc',
      'startedAfter=yesterday',
      'direction=up',
      'x=1',
      'limit=0',
    ]) {
      const answer = await send('GET', `/v1/calls?${query}`)
      t.equal(answer.status, 400, query)
      t.match(errorOf(answer), { code: 'validation_error', details: { issues: [{ path: /^query\./ }] } })
    }

    const seen: unknown[] = []
    let cursor = ''
    for (;;) {
      const page = await send('GET', `/v1/calls?limit=2${cursor}`)
      seen.push(...itemsOf(page).map((call) => call.id))
      if (cursor !== '') t.equal(pagination(page).total, undefined, 'only the first page counts')
      clock.advance(10)
      await place(calling)
      const { cursor: next } = pagination(page)
      if (next === null) break
      cursor = `&cursor=${next}`
    }
    t.same(seen, [...ids].reverse(), 'nothing twice, nothing missing, nothing newer')
    const other = await send('GET', `/v1/calls?search=987&limit=2${cursor}`)
    t.equal(other.status, 400, 'a cursor belongs to its filters')
    await calling.close()
  })

  await t.test('calls are separated by environment and organization', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, api } = calling
    await calling.publishAgent()
    const id = await place(calling)
    await calling.emitCallEvent(id, turn('agent', 'Hi', 0), busy)
    const [event] = itemsOf(await send('GET', '/v1/events'))
    const other = await calling.anotherOrganization()
    for (const key of [api.liveKey, other.testKey, other.liveKey]) {
      for (const path of [`/v1/calls/${id}`, `/v1/calls/${id}/recording`, `/v1/calls/${id}/transcript`]) {
        t.equal((await send('GET', path, { key })).status, 404)
      }
      t.equal((await send('POST', `/v1/calls/${id}/hangup`, { key })).status, 404)
      t.equal((await send('GET', `/v1/events/${event?.id}`, { key })).status, 404)
      t.equal((await send('GET', `/v1/numbers/${calling.numberId}`, { key })).status, 404)
      t.same(itemsOf(await send('GET', '/v1/calls', { key })), [])
      t.same(itemsOf(await send('GET', '/v1/events', { key })), [])
      t.same(itemsOf(await send('GET', '/v1/numbers', { key })), [])
    }
    for (const bad of ['call_1', 'nonsense', `evt_${id.slice(5)}`]) {
      t.equal((await send('GET', `/v1/calls/${bad}`)).status, 404, bad)
    }
    await calling.close()
  })
})
