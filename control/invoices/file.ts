import { createHash } from 'node:crypto'
import { EngineError } from '../../media/base/errors.js'
import type { Deps } from '../api/deps.js'
import type { InvoiceRegistrationRow, InvoiceRow } from '../db/tables/invoices.js'
import { readObject, writeObject } from '../objects/whole-object.js'
import { invoiceDocument } from './document.js'
import { findRegistration } from './register.js'

type FileDeps = Pick<Deps, 'db' | 'objects' | 'pdf' | 'clock'>

/**
 * Returns the PDF document of a tax document, with its registration as an e-invoice if it has one. The document is drawn once and
 * stored with its hash, so that a later release draws no other one; a registration gives it another file. Rejects with EngineError
 * `storage_failed` if the stored document is lost and cannot be drawn the same.
 */
export async function readInvoiceFile(
  deps: FileDeps,
  row: InvoiceRow,
  registration: InvoiceRegistrationRow | null,
): Promise<Uint8Array> {
  const { objects } = deps
  const sha256 = registration === null ? await findHash(deps, row.id) : registration.sha256
  if (sha256 !== null) return readStored(deps, row, registration, sha256)
  const drawn = await draw(deps, row, registration)
  await writeObject(objects, keyOf(row.id, drawn.sha256), drawn.bytes)
  const kept = await keepHash(deps, row.id, registration, drawn.sha256)
  if (kept === drawn.sha256) return drawn.bytes
  // A process of another release has drawn it at the same time, and was first.
  await objects.delete(keyOf(row.id, drawn.sha256))
  return readStored(deps, row, registration, kept)
}

async function readStored(
  deps: FileDeps,
  row: InvoiceRow,
  registration: InvoiceRegistrationRow | null,
  sha256: string,
): Promise<Uint8Array> {
  const { objects } = deps
  const stored = await readObject(objects, keyOf(row.id, sha256))
  if (stored !== null && hashOf(stored) === sha256) return stored
  const drawn = await draw(deps, row, registration)
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

/** Stores the hash of a file unless there is one. Returns the stored hash. */
async function keepHash(
  deps: FileDeps,
  invoiceId: string,
  registration: InvoiceRegistrationRow | null,
  sha256: string,
): Promise<string> {
  const { db, clock } = deps
  if (registration === null) {
    await db
      .insertInto('invoiceFiles')
      .values({ invoiceId, sha256, createdAt: clock.wall() })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return (await findHash(deps, invoiceId)) ?? sha256
  }
  await db
    .updateTable('invoiceRegistrations')
    .set({ sha256 })
    .where('invoiceId', '=', invoiceId)
    .where('sha256', 'is', null)
    .execute()
  return (await findRegistration(db, invoiceId))?.sha256 ?? sha256
}

async function draw({ pdf }: FileDeps, row: InvoiceRow, registration: InvoiceRegistrationRow | null) {
  const bytes = await pdf.render(invoiceDocument(row, registration))
  return { bytes, sha256: hashOf(bytes) }
}

/** The hash is part of the key, so that no writer replaces the bytes of another one. */
function keyOf(invoiceId: string, sha256: string): string {
  return `invoices/${invoiceId}/${sha256}.pdf`
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
