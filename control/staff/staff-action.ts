import { z } from 'zod'
import type { StaffActor } from '../api/actor.js'
import { audited, type ChangeFields } from '../api/audited.js'
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
export interface StaffAction extends Required<Omit<ChangeFields, 'subject'>> {
  readonly action: `staff.${string}`
  readonly subject: { readonly type: string; readonly id: string }
  /** Mail to owners and admins. */
  readonly notice?: { readonly subject: string; readonly text: string }
}

/** Runs a staff action on a locked organization and records it in the audit log in the same transaction. */
export async function performStaffAction(
  input: { readonly actor: StaffActor; readonly deps: Deps; readonly requestId: string },
  organizationId: string,
  run: (trx: Trx, stored: StoredOrganization, now: number) => Promise<StaffAction | Refusal<'conflict'>>,
): Promise<StaffOrganization | Refusal> {
  const { deps } = input
  const done = await audited({ ...input, organizationId }, async (trx, record, now) => {
    const stored = await lockOrganization(trx, organizationId, now)
    if (stored === null) return organizationNotFound()
    const action = await run(trx, stored, now)
    if (isRefusal(action)) return action
    const { notice, subject, action: name, ...fields } = action
    await record(name, subject.id, { subject: subject.type, ...fields })
    if (notice !== undefined) await queueMailToAdmins(trx, now, organizationId, { kind: 'notice', ...notice })
    return (await readStaffOrganization(deps, trx, organizationId)) ?? organizationNotFound()
  })
  deps.mail.wake()
  return done
}
