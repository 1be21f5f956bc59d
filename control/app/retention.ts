import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import { sweepUnverifiedUsers } from '../access/accounts/store.js'
import { sweepSessions } from '../access/sessions/sessions.js'
import { sweepSignatures } from '../access/signature.js'
import { sweepThrottles } from '../access/throttle.js'
import {
  sweepCallEvents,
  sweepRecordingFiles,
  sweepRecordings,
  sweepTranscripts,
} from '../calls/lifecycle/retention.js'
import type { Db } from '../db/database.js'
import { sweepEvents } from '../events/store.js'
import { sweepIdempotencyKeys } from '../http/idempotency.js'
import type { JobHandler, JobOutcome } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { sweepMailTokens } from '../mail/mail-tokens.js'
import { sweepMails } from '../mail/outbox.js'
import { sweepDeliveries } from '../webhooks/delivery-store.js'
import { clearExpiredSecrets } from '../webhooks/endpoint-store.js'

const KIND = 'retention'
const HOUR_MS = 3_600_000

/** Removes some of what is past its time; false when nothing is left of it. */
type Sweep = (db: Db, now: number) => Promise<boolean>

/** What is removed from the database, by the name of its job. Each is done by one process at a time. */
const SWEEPS: Readonly<Record<string, Sweep>> = {
  events: sweepEvents,
  'webhook-deliveries': sweepDeliveries,
  'webhook-secrets': (db, now) => once(clearExpiredSecrets(db, now)),
  'idempotency-keys': sweepIdempotencyKeys,
  recordings: sweepRecordings,
  transcripts: sweepTranscripts,
  'call-events': sweepCallEvents,
  'unverified-accounts': sweepUnverifiedUsers,
  sessions: (db, now) => once(sweepSessions(db, now)),
  throttles: (db, now) => once(sweepThrottles(db, now)),
  signatures: (db, now) => once(sweepSignatures(db, now)),
  'mail-tokens': (db, now) => once(sweepMailTokens(db, now)),
  mails: (db, now) => once(sweepMails(db, now)),
}

async function once(sweep: Promise<unknown>): Promise<boolean> {
  await sweep
  return false
}

export interface RetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** Whose folder `recordings` is. */
  readonly nodeId: string
  readonly recordings: string
}

/** Removes what is past its time, every hour: rows in any of the processes, files in each its own. */
export function retentionHandlers(options: RetentionOptions): readonly JobHandler[] {
  const { db, clock, log, nodeId, recordings } = options
  const later: JobOutcome = async () => clock.wall() + HOUR_MS
  return [
    {
      kind: KIND,
      concurrency: 1,
      async run(job) {
        const sweep = SWEEPS[job.payload]
        // A sweep of another release: its job is not ours to keep.
        if (sweep === undefined) return async () => null
        while (!job.signal.aborted && (await sweep(db, clock.wall()))) {
          // Each round removes the next part; other writers get their turn in between.
        }
        return later
      },
    },
    {
      kind: fileKind(nodeId),
      concurrency: 1,
      async run(job) {
        await sweepRecordingFiles(recordings, clock.wall(), log, job.signal)
        return later
      },
    },
  ]
}

/** Makes sure that every sweep has its job, and this process one for its files. */
export async function scheduleRetention(db: Db, nodeId: string, now: number): Promise<void> {
  const jobs = Object.keys(SWEEPS).map((name) => ({
    id: `${KIND}:${name}`,
    kind: KIND,
    dueAt: now,
    payload: name,
  }))
  const files = fileKind(nodeId)
  await addJobs(db, [...jobs, { id: files, kind: files, dueAt: now }], now)
}

/** A kind per process: no other can reach the files. */
function fileKind(nodeId: string): string {
  return `${KIND}-files:${nodeId}`
}
