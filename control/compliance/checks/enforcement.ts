import { finding, type GateCheck } from '../check.js'

/** Refuses calls of organizations that the operator has blocked. */
export const enforcement: GateCheck = {
  type: 'enforcement',
  code: 'blocked_opt_out',
  decide: (_request, { enforcement: { blocked, reason } }) =>
    blocked
      ? finding('block', reason ?? 'organization_blocked', 'Calling is blocked for this organization.')
      : finding('pass', 'not_restricted', 'No restriction is set on this organization.'),
}
