import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import { jittered } from '../base/jitter.js'
import type { Db, Trx } from '../db/database.js'
import type { JobRow } from '../db/tables/webhooks.js'
import { isTransient } from '../db/transient-error.js'
import { endOfEventLoopTurn, GroupCommit } from './group-commit.js'
import { onJobHint } from './hints.js'
import {
  type Claim,
  claimJobs,
  dueLanes,
  firstDueByKind,
  releaseClaim,
  renewClaim,
  renewClaims,
} from './store.js'

/** A claimed job, passed to its handler. */
export interface ClaimedJob {
  readonly id: string
  readonly lane: string
  readonly payload: string
  /** Number of the claim, starting at 1. Increases after failures, crashes and planned repetitions. */
  readonly attempts: number
  /** Aborted when the runner closes and the grace period is over. */
  readonly signal: AbortSignal
  /**
   * Commits a write and extends the lease in the same transaction. The write may run twice but takes effect
   * once. Throws `LeaseLostError` without writing if another runner has claimed the job.
   */
  write<T>(run: (trx: Trx) => Promise<T>): Promise<T>
}

/**
 * Final write of a handler, in one transaction with the end of the job. Returns the time at which the job
 * is due again (Unix ms), or null if it is finished.
 */
export type JobOutcome = (trx: Trx) => Promise<number | null | OthersFirst>

/** The job is due again, and this runner leaves it to the other processes for a time. */
export interface OthersFirst {
  /** Unix ms. */
  readonly dueAt: number
  /** Time for which this runner does not claim the job (ms). Longer than `POLL_MS`, so that each process looks meanwhile. */
  readonly leaveMs: number
}

export interface JobHandler {
  readonly kind: string
  /** Maximum jobs running at the same time in this process. */
  readonly concurrency: number
  /** Maximum jobs running at the same time per lane. Default: `concurrency`. */
  laneLimit?(lane: string): number
  /** Runs a job. If it throws, the job is repeated with growing delays, without a limit. */
  run(job: ClaimedJob): Promise<JobOutcome>
  /** The outcome shares a transaction with jobs of its kind and lane only, because it locks what others wait for. Default: false. */
  readonly alone?: boolean
  /**
   * Returns the end of a job whose outcome cannot be stored, for a reason that a repetition does not remove.
   * Default: the job is repeated with growing delays.
   */
  unstored?(job: ClaimedJob, error: unknown): JobOutcome
}

export interface JobRunner {
  /** Looks for due jobs now instead of at the next poll. */
  wake(): void
  /** Time since the last successful poll (ms). */
  readonly sinceLastPollMs: number
  /** Resolves when no job runs and none is due. */
  idle(): Promise<void>
  /**
   * Stops claiming jobs and waits for running ones. After `GRACE_MS` their signals are aborted. Idempotent.
   */
  close(): Promise<void>
}

/** Thrown by `ClaimedJob.write`. Handlers let it propagate. */
export class LeaseLostError extends Error {
  constructor(id: string) {
    super(`the lease of ${id} was lost`)
    this.name = 'LeaseLost'
  }
}

/** Other runners take over the jobs of a stopped runner after this time. */
export const LEASE_MS = 30_000
/**
 * Longest time until the next look for due jobs (ms). A job of this process, and one whose time is known from the last
 * look, is found earlier.
 */
export const POLL_MS = 2_000
/** Time from a hint to the second look (ms), for a transaction that ends later. Grows by `HINT_GROWTH` until `POLL_MS`. */
const HINT_MS = 10
const HINT_GROWTH = 4
const GRACE_MS = 2_000
const LANES_AT_ONCE = 64
const FIRST_DELAY_MS = 1_000
const LAST_DELAY_MS = 10 * 60_000
const FINISH_RETRIES = 6
const FIRST_FINISH_RETRY_MS = 50

/**
 * Returns the delay before a failed job is repeated (ms): 1 s, doubled after each failure, at most 10
 * minutes.
 */
export function failureRetryMs(attempts: number): number {
  return Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(20, Math.max(0, attempts - 1)))
}

/**
 * Opens a runner for due jobs of the kinds of the handlers. Every job runs at least once. Several processes
 * may share a database: a conditional update claims a job for `leaseMs`, and the lease is extended while
 * the job runs. Lanes take turns, longest waiting first, so that a long queue in one lane does not delay
 * the others.
 */
export function openJobRunner(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly handlers: readonly JobHandler[]
  readonly leaseMs?: number
  /** Longest time between two looks for due jobs (ms). */
  readonly pollMs?: number
}): JobRunner {
  const { db, clock, log, handlers } = options
  const leaseMs = options.leaseMs ?? LEASE_MS
  const pollMs = options.pollMs ?? POLL_MS
  const owner = randomBytes(12).toString('base64url')
  const scope = new Scope()
  const kinds = handlers.map(({ kind }) => kind)
  const group = new GroupCommit(db)
  /** Writes of the kinds that are `alone`, by kind and lane. */
  const lanes = new Map<string, GroupCommit>()
  const abort = new AbortController()
  // One listener per running job. Not a leak.
  setMaxListeners(0, abort.signal)
  const running = new Map<string, { readonly claim: Claim; readonly kind: string; readonly lane: string }>()
  /** Running jobs whose end is being stored. Their slots are already assigned to other jobs. */
  const finishing = new Set<string>()
  /** Jobs that are left to other processes for a time. */
  const left = new Set<string>()
  const ended = new Set<Promise<void>>()
  let polling: Promise<void> | null = null
  let pollAgain = false
  let polledAt = clock.now()
  /** Unix ms at which the first job of the handlers is due, as the last look found it. */
  let nextDueAt: number | null = null
  /** Time to the next look after a hint (ms). Null without one. */
  let hintMs: number | null = null
  let planned: { readonly at: number; readonly timer: { cancel(): void } } | null = null

  function busy(kind: string, lane?: string): number {
    let count = 0
    for (const [id, job] of running) {
      if (!finishing.has(id) && job.kind === kind && (lane === undefined || job.lane === lane)) count++
    }
    return count
  }

  /** Returns the claims for the free slots of a handler. */
  async function wantedBy(handler: JobHandler): Promise<readonly Parameters<typeof claimJobs>[1][]> {
    const free = handler.concurrency - busy(handler.kind)
    if (free <= 0) return []
    const lanes = (await dueLanes(db, handler.kind, clock.wall(), LANES_AT_ONCE)).map((lane) => ({
      lane,
      free: (handler.laneLimit?.(lane) ?? handler.concurrency) - busy(handler.kind, lane),
    }))
    const shares = shareSlots(
      free,
      lanes.filter((lane) => lane.free > 0),
    )
    const except = [...left]
    return shares.map(({ lane, count }) => ({
      kind: handler.kind,
      lane,
      owner,
      leaseMs,
      limit: count,
      except,
    }))
  }

  /** Claims jobs for the free slots of the handlers, in one transaction. Returns the number of claimed jobs. */
  async function claim(due: readonly JobHandler[]): Promise<number> {
    const wanted: Parameters<typeof claimJobs>[1][] = []
    for (const handler of due) wanted.push(...(await wantedBy(handler)))
    if (wanted.length === 0 || scope.closed) return 0
    const now = clock.wall()
    const claimed = await group.write(async (trx) => {
      const rows: JobRow[] = []
      for (const request of wanted) rows.push(...(await claimJobs(trx, request, now)))
      return rows
    })
    for (const row of claimed) {
      const handler = due.find(({ kind }) => kind === row.kind)
      if (handler !== undefined) start(handler, row)
    }
    return claimed.length
  }

  function start(handler: JobHandler, row: JobRow): void {
    const lease: Claim = { id: row.id, owner, attempts: row.attempts }
    running.set(row.id, { claim: lease, kind: row.kind, lane: row.lane })
    renew()
    const end = execute(handler, row, lease).finally(() => {
      running.delete(row.id)
      finishing.delete(row.id)
      ended.delete(end)
      poll()
    })
    ended.add(end)
  }

  async function execute(handler: JobHandler, row: JobRow, lease: Claim): Promise<void> {
    const held: ClaimedJob = {
      id: row.id,
      lane: row.lane,
      payload: row.payload,
      attempts: row.attempts,
      signal: abort.signal,
      write: (run) =>
        group.write(async (trx) => {
          if (!(await renewClaim(trx, lease, clock.wall() + leaseMs))) throw new LeaseLostError(row.id)
          return run(trx)
        }),
    }
    let outcome: JobOutcome
    try {
      outcome = await handler.run(held)
    } catch (error) {
      if (error instanceof LeaseLostError) {
        log.warn({ job: row.id, kind: row.kind }, 'job.lease_lost')
        return
      }
      log.error(
        { job: row.id, kind: row.kind, attempts: row.attempts, error: errorText(error) },
        'job.failed',
      )
      outcome = later(row)
    }
    await finish(handler, row, lease, outcome, (error) => handler.unstored?.(held, error) ?? later(row))
  }

  function leave(id: string, ms: number): void {
    if (left.has(id)) return
    left.add(id)
    scope.after(clock, ms, () => {
      left.delete(id)
      poll()
    })
  }

  /** Returns the writes of a kind and lane. */
  function groupOf({ kind, lane }: JobRow): GroupCommit {
    const name = `${kind} ${lane}`
    const known = lanes.get(name)
    if (known !== undefined) return known
    const made = new GroupCommit(db)
    lanes.set(name, made)
    // Everything of this turn is pending by then.
    void endOfEventLoopTurn()
      .then(() => made.idle())
      .then(() => lanes.delete(name))
    return made
  }

  function later(row: JobRow): JobOutcome {
    return async () => clock.wall() + failureRetryMs(row.attempts)
  }

  async function finish(
    handler: JobHandler,
    row: JobRow,
    lease: Claim,
    outcome: JobOutcome,
    unstored: ((error: unknown) => JobOutcome) | null,
  ): Promise<void> {
    // The next claim is committed together with the end of this job.
    finishing.add(row.id)
    poll()
    const commit = (run: (trx: Trx) => Promise<void>): Promise<void> =>
      (handler.alone === true ? groupOf(row) : group).write(run)
    for (let attempt = 1; ; attempt++) {
      try {
        await commit(async (trx) => {
          const next = await outcome(trx)
          const shared = typeof next === 'object' && next !== null
          if (!(await releaseClaim(trx, lease, shared ? next.dueAt : next))) throw new LeaseLostError(row.id)
          // Before the commit: the next claim of this runner may follow in the same transaction.
          if (shared) leave(row.id, next.leaveMs)
        })
        return
      } catch (error) {
        const fields = { job: row.id, kind: row.kind, error: errorText(error) }
        if (error instanceof LeaseLostError) {
          log.warn(fields, 'job.lease_lost')
          return
        }
        if (unstored !== null && !isTransient(error)) {
          log.error(fields, 'job.outcome_not_stored')
          await finish(handler, row, lease, unstored(error), null)
          return
        }
        if (!isTransient(error) || attempt === FINISH_RETRIES || scope.closed) {
          // The lease expires, and the job runs again (at least once).
          log.error(fields, 'job.finish_failed')
          return
        }
        await pause(FIRST_FINISH_RETRY_MS * 2 ** attempt)
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const disown = scope.own(resolve)
      scope.after(clock, ms, () => {
        disown()
        resolve()
      })
    })
  }

  function poll(): void {
    if (scope.closed) return
    pollAgain = true
    polling ??= pollNow()
  }

  async function pollNow(): Promise<void> {
    while (pollAgain && !scope.closed) {
      // Jobs that end in the same turn of the event loop cause one claim instead of one each.
      await endOfEventLoopTurn()
      pollAgain = false
      try {
        const due = await firstDueByKind(db, kinds)
        const now = clock.wall()
        const times = [...due.values()]
        nextDueAt = times.length === 0 ? null : Math.min(...times)
        const claimed = await claim(
          handlers.filter(({ kind }) => (due.get(kind) ?? Number.POSITIVE_INFINITY) <= now),
        )
        polledAt = clock.now()
        if (claimed > 0) pollAgain = true
      } catch (error) {
        log.warn({ error: errorText(error) }, 'job.claim_failed')
        break
      }
    }
    // Set in the same turn that found nothing to do. Later, a request in between would be missed.
    polling = null
    schedulePoll()
  }

  /** Plans the next look: when a job is due or soon after a hint, at the latest after the interval. */
  function schedulePoll(): void {
    if (scope.closed) return
    let waitMs = jittered(pollMs)
    // A job that is due and was not claimed waits for a free slot, or belongs to another process by now.
    const dueMs = (nextDueAt ?? 0) - clock.wall()
    if (dueMs > 0) waitMs = Math.min(waitMs, dueMs)
    if (hintMs !== null) {
      waitMs = Math.min(waitMs, hintMs)
      hintMs = hintMs * HINT_GROWTH < pollMs ? hintMs * HINT_GROWTH : null
    }
    const at = clock.now() + Math.ceil(waitMs)
    if (planned !== null && planned.at <= at) return
    planned?.timer.cancel()
    const timer = scope.after(clock, Math.ceil(waitMs), () => {
      planned = null
      poll()
    })
    planned = { at, timer }
  }

  scope.own(
    onJobHint(db, () => {
      hintMs = HINT_MS
      // The end of a look plans the next one. Many hints cause one look.
      if (polling === null && clock.now() - polledAt >= HINT_MS) poll()
      else if (polling === null) schedulePoll()
    }),
  )

  let renewing: Promise<void> = Promise.resolve()
  let renewalDue = false
  /** Extends the leases of running jobs while there are any. */
  function renew(): void {
    if (renewalDue) return
    renewalDue = true
    scope.after(clock, leaseMs / 3, () => {
      const claims = [...running.values()].map((job) => job.claim)
      if (claims.length === 0) {
        renewalDue = false
        return
      }
      // One at a time. With a slow database, or a clock that jumps, renewals would pile up.
      renewing = renewClaims(db, claims, clock.wall() + leaseMs)
        .catch((error: unknown) => {
          log.warn({ error: errorText(error) }, 'job.lease_renewal_failed')
        })
        .then(() => {
          renewalDue = false
          if (!scope.closed) renew()
        })
    })
  }

  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    await scope.close()
    await polling
    const timer = clock.after(GRACE_MS, () => abort.abort())
    try {
      while (ended.size > 0) await Promise.allSettled(ended)
    } finally {
      timer.cancel()
    }
    await renewing
    await group.idle()
  }

  poll()
  return {
    wake: poll,
    get sinceLastPollMs() {
      return clock.now() - polledAt
    },
    async idle() {
      poll()
      while (polling !== null || ended.size > 0) await Promise.allSettled([polling, ...ended])
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

/**
 * Distributes `free` slots one by one among lanes with free capacity, in order, until the slots or the
 * capacity are used up.
 */
export function shareSlots(
  free: number,
  lanes: readonly { readonly lane: string; readonly free: number }[],
): readonly { readonly lane: string; readonly count: number }[] {
  const counts = lanes.map(() => 0)
  let left = free
  for (let assigned = true; assigned && left > 0; ) {
    assigned = false
    for (const [index, { free: capacity }] of lanes.entries()) {
      const count = counts[index] ?? 0
      if (left > 0 && count < capacity) {
        counts[index] = count + 1
        left--
        assigned = true
      }
    }
  }
  return lanes.flatMap(({ lane }, index) => {
    const count = counts[index] ?? 0
    return count === 0 ? [] : [{ lane, count }]
  })
}
