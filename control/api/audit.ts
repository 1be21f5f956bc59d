import type { Json } from '../base/canonical-json.js'
import type { Db } from '../db/database.js'
import type { AuditEntryRow } from '../db/tables/organization.js'
import type { AnyActor } from './actor.js'
import { newestFirst, type Page, type PageRequest } from './pagination.js'

/** Fields of an object in the audit log. They never contain secrets, not even encrypted ones. */
export type AuditFields = { readonly [field: string]: Json }

/** Whose change an entry reports. */
export interface ChangeOf {
  readonly organizationId: string
  /**
   * Null for the service itself: a job, or the command line. `invited`: a person who proved an invitation and is not
   * signed in. `monitor`: a user who monitors a call, at a step that no request made. `holder`: a user who changed the
   * own account, which may belong to several organizations.
   */
  readonly actor:
    | AnyActor
    | { readonly kind: 'invited' | 'monitor' | 'holder'; readonly userId: string }
    | null
  /** Null for a change that no request made. */
  readonly requestId: string | null
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
