import { newId } from '../../media/base/ids.js'
import { canonicalJson, type Json } from '../base/canonical-json.js'
import type { Db, Trx } from '../db/database.js'
import type { AuditEntryRow } from '../db/tables/organization.js'
import type { AnyActor } from './operation.js'
import { newestFirst, type Page, type PageRequest } from './pagination.js'

/** Fields of a thing as the log keeps them. Never a secret, not even a sealed one. */
export type AuditFields = { readonly [field: string]: Json }

export interface NewAuditEntry {
  readonly organizationId: string
  /** Null: the service itself. `invited`: somebody who proved an invitation and is not signed in. */
  readonly actor: AnyActor | { readonly kind: 'invited'; readonly userId: string } | null
  /** Slug such as `organization.updated`. */
  readonly action: string
  readonly subject: { readonly type: string; readonly id: string }
  /** Required of staff. */
  readonly reason?: string
  readonly before?: AuditFields
  readonly after?: AuditFields
  readonly requestId: string | null
}

/**
 * Adds to the audit log, in the transaction of what it tells of. Of `before` and `after`, where both
 * are given, only the fields that differ are kept. The database lets no entry be changed or removed.
 */
export async function recordAudit(db: Db | Trx, note: NewAuditEntry, now: number): Promise<void> {
  const { before, after } = differences(note.before, note.after)
  const actor = nameOf(note.actor)
  await db
    .insertInto('auditEntries')
    .values({
      id: newId('aud', now),
      organizationId: note.organizationId,
      actorType: actor.type,
      actorId: actor.id,
      action: note.action,
      subjectType: note.subject.type,
      subjectId: note.subject.id,
      reason: note.reason ?? null,
      before: before === undefined ? null : canonicalJson(before),
      after: after === undefined ? null : canonicalJson(after),
      requestId: note.requestId,
      createdAt: now,
    })
    .execute()
}

/** Newest first. */
export async function listAudit(
  db: Db,
  organizationId: string,
  page: PageRequest,
): Promise<Page<AuditEntryRow>> {
  return newestFirst(
    db.selectFrom('auditEntries').selectAll().where('organizationId', '=', organizationId),
    page,
  )
}

function nameOf(actor: NewAuditEntry['actor']): { readonly type: string; readonly id: string } {
  if (actor === null) return { type: 'system', id: 'parley' }
  if (actor.kind === 'key') return { type: 'key', id: actor.keyId }
  return { type: actor.kind === 'staff' ? 'staff' : 'user', id: actor.userId }
}

function differences(
  before: AuditFields | undefined,
  after: AuditFields | undefined,
): { before: AuditFields | undefined; after: AuditFields | undefined } {
  if (before === undefined || after === undefined) return { before, after }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null),
  )
  const only = (facts: AuditFields): AuditFields =>
    Object.fromEntries(names.map((name) => [name, facts[name] ?? null]))
  return { before: only(before), after: only(after) }
}
