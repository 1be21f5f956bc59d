import { newId } from '../../../media/base/ids.js'
import { recorder } from '../../api/audited.js'
import { newestFirst, type Page, type PageRequest } from '../../api/pagination.js'
import type { Db, Trx } from '../../db/database.js'
import type { AccountEventRow } from '../../db/tables/factors.js'

/**
 * Names of the events of an account. `session.started` and `session.proven` state the kind of the proof, and
 * `second_factor.refused` states the kind that was tried.
 */
export const ACCOUNT_ACTIONS = [
  'second_factor.added',
  'second_factor.removed',
  'second_factor.refused',
  'second_factors.reset',
  'recovery_codes.made',
  'session.started',
  'session.proven',
] as const
export type AccountAction = (typeof ACCOUNT_ACTIONS)[number]

/** Changes that the audit logs of all organizations of the member show, too. */
const AUDITED: readonly AccountAction[] = [
  'second_factor.added',
  'second_factor.removed',
  'second_factors.reset',
  'recovery_codes.made',
]

export interface AccountEvent {
  readonly userId: string
  readonly action: AccountAction
  readonly kind?: string
  readonly name?: string
  /** True if the operator did it on the command line. */
  readonly byOperator?: boolean
  /** Null if no request caused it. */
  readonly requestId: string | null
}

/**
 * Records an event of an account. Records a change of its factors in the audit log of each of its organizations, too.
 */
export async function recordAccountEvent(trx: Trx, event: AccountEvent, now: number): Promise<void> {
  const { userId, action, kind = null, name = null, byOperator = false, requestId } = event
  await trx
    .insertInto('accountEvents')
    .values({
      id: newId('sev', now),
      userId,
      actorType: byOperator ? 'system' : 'user',
      actorId: byOperator ? 'parley' : userId,
      action,
      kind,
      name,
      requestId,
      createdAt: now,
    })
    .execute()
  if (!AUDITED.includes(action)) return
  const memberships = await trx
    .selectFrom('members')
    .where('userId', '=', userId)
    .select('organizationId')
    .orderBy('organizationId')
    .execute()
  for (const { organizationId } of memberships) {
    const actor = byOperator ? null : ({ kind: 'holder', userId } as const)
    const record = recorder(trx, { organizationId, actor, requestId }, now)
    const after = { kind, name }
    await record(`member.${action.replace('.', '_')}`, userId, kind === null ? {} : { after })
  }
}

/** Lists the events of one account, newest first. A null `userId` lists those of all accounts of staff. */
export async function listAccountEvents(
  db: Db,
  userId: string | null,
  page: PageRequest,
): Promise<Page<AccountEventRow & { readonly email: string }>> {
  const events = db
    .selectFrom('accountEvents as e')
    .innerJoin('users as u', 'u.id', 'e.userId')
    .selectAll('e')
    .select('u.email')
  const wanted = userId === null ? events.where('u.staff', '=', 1) : events.where('e.userId', '=', userId)
  return newestFirst(wanted, page, { alias: 'e' })
}

/**
 * Returns the times (Unix ms) of the refused codes of an account since `since`, oldest first. Passkeys do not count.
 */
export async function refusedCodesSince(
  db: Db | Trx,
  userId: string,
  since: number,
): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('accountEvents')
    .where('userId', '=', userId)
    .where('createdAt', '>', since)
    .where('action', '=', 'second_factor.refused')
    .where('kind', '<>', 'passkey')
    .select('createdAt')
    .orderBy('createdAt')
    .execute()
  return rows.map(({ createdAt }) => createdAt)
}
