import { z } from 'zod'
import type { StaffActor } from '../api/actor.js'
import { type AuditFields, recordAudit } from '../api/audit.js'
import type { Deps } from '../api/deps.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { Trx } from '../db/database.js'
import { queueMailToAdmins } from '../mail/outbox.js'
import { lockOrganization, type StoredOrganization } from '../organization/profile-store.js'
import { readStaffOrganization, type StaffOrganization } from './view.js'

/** Reason of a staff action, required in every body. */
export const Reason = z
  .string()
  .min(1)
  .max(500)
  .meta({ description: 'Reason of the change. Recorded in the audit log.' })

export const organizationNotFound = () => refuse('not_found', 'The organization does not exist.')

/** A staff action, for the audit log. */
export interface StaffAction {
  readonly action: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly reason: string
  readonly before: AuditFields
  readonly after: AuditFields
  /** Mail to owners and admins. */
  readonly notice?: { readonly subject: string; readonly text: string }
}

/** Runs a staff action on a locked organization and records it in the audit log in the same transaction. */
export async function performStaffAction(
  input: { readonly actor: StaffActor; readonly deps: Deps; readonly requestId: string },
  organizationId: string,
  run: (trx: Trx, stored: StoredOrganization, now: number) => Promise<StaffAction | Refusal<'conflict'>>,
): Promise<StaffOrganization | Refusal> {
  const { actor, deps, requestId } = input
  const now = deps.clock.wall()
  const done = await deps.db.transaction().execute(async (trx) => {
    const stored = await lockOrganization(trx, organizationId, now)
    if (stored === null) return organizationNotFound()
    const action = await run(trx, stored, now)
    if (isRefusal(action)) return action
    const { notice, ...entry } = action
    await recordAudit(trx, { organizationId, actor, requestId, ...entry }, now)
    if (notice !== undefined) await queueMailToAdmins(trx, now, organizationId, { kind: 'notice', ...notice })
    return (await readStaffOrganization(deps, trx, organizationId)) ?? organizationNotFound()
  })
  deps.mail.wake()
  return done
}
