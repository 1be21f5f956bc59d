import type { CallEvent, TransferEvent } from '../../../signalling/call/call-events.js'
import type { RecordingFile } from '../../../workers/channel/protocol.js'
import type { Db, Trx } from '../../db/database.js'
import type { CallRow } from '../../db/tables/calling.js'
import type { TransferAttemptRow, TransferRecordingRow } from '../../db/tables/transfers.js'
import { insertEvent } from '../../events/store.js'
import type { Owner } from '../../numbers/store.js'
import type { TransferAttempt } from './attempt-view.js'

/** Facts of an attempt that the desk knows when it begins: the details of its first event. */
export type AttemptFacts = Pick<
  TransferAttemptRow,
  'id' | 'destinationId' | 'label' | 'trigger' | 'reason' | 'ratePaisePerMinute'
>

type StoredStep = CallEvent & TransferEvent

/** Stores a step of an attempt, and the events that customers see. A step that does not fit changes nothing. */
export async function storeTransferStep(trx: Trx, event: StoredStep): Promise<void> {
  const { callId, at } = event
  const call = await trx.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
  if (call === undefined) return
  if (event.status === 'answered' && (await confirmBridge(trx, event))) return
  const row = event.status === 'accepted' ? await begin(trx, call, event) : await advance(trx, event)
  if (row === null) return
  await rememberLatest(trx, row)
  const announce = (event.status === 'ringing' || event.status === 'answered') && row.announced === 0
  if (announce) {
    await trx.updateTable('transferAttempts').set({ announced: 1 }).where('id', '=', row.id).execute()
    await publish(trx, row, 'call.transfer_started', at)
  }
  // The signalling of a carrier that never reports answers proves nothing. Its record of the call decides.
  if (event.status === 'bridged' && event.unconfirmed !== true)
    await publish(trx, row, 'call.transferred', at)
  if (FAILED.has(event.status)) await publish(trx, row, 'call.transfer_failed', at)
}

const FAILED: ReadonlySet<string> = new Set(['missed', 'declined', 'failed', 'canceled'])
const OPEN = ['accepted', 'ringing', 'answered', 'bridged'] as const

async function begin(trx: Trx, call: CallRow, event: StoredStep): Promise<TransferAttemptRow | null> {
  const { attempt, mode, status, at, details } = event
  if (details === undefined) return null
  const facts = details as unknown as AttemptFacts
  const row = await trx
    .insertInto('transferAttempts')
    .values({
      ...facts,
      organizationId: call.organizationId,
      environment: call.environment,
      callId: call.id,
      attempt,
      mode,
      brief: null,
      sipCallId: null,
      status,
      outcome: null,
      announced: 0,
      requestedAt: at,
      acceptedAt: null,
      answeredAt: null,
      bridgedAt: null,
      endedAt: null,
    })
    .onConflict((conflict) => conflict.columns(['callId', 'attempt']).doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

async function advance(trx: Trx, event: StoredStep): Promise<TransferAttemptRow | null> {
  const { callId, attempt, mode, status, outcome, at, brief, sipCallId } = event
  const times =
    status === 'answered'
      ? {
          answeredAt: at,
          ...(brief === undefined ? {} : { brief }),
          ...(sipCallId === undefined ? {} : { sipCallId }),
        }
      : status === 'bridged'
        ? {
            bridgedAt: at,
            ...(mode === 'consult' ? { acceptedAt: at } : {}),
            ...(sipCallId === undefined ? {} : { sipCallId }),
          }
        : status === 'ringing'
          ? {}
          : { endedAt: at }
  const row = await trx
    .updateTable('transferAttempts')
    .set({ status, outcome, ...times })
    .where('callId', '=', callId)
    .where('attempt', '=', attempt)
    .where('status', 'in', OPEN)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/**
 * Stores the answer of a bridge on early media: the person is there, and is paid for, from now on. Returns false, and changes
 * nothing, if the attempt is no such bridge.
 */
async function confirmBridge(trx: Trx, { callId, attempt, at, sipCallId }: StoredStep): Promise<boolean> {
  const row = await trx
    .updateTable('transferAttempts')
    .set({ answeredAt: at, bridgedAt: at, ...(sipCallId === undefined ? {} : { sipCallId }) })
    .where('callId', '=', callId)
    .where('attempt', '=', attempt)
    .where('status', '=', 'bridged')
    .where('answeredAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return false
  await rememberLatest(trx, row)
  await publish(trx, row, 'call.transferred', at)
  return true
}

/** Ends the attempts that a call left open because its process stopped. */
export async function endTransfers(trx: Trx, callId: string, endedAt: number): Promise<void> {
  const open = await trx
    .selectFrom('transferAttempts')
    .selectAll()
    .where('callId', '=', callId)
    .where('status', 'in', OPEN)
    .execute()
  for (const { id, bridgedAt } of open) {
    const ending =
      bridgedAt === null
        ? ({ status: 'canceled', outcome: 'call_ended' } as const)
        : ({ status: 'completed', outcome: 'connected' } as const)
    const row = await trx
      .updateTable('transferAttempts')
      .set({ ...ending, endedAt })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
    await rememberLatest(trx, row)
    if (bridgedAt === null) await publish(trx, row, 'call.transfer_failed', endedAt)
  }
}

/** Fails an attempt that was bridged, with its event. Returns false, and changes nothing, if it is not bridged. */
export async function failBridged(trx: Trx, id: string, at: number): Promise<boolean> {
  const row = await trx
    .updateTable('transferAttempts')
    .set({ status: 'failed', outcome: 'no_answer' })
    .where('id', '=', id)
    .where('status', 'in', ['bridged', 'completed'])
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return false
  await rememberLatest(trx, row)
  await publish(trx, row, 'call.transfer_failed', at)
  return true
}

/** `call_X-xfr_Y-human`: name of the file of a part without its ending. */
const PART_NAME = /^(call_\w+)-(xfr_\w+)-(human|return)$/

export function partName(callId: string, transferId: string, part: 'human' | 'return'): string {
  return `${callId}-${transferId}-${part}`
}

/** Returns whether a file is the recording of a part of a call. Tracks and unfinished mixes are none. */
export function isPartFile(file: string, callId: string): boolean {
  return file.endsWith('.wav') && PART_NAME.exec(file.slice(0, -'.wav'.length))?.[1] === callId
}

/** Stores the recordings of the parts of a call. Returns the names of their files without ending. */
export async function storeParts(
  trx: Trx,
  files: readonly { readonly name: string; readonly key: string; readonly file: RecordingFile }[],
  at: number,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const { name, key, file } of files) {
    const [, callId, transferId, part] = PART_NAME.exec(name) ?? []
    if (callId === undefined || transferId === undefined || part === undefined) continue
    const attempt = await trx
      .selectFrom('transferAttempts')
      .selectAll()
      .where('id', '=', transferId)
      .where('callId', '=', callId)
      .executeTakeFirst()
    if (attempt === undefined) continue
    await trx
      .insertInto('transferRecordings')
      .values({
        transferId,
        part: part as TransferRecordingRow['part'],
        callId,
        name,
        key,
        bytes: file.bytes,
        durationMs: Math.round(file.durationMs),
        sha256: file.sha256,
        createdAt: at,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    await rememberLatest(trx, attempt)
    names.push(name)
  }
  return names
}

/** Deletes some recordings of parts, and their flags in the rows of their calls. Returns the number of recordings. */
export async function deleteParts(
  trx: Trx,
  expired: { readonly before: string; readonly endedAt: number; readonly limit: number },
): Promise<number> {
  const parts = await trx
    .selectFrom('transferRecordings')
    .innerJoin('transferAttempts', 'transferAttempts.id', 'transferRecordings.transferId')
    .selectAll('transferAttempts')
    .select('name')
    .where('transferRecordings.callId', '<', expired.before)
    .where('transferRecordings.createdAt', '<=', expired.endedAt)
    .limit(expired.limit)
    .execute()
  if (parts.length === 0) return 0
  await trx
    .deleteFrom('transferRecordings')
    .where(
      'name',
      'in',
      parts.map(({ name }) => name),
    )
    .execute()
  const calls = new Map(parts.map((part) => [part.callId, part]))
  for (const attempt of calls.values()) await rememberLatest(trx, attempt)
  return parts.length
}

/** Lists the attempts of a call in order. */
export async function listTransfers(
  db: Db | Trx,
  owner: Owner,
  callId: string,
): Promise<readonly TransferAttempt[]> {
  const rows = await owned(db, owner).where('callId', '=', callId).orderBy('attempt').execute()
  return await withParts(db, rows)
}

export async function findTransfer(db: Db | Trx, owner: Owner, id: string): Promise<TransferAttempt | null> {
  const rows = await owned(db, owner).where('id', '=', id).execute()
  return (await withParts(db, rows))[0] ?? null
}

/** Returns the recording of a part of an attempt, or null. */
export async function findPart(
  db: Db,
  owner: Owner,
  { callId, transferId, part }: Pick<TransferRecordingRow, 'callId' | 'transferId' | 'part'>,
): Promise<TransferRecordingRow | null> {
  const row = await db
    .selectFrom('transferRecordings')
    .innerJoin('transferAttempts', 'transferAttempts.id', 'transferRecordings.transferId')
    .selectAll('transferRecordings')
    .where('transferAttempts.organizationId', '=', owner.organizationId)
    .where('transferAttempts.environment', '=', owner.environment)
    .where('transferAttempts.callId', '=', callId)
    .where('transferRecordings.transferId', '=', transferId)
    .where('transferRecordings.part', '=', part)
    .executeTakeFirst()
  return row ?? null
}

function owned(db: Db | Trx, { organizationId, environment }: Owner) {
  return db
    .selectFrom('transferAttempts')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
}

async function withParts(
  db: Db | Trx,
  rows: readonly TransferAttemptRow[],
): Promise<readonly TransferAttempt[]> {
  if (rows.length === 0) return []
  const parts = await db
    .selectFrom('transferRecordings')
    .select(['transferId', 'part'])
    .where(
      'transferId',
      'in',
      rows.map(({ id }) => id),
    )
    .execute()
  return rows.map((row) => ({
    row,
    parts: parts.filter(({ transferId }) => transferId === row.id).map(({ part }) => part),
  }))
}

/** Keeps the latest attempt in the row of its call, which every list of calls shows. */
async function rememberLatest(trx: Trx, changed: TransferAttemptRow): Promise<void> {
  const [latest] = await withParts(
    trx,
    await trx
      .selectFrom('transferAttempts')
      .selectAll()
      .where('callId', '=', changed.callId)
      .orderBy('attempt', 'desc')
      .limit(1)
      .execute(),
  )
  await trx
    .updateTable('calls')
    .set({ transfer: latest === undefined ? null : JSON.stringify(latest) })
    .where('id', '=', changed.callId)
    .execute()
}

async function publish(
  trx: Trx,
  row: TransferAttemptRow,
  type: 'call.transfer_started' | 'call.transferred' | 'call.transfer_failed',
  at: number,
): Promise<void> {
  const { organizationId, environment, callId, id } = row
  await insertEvent(trx, { organizationId, environment, type, subjects: { call: callId, transfer: id } }, at)
}
