import { newId } from '../../media/base/ids.js'
import { canonicalJson, type Json } from '../base/canonical-json.js'
import type { Db, Trx } from '../db/database.js'
import type { AuditEntryRow } from '../db/tables/organization.js'
import type { AnyActor } from './actor.js'
import { newestFirst, type Page, type PageRequest } from './pagination.js'

/** Fields of an object in the audit log. They never contain secrets, not even encrypted ones. */
export type AuditFields = { readonly [field: string]: Json }

export interface NewAuditEntry {
  readonly organizationId: string
  /**
   * Null for the service itself. `invited`: a person who proved an invitation and is not signed in. `monitor`: a user who
   * monitors a call, at a step that no request made.
   */
  readonly actor: AnyActor | { readonly kind: 'invited' | 'monitor'; readonly userId: string } | null
  /** Name of the action, for example `organization.updated`. */
  readonly action: string
  readonly subject: { readonly type: string; readonly id: string }
  /** Reason of the change. Required for staff. */
  readonly reason?: string
  readonly before?: AuditFields
  readonly after?: AuditFields
  readonly requestId: string | null
}

/**
 * Inserts an entry into the audit log. Call it in the transaction of the change that it reports. If
 * `before` and `after` are given, only the fields that differ are stored. The database rejects changes and
 * removals of entries.
 */
export async function recordAudit(db: Db | Trx, note: NewAuditEntry, now: number): Promise<void> {
  const { before, after } = differences(note.before, note.after)
  const actor = actorColumns(note.actor)
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

/** Returns a page of the audit log, newest first. */
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

function actorColumns(actor: NewAuditEntry['actor']): { readonly type: string; readonly id: string } {
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
