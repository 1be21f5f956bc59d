import { createHash } from 'node:crypto'
import { EngineError } from '../../media/base/errors.js'
import type { Deps } from '../api/deps.js'
import type { InvoiceRow } from '../db/tables/invoices.js'
import { readObject, writeObject } from '../objects/whole-object.js'
import { invoiceDocument } from './document.js'

type FileDeps = Pick<Deps, 'db' | 'objects' | 'pdf' | 'clock'>

/**
 * Returns the PDF document of a tax document. It is drawn once and stored with its hash, so that a later release draws no
 * other one. Rejects with EngineError `storage_failed` if the stored document is lost and cannot be drawn the same.
 */
export async function readInvoiceFile(deps: FileDeps, row: InvoiceRow): Promise<Uint8Array> {
  const { db, objects, clock } = deps
  const sha256 = await findHash(deps, row.id)
  if (sha256 !== null) return readStored(deps, row, sha256)
  const drawn = await draw(deps, row)
  await writeObject(objects, keyOf(row.id, drawn.sha256), drawn.bytes)
  await db
    .insertInto('invoiceFiles')
    .values({ invoiceId: row.id, sha256: drawn.sha256, createdAt: clock.wall() })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const kept = await findHash(deps, row.id)
  if (kept === null || kept === drawn.sha256) return drawn.bytes
  // A process of another release has drawn it at the same time, and was first.
  await objects.delete(keyOf(row.id, drawn.sha256))
  return readStored(deps, row, kept)
}

async function readStored(deps: FileDeps, row: InvoiceRow, sha256: string): Promise<Uint8Array> {
  const { objects } = deps
  const stored = await readObject(objects, keyOf(row.id, sha256))
  if (stored !== null && hashOf(stored) === sha256) return stored
  const drawn = await draw(deps, row)
  if (drawn.sha256 !== sha256) {
    throw new EngineError('storage_failed', 'the stored file of an invoice is lost', {
      context: { invoiceId: row.id },
    })
  }
  await writeObject(objects, keyOf(row.id, sha256), drawn.bytes)
  return drawn.bytes
}

async function findHash({ db }: FileDeps, invoiceId: string): Promise<string | null> {
  const row = await db
    .selectFrom('invoiceFiles')
    .select('sha256')
    .where('invoiceId', '=', invoiceId)
    .executeTakeFirst()
  return row?.sha256 ?? null
}

async function draw({ pdf }: FileDeps, row: InvoiceRow) {
  const bytes = await pdf.render(invoiceDocument(row))
  return { bytes, sha256: hashOf(bytes) }
}

/** The hash is part of the key, so that no writer replaces the bytes of another one. */
function keyOf(invoiceId: string, sha256: string): string {
  return `invoices/${invoiceId}/${sha256}.pdf`
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
