import { newId } from '../../media/base/ids.js'
import { canonicalJson } from '../base/canonical-json.js'
import type { Trx } from '../db/database.js'
import type { AuditFields, ChangeOf } from './audit.js'
import type { Deps } from './deps.js'

/** The parts of an operation's input that an audit entry needs: a change in the organization of the actor. */
export interface AuditedInput {
  readonly deps: Pick<Deps, 'db' | 'clock'>
  readonly actor: NonNullable<ChangeOf['actor']> & { readonly organizationId: string }
  readonly requestId: string
}

/** A change in an organization that is not the actor's, or a change without a request. */
export type AuditedChange = ChangeOf & Pick<AuditedInput, 'deps'>

/** Fields of an entry about a change. If `before` and `after` are given, only the fields that differ are stored. */
export interface ChangeFields {
  /** Subject type; defaults to the first word of the action. */
  readonly subject?: string
  /** Reason of the change. Required for staff. */
  readonly reason?: string
  readonly before?: AuditFields
  readonly after?: AuditFields
}

/** Records one change. The action's first word is the type of the subject: `secret.created`. */
export type RecordChange = (
  action: `${string}.${string}`,
  subjectId: string,
  fields?: ChangeFields,
) => Promise<void>

/** Runs a change in a transaction that also holds its audit entries. */
export function audited<T>(
  input: AuditedInput | AuditedChange,
  change: (trx: Trx, record: RecordChange, now: number) => Promise<T>,
): Promise<T> {
  const { deps, actor, requestId } = input
  const { organizationId } = 'organizationId' in input ? input : input.actor
  const now = deps.clock.wall()
  return deps.db
    .transaction()
    .execute((trx) => change(trx, recorder(trx, { organizationId, actor, requestId }, now), now))
}

/**
 * Returns what records changes in a transaction that is open already, for a change whose organization is found in it. The
 * database rejects changes and removals of entries.
 */
export function recorder(
  trx: Trx,
  { organizationId, actor, requestId }: ChangeOf,
  now: number,
): RecordChange {
  const { type: actorType, id: actorId } = actorColumns(actor)
  return async (action, subjectId, { subject, reason = null, ...fields } = {}) => {
    const { before, after } = differences(fields)
    await trx
      .insertInto('auditEntries')
      .values({
        ...{
          id: newId('aud', now),
          organizationId,
          actorType,
          actorId,
          action,
          subjectId,
          reason,
          requestId,
        },
        subjectType: subject ?? action.split('.')[0] ?? '',
        before: before === undefined ? null : canonicalJson(before),
        after: after === undefined ? null : canonicalJson(after),
        createdAt: now,
      })
      .execute()
  }
}

function actorColumns(actor: ChangeOf['actor']): { readonly type: string; readonly id: string } {
  if (actor === null) return { type: 'system', id: 'parley' }
  if (actor.kind === 'key') return { type: 'key', id: actor.keyId }
  return { type: actor.kind === 'staff' ? 'staff' : 'user', id: actor.userId }
}

function differences({ before, after }: Pick<ChangeFields, 'before' | 'after'>): {
  readonly before: AuditFields | undefined
  readonly after: AuditFields | undefined
} {
  if (before === undefined || after === undefined) return { before, after }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null),
  )
  const only = (facts: AuditFields): AuditFields =>
    Object.fromEntries(names.map((name) => [name, facts[name] ?? null]))
  return { before: only(before), after: only(after) }
}
