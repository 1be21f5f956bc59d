import type { Deps } from '../api/deps.js'
import { type Refusal, refuse } from '../api/problem.js'
import { isDialable } from './numbering.js'
import { mobilePrefixes } from './policy.js'

/** Returns the refusal of a number that agents cannot call, or null. `path` is its member of the request. */
export function refuseUndialable(
  { policy, clock }: Pick<Deps, 'policy' | 'clock'>,
  e164: string,
  path: string,
): Refusal | null {
  if (isDialable(e164, mobilePrefixes(policy.rules, clock.wall()))) return null
  const reason = 'must be a dialable Indian mobile or landline number'
  return refuse('validation_error', `${path} ${reason}.`, { issues: [{ path, reason }] })
}
