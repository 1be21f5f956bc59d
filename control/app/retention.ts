import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import { sweepUnverifiedUsers } from '../access/accounts/store.js'
import { sweepFactors } from '../access/factors/store.js'
import { sweepSessions } from '../access/sessions/sessions.js'
import { sweepSignatures } from '../access/signature.js'
import { sweepThrottles } from '../access/throttle.js'
import type { RootKey } from '../base/root-key.js'
import {
  sweepCallEvents,
  sweepPartRecordings,
  sweepRecordingFiles,
  sweepRecordings,
  sweepStoredRecordings,
  sweepTranscripts,
} from '../calls/lifecycle/retention.js'
import { sweepConsents } from '../compliance/consent-store.js'
import { sweepRegisterAnswers } from '../compliance/dnd/ask-register.js'
import { sweepScrubs } from '../compliance/dnd/scrub-store.js'
import { openEvidenceKeys } from '../compliance/evidence/seal.js'
import { sweepChecks, sweepEvidence } from '../compliance/retention.js'
import type { Db } from '../db/database.js'
import { sweepVerificationCalls } from '../destinations/verification-store.js'
import { sweepEvents } from '../events/store.js'
import { sweepIdempotencyKeys } from '../http/idempotency.js'
import type { JobHandler, JobOutcome } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { sweepKnowledge } from '../knowledge/retention.js'
import { sweepLiveChanges } from '../live/changes.js'
import { sweepMailTokens } from '../mail/mail-tokens.js'
import { sweepMails } from '../mail/outbox.js'
import type { ObjectStore } from '../objects/object-store.js'
import { sweepStrayFiles, sweepUploads } from '../uploads/store.js'
import { sweepDeliveries } from '../webhooks/delivery-store.js'
import { clearExpiredSecrets } from '../webhooks/endpoint-store.js'

const KIND = 'retention'
const HOUR_MS = 3_600_000
/** Longer than any write of an object lasts. */
const UNFINISHED_MS = 24 * HOUR_MS

/** Removes some expired rows or objects. Returns false if none are left. */
type Sweep = (db: Db, now: number, objects: ObjectStore, rootKey: RootKey) => Promise<boolean>

/** Sweeps of the database and of the object store by job name. One process at a time runs each of them. */
const SWEEPS: Readonly<Record<string, Sweep>> = {
  events: sweepEvents,
  'live-changes': sweepLiveChanges,
  'webhook-deliveries': sweepDeliveries,
  'webhook-secrets': (db, now) => once(clearExpiredSecrets(db, now)),
  'idempotency-keys': sweepIdempotencyKeys,
  recordings: sweepRecordings,
  'part-recordings': sweepPartRecordings,
  'recording-objects': (_db, now, objects) => sweepStoredRecordings(objects, now),
  uploads: (db, now, objects) => sweepUploads(db, objects, now),
  'stray-files': (db, now, objects) => sweepStrayFiles(db, objects, now),
  knowledge: sweepKnowledge,
  'unfinished-objects': (_db, now, objects) => once(objects.sweepUnfinished(now - UNFINISHED_MS)),
  transcripts: sweepTranscripts,
  'call-events': sweepCallEvents,
  checks: sweepChecks,
  evidence: (db, now, _objects, rootKey) => sweepEvidence(db, openEvidenceKeys(rootKey), now),
  consents: sweepConsents,
  'register-answers': sweepRegisterAnswers,
  'register-scrubs': sweepScrubs,
  'unverified-accounts': sweepUnverifiedUsers,
  sessions: (db, now) => once(sweepSessions(db, now)),
  'second-factors': (db, now) => once(sweepFactors(db, now)),
  throttles: (db, now) => once(sweepThrottles(db, now)),
  'verification-calls': (db, now) => once(sweepVerificationCalls(db, now)),
  signatures: (db, now) => once(sweepSignatures(db, now)),
  'mail-tokens': (db, now) => once(sweepMailTokens(db, now)),
  mails: (db, now) => once(sweepMails(db, now)),
}

/** Names of the sweeps that run once for all processes. */
export const SWEEP_NAMES: readonly string[] = Object.keys(SWEEPS)

async function once(sweep: Promise<unknown>): Promise<boolean> {
  await sweep
  return false
}

export interface RetentionOptions {
  readonly db: Db
  readonly objects: ObjectStore
  readonly rootKey: RootKey
  readonly clock: Clock
  readonly log: Log
  /** Id of the node that owns the folder `recordings`. */
  readonly nodeId: string
  readonly recordings: string
}

/**
 * Returns the handlers that remove expired data every hour: rows and objects in any process, local files in the
 * process that owns them.
 */
export function retentionHandlers(options: RetentionOptions): readonly JobHandler[] {
  const { db, objects, rootKey, clock, log, nodeId, recordings } = options
  const hourly: JobOutcome = async () => clock.wall() + HOUR_MS
  return [
    {
      kind: KIND,
      concurrency: 1,
      async run(job) {
        const sweep = SWEEPS[job.payload]
        // The job belongs to a sweep of another release: remove it.
        if (sweep === undefined) return async () => null
        while (!job.signal.aborted && (await sweep(db, clock.wall(), objects, rootKey))) {
          // Each round removes one batch. Other writers can write between batches.
        }
        return hourly
      },
    },
    {
      kind: fileKind(nodeId),
      concurrency: 1,
      async run(job) {
        await sweepRecordingFiles(recordings, clock.wall(), log, job.signal)
        return hourly
      },
    },
  ]
}

/** Adds the jobs of all sweeps that do not exist yet, and the job for the files of this process. */
export async function scheduleRetention(db: Db, nodeId: string, now: number): Promise<void> {
  const jobs = SWEEP_NAMES.map((name) => ({
    id: `${KIND}:${name}`,
    kind: KIND,
    dueAt: now,
    payload: name,
  }))
  const files = fileKind(nodeId)
  await addJobs(db, [...jobs, { id: files, kind: files, dueAt: now }], now)
}

/** Returns the job kind for the files of a process, which other processes cannot access. */
function fileKind(nodeId: string): string {
  return `${KIND}-files:${nodeId}`
}
