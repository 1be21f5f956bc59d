import { readPolicy } from '../../config/policy-file.js'
import type { GateFacts, GateRequest } from '../check.js'
import { decide } from '../gate.js'
import { isBuiltIn, POLICIES } from '../policy.js'
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

/** Decides again from the sealed facts with the rules of its policy version, built in or exported, and compares every check. */
export function replayDecision(sealed: SealedPart, policies: ReadonlyMap<string, unknown>): Replay {
  const { request, facts, allowed, decidedAt, checks = [] } = sealed as SealedGate
  const version = facts?.policyVersion ?? ''
  const policy = isBuiltIn(version) ? (POLICIES[version] ?? null) : readPolicy(policies.get(version))
  if (request === undefined || facts === undefined || policy === null) return { kind: 'not_replayed' }
  // No check needs the number itself: its class is one of the facts.
  const verdict = decide({ ...request, to: '' }, { ...facts, policy }, Date.parse(decidedAt ?? ''))
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
