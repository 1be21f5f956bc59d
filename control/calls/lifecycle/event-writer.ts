import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import type { CallEvent, CallId } from '../../../signalling/call/call-events.js'
import type { EventSink } from '../../../signalling/call/ports.js'
import type { Db } from '../../db/database.js'
import { isTransient } from '../../db/transient-error.js'
import { storeCallEvent } from './settle.js'

/**
 * Limit of events that wait for the database, over all calls. Above it, informational events (turns, traces,
 * DTMF) are dropped and counted. The four events that change a call's state are never dropped.
 */
const MAX_WAITING = 20_000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 5_000

const CHANGES_STATE: ReadonlySet<CallEvent['type']> = new Set(['dialing', 'ringing', 'answered', 'ended'])

export interface CallEventWriter extends EventSink {
  /** Number of events received and not yet stored. */
  readonly waiting: number
  /** Number of events lost: over the limit, or refused by the database permanently. */
  readonly lost: number
  /** Resolves true when all published events are stored, or false after `ms`. */
  flush(ms: number): Promise<boolean>
  /** Stops retrying. The next start settles the calls of unstored events. Call `flush` first. */
  close(): Promise<void>
}

/**
 * Stores the events of calls as they happen, in order per call, each with all its changes in one transaction.
 * Calls do not wait for each other. A database outage only delays the events.
 */
export function openCallEventWriter(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
}): CallEventWriter {
  const { db, clock, log } = options
  const scope = new Scope()
  const queues = new Map<CallId, CallEvent[]>()
  const pumps = new Set<Promise<void>>()
  let waiting = 0
  let lost = 0

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

  async function store(event: CallEvent): Promise<void> {
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(LAST_RETRY_MS, waitMs * 2)) {
      try {
        await db.transaction().execute((trx) => storeCallEvent(trx, event))
        return
      } catch (error) {
        const fields = { callId: event.callId, seq: event.seq, type: event.type, error: errorText(error) }
        if (!isTransient(error)) {
          lost++
          log.error(fields, 'call_event.store_failed')
          return
        }
        if (scope.closed) {
          log.warn(fields, 'call_event.unstored_at_close')
          return
        }
        log.warn(fields, 'call_event.store_retried')
        await pause(waitMs)
      }
    }
  }

  async function pump(callId: CallId, queue: CallEvent[]): Promise<void> {
    // Swaps the array for an empty one instead of shifting a long queue.
    for (let batch = queue.splice(0); batch.length > 0; batch = queue.splice(0)) {
      for (const event of batch) {
        await store(event)
        waiting--
      }
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
        queue.push(event)
        return
      }
      const own = [event]
      queues.set(event.callId, own)
      const running = pump(event.callId, own).finally(() => pumps.delete(running))
      pumps.add(running)
    },
    async flush(ms) {
      const deadline = clock.now() + ms
      while (pumps.size > 0) {
        const left = deadline - clock.now()
        if (left <= 0 || scope.closed) return false
        let timer: { cancel(): void } | undefined
        const late = new Promise<void>((resolve) => {
          timer = scope.after(clock, left, resolve)
        })
        await Promise.race([Promise.allSettled(pumps), late])
        timer?.cancel()
      }
      return true
    },
    async close() {
      await scope.close()
      await Promise.allSettled(pumps)
    },
  }
}
