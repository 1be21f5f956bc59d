import { istDate } from '../calling-hours.js'
import { type DeclarationFact, type Finding, finding, type GateCheck, NO_CALLER_ID } from '../check.js'
import { ruleOn } from '../dated-rule.js'

/** Refuses automated calls whose caller ID no declaration in force names. */
export const robocallDeclaration: GateCheck = {
  type: 'robocall_declaration',
  code: 'blocked_dlt_invalid',
  decide({ environment, trigger }, { policy, declarations, robocallMode, callerId }, now) {
    if (trigger === 'origination') {
      return finding('pass', 'not_automated', 'A PBX placed the call, not an automatic dialler.')
    }
    const day = istDate(now)
    const rule = ruleOn(policy.declaration, day)
    if (rule === null || robocallMode === 'off') {
      return finding('pass', 'check_off', 'The organization has switched this check off.')
    }
    const { source } = rule
    const naming = declarations.filter(({ namesCallerId }) => namesCallerId)
    const inForce = declarationInForce(declarations, now)
    // Without a declaration in force the caller ID does not matter.
    if (inForce !== null && callerId === 'unknown') return noCallerId(source)
    if (inForce !== null) {
      return finding('pass', 'declared', 'A declaration in force names the caller ID.', {
        source,
        details: { declarationId: inForce.id, reference: inForce.reference },
      })
    }
    const missing = missingDeclaration(naming, declarations)
    const blocks = robocallMode === 'block' && environment === 'live'
    return {
      ...missing,
      outcome: blocks ? 'block' : 'warn',
      source,
      nextAllowedAt: blocks ? begins(naming) : null,
    }
  },
}

/** Returns the declaration that covers a call at `now` (Unix ms), or null. */
export function declarationInForce(all: readonly DeclarationFact[], now: number): DeclarationFact | null {
  const day = istDate(now)
  return all.find(({ namesCallerId, effectiveFrom }) => namesCallerId && effectiveFrom <= day) ?? null
}

/** Returns the finding of a caller ID check for a question without a caller ID. */
export function noCallerId(source: string | null): Finding {
  return finding('skipped', NO_CALLER_ID, 'Not checked: the question names no caller ID.', { source })
}

function missingDeclaration(naming: readonly DeclarationFact[], all: readonly DeclarationFact[]): Finding {
  if (naming.length > 0) return finding('warn', 'not_in_force', 'The declaration is not in force yet.')
  return all.length > 0
    ? finding('warn', 'caller_id_not_declared', 'No declaration names the caller ID.')
    : finding('warn', 'not_declared', 'The use of an automatic dialler is not declared.')
}

/** Returns the midnight (IST) at which the first declaration comes into force, or null. */
function begins(naming: readonly DeclarationFact[]): number | null {
  const [first] = naming.map(({ effectiveFrom }) => effectiveFrom).sort()
  return first === undefined ? null : Date.parse(`${first}T00:00:00+05:30`)
}
