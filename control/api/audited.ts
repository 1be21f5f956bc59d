import type { Trx } from '../db/database.js'
import { type AuditFields, type NewAuditEntry, recordAudit } from './audit.js'
import type { Deps } from './deps.js'

/** The parts of an operation's input that an audit entry needs. */
export interface AuditedInput {
  readonly deps: Pick<Deps, 'db' | 'clock'>
  readonly actor: NewAuditEntry['actor'] & { readonly organizationId: string }
  readonly requestId: string
}

/** Records one change. The action's first word is the type of the subject: `secret.created`. */
export type RecordChange = (
  action: `${string}.${string}`,
  subjectId: string,
  change?: { readonly before?: AuditFields; readonly after?: AuditFields },
) => Promise<void>

/** Runs a change of the actor's organization in a transaction that also holds its audit entries. */
export function audited<T>(
  { deps, actor, requestId }: AuditedInput,
  change: (trx: Trx, record: RecordChange, now: number) => Promise<T>,
): Promise<T> {
  const now = deps.clock.wall()
  return deps.db.transaction().execute((trx) => {
    const record: RecordChange = (action, id, fields) => {
      const subject = { type: action.split('.')[0] ?? '', id }
      const { organizationId } = actor
      return recordAudit(trx, { organizationId, actor, action, subject, ...fields, requestId }, now)
    }
    return change(trx, record, now)
  })
}
