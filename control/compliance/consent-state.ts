import type { ConsentFact } from './check.js'

/** Returns whether a consent that was not revoked has not expired at `now` (Unix ms). */
export function isActive(consent: Pick<ConsentFact, 'expiresAt'>, now: number): boolean {
  return consent.expiresAt === null || consent.expiresAt > now
}
