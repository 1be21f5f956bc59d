import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { writeWav } from '../../../fixtures/audio/wav.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { memorySpool } from '../../../fixtures/database/memory-spool.js'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import { silentLog } from '../../../media/base/log.js'
import type { CallEvent } from '../../../signalling/call/call-events.js'
import { policyInForce } from '../../compliance/policy.js'
import type { Db } from '../../db/database.js'
import { unavailable } from '../../db/transient-error.js'
import { openJobRunner } from '../../jobs/runner.js'
import {
  expiredCallsHandler,
  scheduleExpiredCalls,
  settleAbandonedCalls,
  settleExpiredCalls,
} from './abandoned.js'
import { type EventSpool, openEventSpool } from './event-spool.js'
import { openCallEventWriter } from './event-writer.js'
import { LEASE_MS, openLeases } from './leases.js'

const BUILT_IN = policyInForce(null)
const NONE: ReadonlySet<string> = new Set()

const ENDED = {
  type: 'ended',
  ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
  rtp: null,
  recording: null,
} as const

async function place(calling: TestCalling): Promise<string> {
  const json = { to: '+919876543210', numberId: calling.numberId }
  return String(dataOf(await calling.send('POST', '/v1/calls', { json })).id)
}

function turnEvent(
  callId: string,
  seq: number,
  at: number,
  speaker: 'caller' | 'agent' = 'caller',
  text = `line ${seq}`,
): CallEvent {
  return {
    callId,
    seq,
    at,
    type: 'turn',
    turn: {
      id: seq,
      speaker,
      text,
      heardText: text,
      language: 'en-IN',
      startMs: seq * 10,
      endMs: seq * 10 + 5,
      words: null,
    },
  }
}

/** The events on the disk that no process has stored yet. */
async function leftIn(folder: string): Promise<readonly CallEvent[]> {
  const spool = await openEventSpool(folder, silentLog)
  await spool.close()
  return spool.left
}

/** A database that counts its transactions. */
function counting(db: Db): { readonly db: Db; readonly transactions: number } {
  let transactions = 0
  const counted = new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'transaction') transactions++
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return {
    db: counted,
    get transactions() {
      return transactions
    },
  }
}

/** A database whose next transactions fail. */
function failing(db: Db, errors: Error[]): Db {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'transaction') {
        const error = errors.shift()
        if (error !== undefined) return () => ({ execute: () => Promise.reject(error) })
      }
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

await onEachDialect(t, async (t, open) => {
  await t.test('events of many calls are stored in order, each once', async (t) => {
    const calling = await openTestCalling(await open())
    const { eventWriter: bridge, clock, deps } = calling
    await calling.publishAgent()
    const ids = [await place(calling), await place(calling), await place(calling)]
    for (let seq = 0; seq < 20; seq++) {
      for (const id of ids) {
        if (seq === 0) bridge.publish({ callId: id, seq, at: clock.wall(), type: 'dialing', sipCallId: id })
        else if (seq === 1) bridge.publish({ callId: id, seq, at: clock.wall(), type: 'answered' })
        else bridge.publish(turnEvent(id, seq, clock.wall()))
      }
    }
    for (const id of ids) bridge.publish({ callId: id, seq: 20, at: clock.wall(), ...ENDED })
    t.ok(bridge.waiting > 0)
    t.ok(await bridge.flush(60_000))
    t.equal(bridge.waiting, 0)
    t.equal(bridge.lost, 0)
    for (const id of ids) {
      const rows = await deps.db
        .selectFrom('callEvents')
        .selectAll()
        .where('callId', '=', id)
        .orderBy('seq')
        .execute()
      t.same(
        rows.map((row) => row.seq),
        Array.from({ length: 21 }, (_, seq) => seq),
      )
      const call = dataOf(await calling.send('GET', `/v1/calls/${id}`))
      t.match(call, { status: 'ended', disposition: 'answered' })
    }
    // Published again, as after a lost connection: nothing is stored twice.
    for (const id of ids) bridge.publish({ callId: id, seq: 20, at: clock.wall(), ...ENDED })
    await bridge.flush(60_000)
    const events = itemsOf(await calling.send('GET', '/v1/events?limit=100'))
    t.equal(events.filter((event) => event.type === 'call.completed').length, 3)
    await calling.close()
  })

  await t.test('events that only inform are stored once a second, those of all calls together', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps } = calling
    const clock = new VirtualClock()
    await calling.publishAgent()
    const ids = [await place(calling), await place(calling), await place(calling)]
    const counted = counting(deps.db)
    const bridge = openCallEventWriter({
      ...{ ...deps, db: counted.db, clock, log: silentLog },
      spool: memorySpool(),
    })
    const stored = async (id: string) => {
      const rows = await deps.db
        .selectFrom('callEvents')
        .select('seq')
        .where('callId', '=', id)
        .orderBy('seq')
        .execute()
      return rows.map(({ seq }) => seq)
    }
    const [first = '', second = '', third = ''] = ids
    for (const id of ids) {
      for (let seq = 1; seq <= 4; seq++) bridge.publish(turnEvent(id, seq, clock.wall(), 'agent'))
    }
    await clock.advanceAsync(999, 333)
    t.same([counted.transactions, bridge.waiting], [0, 12])

    // An event that changes the call does not wait, and takes the earlier events with it.
    bridge.publish({ callId: second, seq: 5, at: clock.wall(), type: 'answered' })
    await until(() => bridge.waiting === 8)
    t.same([counted.transactions, await stored(second)], [1, [1, 2, 3, 4, 5]])
    bridge.publish(turnEvent(third, 5, clock.wall(), 'caller', 'Please do not call me again.'))
    await until(() => bridge.waiting === 4)
    t.same([counted.transactions, await stored(third)], [2, [1, 2, 3, 4, 5]], 'nor does an opt-out')
    bridge.publish(turnEvent(third, 6, clock.wall(), 'caller', '9'))
    await until(() => bridge.waiting === 4)
    t.equal(counted.transactions, 3, 'nor a key')

    bridge.publish(turnEvent(second, 6, clock.wall(), 'agent'))
    bridge.publish(turnEvent(third, 7, clock.wall(), 'caller'))
    clock.advance(1)
    await until(() => bridge.waiting === 0)
    t.equal(counted.transactions, 4, 'one transaction for three calls')
    t.same(await stored(first), [1, 2, 3, 4])

    // A reader of the words waits until they are stored.
    for (const id of [first, second]) bridge.publish(turnEvent(id, 7, clock.wall(), 'caller'))
    await bridge.settled(first)
    t.same([await stored(first), bridge.waiting], [[1, 2, 3, 4, 7], 1])
    await bridge.settled(third)
    await bridge.flush(60_000)
    await bridge.close()
    t.equal(clock.pending, 0)
    await calling.close()
  })

  await t.test('an event that cannot be stored does not keep the others of its group', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps } = calling
    const clock = new VirtualClock()
    await calling.publishAgent()
    const ids = [await place(calling), await place(calling)]
    const bridge = openCallEventWriter({ ...deps, clock, log: silentLog, spool: memorySpool() })
    const [good = '', bad = ''] = ids
    for (const id of ids) bridge.publish(turnEvent(id, 1, clock.wall(), 'agent'))
    // No column holds such a time.
    bridge.publish({ ...turnEvent(bad, 2, clock.wall(), 'agent'), at: Number.NaN })
    bridge.publish(turnEvent(bad, 3, clock.wall(), 'agent'))
    t.ok(await bridge.flush(60_000))
    t.equal(bridge.lost, 1)
    const rows = await deps.db.selectFrom('callEvents').select(['callId', 'seq']).execute()
    const seqs = (id: string) => rows.filter(({ callId }) => callId === id).map(({ seq }) => seq)
    t.same([seqs(good), seqs(bad).sort()], [[1], [1, 3]])
    await bridge.close()
    await calling.close()
  })

  await t.test('an event that does not fit the state changes nothing', async (t) => {
    const calling = await openTestCalling(await open())
    await calling.publishAgent()
    const id = await place(calling)
    await calling.emitCallEvent(
      id,
      { type: 'answered' },
      { type: 'ringing', sip: 180 },
      { type: 'dialing', sipCallId: 'x' },
    )
    t.match(dataOf(await calling.send('GET', `/v1/calls/${id}`)), { status: 'in_progress', ringingAt: null })
    await calling.emitCallEvent(
      id,
      ENDED,
      { type: 'answered' },
      { ...ENDED, ending: { ...ENDED.ending, cause: 'busy' } },
    )
    t.match(dataOf(await calling.send('GET', `/v1/calls/${id}`)), {
      status: 'ended',
      endedReason: 'caller_hangup',
    })
    await calling.close()
  })

  await t.test('a database outage delays events, an event that cannot be stored is counted', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps } = calling
    const clock = new VirtualClock()
    await calling.publishAgent()
    const id = await place(calling)
    const busy = () => unavailable('a test', new Error('database is locked'))
    const errors: Error[] = [busy(), busy(), busy()]
    const bridge = openCallEventWriter({
      ...{ ...deps, db: failing(deps.db, errors), clock, log: silentLog },
      spool: memorySpool(),
    })
    bridge.publish({ callId: id, seq: 0, at: clock.wall(), type: 'answered' })
    bridge.publish({ callId: id, seq: 1, at: clock.wall(), ...ENDED })
    await until(async () => {
      await clock.advanceAsync(100, 50)
      await new Promise((resolve) => setTimeout(resolve, 1))
      return bridge.waiting === 0
    })
    t.equal(errors.length, 0)
    t.equal(bridge.waiting, 0)
    t.match(dataOf(await calling.send('GET', `/v1/calls/${id}`)), {
      status: 'ended',
      disposition: 'answered',
    })

    errors.push(new Error('no such column'))
    bridge.publish(turnEvent(id, 2, clock.wall()))
    await bridge.flush(60_000)
    t.equal(bridge.lost, 1)
    t.equal(bridge.waiting, 0)

    errors.push(...Array.from({ length: 1_000 }, busy))
    bridge.publish(turnEvent(id, 3, clock.wall()))
    await bridge.close()
    t.equal(clock.pending, 0)
    await calling.close()
  })

  await t.test('an event that changes a call is stored after any error, and after a restart', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps } = calling
    const clock = new VirtualClock()
    await calling.publishAgent()
    const id = await place(calling)
    const folder = t.testdir({})
    // Not the words of a busy database: what an unknown fault says.
    const errors = Array.from({ length: 1_000 }, () => new Error('column "file" does not exist'))
    const base = { ...deps, clock, log: silentLog }
    const spool = await openEventSpool(folder, silentLog)
    const first = openCallEventWriter({ ...base, db: failing(deps.db, errors), spool })
    const startedAt = clock.wall()
    first.publish({ callId: id, seq: 1, at: startedAt, type: 'dialing', sipCallId: id })
    first.publish({ callId: id, seq: 2, at: startedAt, type: 'answered' })
    first.publish({ callId: id, seq: 3, at: startedAt + 60_000, ...ENDED })
    for (let minute = 0; minute < 60; minute++) {
      await clock.advanceAsync(60_000, 30_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    t.equal(first.waiting, 3, 'refused for an hour, and still there')
    t.equal(first.lost, 0)
    t.same([...first.calls()], [id])
    await until(async () => first.onDisk === 3)
    await first.close()

    // Meanwhile no lease of this call was renewed, so that a running process might settle it. This one knows better.
    const second = openCallEventWriter({ ...base, spool: await openEventSpool(folder, silentLog) })
    t.equal(second.onDisk, 3)
    const settling = { db: deps.db, policy: BUILT_IN, nodeId: 'node-1', folder: calling.folder }
    const owned = new Set(second.calls())
    t.equal(await settleExpiredCalls({ ...settling, owned, now: startedAt + 3_600_000 }), 0)
    t.ok(await second.flush(60_000))
    t.equal(second.onDisk, 0)
    const row = await deps.db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    t.match(row, { disposition: 'answered', agentSeconds: 60, endedAt: startedAt + 60_000 })
    await second.close()
    t.same(await leftIn(folder), [])
    await calling.close()
  })

  await t.test('words and reasons with U+0000 do not keep a call from its end', async (t) => {
    const calling = await openTestCalling(await open())
    const { eventWriter: bridge, clock, deps } = calling
    await calling.publishAgent()
    const id = await place(calling)
    bridge.publish({ callId: id, seq: 1, at: clock.wall(), type: 'dialing', sipCallId: 'a\0b' })
    bridge.publish({ callId: id, seq: 2, at: clock.wall(), type: 'answered' })
    bridge.publish(turnEvent(id, 3, clock.wall(), 'caller', 'please do not call me again\0'))
    const ending = { by: 'engine', cause: 'internal', fault: 'ours', note: 'the bot said \0' } as const
    bridge.publish({ callId: id, seq: 4, at: clock.wall(), ...ENDED, ending })
    await bridge.settled(id)
    t.equal(bridge.lost, 0)
    const row = await deps.db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    t.equal(row.status, 'ended')
    t.match(row.error, /^the bot said/)
    await calling.close()
  })

  await t.test('events that decide the price are kept when too many wait', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps } = calling
    const clock = new VirtualClock()
    await calling.publishAgent()
    const id = await place(calling)
    const errors = Array.from({ length: 100_000 }, () => unavailable('a test', 'away'))
    const bridge = openCallEventWriter({
      ...{ ...deps, db: failing(deps.db, errors), clock, log: silentLog },
      spool: memorySpool(),
    })
    for (let seq = 1; seq <= 20_000; seq++)
      bridge.publish(turnEvent(id, seq, clock.wall(), 'agent', 'a line'))
    t.equal(bridge.waiting, 20_000)
    bridge.publish(turnEvent(id, 20_001, clock.wall(), 'agent', 'one more'))
    t.equal(bridge.lost, 1)
    const step = { type: 'transfer', attempt: 1, mode: 'consult', destination: 'd', outcome: null } as const
    bridge.publish({ callId: id, seq: 20_002, at: clock.wall(), ...step, status: 'bridged' })
    const monitor = { type: 'monitored', id: 'mon_1', by: 'usr_1', mode: 'takeover', outcome: null } as const
    bridge.publish({ callId: id, seq: 20_003, at: clock.wall(), ...monitor, status: 'begun' })
    const took = { type: 'agent_took_over', agentVersionId: null, atMs: 0 } as const
    bridge.publish({ callId: id, seq: 20_004, at: clock.wall(), ...took })
    const by = { type: 'answered_by', by: 'voicemail', evidence: 'beep', atMs: 1 } as const
    bridge.publish({ callId: id, seq: 20_005, at: clock.wall(), ...by })
    bridge.publish(turnEvent(id, 20_006, clock.wall(), 'caller', 'please do not call me again'))
    t.equal(bridge.waiting, 20_005)
    t.equal(bridge.lost, 1)
    await bridge.close()
    await calling.close()
  })

  await t.test(
    'a disk without room is tried from time to time, and then takes the ends of calls first',
    async (t) => {
      const calling = await openTestCalling(await open())
      const { deps } = calling
      const clock = new VirtualClock()
      await calling.publishAgent()
      const id = await place(calling)
      const errors = Array.from({ length: 100_000 }, () => unavailable('a test', 'away'))
      const tries: (readonly [events: number, informs: boolean])[] = []
      let hasRoom = false
      const spool: EventSpool = {
        ...memorySpool(),
        async add(events, informs) {
          tries.push([events.length, informs])
          return hasRoom
        },
      }
      const bridge = openCallEventWriter({
        ...{ ...deps, db: failing(deps.db, errors), clock, log: silentLog },
        spool,
      })
      bridge.publish({ callId: id, seq: 1, at: clock.wall(), type: 'answered' })
      for (let seq = 2; seq <= 100; seq++) {
        bridge.publish(turnEvent(id, seq, clock.wall(), 'agent', 'a line'))
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
      bridge.publish({ callId: id, seq: 101, at: clock.wall(), ...ENDED })
      t.ok(tries.length <= 2, `${tries.length} tries`)
      t.equal(bridge.onDisk, 0)
      hasRoom = true
      tries.length = 0
      await until(async () => {
        await clock.advanceAsync(1_000, 500)
        return bridge.onDisk === 101
      })
      t.same(tries[0], [2, false], 'first what must not be lost')
      t.same(tries.slice(1), [[99, true]])
      await bridge.close()
      await calling.close()
    },
  )

  await t.test(
    'an end that comes while other events are written is written next, also at the close',
    async (t) => {
      const calling = await openTestCalling(await open())
      const { deps } = calling
      const clock = new VirtualClock()
      await calling.publishAgent()
      const id = await place(calling)
      const errors = Array.from({ length: 100_000 }, () => unavailable('a test', 'away'))
      const written: CallEvent['type'][] = []
      const spool: EventSpool = {
        ...memorySpool(),
        async add(events) {
          if (events.some(({ type }) => type === 'turn') && !written.includes('turn')) {
            bridge.publish({ callId: id, seq: 3, at: clock.wall(), ...ENDED })
            closing = bridge.close()
          }
          written.push(...events.map(({ type }) => type))
          return true
        },
      }
      let closing: Promise<void> | null = null
      const bridge = openCallEventWriter({
        ...{ ...deps, db: failing(deps.db, errors), clock, log: silentLog },
        spool,
      })
      bridge.publish({ callId: id, seq: 1, at: clock.wall(), type: 'answered' })
      bridge.publish(turnEvent(id, 2, clock.wall(), 'agent', 'a line'))
      await until(async () => {
        await clock.advanceAsync(500, 500)
        return closing !== null
      })
      await closing
      t.same(written, ['answered', 'turn', 'ended'])
      await calling.close()
    },
  )

  await t.test('a call that no process has any more ends at its own last event', async (t) => {
    const calling = await openTestCalling(await open())
    const { clock, deps, control, folder } = calling
    const { db } = deps
    await calling.publishAgent()
    const lost = await place(calling)
    const live = await place(calling)
    for (const id of [lost, live])
      await calling.emitCallEvent(id, { type: 'dialing', sipCallId: id }, { type: 'answered' })
    clock.advance(9_000)
    await calling.emitCallEvent(lost, { type: 'dtmf', digit: '1', atMs: 9_000, durationMs: 100 })
    // The end of this one never arrived, and the process goes on for hours with another.
    control.alive.delete(lost)
    const leases = openLeases({
      ...{ db, clock, log: silentLog, nodeId: 'node-1', calls: control },
      unstored: () => [],
    })
    for (let minute = 0; minute < 120; minute++) await clock.advanceAsync(60_000, 500)
    await leases.close()
    const owned = new Set(control.alive)
    const now = clock.wall()
    t.equal(await settleExpiredCalls({ db, policy: BUILT_IN, nodeId: 'node-1', folder, owned, now }), 1)
    const rows = await db.selectFrom('calls').selectAll().where('id', 'in', [lost, live]).execute()
    t.match(
      rows.find(({ id }) => id === lost),
      { status: 'ended', agentSeconds: 9 },
    )
    t.match(
      rows.find(({ id }) => id === live),
      { status: 'in_progress', endedAt: null },
    )
    const slots = await db.selectFrom('callSlots').select('callId').execute()
    t.same(slots, [{ callId: live }])
    await calling.close()
  })

  await t.test('after an outage nobody settles calls before their nodes had time to renew', async (t) => {
    const calling = await openTestCalling(await open())
    const { clock, deps, control } = calling
    await calling.publishAgent()
    await place(calling)
    let away = false
    const db = new Proxy(deps.db, {
      get(target, name) {
        if (away) throw unavailable('a test', 'away')
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const leases = openLeases({
      ...{ db, clock, log: silentLog, nodeId: 'node-1', calls: control },
      unstored: () => [],
    })
    const pass = (ms: number) => clock.advanceAsync(ms, 500)
    await until(async () => {
      await pass(10_000)
      return leases.contactMs >= LEASE_MS
    })
    away = true
    await pass(75_000)
    t.equal(leases.contactMs, 0)
    away = false
    await until(async () => {
      await pass(1_000)
      return leases.contactMs > 0
    })
    t.ok(leases.contactMs < LEASE_MS)
    await leases.close()
    await calling.close()
  })

  await t.test('on start the calls of a dead process are settled', async (t) => {
    const calling = await openTestCalling(await open())
    const { clock, deps, folder } = calling
    const settling = { db: deps.db, policy: BUILT_IN, nodeId: 'node-1', folder, owned: NONE }
    await calling.publishAgent()
    const answered = await place(calling)
    const ringing = await place(calling)
    const foreign = await place(calling)
    const expired = await place(calling)
    await calling.emitCallEvent(answered, { type: 'dialing', sipCallId: 'a' }, { type: 'answered' })
    clock.advance(10_000)
    await calling.emitCallEvent(answered, { type: 'dtmf', digit: '1', atMs: 9_000, durationMs: 100 })
    const { db } = deps
    await db.updateTable('calls').set({ nodeId: 'node-2' }).where('id', 'in', [foreign, expired]).execute()
    await db.updateTable('calls').set({ leaseUntil: 0 }).where('id', '=', expired).execute()
    await db
      .updateTable('callSlots')
      .set({ nodeId: 'node-2' })
      .where('callId', 'in', [foreign, expired])
      .execute()
    clock.advance(5_000)

    t.equal(await settleAbandonedCalls({ ...settling, now: clock.wall() }), 2)
    t.equal(
      dataOf(await calling.send('GET', `/v1/calls/${expired}`)).status,
      'queued',
      'a running node does that',
    )
    t.equal(await settleExpiredCalls({ ...settling, now: clock.wall() }), 1)
    t.match(dataOf(await calling.send('GET', `/v1/calls/${answered}`)), {
      status: 'ended',
      disposition: 'unknown',
      endedReason: 'internal',
      // Up to the last sign of life, not up to the restart.
      durationSeconds: 10,
      billedPaise: 84,
      error: 'the service stopped while the call was live',
    })
    t.match(dataOf(await calling.send('GET', `/v1/calls/${ringing}`)), {
      status: 'ended',
      disposition: 'failed',
    })
    t.equal(dataOf(await calling.send('GET', `/v1/calls/${expired}`)).status, 'ended')
    t.equal(dataOf(await calling.send('GET', `/v1/calls/${foreign}`)).status, 'queued', 'another node has it')
    const slots = await db.selectFrom('callSlots').select('callId').execute()
    t.same(
      slots.map((slot) => slot.callId),
      [foreign],
    )
    t.equal(await settleAbandonedCalls({ ...settling, now: clock.wall() }), 0, 'once')
    await calling.close()
  })

  await t.test(
    'a dead process: its calls lasted until their last sign of life, and are billed',
    async (t) => {
      const calling = await openTestCalling(await open())
      const { clock, deps, folder, control } = calling
      const { db } = deps
      const settling = { db, policy: BUILT_IN, nodeId: 'node-1', folder, owned: NONE }
      await calling.publishAgent()
      // A call that only heartbeats prove, and one whose recording reaches further.
      const silent = await place(calling)
      const recorded = await place(calling)
      for (const id of [silent, recorded]) {
        await calling.emitCallEvent(id, { type: 'dialing', sipCallId: id }, { type: 'answered' })
      }
      const leases = openLeases({
        ...{ db, clock, log: silentLog, nodeId: 'node-1', calls: control },
        unstored: () => [],
      })
      const heartbeat = () =>
        db.selectFrom('nodeHeartbeats').selectAll().where('nodeId', '=', 'node-1').executeTakeFirst()
      await until(async () => {
        await clock.advanceAsync(1_000, 500)
        return (await heartbeat())?.aliveAt === clock.wall()
      })
      await leases.close()
      const aliveMs = Number((await heartbeat())?.aliveAt) - (await answeredAt(silent))
      t.ok(aliveMs >= 1_000)
      const rate = 8_000
      const silence = new Int16Array(((aliveMs + 1_500) / 1_000) * rate)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${recorded}.wav`), writeWav({ rate, channels: [silence, silence] }))

      clock.advance(300_000)
      t.equal(await settleAbandonedCalls({ ...settling, now: clock.wall() }), 2)
      for (const [id, lastedMs] of [
        [silent, aliveMs],
        [recorded, aliveMs + 1_500],
      ] as const) {
        const call = await db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
        t.equal(Number(call.endedAt) - Number(call.answeredAt), lastedMs)
        const seconds = Math.ceil(lastedMs / 1_000)
        t.match(call, {
          agentSeconds: seconds,
          billedPaise: Math.ceil((call.ratePaisePerMinute * seconds) / 60),
        })
      }
      await calling.close()

      async function answeredAt(id: string): Promise<number> {
        const call = await db.selectFrom('calls').select('answeredAt').where('id', '=', id).executeTakeFirst()
        return Number(call?.answeredAt)
      }
    },
  )

  await t.test('calls of a node that renews no lease are settled by a running node', async (t) => {
    const calling = await openTestCalling(await open())
    const { clock, deps, folder } = calling
    const { db } = deps
    await calling.publishAgent()
    const own = await place(calling)
    const dead = await place(calling)
    const alive = await place(calling)
    await db.updateTable('calls').set({ nodeId: 'node-2' }).where('id', 'in', [dead, alive]).execute()
    await scheduleExpiredCalls(db, clock.wall())
    let contactMs = LEASE_MS
    const handler = expiredCallsHandler({
      db,
      policy: BUILT_IN,
      nodeId: 'node-1',
      folder,
      clock,
      log: silentLog,
      owned: () => new Set([own]),
      contactMs: () => contactMs,
    })
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    const live = async () => {
      const rows = await db.selectFrom('calls').select('id').where('endedAt', 'is', null).execute()
      return new Set(rows.map(({ id }) => id))
    }
    await runner.idle()
    t.same(await live(), new Set([own, dead, alive]), 'no lease has expired')
    // A process that dies between the slot of a call and its row leaves this slot.
    const slot = await db
      .selectFrom('callSlots')
      .selectAll()
      .where('callId', '=', dead)
      .executeTakeFirstOrThrow()
    await db
      .insertInto('callSlots')
      .values({ ...slot, nodeId: 'node-2', slot: 99, callId: 'call_none' })
      .execute()
    const renewed = clock.wall() + 10 * LEASE_MS
    await db.updateTable('calls').set({ leaseUntil: renewed }).where('id', '=', alive).execute()
    contactMs = LEASE_MS - 1
    for (let look = 0; look < 5; look++) {
      await clock.advanceAsync(LEASE_MS / 4, 500)
      await runner.idle()
    }
    t.same(await live(), new Set([own, dead, alive]), 'it has not seen for long enough who renews')
    contactMs = LEASE_MS
    await until(async () => {
      await clock.advanceAsync(LEASE_MS / 4, 500)
      await runner.idle()
      return !(await live()).has(dead)
    })
    t.same(await live(), new Set([own, alive]), 'neither its own calls, although their leases expired')
    const held = async () => {
      const slots = await db.selectFrom('callSlots').select('callId').execute()
      return new Set(slots.map(({ callId }) => callId))
    }
    t.same(await held(), new Set([own, alive, 'call_none']))
    await until(async () => {
      await clock.advanceAsync(LEASE_MS / 4, 500)
      await runner.idle()
      return (await held()).size === 2
    })
    t.same(await held(), new Set([own, alive]))
    await runner.close()
    await calling.close()
  })

  await t.test('a node whose calls were settled elsewhere hangs them up', async (t) => {
    const calling = await openTestCalling(await open())
    const { clock, deps, control, folder } = calling
    const { db } = deps
    await calling.publishAgent()
    const id = await place(calling)
    const leases = openLeases({
      ...{ db, clock, log: silentLog, nodeId: 'node-1', calls: control },
      unstored: () => [],
    })
    const later = clock.wall() + LEASE_MS + 1_000
    t.equal(
      await settleExpiredCalls({
        ...{ db, policy: BUILT_IN, nodeId: 'node-2', folder, now: later },
        owned: NONE,
      }),
      1,
    )
    clock.advance(LEASE_MS + 1_000)
    await until(async () => {
      await clock.advanceAsync(1_000, 500)
      return control.hungUp.includes(id)
    })
    await leases.close()
    await calling.close()
  })

  await t.test('leases are renewed, and hang-ups requested at other nodes are executed', async (t) => {
    const calling = await openTestCalling(await open())
    const { clock, deps, control } = calling
    await calling.publishAgent()
    const id = await place(calling)
    const leases = openLeases({
      ...{ db: deps.db, clock, log: silentLog, nodeId: 'node-1', calls: control },
      unstored: () => [],
    })
    const row = () => deps.db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const before = (await row()).leaseUntil
    await until(async () => {
      await clock.advanceAsync(1_000, 500)
      return (await row()).leaseUntil > before
    })
    t.ok((await row()).leaseUntil <= clock.wall() + LEASE_MS)
    await deps.db.updateTable('calls').set({ hangupRequestedAt: clock.wall() }).where('id', '=', id).execute()
    await until(async () => {
      await clock.advanceAsync(1_000, 500)
      return control.hungUp.includes(id)
    })
    t.same(control.finished, [], 'a request of the API ends the call without words')
    await leases.close()
    await calling.close()
    t.equal(clock.pending, 0)
  })
})
