import type { Policy } from '../config/policy-file.js'
import { istDate } from './calling-hours.js'
import { ruleOn } from './dated-rule.js'

const DAY_MS = 86_400_000
/** Tolerance for clocks of other machines (ms). */
const SKEW_MS = 5 * 60_000

/** A consent as a customer sends it. Times are Unix ms. */
export interface ConsentWrite {
  readonly e164: string
  readonly purpose: string
  readonly kind: string
  readonly scope: string
  readonly source: string
  readonly evidenceRef: string | null
  /** Null means now. */
  readonly capturedAt: number | null
  readonly expiresAt: number | null
}

export interface ConsentTimes {
  readonly capturedAt: number
  readonly expiresAt: number | null
}

export interface ConsentProblem {
  readonly path: 'capturedAt' | 'expiresAt'
  readonly message: string
}

/** Returns when a consent was captured and when it expires, or why it cannot be recorded. */
export function consentTimes(rules: Policy, write: ConsentWrite, now: number): ConsentTimes | ConsentProblem {
  const capturedAt = write.capturedAt ?? now
  if (capturedAt > now + SKEW_MS)
    return { path: 'capturedAt', message: 'capturedAt must not be in the future.' }
  const { expiresAt, kind } = write
  if (kind === 'inferred' && expiresAt === null) {
    return { path: 'expiresAt', message: 'An inferred consent needs expiresAt.' }
  }
  const days = shortLived(write) ? (ruleOn(rules.shortConsent, istDate(capturedAt))?.days ?? null) : null
  const latest = days === null ? null : capturedAt + days * DAY_MS
  if (expiresAt !== null && expiresAt <= capturedAt) {
    return { path: 'expiresAt', message: 'expiresAt must be after capturedAt.' }
  }
  if (expiresAt !== null && latest !== null && expiresAt > latest) {
    return { path: 'expiresAt', message: `expiresAt must be at most ${days} days after capturedAt.` }
  }
  return { capturedAt, expiresAt: expiresAt ?? latest }
}

/** Consent to complete a transaction, and contact after an enquiry, last for days only. */
function shortLived({ kind, purpose, source }: ConsentWrite): boolean {
  return source === 'enquiry' || (kind === 'explicit' && purpose === 'transactional')
}
