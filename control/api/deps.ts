import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { CallControl, Gateway, Permit, SandboxCaller } from '../../signalling/call/ports.js'
import type { PasswordHasher } from '../base/passwords.js'
import type { RootKey } from '../base/root-key.js'
import type { Settings } from '../config/settings.js'
import type { Db } from '../db/database.js'
import type { Egress } from '../net/egress.js'
import type { Telemetry } from '../observe/telemetry.js'
import type { RateLimiter } from './request-budget.js'

/** Makes the permits without which signalling dials nothing. */
export interface PermitIssuer {
  /**
   * Makes a permit for one dial. Call it only after the sealed gate record of that call is committed;
   * `compliance/clearance.ts` is the only caller.
   */
  issue(call: { readonly callId: string; readonly to: string; readonly from: string }): Permit
}

export interface Backlog {
  /** Call events that are not stored yet. */
  readonly callEvents: number
  /** How long ago the job runner last looked for due jobs, in ms; null before it runs. */
  readonly jobsIdleMs: number | null
}

/** What operations work with; made once in main. */
export interface Deps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly rootKey: RootKey
  readonly passwords: PasswordHasher
  readonly calls: CallControl
  readonly ringer: SandboxCaller
  readonly settings: Settings
  /** This process among those that share the database; the same after a restart. */
  readonly nodeId: string
  /** Given to signalling as its `DialGate`. */
  readonly permits: PermitIssuer
  /** What is counted and traced. */
  readonly telemetry: Telemetry
  /** Request budgets of keys. */
  readonly requests: RateLimiter
  /** The one way to targets that customers name. */
  readonly egress: Egress
  /** Wake it when mail was queued. */
  readonly mail: { wake(): void }
  /** Next hop of test-environment calls: the simulated carrier. */
  readonly sandboxGateway: Gateway
  /** What waits to be done later, and whether anybody looks at it. */
  backlog(): Backlog
  /** Base of the absolute addresses handed out, no slash at the end. Known once the server listens. */
  publicUrl(): string
}
