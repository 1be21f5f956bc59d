import type { Clock } from '../../../media/base/clock.js'
import { newId } from '../../../media/base/ids.js'
import { istDate, istMidnight } from '../../base/ist.js'
import type { RootKey } from '../../base/root-key.js'
import type { Db, Trx } from '../../db/database.js'
import { insertEvent } from '../../events/store.js'
import type { JobHandler } from '../../jobs/runner.js'
import { addJobs } from '../../jobs/store.js'
import { anchorsOf } from './anchors.js'
import { type EvidenceKeys, type JsonObject, openEvidenceKeys } from './seal.js'
import { TIME_STAMP_KIND } from './stamp-job.js'
import { appendRecord, lockHead, type Owner, readHead, recordsOf } from './store.js'

const KIND = 'evidence-close'
const DAY_MS = 86_400_000
const BATCH = 100

export interface CloseOptions {
  readonly db: Db
  readonly rootKey: RootKey
  readonly clock: Pick<Clock, 'wall'>
  /** True if a time stamp authority is configured. */
  readonly timeStamps: boolean
}

/** Adds the daily closing of evidence chains. */
export async function scheduleCloses(db: Db, now: number): Promise<void> {
  await addJobs(db, [{ id: KIND, kind: KIND, dueAt: now }], now)
}

/**
 * Returns the handler that closes each chain with new records, after every midnight in India. Each chain is closed in
 * its own transaction; a run after a crash goes on with the chains that are left.
 */
export function closeHandler({ db, rootKey, clock, timeStamps }: CloseOptions): JobHandler {
  const keys = openEvidenceKeys(rootKey)
  return {
    kind: KIND,
    concurrency: 1,
    async run({ signal }) {
      let after: Owner | null = null
      for (;;) {
        const chains = await openChains(db, after)
        for (const owner of chains) {
          if (signal.aborted) return async () => clock.wall()
          const now = clock.wall()
          await db.transaction().execute((trx) => closeChain(trx, keys, owner, timeStamps, now))
        }
        after = chains.at(-1) ?? null
        if (chains.length < BATCH) return async () => istMidnight(istDate(clock.wall())) + DAY_MS
      }
    },
  }
}

/** Returns chains whose last record was not given away yet, in the order of their owners. */
function openChains(db: Db, after: Owner | null): Promise<Owner[]> {
  return db
    .selectFrom('evidenceHeads as head')
    .select(['head.organizationId', 'head.environment'])
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('evidenceAnchors as anchor')
            .select('anchor.id')
            .whereRef('anchor.organizationId', '=', 'head.organizationId')
            .whereRef('anchor.environment', '=', 'head.environment')
            .whereRef('anchor.seq', '=', 'head.seq'),
        ),
      ),
    )
    .$if(after !== null, (query) =>
      query.where(({ eb, or, and }) =>
        or([
          eb('head.organizationId', '>', after?.organizationId ?? ''),
          and([
            eb('head.organizationId', '=', after?.organizationId ?? ''),
            eb('head.environment', '>', after?.environment ?? 'live'),
          ]),
        ]),
      ),
    )
    .orderBy('head.organizationId')
    .orderBy('head.environment')
    .limit(BATCH)
    .execute()
}

/**
 * Seals how many records of each kind the chain got since it was last closed, and gives its head away: as the event
 * `evidence.head`, and to the time stamp authority. Changes nothing if the last record was given away already.
 */
export async function closeChain(
  trx: Trx,
  keys: EvidenceKeys,
  owner: Owner,
  timeStamps: boolean,
  now: number,
): Promise<void> {
  // Two runs wait for each other here, and the second one finds what the first one did.
  await lockHead(trx, owner)
  const { seq: lastSeq, keptFrom } = await readHead(trx, owner)
  const before = await anchorsOf(trx, owner).orderBy('seq', 'desc').limit(1).executeTakeFirst()
  if (before?.seq === lastSeq) return
  const firstSeq = before === undefined ? keptFrom : before.seq + 1
  const part = async (): Promise<JsonObject> => ({ firstSeq, counts: await countKinds(trx, owner, firstSeq) })
  const record = { kind: 'close', callId: null, gateRunId: null, person: null, part } as const
  const { seq, hash } = await appendRecord(trx, keys, owner, record, now)
  const { keyId, publicKey } = keys.current
  const id = newId('anc', now)
  await trx
    .insertInto('evidenceAnchors')
    .values({
      ...{ id, ...owner, seq, hash, keyId, publicKey, sealedAt: now },
      ...{ token: null, stampedAt: null, authority: null },
    })
    .execute()
  await insertEvent(trx, { ...owner, type: 'evidence.head', subjects: { evidenceHead: id } }, now)
  if (!timeStamps) return
  await addJobs(
    trx,
    [{ id: `${TIME_STAMP_KIND}:${id}`, kind: TIME_STAMP_KIND, dueAt: now, payload: id }],
    now,
  )
}

async function countKinds(trx: Trx, owner: Owner, firstSeq: number): Promise<JsonObject> {
  const rows = await recordsOf(trx, owner)
    .clearSelect()
    .select((eb) => ['kind', eb.fn.countAll<number>().as('records')])
    .where('seq', '>=', firstSeq)
    .groupBy('kind')
    .execute()
  return Object.fromEntries(rows.map(({ kind, records }) => [kind, Number(records)]))
}
