import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import type { CallEvent, CallId } from '../../../signalling/call/call-events.js'
import type { EventSink } from '../../../signalling/call/ports.js'
import type { PolicyInForce } from '../../config/policy-file.js'
import type { Db, Trx } from '../../db/database.js'
import { isTransient } from '../../db/transient-error.js'
import { endOfEventLoopTurn, GroupCommit } from '../../jobs/group-commit.js'
import { mayOptOut } from '../opt-out.js'
import type { EventSpool } from './event-spool.js'
import { storeCallEvent } from './settle.js'

/**
 * Limit of events that wait for the database, over all calls. Above it, events that only inform are dropped and counted.
 * Events that change a call, its price or a person's rights are never dropped.
 */
const MAX_WAITING = 20_000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 2_000
/** Maximum pause (ms) before the retry of an event that the database refuses although it works. */
const LAST_REFUSED_MS = 60_000
/** Maximum number of events in one write to the disk. */
const DISK_BATCH = 500
/** Pause after a disk had no room (ms). */
const DISK_PAUSE_MS = 5_000
/** Longest wait of code that reads what a call has stored (ms). It reads what there is then. */
const SETTLED_MS = 2_000
/** Time (ms) after which a waiting event is written to the disk, even if nothing has failed yet. */
const OVERDUE_MS = 2_000

/**
 * Interval (ms) at which the events of all calls that may wait are stored in one transaction. A process that dies
 * loses those of its last second.
 */
const GROUP_MS = 1_000
/** Events that only inform. All others decide the state of a call, its price or its outcome. */
const INFORMS: ReadonlySet<CallEvent['type']> = new Set([
  ...(['turn', 'trace', 'turn_record', 'interrupted', 'resumed', 'detected', 'usage'] as const),
  ...(['tool', 'note', 'trouble'] as const),
])
/** Events of a call in one transaction. */
const MAX_BATCH = 200

/** Returns whether an event must never be dropped. This includes words of a caller that may be an opt-out. */
function isKept(event: CallEvent): boolean {
  if (event.type === 'turn') return event.turn.speaker === 'caller' && mayOptOut(event.turn.text)
  return !INFORMS.has(event.type)
}

/**
 * Returns whether an event is stored at once. An opt-out must be stored before the next dial. `answered_by` may wait.
 */
function isUrgent(event: CallEvent): boolean {
  return isKept(event) && event.type !== 'answered_by'
}

/** An event that is not stored yet. */
interface Entry {
  readonly event: CallEvent
  readonly sinceMs: number
  /** True if it is on the disk, or about to be written there. */
  onDisk: boolean
  stored: boolean
}

/** Events of a call that are not stored yet. */
interface Queue {
  /** Events that a transaction is storing. */
  storing: readonly Entry[]
  entries: Entry[]
  /** Ends the wait for other calls. Null while there is none. */
  wake: (() => void) | null
  /** Code awaits these events, so that they do not wait to be grouped with those of other calls. */
  hurried: boolean
  /** Resolves when all events are stored. */
  stored: Promise<void>
}

export interface CallEventWriter extends EventSink {
  /** Number of events received and not yet stored. */
  readonly waiting: number
  /** Number of waiting events that are also on the disk. */
  readonly onDisk: number
  /**
   * Number of events lost: informational ones over the limit, and events that the database refuses for good and that
   * change no call.
   */
  readonly lost: number
  /** Calls with events that are not stored yet. */
  calls(): Iterable<CallId>
  /** Stores the events of a call now. Resolves when they are stored, for code that reads them, or after 2 s. */
  settled(callId: CallId): Promise<void>
  /** Resolves true when all published events are stored, or false after `ms`. */
  flush(ms: number): Promise<boolean>
  /** Writes unstored events to the disk, from where the next start stores them, and stops. Call `flush` first. */
  close(): Promise<void>
}

/**
 * Stores the events of calls, in order per call, each with all its changes in one transaction. Events that change a
 * call are stored at once, others once a second. While the database is away the events wait in memory and on the
 * disk, and are retried without end. Events that an earlier run left on the disk come first.
 */
export function openCallEventWriter(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly policy: PolicyInForce
  readonly spool: EventSpool
}): CallEventWriter {
  const { db, clock, log, policy, spool } = options
  const scope = new Scope()
  const group = new GroupCommit(db)
  const queues = new Map<CallId, Queue>()
  /** Events that wait and are not on the disk, in the order in which they came. */
  const unwritten = new Set<Entry>()
  const pumps = new Set<Promise<void>>()
  /** Functions that end the pauses of batches that wait for the database. */
  const retries = new Set<() => void>()
  let waiting = 0
  let onDisk = 0
  let lost = 0
  /** Number of batches that the database did not take yet. */
  let failing = 0
  /** Flushes in progress: nothing waits for a group meanwhile. */
  let flushing = 0
  let timer: { cancel(): void } | null = null
  /** True while a timer checks for events that wait too long. */
  let watching = false
  let spooling: Promise<void> | null = null
  /** When the disk is tried next, for events that must not be lost and for those that only inform (clock time, ms). */
  const rooms = { kept: { from: 0 }, informing: { from: 0 } }

  /** Resolves after `ms`, or at once when the writer closes or, for `retries`, when the database is back. */
  function pause(ms: number, group: Set<() => void> | null): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        pending.cancel()
        group?.delete(done)
        forget()
        resolve()
      }
      const pending = scope.after(clock, ms, done)
      const forget = scope.own(done)
      group?.add(done)
    })
  }

  /** Resolves with the work, or after `ms`. */
  async function within(ms: number, work: Promise<unknown>): Promise<void> {
    let limit: { cancel(): void } | undefined
    const late = new Promise<void>((resolve) => {
      limit = scope.after(clock, ms, resolve)
    })
    await Promise.race([work, late])
    limit?.cancel()
  }

  function wakeAll(): void {
    timer?.cancel()
    timer = null
    for (const queue of queues.values()) queue.wake?.()
  }

  /** Resolves when the events of all calls are stored, or when an urgent event of this call comes. */
  async function groupTime(queue: Queue): Promise<void> {
    timer ??= scope.after(clock, GROUP_MS, wakeAll)
    await new Promise<void>((resolve) => {
      queue.wake = resolve
    })
    queue.wake = null
  }

  /** Writes the waiting events to the disk that are not there: first those that must not be lost. */
  function toDisk(): Promise<void> {
    spooling ??= (async () => {
      // The events of one turn of the event loop are written together.
      await endOfEventLoopTurn()
      for (let next = takeNext(); next !== null; next = takeNext()) {
        const { entries, informs } = next
        if (await writeToDisk(entries, informs)) continue
        const room = informs ? rooms.informing : rooms.kept
        room.from = clock.now() + DISK_PAUSE_MS
      }
    })().finally(() => {
      spooling = null
    })
    return spooling
  }

  /** Takes the next events that the disk may have room for. Those that came during a write count, too. */
  function takeNext(): { readonly entries: readonly Entry[]; readonly informs: boolean } | null {
    for (const informs of [false, true]) {
      const room = informs ? rooms.informing : rooms.kept
      const entries = clock.now() >= room.from ? take(informs) : []
      if (entries.length > 0) return { entries, informs }
    }
    return null
  }

  function take(informs: boolean): readonly Entry[] {
    const entries: Entry[] = []
    for (const entry of unwritten) {
      if (isKept(entry.event) === informs) continue
      entries.push(entry)
      if (entries.length === DISK_BATCH) break
    }
    return entries
  }

  async function writeToDisk(entries: readonly Entry[], informs: boolean): Promise<boolean> {
    for (const entry of entries) {
      unwritten.delete(entry)
      entry.onDisk = true
    }
    onDisk += entries.length
    const events = entries.map(({ event }) => event)
    if (await spool.add(events, informs)) return true
    for (const entry of entries) {
      entry.onDisk = false
      if (entry.stored) continue
      onDisk--
      unwritten.add(entry)
    }
    return false
  }

  /** Writes events to the disk that wait because the database neither stores nor fails. */
  function watchOverdue(): void {
    if (watching) return
    watching = true
    scope.after(clock, OVERDUE_MS, () => {
      watching = false
      if (waiting === 0) return
      const since = clock.now() - OVERDUE_MS
      const late = [...queues.values()].some(({ storing }) => storing.some(({ sinceMs }) => sinceMs <= since))
      if (late) void toDisk()
      watchOverdue()
    })
  }

  function stored(batch: readonly Entry[]): void {
    const before = onDisk
    for (const entry of batch) {
      entry.stored = true
      unwritten.delete(entry)
      if (entry.onDisk) onDisk--
    }
    waiting -= batch.length
    if (before > 0 && onDisk === 0) void spool.clear()
    for (const retry of [...retries]) retry()
  }

  /** Returns whether an event that the database refuses must be kept: it is never dropped, and its call exists. */
  async function mustKeep(event: CallEvent): Promise<boolean> {
    if (!isKept(event)) return false
    const call = await db.selectFrom('calls').select('id').where('id', '=', event.callId).executeTakeFirst()
    return call !== undefined
  }

  /** Stores a batch, with retries without end. Returns when the batch is stored or lost, or when the writer closes. */
  async function store(batch: readonly Entry[]): Promise<void> {
    const [first] = batch
    const write = async (trx: Trx): Promise<void> => {
      for (const { event } of batch) await storeCallEvent(trx, policy, event)
    }
    const urgent = batch.some(({ event }) => isUrgent(event))
    let failures = 0
    let waitMs = FIRST_RETRY_MS
    try {
      for (;;) {
        try {
          // Changes of state do not wait for the events of other calls.
          if (urgent) await db.transaction().execute(write)
          else await group.write(write)
          stored(batch)
          return
        } catch (error) {
          const { callId, seq, type } = first?.event ?? {}
          const fields = { callId, seq, type, events: batch.length, error: errorText(error) }
          const passes = isTransient(error)
          if (!passes && batch.length > 1) {
            // One of them cannot be stored. The others can.
            for (const entry of batch) await store([entry])
            return
          }
          if (!passes && first !== undefined && !(await mustKeep(first.event).catch(() => true))) {
            lost++
            log.error(fields, 'call_event.lost')
            stored(batch)
            return
          }
          if (scope.closed) {
            log.warn(fields, 'call_event.unstored_at_close')
            return
          }
          failures++
          if (failures === 1) failing++
          void toDisk()
          if (!passes) log.error(fields, 'call_event.store_failed')
          // One line for the first, second, fourth, eighth try and so on.
          else if ((failures & (failures - 1)) === 0)
            log.warn({ ...fields, failures }, 'call_event.store_retried')
          await pause(waitMs, passes ? retries : null)
          waitMs = Math.min(passes ? LAST_RETRY_MS : LAST_REFUSED_MS, waitMs * 2)
        }
      }
    } finally {
      if (failures > 0) failing--
    }
  }

  async function pump(callId: CallId, queue: Queue): Promise<void> {
    while (queue.entries.length > 0) {
      const waits = flushing === 0 && !queue.hurried && !scope.closed
      if (waits && !queue.entries.some(({ event }) => isUrgent(event))) await groupTime(queue)
      queue.storing = queue.entries.splice(0, MAX_BATCH)
      await store(queue.storing)
      queue.storing = []
    }
    queues.delete(callId)
  }

  function add(entry: Entry): void {
    const { event } = entry
    waiting++
    if (!entry.onDisk) unwritten.add(entry)
    watchOverdue()
    const queue = queues.get(event.callId)
    if (queue !== undefined) {
      queue.entries.push(entry)
      if (queue.wake !== null && isUrgent(event)) queue.wake()
      return
    }
    const own: Queue = {
      storing: [],
      entries: [entry],
      wake: null,
      hurried: false,
      stored: Promise.resolve(),
    }
    queues.set(event.callId, own)
    const running = pump(event.callId, own).finally(() => pumps.delete(running))
    own.stored = running
    pumps.add(running)
  }

  // The order in the file may differ: a write that failed at first stands behind later ones.
  for (const event of spool.left.toSorted((a, b) => a.seq - b.seq)) {
    onDisk++
    add({ event, sinceMs: clock.now(), onDisk: true, stored: false })
  }
  if (onDisk > 0) log.warn({ events: onDisk, calls: queues.size }, 'call_events.left_by_earlier_run')

  return {
    get waiting() {
      return waiting
    },
    get onDisk() {
      return onDisk
    },
    get lost() {
      return lost
    },
    calls: () => queues.keys(),
    publish(event) {
      if (waiting >= MAX_WAITING && !isKept(event)) {
        lost++
        log.warn({ callId: event.callId, type: event.type }, 'call_event.dropped')
        return
      }
      add({ event, sinceMs: clock.now(), onDisk: false, stored: false })
      if (failing > 0) void toDisk()
    },
    async settled(callId) {
      const queue = queues.get(callId)
      if (queue === undefined) return
      queue.hurried = true
      queue.wake?.()
      await within(SETTLED_MS, queue.stored)
    },
    async flush(ms) {
      const deadline = clock.now() + ms
      flushing++
      wakeAll()
      try {
        while (pumps.size > 0) {
          const left = deadline - clock.now()
          if (left <= 0 || scope.closed) return false
          await within(left, Promise.allSettled(pumps))
        }
        return true
      } finally {
        flushing--
      }
    },
    async close() {
      await spooling
      for (const room of [rooms.kept, rooms.informing]) room.from = 0
      if (waiting > 0) await toDisk()
      await scope.close()
      wakeAll()
      await Promise.allSettled(pumps)
      await spool.close()
    },
  }
}
