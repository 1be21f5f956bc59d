import { CHECK_TYPES, type CheckType } from '../compliance/check.js'
import type { ExcludedReason } from './view.js'

/** Meaning of a check of the gate in a campaign. */
type Role =
  /** The check is about one person. Its refusal is final and excludes the person for this reason. */
  | { readonly excludes: ExcludedReason }
  /** The check is about every call. The pre-flight asks it once, and its refusal pauses the campaign. */
  | 'every_call'
  /** The pre-flight and the dialler have rules of their own for the check. */
  | 'own_rules'

const ROLES: Readonly<Record<CheckType, Role>> = {
  number_format: { excludes: 'invalid_number' },
  dnc: { excludes: 'suppressed' },
  enforcement: 'every_call',
  verification: 'every_call',
  calling_window: 'own_rules',
  // The call would be allowed with a consent of the person.
  dnd_register: { excludes: 'missing_consent' },
  consent: { excludes: 'missing_consent' },
  frequency_cap: { excludes: 'frequency_cap' },
  robocall_declaration: 'every_call',
  sender_registration: 'every_call',
  wallet: 'own_rules',
}

/** Checks that decide about every call of a campaign, in their order. */
export const EVERY_CALL_CHECKS: readonly CheckType[] = CHECK_TYPES.filter(
  (type) => ROLES[type] === 'every_call',
)

/** Checks about one person, in the order in which they decide, and why they exclude the person. */
export const PERSON_CHECKS: readonly { readonly type: CheckType; readonly reason: ExcludedReason }[] =
  CHECK_TYPES.flatMap((type) => {
    const role = ROLES[type]
    return typeof role === 'string' ? [] : [{ type, reason: role.excludes }]
  })
