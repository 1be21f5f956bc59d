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
 * Events waiting for the database, over all calls. Past this, what only tells (turns, traces,
 * digits) is dropped and counted; what changes a call's state never is: there are four of those.
 */
const MAX_WAITING = 20_000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 5_000

const CHANGES_STATE: ReadonlySet<CallEvent['type']> = new Set(['dialing', 'ringing', 'answered', 'ended'])

export interface CallEventWriter extends EventSink {
  /** Events taken and not yet stored. */
  readonly waiting: number
  /** Events lost: over the bound, or refused by the database for good. */
  readonly lost: number
  /** Resolves when all that was published is stored, or after `ms`; true when it is. */
  flush(ms: number): Promise<boolean>
  /** Stops retrying. What waits is left to the next start-up's settling. Flush first. */
  close(): Promise<void>
}

/**
 * Takes the events of calls as they happen and stores each, in order per call, with all it changes
 * in one transaction. Calls do not wait for each other; a database that is away for a while only
 * delays them.
 */
export function openCallEventWriter(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** Where recordings are written. */
  readonly folder: string
}): CallEventWriter {
  const { db, clock, log, folder } = options
  const scope = new Scope()
  const queues = new Map<CallId, CallEvent[]>()
  const pumps = new Set<Promise<void>>()
  let waiting = 0
  let lost = 0

  /** Resolves after `ms`, or at once when the bridge closes. */
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
        await db.transaction().execute((trx) => storeCallEvent(trx, event, folder))
        return
      } catch (error) {
        const fields = { callId: event.callId, seq: event.seq, type: event.type, error: errorText(error) }
        if (!isTransient(error)) {
          lost++
          log.error(fields, 'call event not stored')
          return
        }
        if (scope.closed) {
          log.warn(fields, 'call event not stored before closing')
          return
        }
        log.warn(fields, 'database not available; trying again')
        await pause(waitMs)
      }
    }
  }

  async function pump(callId: CallId, queue: CallEvent[]): Promise<void> {
    // The array is swapped for an empty one: no shifting of long queues.
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
        log.warn({ callId: event.callId, type: event.type }, 'too many call events wait; one was dropped')
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
