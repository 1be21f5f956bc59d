import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { Db, Trx } from '../db/database.js'
import type { JobRow } from '../db/tables/webhooks.js'
import { isTransient } from '../db/transient-error.js'
import { endOfEventLoopTurn, GroupCommit } from './group-commit.js'
import { type Claim, claimJobs, dueLanes, releaseClaim, renewClaim, renewClaims } from './store.js'

/** A job in the hands of a handler. */
export interface ClaimedJob {
  readonly id: string
  readonly lane: string
  readonly payload: string
  /** 1 for the first claim; more after faults, crashes and planned repetitions. */
  readonly attempts: number
  /** Aborted when the runner wants to stop and has waited long enough. */
  readonly signal: AbortSignal
  /**
   * Commits a write and renews the lease with it. The write may be run twice, but takes effect once.
   * Throws `LeaseLost`, and nothing was written, when another runner has the job.
   */
  write<T>(run: (trx: Trx) => Promise<T>): Promise<T>
}

/**
 * What a handler leaves behind: written in one transaction with the end of the job. Returns when the
 * job is due again (Unix ms), or null when it is over.
 */
export type JobOutcome = (trx: Trx) => Promise<number | null>

export interface JobHandler {
  readonly kind: string
  /** At once, in this process. */
  readonly concurrency: number
  /** At once per lane; the whole concurrency when absent. */
  laneLimit?(lane: string): number
  /** A throw is a fault: the job is tried again with growing delays, for ever. */
  run(job: ClaimedJob): Promise<JobOutcome>
}

export interface JobRunner {
  /** Looks for due jobs now instead of at the next beat. */
  wake(): void
  /** How long ago, in ms, it last looked for due jobs and the database answered. */
  readonly sinceLastPollMs: number
  /** Resolves when no job runs and none is due. */
  idle(): Promise<void>
  /**
   * Claims nothing more and waits for the running jobs; after `GRACE_MS` their signals are aborted.
   * Idempotent.
   */
  close(): Promise<void>
}

/** Thrown by `HeldJob.write`; a handler lets it through. */
export class LeaseLostError extends Error {
  constructor(id: string) {
    super(`the lease of ${id} was lost`)
    this.name = 'LeaseLost'
  }
}

/** A stopped runner's jobs are taken over after this. */
export const LEASE_MS = 30_000
export const POLL_MS = 250
const GRACE_MS = 2_000
const LANES_AT_ONCE = 64
const FIRST_DELAY_MS = 1_000
const LAST_DELAY_MS = 10 * 60_000
const FINISH_RETRIES = 6
const FIRST_FINISH_RETRY_MS = 50

/** When a job that failed by a fault of ours is tried again: 1 s, doubled, ten minutes at most. */
export function failureRetryMs(attempts: number): number {
  return Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(20, Math.max(0, attempts - 1)))
}

/**
 * Runs due jobs of the handlers' kinds, each at least once. Several processes may run on one
 * database: a job belongs to the one whose conditional update took it, for `leaseMs`, renewed while
 * it runs. Lanes take turns, the longest waiting first, so that a long queue in one does not hold up
 * the others.
 */
export function openJobRunner(options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly handlers: readonly JobHandler[]
  readonly leaseMs?: number
  /** How often to look for due jobs when nothing else makes it look. */
  readonly pollMs?: number
}): JobRunner {
  const { db, clock, log, handlers } = options
  const leaseMs = options.leaseMs ?? LEASE_MS
  const pollMs = options.pollMs ?? POLL_MS
  const owner = randomBytes(12).toString('base64url')
  const scope = new Scope()
  const group = new GroupCommit(db)
  const abort = new AbortController()
  // One per running job, which is not a leak.
  setMaxListeners(0, abort.signal)
  const running = new Map<string, { readonly claim: Claim; readonly kind: string; readonly lane: string }>()
  /** Of them, those whose end is being stored: their places are dealt out already. */
  const leaving = new Set<string>()
  const ended = new Set<Promise<void>>()
  let looking: Promise<void> | null = null
  let again = false
  let lookedAt = clock.now()

  function busy(kind: string, lane?: string): number {
    let count = 0
    for (const [id, job] of running) {
      if (!leaving.has(id) && job.kind === kind && (lane === undefined || job.lane === lane)) count++
    }
    return count
  }

  /** Claims for one handler what its free places allow; returns how many jobs it got. */
  async function claim(handler: JobHandler): Promise<number> {
    const free = handler.concurrency - busy(handler.kind)
    if (free <= 0) return 0
    const now = clock.wall()
    const lanes = (await dueLanes(db, handler.kind, now, LANES_AT_ONCE)).map((lane) => ({
      lane,
      free: (handler.laneLimit?.(lane) ?? handler.concurrency) - busy(handler.kind, lane),
    }))
    const shares = shareSlots(
      free,
      lanes.filter((lane) => lane.free > 0),
    )
    if (shares.length === 0) return 0
    const wanted = shares.map(({ lane, count }) => ({
      kind: handler.kind,
      lane,
      owner,
      leaseMs,
      limit: count,
    }))
    const claimed = await group.write(async (trx) => {
      const rows: JobRow[] = []
      for (const one of wanted) rows.push(...(await claimJobs(trx, one, now)))
      return rows
    })
    for (const row of claimed) start(handler, row)
    return claimed.length
  }

  function start(handler: JobHandler, row: JobRow): void {
    const own: Claim = { id: row.id, owner, attempts: row.attempts }
    running.set(row.id, { claim: own, kind: row.kind, lane: row.lane })
    renew()
    const end = execute(handler, row, own).finally(() => {
      running.delete(row.id)
      leaving.delete(row.id)
      ended.delete(end)
      look()
    })
    ended.add(end)
  }

  async function execute(handler: JobHandler, row: JobRow, own: Claim): Promise<void> {
    const held: ClaimedJob = {
      id: row.id,
      lane: row.lane,
      payload: row.payload,
      attempts: row.attempts,
      signal: abort.signal,
      write: (run) =>
        group.write(async (trx) => {
          if (!(await renewClaim(trx, own, clock.wall() + leaseMs))) throw new LeaseLostError(row.id)
          return run(trx)
        }),
    }
    let outcome: JobOutcome
    try {
      outcome = await handler.run(held)
    } catch (error) {
      if (error instanceof LeaseLostError) {
        log.warn({ job: row.id, kind: row.kind }, 'a job went to another runner while it ran')
        return
      }
      log.error(
        { job: row.id, kind: row.kind, attempts: row.attempts, error: errorText(error) },
        'job failed',
      )
      outcome = async () => clock.wall() + failureRetryMs(row.attempts)
    }
    await finish(row, own, outcome)
  }

  async function finish(row: JobRow, own: Claim, outcome: JobOutcome): Promise<void> {
    // The next claim is committed together with this end, not after it.
    leaving.add(row.id)
    look()
    for (let round = 1; ; round++) {
      try {
        await group.write(async (trx) => {
          const dueAt = await outcome(trx)
          if (!(await releaseClaim(trx, own, dueAt))) throw new LeaseLostError(row.id)
        })
        return
      } catch (error) {
        const fields = { job: row.id, kind: row.kind, error: errorText(error) }
        if (error instanceof LeaseLostError) {
          log.warn(fields, 'a job went to another runner before its end was stored')
          return
        }
        if (!isTransient(error) || round === FINISH_RETRIES || scope.closed) {
          // The lease runs out, and the job runs again: at least once.
          log.error(fields, 'the end of a job was not stored')
          return
        }
        await pause(FIRST_FINISH_RETRY_MS * 2 ** round)
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const forget = scope.own(resolve)
      scope.after(clock, ms, () => {
        forget()
        resolve()
      })
    })
  }

  function look(): void {
    if (scope.closed) return
    again = true
    looking ??= lookNow()
  }

  async function lookNow(): Promise<void> {
    while (again && !scope.closed) {
      // Jobs that end in the same turn of the loop make room for one claim, not for one each.
      await endOfEventLoopTurn()
      again = false
      try {
        let claimed = 0
        for (const handler of handlers) claimed += scope.closed ? 0 : await claim(handler)
        lookedAt = clock.now()
        if (claimed > 0) again = true
      } catch (error) {
        log.warn({ error: errorText(error) }, 'due jobs not claimed; trying again')
        break
      }
    }
    // In the very turn that found nothing to do: a later one could miss somebody who asked in between.
    looking = null
  }

  function beat(): void {
    scope.after(clock, pollMs, () => {
      look()
      beat()
    })
  }

  let renewing: Promise<void> = Promise.resolve()
  let renewalDue = false
  /** Keeps the leases of running jobs, for as long as there are any. */
  function renew(): void {
    if (renewalDue) return
    renewalDue = true
    scope.after(clock, leaseMs / 3, () => {
      const claims = [...running.values()].map((job) => job.claim)
      if (claims.length === 0) {
        renewalDue = false
        return
      }
      // One at a time: with a slow database, or a clock that jumps, they would pile up.
      renewing = renewClaims(db, claims, clock.wall() + leaseMs)
        .catch((error: unknown) => {
          log.warn({ error: errorText(error) }, 'leases of running jobs not renewed; trying again')
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
    await looking
    const timer = clock.after(GRACE_MS, () => abort.abort())
    try {
      while (ended.size > 0) await Promise.allSettled(ended)
    } finally {
      timer.cancel()
    }
    await renewing
    await group.idle()
  }

  beat()
  look()
  return {
    wake: look,
    get sinceLastPollMs() {
      return clock.now() - lookedAt
    },
    async idle() {
      look()
      while (looking !== null || ended.size > 0) await Promise.allSettled([looking, ...ended])
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** Deals `free` places out one by one to lanes with room, in their order, until either is used up. */
export function shareSlots(
  free: number,
  lanes: readonly { readonly lane: string; readonly free: number }[],
): readonly { readonly lane: string; readonly count: number }[] {
  const counts = lanes.map(() => 0)
  let left = free
  for (let dealt = true; dealt && left > 0; ) {
    dealt = false
    for (const [index, { free: room }] of lanes.entries()) {
      const count = counts[index] ?? 0
      if (left > 0 && count < room) {
        counts[index] = count + 1
        left--
        dealt = true
      }
    }
  }
  return lanes.flatMap(({ lane }, index) => {
    const count = counts[index] ?? 0
    return count === 0 ? [] : [{ lane, count }]
  })
}
