import { audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import type { Db, Trx } from '../db/database.js'
import type { InvoiceRegistrationRow, InvoiceRow } from '../db/tables/invoices.js'
import type { DocumentContent } from './issue.js'
import { answeredDocument, type PortalAnswer, type Registration, registrationOf } from './portal-answers.js'

/** Outcome of an answer. `number` is that of the document, or null if the answer names none. */
export type RegistrationOutcome = { readonly number: string | null } & (
  | { readonly outcome: 'registered' | 'known' }
  | { readonly outcome: 'refused'; readonly reason: string }
)

/**
 * Stores the registration of a document that a portal has answered with, once and for ever, and records it in the audit log.
 * The same registration again changes nothing. An answer that does not fit its document is refused.
 */
export async function registerInvoice(
  deps: Pick<Deps, 'db' | 'clock'>,
  answer: PortalAnswer,
): Promise<RegistrationOutcome> {
  const about = answeredDocument(answer)
  if ('reason' in about) return { number: null, outcome: 'refused', ...about }
  const { number, said } = about
  const row = await deps.db
    .selectFrom('invoices')
    .selectAll()
    .where('number', '=', number.toUpperCase())
    .executeTakeFirst()
  if (row === undefined) {
    return { number, outcome: 'refused', reason: 'no document has this number' }
  }
  const registration = registrationOf(answer, said, row)
  if ('reason' in registration) return { number, outcome: 'refused', ...registration }
  const change = { deps, organizationId: row.organizationId, actor: null, requestId: null }
  return audited(change, async (trx, record, now) => {
    const added = await insertRegistration(trx, row.id, registration, now)
    if (!added) return { number, ...(await known(trx, row.id, registration)) }
    const { irn, ackNo } = registration
    await record('invoice.registered', row.id, {
      reason: 'parley invoices import',
      after: { number, irn, ackNo },
    })
    return { number, outcome: 'registered' }
  })
}

async function insertRegistration(
  trx: Trx,
  invoiceId: string,
  registration: Registration,
  now: number,
): Promise<boolean> {
  const added = await trx
    .insertInto('invoiceRegistrations')
    .values({ invoiceId, ...registration, sha256: null, createdAt: now })
    .onConflict((conflict) => conflict.doNothing())
    .returning('invoiceId')
    .executeTakeFirst()
  return added !== undefined
}

async function known(trx: Trx, invoiceId: string, { irn }: Registration) {
  const stored = await findRegistration(trx, invoiceId)
  if (stored?.irn === irn) return { outcome: 'known' } as const
  const reason =
    stored === null ? 'the IRN belongs to another document' : `the document has the IRN ${stored.irn}`
  return { outcome: 'refused', reason } as const
}

/** Returns the registration of a document as an e-invoice, or null. */
export async function findRegistration(
  db: Db | Trx,
  invoiceId: string,
): Promise<InvoiceRegistrationRow | null> {
  return (await findRegistrations(db, [invoiceId])).get(invoiceId) ?? null
}

/** Returns the registrations of documents by the ids of the documents. */
export async function findRegistrations(
  db: Db | Trx,
  invoiceIds: readonly string[],
): Promise<ReadonlyMap<string, InvoiceRegistrationRow>> {
  if (invoiceIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('invoiceRegistrations')
    .selectAll()
    .where('invoiceId', 'in', invoiceIds)
    .execute()
  return new Map(rows.map((row) => [row.invoiceId, row]))
}

/** Tells whether a document is no invoice yet, because the portal has to register it first (rule 48(5)). */
export function awaitsRegistration(row: InvoiceRow, registration: InvoiceRegistrationRow | null): boolean {
  return registration === null && (JSON.parse(row.content) as DocumentContent).eInvoice === true
}
