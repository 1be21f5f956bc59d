import { errorText } from '../../../media/base/errors.js'
import { readPolicy } from '../../config/policy-file.js'
import type { GateFacts, GateRequest } from '../check.js'
import { decide, type GateVerdict } from '../gate.js'
import { checksOfVersion, isBuiltIn, POLICIES } from '../policy.js'
import type { SealedPart } from './verify.js'
import type { Replay } from './verify-bundle.js'

interface SealedGate extends SealedPart {
  readonly request?: Omit<GateRequest, 'to'>
  /** Without the policy, which `policyVersion` names. */
  readonly facts?: Omit<GateFacts, 'policy'>
  readonly allowed?: boolean
  readonly decidedAt?: string
  readonly checks?: readonly SealedCheck[]
}

interface SealedCheck {
  readonly type: string
  readonly outcome: string
  readonly reason: string
  readonly nextAllowedAt: string | null
}

/**
 * Decides again from the sealed facts with the rules and the checks of its policy version, and compares every check. The rules are
 * built in or exported.
 */
export function replayDecision(
  sealed: SealedPart,
  policies: ReadonlyMap<string, unknown>,
  checksOf: typeof checksOfVersion = checksOfVersion,
): Replay {
  const { request, facts } = sealed as SealedGate
  const version = String(facts?.policyVersion ?? '')
  const policy = isBuiltIn(version) ? (POLICIES[version] ?? null) : readPolicy(policies.get(version))
  const types = checksOf(version)
  if (request === undefined || facts === undefined || policy === null || types === null) {
    return { kind: 'not_replayed' }
  }
  try {
    return compared(sealed, (decidedAt) =>
      // No check needs the number itself: its class is one of the facts.
      decide({ ...request, to: '' }, { ...facts, policy }, decidedAt, types),
    )
  } catch (error) {
    // An altered record, and one that was made up with the key, may lack facts that the checks need.
    return { kind: 'differs', message: `the facts are not those of a decision (${errorText(error)}).` }
  }
}

function compared(sealed: SealedPart, again: (decidedAt: number) => GateVerdict): Replay {
  const { allowed, decidedAt, checks = [] } = sealed as SealedGate
  const verdict = again(Date.parse(decidedAt ?? ''))
  if (verdict.allow !== allowed) {
    return { kind: 'differs', message: `it is ${verdict.allow ? 'allowed' : 'refused'}.` }
  }
  for (const [index, check] of verdict.checks.entries()) {
    const { type, outcome, reason, nextAllowedAt: at } = check
    const nextAllowedAt = at === null ? null : new Date(at).toISOString()
    const was = checks[index]
    const same =
      was?.type === type &&
      was.outcome === outcome &&
      was.reason === reason &&
      was.nextAllowedAt === nextAllowedAt
    if (!same) return { kind: 'differs', message: `the check ${type} is now ${outcome} (${reason}).` }
  }
  return verdict.checks.length === checks.length
    ? { kind: 'same' }
    : { kind: 'differs', message: 'it has other checks.' }
}
