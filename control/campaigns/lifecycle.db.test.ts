import t, { type Test } from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { until } from '../../fixtures/host/until.js'
import { openLiveCalling } from '../../fixtures/virtual-call/live-calling.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import type { Ending } from '../../signalling/call/ending.js'
import type { LiveFeed } from '../api/deps.js'
import type { EventStream, StreamEvent } from '../api/event-stream.js'
import { takeTrunkChannel } from '../calls/placement/call-slots.js'
import type { OpenDatabase } from '../db/database.js'
import type { ClaimedJob } from '../jobs/runner.js'
import { recordChange } from '../live/changes.js'
import { openLiveFeed } from '../live/feed.js'
import { lockOrganization, updateOrganizationProfile } from '../organization/profile-store.js'
import { diallerJob } from '../recipients/dialler-job.js'
import { insertCallback } from './callbacks/store.js'
import { dialOnce } from './dial.js'
import { diallerHandler } from './dial-job.js'
import { next } from './dialler.js'
import { loadState } from './load-state.js'

/* The life of a campaign, one look of the dialler at a time. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const BUSY: Ending = { by: 'callee', cause: 'busy', fault: 'none', sip: 486 }
const CARRIER_BUSY: Ending = { by: 'engine', cause: 'carrier_error', fault: 'carrier', sip: 503 }
const HANGUP: Ending = { by: 'caller', cause: 'caller_hangup', fault: 'none' }
const ALL_DAY = { windowStartMinute: 0, windowEndMinute: 1_440 }

interface Rig {
  readonly calling: TestCalling
  readonly owner: { readonly organizationId: string; readonly environment: 'test' | 'live' }
  readonly numberId: string
  readonly agentId: string
  readonly key: string
}

async function openRig(t: Test, database: OpenDatabase): Promise<Rig> {
  const calling = await openTestCalling(database)
  t.teardown(() => calling.close())
  const agentId = await calling.publishAgent({ callSettings: { openingLine: { text: 'Hello.' } } })
  const { owner, numberId } = calling
  return { calling, owner, numberId, agentId, key: calling.api.testKey }
}

function actions({ calling, owner, numberId, agentId, key }: Rig) {
  const { deps, clock, control } = calling
  const { db } = deps
  const send = (method: string, path: string, json?: object, headers = {}) =>
    calling.send(method, path, { key, headers, ...(json === undefined ? {} : { json }) })
  const dialled = () => control.dialled.map(({ permit }) => permit.to)
  return {
    send,
    dialled,
    async launch(settings: object, e164s: readonly string[]): Promise<string> {
      const json = { name: 'Reminders', agentId, numberId, schedule: ALL_DAY, ...settings }
      const id = String(dataOf(await send('POST', '/v1/campaigns', json)).id)
      await send('POST', `/v1/campaigns/${id}/recipients`, { recipients: e164s.map((e164) => ({ e164 })) })
      const launched = await send('POST', `/v1/campaigns/${id}/launch`, {}, { 'idempotency-key': id })
      if (launched.status !== 200) throw new Error(JSON.stringify(launched.body))
      return id
    },
    read: async (id: string) => dataOf(await send('GET', `/v1/campaigns/${id}`)),
    people: async (id: string) => itemsOf(await send('GET', `/v1/campaigns/${id}/recipients`)),
    /** One look of the dialler. Returns when the next one is due. */
    async look(): Promise<number | null> {
      const { id, lane, payload } = diallerJob(owner)
      const abort = new AbortController()
      abort.abort()
      const write: ClaimedJob['write'] = (run) => db.transaction().execute(run)
      const job = { id, lane, payload, attempts: 1, signal: abort.signal, write }
      const outcome = await diallerHandler(deps).run(job)
      const next = await db.transaction().execute(outcome)
      return typeof next === 'object' ? (next?.dueAt ?? null) : next
    },
    /** Ends the last call of a person. */
    async end(to: string, ending: Ending, answered = false): Promise<void> {
      const call = control.dialled.findLast(({ permit }) => permit.to === to)
      if (call === undefined) throw new Error(`no call to ${to}`)
      const { callId } = call.permit
      await calling.emitCallEvent(callId, { type: 'dialing', sipCallId: callId })
      if (answered) {
        await calling.emitCallEvent(callId, { type: 'answered' })
        clock.advance(5_000)
      }
      await calling.emitCallEvent(callId, { type: 'ended', ending, rtp: null, recording: null })
    },
  }
}

/** A tab that shows a campaign: it reads the campaign again for each change that concerns it, as the dashboard does. */
class Tab {
  readonly #rig: Rig
  readonly #id: string
  #stream: EventStream | null = null
  #lastEventId: string | null = null
  #marks = 0
  /** The campaign as the tab shows it. */
  view: Record<string, unknown> = {}
  /** True if the last stream went on where the one before ended. */
  resumed = false

  constructor(rig: Rig, id: string) {
    this.#rig = rig
    this.#id = id
  }

  async open(feed: LiveFeed): Promise<void> {
    const { owner } = this.#rig
    const watch = { ...owner, userId: 'usr_1', callId: null, lastEventId: this.#lastEventId }
    const stream = await feed.watch(watch)
    if (!('next' in stream)) throw new Error(stream.message)
    this.#stream = stream
    await this.catchUp()
  }

  close(): void {
    this.#stream?.close()
  }

  /** Reads the stream to the present. */
  async catchUp(): Promise<void> {
    const { calling, owner, key } = this.#rig
    const { db } = calling.deps
    const mark = `mark ${++this.#marks}`
    await db
      .transaction()
      .execute((trx) => recordChange(trx, { ...owner, kind: 'check', subjectId: mark }, feedClock.wall()))
    for (let arrived = false; !arrived; ) {
      for (const { event, data, id } of await this.#next()) {
        this.#lastEventId = id ?? this.#lastEventId
        const { resumed, kind, id: subject } = data as Record<string, unknown>
        if (event === 'hello') this.resumed = resumed === true
        else if (subject === mark) arrived = true
        const concerned = event === 'hello' ? resumed !== true : kind === 'call' || subject === this.#id
        if (!concerned) continue
        this.view = dataOf(await calling.send('GET', `/v1/campaigns/${this.#id}`, { key }))
      }
    }
  }

  /** Waits for events while time goes on for the feeds, which look three times a second. */
  async #next(): Promise<readonly StreamEvent[]> {
    let over = false
    const reading = this.#stream?.next().finally(() => {
      over = true
    })
    await until(() => {
      feedClock.advance(300)
      return over
    })
    const events = await reading
    if (events === null || events === undefined) throw new Error('the stream has ended')
    return events
  }
}

/** The clock of the feeds. It goes on by itself while a tab waits, and the time of the campaigns stands. */
const feedClock = new VirtualClock()

const [ONE, TWO, THREE] = ['+919810000001', '+919810000002', '+919810000003'] as const

await onEachDialect(t, async (t, open) => {
  await t.test('a stopped campaign abandons who waits, and lets calls go on', async (t) => {
    const rig = await openRig(t, await open())
    const { send, launch, look, end, people, read, dialled } = actions(rig)
    const id = await launch({}, [ONE, TWO])
    await look()
    t.same(dialled(), [ONE])
    t.match(await send('POST', `/v1/campaigns/${id}/stop`), {
      status: 200,
      body: { data: { status: 'stopped' } },
    })
    t.match(await people(id), [{ status: 'dialing' }, { status: 'settled', outcome: 'abandoned' }])
    await end(ONE, BUSY)
    t.match((await people(id))[0], { status: 'settled', outcome: 'busy' }, 'is not called again')
    rig.calling.clock.advance(HOUR)
    t.equal(await look(), null)
    t.same(dialled(), [ONE])
    t.match(await read(id), { status: 'stopped', progress: { total: 2, dialed: 1, settled: 2 } })
    t.equal((await send('POST', `/v1/campaigns/${id}/stop`)).status, 200, 'again')
    t.equal((await send('POST', `/v1/campaigns/${id}/resume`)).status, 409)
  })

  await t.test('a campaign ends with its schedule when the last call has ended', async (t) => {
    const rig = await openRig(t, await open())
    const { clock } = rig.calling
    const { launch, look, end, people, read } = actions(rig)
    const schedule = { ...ALL_DAY, endsAt: new Date(clock.wall() + HOUR).toISOString() }
    const id = await launch({ schedule, retries: { intervalMinutes: 30, attempts: 3, on: ['busy'] } }, [
      ONE,
      TWO,
      THREE,
    ])
    await look()
    await end(ONE, BUSY)
    clock.advance(MINUTE)
    await look()
    clock.advance(HOUR)
    await look()
    t.match(await read(id), { status: 'running' }, 'a call is under way')
    await end(TWO, HANGUP, true)
    await look()
    t.match(await people(id), [
      { status: 'settled', outcome: 'busy', excludedReason: null },
      { status: 'settled', outcome: 'answered' },
      { status: 'settled', outcome: 'excluded', excludedReason: 'outside_window' },
    ])
    t.match(await read(id), {
      status: 'completed',
      progress: { dialed: 2, connected: 1, excluded: 1, settled: 3 },
    })
  })

  await t.test('a dial whose window closes while it waits is made on the next day', async (t) => {
    const rig = await openRig(t, await open())
    const { calling, owner } = rig
    const { clock, control, deps } = calling
    const { launch, people, dialled, look } = actions(rig)
    const DAY = 24 * HOUR
    const midnight = clock.wall() - ((clock.wall() + 330 * MINUTE) % DAY)
    const id = await launch({ schedule: { windowStartMinute: 600, windowEndMinute: 720 } }, [ONE])
    clock.advance(midnight + 600 * MINUTE + (clock.wall() > midnight + 700 * MINUTE ? DAY : 0) - clock.wall())
    const closeIn = async (ms: number) => {
      const closes = midnight + 720 * MINUTE + DAY * Math.floor((clock.wall() - midnight) / DAY)
      clock.advance(closes - ms - clock.wall())
      const loaded = await loadState(deps, owner, clock.wall())
      if (loaded === null) throw new Error('no campaign is active')
      const [dial] = next(loaded.state, clock.wall()).dials
      const campaign = loaded.campaigns.get(id)
      const [state] = loaded.state.campaigns
      const route = loaded.routes.get(dial?.route ?? '')
      if (!dial || !campaign || !state || !route) throw new Error('nothing is due')
      return { dial, opens: closes + 22 * HOUR, context: { deps, claimedBy: 'one', campaign, state, route } }
    }
    const waits = async (opens: number) => {
      const nextAttemptAt = new Date(opens).toISOString()
      t.match(await people(id), [{ status: 'pending', attempts: 0, nextAttemptAt }])
      t.same(dialled(), [])
      clock.advance(opens - clock.wall())
    }
    const first = await closeIn(50)
    clock.advance(50)
    t.same(await dialOnce(first.context, first.dial), { kind: 'wait' })
    await waits(first.opens)

    const second = await closeIn(50)
    const closing = () => {
      clock.advance(50)
      return true
    }
    const calls = Object.create(control, { connected: { get: closing } })
    t.same(await dialOnce({ ...second.context, deps: { ...deps, calls } }, second.dial), { kind: 'wait' })
    t.same(await deps.db.selectFrom('calls').select('id').execute(), [], 'the gate was slow')
    t.same(await deps.db.selectFrom('callSlots').select('callId').execute(), [])
    await waits(second.opens)
    await look()
    t.same(dialled(), [ONE])
  })

  await t.test('a launch whose answer was lost is no second launch', async (t) => {
    const rig = await openRig(t, await open())
    const { send, launch } = actions(rig)
    const id = await launch({}, [ONE])
    // As after an error of the database between the launch and its answer.
    const { db } = rig.calling.deps
    await db.updateTable('idempotencyKeys').set({ state: 'free' }).where('key', '=', id).execute()
    const path = `/v1/campaigns/${id}/launch`
    const again = await send('POST', path, {}, { 'idempotency-key': id })
    t.match(again, { status: 200, body: { data: { id, status: 'running' } } })
    t.equal((await send('POST', path, {}, { 'idempotency-key': 'another' })).status, 409)
  })

  await t.test('a resumed campaign calls with the agent of its launch', async (t) => {
    const rig = await openRig(t, await open())
    const { calling, agentId } = rig
    const { send, launch, look } = actions(rig)
    const id = await launch({}, [ONE, TWO])
    t.equal((await send('POST', `/v1/campaigns/${id}/pause`)).status, 200)
    await look()
    await send('PATCH', `/v1/agents/${agentId}`, { systemPrompt: 'You are Ravi.' })
    t.match(await send('POST', `/v1/agents/${agentId}/publish`), { status: 201 })
    const agent = dataOf(await send('GET', `/v1/agents/${agentId}`))
    t.match(agent, { publishedVersion: 2 })
    t.equal((await send('POST', `/v1/campaigns/${id}/resume`)).status, 200)
    await look()
    const calls = await calling.deps.db.selectFrom('calls').select('agentVersion').execute()
    t.same(calls, [{ agentVersion: 1 }])
  })

  await t.test('only pace, floor and end change while a campaign is paused', async (t) => {
    const rig = await openRig(t, await open())
    const { calling, owner } = rig
    const { clock, deps } = calling
    const { send, launch, look, read } = actions(rig)
    const id = await launch({}, [ONE])
    const patch = async (json: object) => (await send('PATCH', `/v1/campaigns/${id}`, json)).status
    const pacing = { callsPerMinute: 20, maxConcurrent: 2 }
    t.equal(await patch({ pacing }), 409, 'it runs')
    await send('POST', `/v1/campaigns/${id}/pause`)
    t.equal(await patch({ pacing }), 200)
    t.equal(await patch({ autoPauseBelowPaise: 5_000 }), 200)
    for (const json of [
      { name: 'Other' },
      { retries: { attempts: 3 } },
      { schedule: { weekdays: 1 } },
      { agentId: rig.agentId },
      { numberId: rig.numberId },
    ]) {
      t.equal(await patch(json), 409, Object.keys(json).join())
    }
    t.match(await read(id), { name: 'Reminders', pacing, autoPauseBelowPaise: 5_000 })

    t.equal(await look(), null, 'the dialler sleeps')
    const job = diallerJob(owner)
    await deps.db.deleteFrom('jobs').where('id', '=', job.id).execute()
    const endsAt = clock.wall() + HOUR
    t.equal(await patch({ schedule: { endsAt: new Date(endsAt).toISOString() } }), 200)
    const woken = await deps.db.selectFrom('jobs').select('dueAt').where('id', '=', job.id).executeTakeFirst()
    t.ok(woken !== undefined && woken.dueAt <= clock.wall(), 'the change wakes it')
    t.equal(await look(), Math.min(endsAt, clock.wall() + MINUTE))
    clock.advance(HOUR)
    await look()
    t.match(await read(id), { status: 'completed', progress: { excluded: 1, settled: 1 } })
  })

  await t.test('a wallet below the floor, and an agent that is gone, pause a campaign', async (t) => {
    const rig = await openLiveCalling(await open(), { fundsPaise: 10_000 })
    t.teardown(() => rig.calling.close())
    const { deps, clock } = rig.calling
    const { send, launch, look, read, dialled } = actions(rig)
    const id = await launch({ autoPauseBelowPaise: 10_001 }, [ONE, TWO])
    await look()
    t.match(await read(id), { status: 'paused', pausedReason: 'low_balance' })
    await send('PATCH', `/v1/campaigns/${id}`, { autoPauseBelowPaise: 0 })
    await send('POST', `/v1/campaigns/${id}/resume`)
    await look()
    t.same(dialled(), [ONE])
    clock.advance(MINUTE)
    await deps.db.updateTable('numbers').set({ status: 'suspended' }).where('id', '=', rig.numberId).execute()
    await look()
    t.match(await read(id), { status: 'paused', pausedReason: 'target_unavailable' })
    t.equal((await send('POST', `/v1/campaigns/${id}/resume`)).status, 409)
    const events = itemsOf(await send('GET', '/v1/events?type=campaign.paused'))
    t.equal(events.length, 2)
    t.same(dialled(), [ONE])
  })

  await t.test('money that calls in progress hold is waited for', async (t) => {
    const rig = await openLiveCalling(await open(), { fundsPaise: 2_000 })
    t.teardown(() => rig.calling.close())
    const { deps, clock } = rig.calling
    const { launch, look, read, dialled, end } = actions(rig)
    const id = await launch({}, [ONE, TWO])
    await look()
    t.same(dialled(), [ONE])
    clock.advance(MINUTE)
    t.equal(await look(), clock.wall() + 1_000, 'the call holds 12 of 20 rupees: it looks again')
    t.match(await read(id), { status: 'running', pausedReason: null })
    await end(ONE, BUSY)
    await look()
    t.same(dialled(), [ONE, TWO], 'the call cost nothing')
    // The next one does.
    await end(TWO, BUSY)
    await deps.db.updateTable('wallets').set({ balancePaise: 1_199 }).execute()
    const last = await launch({}, [THREE])
    await look()
    await look()
    t.match(await read(last), { status: 'paused', pausedReason: 'low_balance' })
  })

  await t.test('a telephone system that registers again is waited for', async (t) => {
    const rig = await openLiveCalling(await open())
    t.teardown(() => rig.calling.close())
    const { deps, clock } = rig.calling
    const { db } = deps
    const { send, launch, look, read, dialled, end } = actions(rig)
    const reach = (outboundHost: string | null) => db.updateTable('sipTrunks').set({ outboundHost }).execute()
    const id = await launch({}, [ONE, TWO, THREE])
    const startsAt = new Date(clock.wall() + 5 * MINUTE).toISOString()
    const later = await launch({ schedule: { ...ALL_DAY, startsAt } }, ['+919810000004'])
    await look()
    await end(ONE, HANGUP, true)
    const callId = rig.calling.control.dialled[0]?.permit.callId ?? ''
    await reach(null)
    const now = clock.wall()
    await db.transaction().execute((trx) =>
      insertCallback(trx, {
        ...{ id: newId('cbk', now), ...rig.owner, callId, agentId: rig.agentId, numberId: rig.numberId },
        ...{
          e164: '+919810000009',
          dueAt: now,
          promisedAt: now,
          note: '',
          variables: '{}',
          status: 'scheduled',
        },
        ...{ resultCallId: null, reason: null, createdAt: now },
      }),
    )
    clock.advance(MINUTE)
    await look()
    t.match(await db.selectFrom('callbacks').selectAll().executeTakeFirst(), {
      status: 'due',
      reason: 'provider_unavailable',
    })
    clock.advance(8 * MINUTE)
    await look()
    t.match([await read(id), await read(later)], [{ status: 'running' }, { status: 'scheduled' }])
    await reach('127.0.0.1')
    clock.advance(5_000)
    for (let i = 0; i < 3; i++) {
      await look()
      // The pace of the trunk.
      clock.advance(20)
    }
    t.match(await read(later), { status: 'running' })
    t.same(dialled().slice(0, 2), [ONE, '+919810000009'], 'the callback first')
    t.ok(dialled().includes(TWO))

    await reach(null)
    clock.advance(MINUTE)
    await look()
    clock.advance(10 * MINUTE - 1)
    await look()
    t.match(await read(id), { status: 'running' })
    clock.advance(1)
    await look()
    t.match(await read(id), { status: 'paused', pausedReason: 'target_unavailable' })
    await reach('127.0.0.1')
    t.equal((await send('POST', `/v1/campaigns/${id}/resume`)).status, 200)
    await look()
    t.ok(dialled().includes(THREE))
  })

  await t.test('the delay of a person who is always busy doubles', async (t) => {
    const rig = await openRig(t, await open())
    const { clock } = rig.calling
    const { launch, look, end, people } = actions(rig)
    const retries = { attempts: 4, intervalMinutes: 5, backoff: 'exponential', on: ['busy'] }
    const id = await launch({ retries }, [ONE])
    for (const minutes of [5, 10, 20]) {
      await look()
      await end(ONE, BUSY)
      const at = clock.wall() + minutes * MINUTE
      t.match(await people(id), [{ status: 'retry_wait', nextAttemptAt: new Date(at).toISOString() }])
      clock.advance(minutes * MINUTE)
    }
    await look()
    await end(ONE, BUSY)
    t.match(await people(id), [{ status: 'settled', outcome: 'busy', attempts: 4 }])
  })

  await t.test('wrong counters are corrected after ten minutes', async (t) => {
    const rig = await openRig(t, await open())
    const { clock, deps } = rig.calling
    const { launch, look, read } = actions(rig)
    const id = await launch({ pacing: { callsPerMinute: 1, maxConcurrent: 1 } }, [ONE, TWO])
    await look()
    await deps.db.updateTable('campaigns').set({ dialed: 7, connected: 3, settled: 1 }).execute()
    clock.advance(9 * MINUTE)
    await look()
    t.match(await read(id), { progress: { dialed: 7, connected: 3, settled: 1 } })
    clock.advance(MINUTE)
    await look()
    t.match(await read(id), {
      status: 'running',
      progress: { total: 2, dialed: 1, connected: 0, settled: 0 },
    })
  })

  await t.test('a tab is told of every change of a campaign, and goes on at another process', async (t) => {
    const rig = await openRig(t, await open())
    const { clock, deps } = rig.calling
    const { db } = deps
    const { send, launch, look, end, read } = actions(rig)
    const id = await launch({ retries: { attempts: 1 } }, [ONE, TWO, THREE, '+919810000004'])
    // Each process has a feed of its own.
    const [first, second] = [1, 2].map(() => openLiveFeed({ db, clock: feedClock, log: silentLog }))
    if (first === undefined || second === undefined) throw new Error('two feeds are needed')
    t.teardown(() => second.close())
    const tab = new Tab(rig, id)
    await tab.open(first)
    t.equal(tab.resumed, false)
    const follows = async (what: string, expected: object): Promise<void> => {
      await tab.catchUp()
      t.match(tab.view, expected, what)
      t.same(tab.view, await read(id), what)
    }
    await look()
    await follows('a dial', { progress: { total: 4, dialed: 1, connected: 0, settled: 0 } })
    await send('POST', `/v1/campaigns/${id}/pause`)
    await follows('a pause', { status: 'paused', pausedReason: 'operator' })
    const more = { recipients: [{ e164: '+919810000005' }, { e164: '+919810000006' }] }
    await send('POST', `/v1/campaigns/${id}/recipients`, more)
    await follows('recipients', { progress: { total: 6 } })
    const people = itemsOf(await send('GET', `/v1/campaigns/${id}/recipients`))
    t.equal((await send('DELETE', `/v1/campaigns/${id}/recipients/${people.at(-1)?.id}`)).status, 204)
    await follows('a removal', { progress: { total: 5 } })

    // The process of the tab dies. The other process tells the changes that the tab missed.
    await first.close()
    tab.close()
    await end(ONE, HANGUP, true)
    await send('POST', '/v1/dnc', { e164: TWO, reason: 'Asked by e-mail' })
    await send('POST', `/v1/campaigns/${id}/resume`)
    await tab.open(second)
    t.equal(tab.resumed, true)
    await follows('what the tab missed', { status: 'running', progress: { connected: 1, settled: 1 } })

    clock.advance(MINUTE)
    await look()
    await follows('a dial and an exclusion', { progress: { dialed: 2, excluded: 1, settled: 2 } })
    await end(THREE, BUSY)
    await follows('the end of a call', { progress: { dialed: 2, settled: 3 } })
    await db.updateTable('campaigns').set({ settled: 4 }).execute()
    clock.advance(10 * MINUTE)
    await look()
    await follows('a correction', { progress: { dialed: 3, settled: 3 } })
    const breaker = { status: 'paused', pausedReason: 'carrier_errors', resumesAt: clock.wall() } as const
    await db.updateTable('campaigns').set(breaker).execute()
    await look()
    await follows('a half-open breaker', { status: 'running', pausedReason: null })
    await end('+919810000004', HANGUP, true)
    await follows('the end of the first call after it', { progress: { connected: 2, settled: 4 } })
    await send('POST', `/v1/campaigns/${id}/stop`)
    await follows('a stop', { status: 'stopped', progress: { settled: 5 } })
    tab.close()
  })

  await t.test('a burst of 503 halves the pace once, and one about one number does not', async (t) => {
    const rig = await openRig(t, await open())
    const { clock, deps } = rig.calling
    const { launch, look, end } = actions(rig)
    const [FOUR = '', FIVE = '', SIX = '', SEVEN = '', EIGHT = ''] = Array.from(
      { length: 5 },
      (_, n) => `+91982000000${n}`,
    )
    const everybody = [ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT]
    const id = await launch({ pacing: { callsPerMinute: 60, maxConcurrent: 5 } }, everybody)
    const gap = async () => {
      const row = await deps.db
        .selectFrom('campaigns')
        .select('nextDialAt')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return row.nextDialAt - clock.wall()
    }
    for (let dial = 0; dial < 3; dial++) {
      await look()
      t.equal(await gap(), 1_000)
      clock.advance(1_000)
    }
    await end(ONE, CARRIER_BUSY)
    await look()
    t.equal(await gap(), 1_000, 'one number says nothing about the carrier')
    clock.advance(1_000)
    for (const to of [TWO, THREE]) await end(to, CARRIER_BUSY)
    await look()
    t.equal(await gap(), 2_000, 'the calls of one pace count once')
    clock.advance(2_000)
    await end(FOUR, CARRIER_BUSY)
    await look()
    // A tenth of the full pace comes back each minute.
    t.equal(await gap(), Math.ceil(1_000 / 0.503), 'it was dialled at the earlier pace')
    clock.advance(20_000)
    await end(FIVE, CARRIER_BUSY)
    await look()
    const slower = Math.floor((500 + 36) / 2)
    t.equal(await gap(), Math.ceil(1_000 / (slower / 1_000)), 'a call of the new pace counts')
    clock.advance(2 * MINUTE)
    await look()
    t.equal(await gap(), Math.ceil(1_000 / ((slower + 200) / 1_000)))
  })

  await t.test('outcomes count late agents, outputs, evaluations and list the checks', async (t) => {
    const rig = await openRig(t, await open())
    const { clock, deps } = rig.calling
    const { send, launch, look, end, people } = actions(rig)
    const id = await launch({}, [ONE, TWO])
    for (const [to, passed] of [
      [ONE, true],
      [TWO, false],
    ] as const) {
      await look()
      await end(to, HANGUP, true)
      const callId = String((await people(id)).find(({ e164 }) => e164 === to)?.lastCallId)
      const now = clock.wall()
      await deps.db.deleteFrom('callResults').where('callId', '=', callId).execute()
      await deps.db
        .insertInto('callResults')
        .values({
          ...{ callId, organizationId: rig.owner.organizationId, state: 'done', summary: '', error: null },
          ...{ outputs: JSON.stringify({ wants: 'table', persons: passed ? 2 : null }), announced: 1 },
          evaluation: JSON.stringify([{ id: 'polite', name: 'Polite', passed, reason: '' }]),
          ...{ createdAt: now, updatedAt: now },
        })
        .execute()
      clock.advance(MINUTE)
    }
    const outcomes = dataOf(await send('GET', `/v1/campaigns/${id}/outcomes`))
    t.match(outcomes, {
      byDisposition: { answered: 2 },
      lateAgentSound: 2,
      averageDurationSeconds: 5,
    })
    t.same(outcomes.outputs, { wants: { table: 2 }, persons: { 2: 1 } })
    t.same(outcomes.evaluation, [{ id: 'polite', name: 'Polite', passed: 1, failed: 1 }])
    t.match(await people(id), [{ outputs: { wants: 'table', persons: 2 } }, { outputs: { persons: null } }])
    const checks = itemsOf(await send('GET', `/v1/campaigns/${id}/compliance?limit=100`))
    const asked = new Set(checks.map(({ type }) => type))
    t.ok(asked.has('calling_window') && asked.has('dnc'), [...asked].join())
    t.ok(checks.every((check) => check.campaignId === id))
    const recipients = (await people(id)).map((person) => person.id)
    t.same(new Set(checks.map(({ recipientId }) => recipientId)), new Set(recipients))
    const page = await send('GET', `/v1/campaigns/${id}/compliance?limit=1`)
    t.match(page.body, { data: [{ id: checks[0]?.id }], meta: { pagination: { hasMore: true } } })
    t.equal((await send('GET', `/v1/campaigns/${newId('cmp', clock.wall())}/compliance`)).status, 404)
  })

  await t.test(
    'the estimated end counts lines and pace of the trunk, and the share of campaigns',
    async (t) => {
      const rig = await openLiveCalling(await open(), { callsPerMinute: 6, agentCalls: 10 })
      t.teardown(() => rig.calling.close())
      const { clock, deps } = rig.calling
      const { send } = actions(rig)
      const { db } = deps
      const json = {
        ...{ name: 'Reminders', agentId: rig.agentId, numberId: rig.numberId, schedule: ALL_DAY },
        ...{ pacing: { callsPerMinute: 120, maxConcurrent: 10 }, retries: { attempts: 1 } },
      }
      const id = String(dataOf(await send('POST', '/v1/campaigns', json)).id)
      const recipients = Array.from({ length: 30 }, (_, i) => ({ e164: `+9198100001${10 + i}` }))
      await send('POST', `/v1/campaigns/${id}/recipients`, { recipients })
      // A mean call of people who were never called takes 42.5 seconds.
      const seconds = async () => {
        const { preflight } = dataOf(await send('POST', `/v1/campaigns/${id}/preflight`))
        const { estimatedFinish } = preflight as { estimatedFinish: { low: string } }
        return (Date.parse(estimatedFinish.low) - clock.wall()) / 1_000
      }
      t.equal(await seconds(), 300, 'six calls a minute over the trunk')
      await db.updateTable('sipTrunks').set({ callsPerMinute: 6_000 }).execute()
      t.equal(await seconds(), Math.ceil((30 * 42_500) / 7) / 1_000, 'seven of ten slots')
      const trunk = await db.selectFrom('sipTrunks').selectAll().executeTakeFirstOrThrow()
      for (let i = 0; i < 8; i++) {
        const holder = { callId: `call_${i}`, nodeId: 'elsewhere' }
        t.equal(await takeTrunkChannel(db, trunk, holder, clock.wall()), null)
      }
      t.equal(await seconds(), (30 * 42.5) / 2, 'two free lines')
      await db.deleteFrom('callSlots').execute()
      await db.transaction().execute(async (trx) => {
        await lockOrganization(trx, rig.owner.organizationId, clock.wall())
        await updateOrganizationProfile(trx, rig.owner.organizationId, { campaignSharePercent: 30 })
      })
      t.equal(await seconds(), (30 * 42.5) / 3, 'three of ten slots')
    },
  )
})
