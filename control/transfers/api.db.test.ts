import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { LIVE_MODELS } from '../../fixtures/api/live-models.js'
import { writeWav } from '../../fixtures/audio/wav.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import { openLiveCalling } from '../../fixtures/virtual-call/live-calling.js'
import { serviceRequest } from '../../media/agent/tools/service-tools.js'
import { toolDeclarations } from '../../media/agent/tools/tool-calls.js'
import { replyTo } from '../../media/vendors/embedded/llm.js'
import type { TransferPlan } from '../../signalling/call/ports.js'
import type { TransferOutcome, TransferStatus } from '../../signalling/call/transfer-machine.js'
import { settleAbandonedCalls } from '../calls/lifecycle/abandoned.js'
import { sweepPartRecordings } from '../calls/lifecycle/retention.js'

const ENDED = {
  type: 'ended',
  ending: { by: 'callee', cause: 'transfer_completed', fault: 'none' },
  rtp: null,
  recording: null,
} as const
const DAY_MS = 24 * 3_600_000
const DESTINATIONS = '/v1/transfer-destinations'

interface Desk {
  readonly first: string
  readonly second: string
  /** Places a call that is answered; `transfer` are the agent's settings. */
  call(transfer?: object): Promise<string>
  ask(callId: string, json?: object): ReturnType<TestCalling['send']>
  /** The latest plan that signalling received. */
  plan(): TransferPlan
  /** Plays steps of an attempt as signalling reports them, a second apart. */
  play(callId: string, attempt: number, ...steps: [TransferStatus, TransferOutcome | null][]): Promise<void>
}

async function openDesk(calling: TestCalling): Promise<Desk> {
  const { send, clock, control } = calling
  const destination = async (key: string, e164: string) => {
    const made = await send('POST', DESTINATIONS, { json: { key, label: `Desk ${key}`, e164 } })
    return String(dataOf(made).id)
  }
  const verified = async (key: string, e164: string) => {
    const id = await destination(key, e164)
    await send('POST', `${DESTINATIONS}/${id}/verify`)
    await send('POST', `${DESTINATIONS}/${id}/confirm`, { json: { code: '000000' } })
    return id
  }
  const first = await verified('billing', '+919876500001')
  const second = await verified('owner', '+919876500002')
  return {
    first,
    second,
    async call(transfer = {}) {
      await calling.publishAgent({
        callSettings: {
          transfer: {
            defaultDestinationId: first,
            destinations: [
              { destinationId: first, fallbackDestinationId: second, when: 'questions about bills' },
            ],
            ...transfer,
          },
        },
      })
      const placed = await send('POST', '/v1/calls', {
        json: { to: '+919876543210', numberId: calling.numberId },
      })
      const id = String(dataOf(placed).id)
      await calling.emitCallEvent(id, { type: 'dialing', sipCallId: id }, { type: 'answered' })
      return id
    },
    ask: (callId, json = {}) => send('POST', `/v1/calls/${callId}/transfer`, { json }),
    plan() {
      const last = control.transfers.at(-1)
      if (last === undefined) throw new Error('nothing was transferred')
      return last.plan
    },
    async play(callId, attempt, ...steps) {
      const asked = control.transfers.findLast((one) => one.callId === callId)
      if (asked === undefined) throw new Error('the call was not transferred')
      const { plan } = asked
      const name = attempt === 2 && plan.fallback !== null ? plan.fallback : plan.destination
      for (const [status, outcome] of steps) {
        clock.advance(1_000)
        await calling.emitCallEvent(callId, {
          ...{ type: 'transfer', attempt, mode: plan.mode, destination: name, status, outcome },
          ...(status === 'accepted' ? { details: plan.describe(name) } : {}),
          ...(status === 'answered' ? { brief: plan.brief(name).text } : {}),
        })
      }
    },
  }
}

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { clock, deps, send, api } = calling
  const { db } = deps
  const desk = await openDesk(calling)
  const eventsOf = async (callId: string) =>
    itemsOf(await send('GET', '/v1/events?limit=100'))
      .filter(({ subjectId, type }) => subjectId === callId && String(type).startsWith('call.transfer'))
      .map(({ type }) => type)
      .toReversed()

  await t.test('a person takes the call: records, charges, events and the page of the person', async (t) => {
    const id = await desk.call()
    await calling.emitCallEvent(id, {
      type: 'turn',
      turn: {
        ...{ id: 1, speaker: 'caller', text: 'My bill is wrong.', heardText: 'My bill is wrong.' },
        ...{ language: 'en-IN', startMs: 100, endMs: 900, words: null },
      },
    })
    const answer = await desk.ask(id, { reason: 'bill' })
    t.equal(answer.status, 200)
    t.match(dataOf(answer), {
      accepted: true,
      refusal: null,
      transfer: {
        ...{ attempt: 1, status: 'accepted', mode: 'screened', trigger: 'api', reason: 'bill' },
        destination: { label: 'Desk billing' },
      },
    })
    const plan = desk.plan()
    t.match(plan, { mode: 'screened', ringTimeoutMs: 25_000, announcement: null })
    t.match(plan.missLine, /nobody is available/)
    const missed = { attempts: [{ destination: plan.destination, outcome: 'busy' as const }], said: [] }
    t.match(plan.report?.(missed), /Desk billing: the line was busy/)
    t.match(plan.brief(plan.destination), { text: /bill/, keys: /Press 1/ })
    const clearance = await plan.clear(plan.destination)
    t.match(clearance?.permit, { callId: id, to: '+919876500001', from: calling.number })
    clock.advance(86_000)
    await desk.play(
      id,
      1,
      ['accepted', null],
      ['ringing', null],
      ['answered', null],
      ['bridged', 'connected'],
    )
    t.equal((await desk.ask(id)).status, 409, 'no agent is on the call')
    clock.advance(29_000)
    await desk.play(id, 1, ['completed', 'connected'])
    await calling.emitCallEvent(id, ENDED)
    const call = dataOf(await send('GET', `/v1/calls/${id}`))
    t.match(call, {
      endedReason: 'transfer_completed',
      agentSeconds: 90,
      humanSeconds: 30,
      billedPaise: 850,
      charges: [
        { kind: 'agent', seconds: 90, amountPaise: 750 },
        { kind: 'human', seconds: 30, amountPaise: 100 },
      ],
      transfer: { status: 'completed', outcome: 'connected', humanSeconds: 30, brief: /bill/ },
    })
    const listed = await send('GET', `/v1/calls/${id}/transfers`)
    t.same(itemsOf(listed), [call.transfer])
    t.same(itemsOf(await send('GET', '/v1/calls')).find((one) => one.id === id)?.transfer, call.transfer)
    t.same(await eventsOf(id), ['call.transfer_started', 'call.transferred'])

    const event = itemsOf(await send('GET', '/v1/events?type=call.transferred'))[0]
    const { payload } = dataOf(await send('GET', `/v1/events/${event?.id}`)) as {
      payload: { links: { handoff: string }; data: { transfer: { id: string } } }
    }
    t.equal(payload.data.transfer.id, (call.transfer as { id: string }).id)
    const page = await fetch(payload.links.handoff, { headers: { accept: 'text/html' } })
    t.equal(page.status, 200)
    t.match(page.headers.get('cache-control'), 'no-store')
    t.match(page.headers.get('x-robots-tag'), 'noindex')
    t.equal(page.headers.get('referrer-policy'), 'no-referrer')
    const html = await page.text()
    for (const text of ['My bill is wrong.', 'Desk billing', '•••210', 'The call is over.'])
      t.match(html, text)
    t.notMatch(html, '<script')
    t.notMatch(html, '9876543210')
    t.match(await (await fetch(`${payload.links.handoff}?lang=hi`)).text(), 'कॉल समाप्त हो गई')
    const json = await fetch(payload.links.handoff, { headers: { accept: 'application/json' } })
    t.match(await json.json(), { data: { callerMasked: '••••••••••210', live: false, agentName: 'Asha' } })
    clock.advance(24 * 3_600_000)
    t.equal((await fetch(payload.links.handoff)).status, 404)
  })

  await t.test('the page of the person follows the call', async (t) => {
    const id = await desk.call()
    const say = (seq: number, speaker: 'caller' | 'human', text: string) =>
      calling.emitCallEvent(id, {
        type: 'turn',
        turn: {
          ...{ id: seq, speaker, text, heardText: text },
          ...{ language: 'en-IN', startMs: seq * 1_000, endMs: seq * 1_000 + 900, words: null },
        },
      })
    await say(1, 'caller', 'My bill is wrong.')
    await desk.ask(id)
    await desk.play(id, 1, ['accepted', null], ['ringing', null])
    const started = itemsOf(await send('GET', '/v1/events?type=call.transfer_started'))[0]
    const { payload } = dataOf(await send('GET', `/v1/events/${started?.id}`)) as {
      payload: { links: { handoff: string } }
    }
    const address = payload.links.handoff
    const page = await fetch(address, { headers: { accept: 'text/html' } })
    const html = await page.text()
    t.match(html, 'My bill is wrong.', 'the first paint needs no script')
    t.match(html, '<noscript><meta http-equiv="refresh"')
    const script = /<script>([\s\S]*)<\/script>/.exec(html)?.[1] ?? ''
    const hash = createHash('sha256').update(script).digest('base64')
    t.match(
      page.headers.get('content-security-policy'),
      `script-src 'sha256-${hash}'`,
      'only this script runs',
    )
    const after = /data-after="(\d+)"/.exec(html)?.[1]

    const stream = await fetch(`${address}/events?after=${after}`)
    t.equal(stream.status, 200)
    t.match(stream.headers.get('cache-control'), 'no-store')
    let text = ''
    const reading = (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of stream.body ?? [])
        text += decoder.decode(chunk as Uint8Array, { stream: true })
    })()
    await desk.play(id, 1, ['answered', null], ['bridged', 'connected'])
    await say(7, 'human', 'Hello, this is the desk.')
    const seen = async (part: string) => {
      await until(async () => {
        await clock.advanceAsync(100, 100)
        return text.includes(part)
      })
    }
    await seen('"role":"human_agent","text":"Hello, this is the desk."')
    const more = await Promise.all(Array.from({ length: 9 }, () => fetch(`${address}/events?after=${after}`)))
    t.strictSame(
      more.map(({ status }) => status).sort(),
      [200, 200, 200, 200, 200, 200, 200, 429, 429],
      'eight streams of a transfer',
    )
    const refused = more.find(({ status }) => status === 429)
    t.match(await refused?.json(), { error: { code: 'rate_limited' } })
    t.equal(refused?.headers.get('retry-after'), '10')
    for (const { status, body } of more) if (status === 200) await body?.cancel()
    t.match(text, /event: brief\ndata: \{"brief":".*wrong/)
    t.notMatch(text, 'My bill is wrong.","startMs"', 'the page has it already')
    await calling.emitCallEvent(id, ENDED)
    await seen('event: end\ndata: {"reason":"over"}')
    await reading

    const again = await fetch(`${address}/events`, { headers: { 'last-event-id': '0' } })
    const all = await again.text()
    t.ok(all.indexOf('My bill is wrong.') < all.indexOf('this is the desk'), 'everything, in order')
    t.equal((await fetch(`${address.slice(0, -2)}xx/events`)).status, 404)
    t.notMatch(await (await fetch(address)).text(), '<script', 'a call that is over has nothing to follow')
  })

  await t.test(
    'nobody takes the call: the fallback, then the agent; a third request is refused',
    async (t) => {
      const id = await desk.call({ preTransferLine: { text: 'One moment.' } })
      await desk.ask(id)
      const plan = desk.plan()
      t.match(plan, { announcement: 'One moment.' })
      t.not(plan.fallback, null)
      t.match(plan.describe(plan.fallback ?? ''), { label: 'Desk owner' })
      await desk.play(id, 1, ['accepted', null], ['ringing', null], ['missed', 'no_answer'])
      await desk.play(id, 2, ['accepted', null], ['declined', 'declined'])
      t.match(dataOf(await send('GET', `/v1/calls/${id}`)), {
        status: 'in_progress',
        transfer: { attempt: 2, status: 'declined', destination: { label: 'Desk owner' } },
      })
      t.same(await eventsOf(id), ['call.transfer_started', 'call.transfer_failed', 'call.transfer_failed'])
      calling.control.transferRefusal = 'attempts_exhausted'
      t.match(dataOf(await desk.ask(id)), {
        accepted: false,
        refusal: 'attempts_exhausted',
        transfer: { attempt: 2 },
      })
      calling.control.transferRefusal = null
      clock.advance(4_000)
      await calling.emitCallEvent(id, ENDED)
      t.match(dataOf(await send('GET', `/v1/calls/${id}`)), { humanSeconds: 0, charges: [{ kind: 'agent' }] })
    },
  )

  await t.test('refusals are answers', async (t) => {
    const pending = String(
      dataOf(await send('POST', DESTINATIONS, { json: { key: 'new', label: 'New', e164: '+919876500009' } }))
        .id,
    )
    const destinations = [{ destinationId: desk.first }, { destinationId: pending }]
    const id = await desk.call({ defaultDestinationId: null, destinations })
    const refusal = async (json: object) => {
      const answer = dataOf(await desk.ask(id, json))
      t.equal(answer.accepted, false)
      t.equal(answer.transfer, null)
      return answer.refusal
    }
    t.equal((await desk.ask(id)).status, 422, 'no default destination')
    t.equal(await refusal({ destinationId: pending }), 'destination_not_verified')
    t.equal(await refusal({ destinationId: desk.second }), 'destination_not_allowed')
    t.equal(await refusal({ destinationId: 'tdst_unknown' }), 'destination_not_allowed')
    const set = (json: object) => send('PATCH', `${DESTINATIONS}/${desk.first}`, { json })
    await set({ enabled: false })
    t.equal(await refusal({ destinationId: desk.first }), 'destination_disabled')
    await set({ enabled: true, hours: [{ days: 'mon-sun', from: '00:00', to: '00:01' }] })
    t.equal(await refusal({ destinationId: desk.first }), 'outside_hours')
    await set({ hours: null })
    const accepted = dataOf(await desk.ask(id, { destinationId: 'billing', handoff: 'warm' }))
    t.match(accepted, { accepted: true, transfer: { mode: 'consult' } }, 'by its key')
    await set({ enabled: false })
    t.equal(await desk.plan().clear(desk.plan().destination), null, 'checked again at the dial')
    await set({ enabled: true })
    await calling.emitCallEvent(id, ENDED)
    t.equal((await desk.ask(id, { destinationId: desk.first })).status, 409)
    const other = await calling.anotherOrganization()
    const foreign = await send('POST', `/v1/calls/${id}/transfer`, { key: other.testKey, json: {} })
    t.equal(foreign.status, 404)
    t.equal((await send('POST', `/v1/calls/${id}/transfer`, { key: api.liveKey, json: {} })).status, 404)
  })

  await t.test('the model, the caller and a bot ask at the same desk', async (t) => {
    const id = await desk.call({ dtmfKey: '0' })
    const count = () => calling.control.transfers.filter(({ callId }) => callId === id).length
    const tool = {
      kind: 'transfer_call',
      destinationId: 'billing',
      reason: 'bill',
      note: 'Wrong bill.',
    } as const
    t.same(await calling.desk.transferCall(id, tool), { status: 'done' })
    t.match(desk.plan().describe(desk.plan().destination), { trigger: 'model', reason: 'bill' })
    t.match(desk.plan().brief(desk.plan().destination).text, /Wrong bill\.$/)
    t.same(await calling.desk.transferCall(id, { ...tool, destinationId: 'owner' }), {
      status: 'refused',
      refusal: 'destination_not_allowed',
    })
    const base = { callId: id, seq: 90, at: 0 }
    const turn = { id: 2, speaker: 'caller', language: 'en-IN', startMs: 0, endMs: 1, words: null } as const
    const say = (text: string) =>
      calling.desk.onCallEvent({ ...base, type: 'turn', turn: { ...turn, text, heardText: text } })
    say('I want to book a table.')
    say('Can I speak to a real person?')
    await until(() => count() === 2)
    calling.desk.onCallEvent({ ...base, type: 'dtmf', digit: '1', atMs: 0, durationMs: 100 })
    calling.desk.onCallEvent({ ...base, type: 'dtmf', digit: '0', atMs: 0, durationMs: 100 })
    await until(() => count() === 3)
    t.match(desk.plan().describe(desk.plan().destination), { trigger: 'dtmf' })

    const updates: string[] = []
    const request = {
      ...({ id: 't1', destination: '+919876500001', destinationId: null } as const),
      ...({ handoff: 'cold', blind: null } as const),
    }
    calling.desk.request(id, { ...request, note: null, reason: null }, ({ status, code }) =>
      updates.push(code === undefined ? status : `${status} ${code}`),
    )
    await until(() => count() === 4)
    const step = { ...base, type: 'transfer', attempt: 1, mode: 'screened', destination: 'x' } as const
    for (const status of ['accepted', 'ringing', 'answered'] as const) {
      calling.desk.onCallEvent({ ...step, status, outcome: null })
    }
    const second: string[] = []
    calling.control.transferRefusal = 'transfer_in_progress'
    calling.desk.request(id, { ...request, id: 't2', note: null, reason: null }, (update) =>
      second.push(`${update.id} ${update.status} ${update.code}`),
    )
    await until(() => second.length > 0)
    calling.control.transferRefusal = null
    calling.desk.onCallEvent({ ...step, status: 'missed', outcome: 'no_answer' })
    t.same(second, ['t2 rejected transfer_in_progress'], 'a refused request hears nothing else')
    t.same(updates, ['accepted', 'ringing', 'answered', 'failed no_answer'], 'the first one hears its end')
    calling.desk.onCallEvent({ ...step, attempt: 2, status: 'ringing', outcome: null })
    t.equal(updates.length, 4, 'the steps of another transfer are not its own')
    const third: string[] = []
    calling.desk.request(id, { ...request, id: 'refer-1', note: null, reason: 'REFER' }, ({ status, code }) =>
      third.push(code === undefined ? status : `${status} ${code}`),
    )
    await until(() => count() === 5)
    const { destination, fallback } = desk.plan()
    const first = { ...step, destination } as const
    calling.desk.onCallEvent({ ...first, status: 'missed', outcome: 'busy' })
    t.same(third, [], 'the fallback is called')
    const next = { ...step, attempt: 2, destination: String(fallback) } as const
    calling.desk.onCallEvent({ ...next, status: 'ringing', outcome: null })
    calling.desk.onCallEvent({ ...next, status: 'bridged', outcome: 'connected' })
    t.same(third, ['ringing', 'completed connected'], 'and its end is that of the request')

    calling.desk.request(
      id,
      { ...request, destination: '+919876599999', note: null, reason: null },
      (update) => updates.push(`${update.status} ${update.code}`),
    )
    await until(() => updates.length === 5)
    t.equal(updates.at(-1), 'rejected destination_not_allowed')
  })

  await t.test('the model learns the destinations and picks one', async (t) => {
    const id = await desk.call({ defaultDestinationId: null })
    const party = calling.control.dialled.at(-1)?.plan.party
    const tools = toolDeclarations(party?.kind === 'agent' ? party.agent.tools : [])
    t.match(tools, [
      { name: 'transfer_call', description: /\* billing \(Desk billing\): questions about bills$/ },
    ])
    const messages = [{ role: 'user', content: 'I want to talk to a real person.' }] as const
    const [call] = replyTo({ model: 'parley-rules-1', messages, tools }).calls
    const asked = serviceRequest('transfer_call', call?.arguments ?? {}, clock.wall())
    if (typeof asked === 'string' || asked.kind !== 'transfer_call') throw new Error(String(asked))
    t.equal(asked.destinationId, 'billing')
    t.same(await calling.desk.transferCall(id, asked), { status: 'done' })
    t.match(desk.plan().describe(desk.plan().destination), { destinationId: desk.first })
  })

  await t.test('the recordings of the parts', async (t) => {
    const id = await desk.call({ recordHumanSegment: true })
    await desk.ask(id)
    const plan = desk.plan()
    const files = plan.recordTo?.(plan.destination)
    await desk.play(
      id,
      1,
      ['accepted', null],
      ['answered', null],
      ['bridged', 'connected'],
      ['completed', 'connected'],
    )
    const human = String(files?.human)
    mkdirSync(calling.folder, { recursive: true })
    writeFileSync(human, 'RIFF of a person')
    const content = { bytes: 16, durationMs: 2_000, sha256: 'b'.repeat(64) }
    await calling.emitCallEvent(id, { ...ENDED, parts: [{ path: human, ...content }] })
    const [attempt] = itemsOf(await send('GET', `/v1/calls/${id}/transfers`))
    t.match(attempt, { hasRecording: true, hasReturnRecording: false })
    const path = `/v1/calls/${id}/transfers/${attempt?.id}`
    const link = await send('GET', `${path}/recording`)
    t.match(dataOf(link), { bytes: 16, durationSeconds: 2, channels: 2 })
    t.equal(await (await fetch(String(dataOf(link).url))).text(), 'RIFF of a person')
    t.equal((await send('GET', `${path}/return-recording`)).status, 404)
    t.equal((await send('GET', `${path}/recording`, { key: api.liveKey })).status, 404)
    const jobs = await db.selectFrom('jobs').select('payload').where('kind', 'like', 'recording%').execute()
    t.ok(
      jobs.some(({ payload }) => human.includes(payload)),
      'it is moved to the store',
    )
    const flag = async () => dataOf(await send('GET', `/v1/calls/${id}`)).transfer
    t.equal(await sweepPartRecordings(db, clock.wall() + 89 * DAY_MS), false)
    t.match(await flag(), { hasRecording: true })
    t.equal(await sweepPartRecordings(db, clock.wall() + 91 * DAY_MS), false)
    t.match(await flag(), { hasRecording: false }, 'the call shows no recording that is gone')
    t.equal((await send('GET', `${path}/recording`)).status, 404)
  })

  await t.test('a process that stops leaves no open attempt', async (t) => {
    const ringing = await desk.call()
    await desk.ask(ringing)
    await desk.play(ringing, 1, ['accepted', null], ['ringing', null])
    const bridged = await desk.call({ recordHumanSegment: true })
    await desk.ask(bridged)
    await desk.play(bridged, 1, ['accepted', null], ['answered', null], ['bridged', 'connected'])
    // The killed process left the part of the person, a track of another file and a part of another call.
    const files = desk.plan().recordTo?.(desk.plan().destination)
    const silence = new Int16Array(16_000)
    const wav = writeWav({ rate: 8_000, channels: [silence, silence] })
    mkdirSync(calling.folder, { recursive: true })
    for (const path of [
      String(files?.human),
      `${files?.back}.mixing`,
      `${files?.human}`.replace(bridged, ringing),
    ])
      writeFileSync(path, wav)
    clock.advance(10_000)
    await settleAbandonedCalls({
      owned: new Set(),
      ...calling.deps,
      nodeId: 'node-1',
      folder: calling.folder,
      now: clock.wall(),
    })
    t.match(dataOf(await send('GET', `/v1/calls/${ringing}`)), {
      transfer: { status: 'canceled', outcome: 'call_ended' },
    })
    t.match(dataOf(await send('GET', `/v1/calls/${bridged}`)), {
      transfer: { status: 'completed', outcome: 'connected' },
      charges: [{ kind: 'agent' }, { kind: 'human' }],
    })
    const [attempt] = itemsOf(await send('GET', `/v1/calls/${bridged}/transfers`))
    t.match(attempt, { hasRecording: true, hasReturnRecording: false })
    const link = await send('GET', `/v1/calls/${bridged}/transfers/${attempt?.id}/recording`)
    t.match(dataOf(link), { bytes: wav.length, durationSeconds: 2, channels: 2 })
    t.same(Buffer.from(await (await fetch(String(dataOf(link).url))).arrayBuffer()), Buffer.from(wav))
    // Both carry the time of the last sign of life.
    t.same((await eventsOf(ringing)).toSorted(), ['call.transfer_failed', 'call.transfer_started'])
  })
  await calling.close()

  await t.test(
    'a leg holds a channel of the trunk, and gives it back with the leg or the call',
    async (t) => {
      const live = await openLiveCalling(await open(), { agentCalls: 3 })
      t.teardown(() => live.calling.close())
      const { calling, key, numberId } = live
      const { db } = calling.deps
      const { first } = await openDesk(calling)
      const verified = await db
        .selectFrom('destinationVerifications')
        .selectAll()
        .where('destinationId', '=', first)
        .executeTakeFirstOrThrow()
      await db
        .insertInto('destinationVerifications')
        .values({ ...verified, environment: 'live' })
        .execute()
      const transfer = {
        defaultDestinationId: first,
        destinations: [{ destinationId: first, when: 'bills' }],
      }
      const agentId = await calling.publishAgent({ ...LIVE_MODELS, callSettings: { transfer } })
      const json = { to: '+919876543210', numberId, agentId }
      const id = String(dataOf(await calling.send('POST', '/v1/calls', { key, json })).id)
      await calling.emitCallEvent(id, { type: 'dialing', sipCallId: id }, { type: 'answered' })
      const channels = async () => {
        const rows = await db.selectFrom('callSlots').selectAll().where('pool', 'like', 'trunk:%').execute()
        return rows.map(({ callId }) => callId)
      }
      t.same(await channels(), [id])
      const asked = await calling.send('POST', `/v1/calls/${id}/transfer`, { key, json: {} })
      t.match(dataOf(asked), { accepted: true })
      const plan = calling.control.transfers.at(-1)?.plan
      if (plan === undefined) throw new Error('nothing was transferred')
      const dial = () => plan.clear(plan.destination)
      calling.clock.advance(5_000)
      const leg = await dial()
      t.match(leg?.permit, { callId: id })
      const used = await db.selectFrom('sipTrunks').select('lastOutboundAt').execute()
      t.same(used, [{ lastOutboundAt: calling.clock.wall() }], 'the leg is a call over the trunk')
      t.same(await channels(), [id, id])
      leg?.release?.()
      await until(async () => (await channels()).length === 1)
      t.same(await channels(), [id], 'the call keeps its own')

      t.ok((await dial()) && (await dial()))
      t.equal(await dial(), null, 'the trunk is full')
      t.same(await channels(), [id, id, id])
      const enabled = (to: 0 | 1) => db.updateTable('transferDestinations').set({ enabled: to }).execute()
      await enabled(0)
      t.equal(await dial(), null)
      await calling.emitCallEvent(id, ENDED)
      t.same(await channels(), [])
    },
  )
})
