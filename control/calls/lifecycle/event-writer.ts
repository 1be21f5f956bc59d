import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import type { CallEvent, CallId } from '../../../signalling/call/call-events.js'
import type { EventSink } from '../../../signalling/call/ports.js'
import type { PolicyInForce } from '../../config/policy-file.js'
import type { Db, Trx } from '../../db/database.js'
import { isTransient } from '../../db/transient-error.js'
import { GroupCommit } from '../../jobs/group-commit.js'
import { mayOptOut } from '../opt-out.js'
import { storeCallEvent } from './settle.js'

/**
 * Limit of events that wait for the database, over all calls. Above it, informational events (turns, traces,
 * DTMF) are dropped and counted. The four events that change a call's state are never dropped.
 */
const MAX_WAITING = 20_000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 5_000

const CHANGES_STATE: ReadonlySet<CallEvent['type']> = new Set(['dialing', 'ringing', 'answered', 'ended'])

/**
 * Interval at which the events of `WAIT` are stored, those of all calls in one transaction. A process that dies loses
 * those of its last second.
 */
const GROUP_MS = 1_000
/** Events that only inform. */
const WAIT: ReadonlySet<CallEvent['type']> = new Set([
  ...(['turn', 'trace', 'turn_record', 'interrupted', 'resumed', 'detected', 'usage'] as const),
  ...(['tool', 'note', 'trouble', 'answered_by'] as const),
])
/** Events of a call in one transaction. */
const MAX_BATCH = 200

/** Returns whether an event is stored at once. Words that may be an opt-out are: it stands before the next dial. */
function isUrgent(event: CallEvent): boolean {
  if (event.type === 'turn') return event.turn.speaker === 'caller' && mayOptOut(event.turn.text)
  return !WAIT.has(event.type)
}

/** Events of a call that are not stored yet. */
interface Queue {
  events: CallEvent[]
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
  /** Number of events lost: over the limit, or refused by the database permanently. */
  readonly lost: number
  /** Stores the events of a call now. Resolves when they are stored, before who asks reads them. */
  settled(callId: CallId): Promise<void>
  /** Resolves true when all published events are stored, or false after `ms`. */
  flush(ms: number): Promise<boolean>
  /** Stops retrying. The next start settles the calls of unstored events. Call `flush` first. */
  close(): Promise<void>
}

/**
 * Stores the events of calls, in order per call, each with all its changes in one transaction: those that change
 * something at once, others once a second. A database outage only delays the events.
 */
export function openCallEventWriter(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly policy: PolicyInForce
}): CallEventWriter {
  const { db, clock, log, policy } = options
  const scope = new Scope()
  const group = new GroupCommit(db)
  const queues = new Map<CallId, Queue>()
  const pumps = new Set<Promise<void>>()
  let waiting = 0
  let lost = 0
  /** Flushes in progress: nothing waits for a group meanwhile. */
  let flushing = 0
  let timer: { cancel(): void } | null = null

  /** Resolves after `ms`, or at once when the writer closes. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const forget = scope.own(resolve)
      scope.after(clock, ms, () => {
        forget()
        resolve()
      })
    })
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

  async function store(batch: readonly CallEvent[]): Promise<void> {
    const write = async (trx: Trx): Promise<void> => {
      for (const event of batch) await storeCallEvent(trx, policy, event)
    }
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(LAST_RETRY_MS, waitMs * 2)) {
      try {
        // Changes of state do not wait for the events of other calls.
        if (batch.some(isUrgent)) await db.transaction().execute(write)
        else await group.write(write)
        return
      } catch (error) {
        const [first] = batch
        const fields = { callId: first?.callId, seq: first?.seq, type: first?.type, error: errorText(error) }
        if (!isTransient(error)) {
          if (batch.length > 1) {
            // One of them cannot be stored. The others can.
            for (const event of batch) await store([event])
            return
          }
          lost++
          log.error(fields, 'call_event.store_failed')
          return
        }
        if (scope.closed) {
          log.warn({ ...fields, events: batch.length }, 'call_event.unstored_at_close')
          return
        }
        log.warn(fields, 'call_event.store_retried')
        await pause(waitMs)
      }
    }
  }

  async function pump(callId: CallId, queue: Queue): Promise<void> {
    while (queue.events.length > 0) {
      const waits = flushing === 0 && !queue.hurried && !scope.closed
      if (waits && !queue.events.some(isUrgent)) await groupTime(queue)
      const batch = queue.events.splice(0, MAX_BATCH)
      await store(batch)
      waiting -= batch.length
    }
    queues.delete(callId)
  }

  return {
    get waiting() {
      return waiting
    },
    get lost() {
      return lost
    },
    publish(event) {
      if (waiting >= MAX_WAITING && !CHANGES_STATE.has(event.type)) {
        lost++
        log.warn({ callId: event.callId, type: event.type }, 'call_event.dropped')
        return
      }
      waiting++
      const queue = queues.get(event.callId)
      if (queue !== undefined) {
        queue.events.push(event)
        if (queue.wake !== null && isUrgent(event)) queue.wake()
        return
      }
      const own: Queue = { events: [event], wake: null, hurried: false, stored: Promise.resolve() }
      queues.set(event.callId, own)
      const running = pump(event.callId, own).finally(() => pumps.delete(running))
      own.stored = running
      pumps.add(running)
    },
    async settled(callId) {
      const queue = queues.get(callId)
      if (queue === undefined) return
      queue.hurried = true
      queue.wake?.()
      await queue.stored
    },
    async flush(ms) {
      const deadline = clock.now() + ms
      flushing++
      wakeAll()
      try {
        while (pumps.size > 0) {
          const left = deadline - clock.now()
          if (left <= 0 || scope.closed) return false
          let limit: { cancel(): void } | undefined
          const late = new Promise<void>((resolve) => {
            limit = scope.after(clock, left, resolve)
          })
          await Promise.race([Promise.allSettled(pumps), late])
          limit?.cancel()
        }
        return true
      } finally {
        flushing--
      }
    },
    async close() {
      await scope.close()
      wakeAll()
      await Promise.allSettled(pumps)
    },
  }
}
