import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type {
  AwaitedAdmission,
  CallControl,
  Gateway,
  Permit,
  SandboxCaller,
} from '../../signalling/call/ports.js'
import type { PasswordHasher } from '../base/passwords.js'
import type { RootKey } from '../base/root-key.js'
import type { Settings } from '../config/settings.js'
import type { Db } from '../db/database.js'
import type { Egress } from '../net/egress.js'
import type { ObjectStore } from '../objects/object-store.js'
import type { Telemetry } from '../observe/telemetry.js'
import type { RateLimiter } from './request-budget.js'

/** Makes the permits that signalling requires to dial. */
export interface PermitIssuer {
  /**
   * Makes a permit for one dial. Call it only after the sealed gate record of that call is committed;
   * `compliance/clearance.ts` is the only caller.
   */
  issue(call: { readonly callId: string; readonly to: string; readonly from: string }): Permit
}

export interface Backlog {
  /** Number of call events that are not stored yet. */
  readonly callEvents: number
  /** Time since the job runner last looked for due jobs (ms). Null before its first look. */
  readonly jobsIdleMs: number | null
}

/** Everything that operations work with. The composition root (`app/service.ts`) makes it once. */
export interface Deps {
  readonly db: Db
  /** For lists that may read a whole table, see `OpenDatabase`. */
  readonly reads: Db
  readonly clock: Clock
  readonly log: Log
  readonly rootKey: RootKey
  readonly passwords: PasswordHasher
  readonly calls: CallControl
  readonly ringer: SandboxCaller
  readonly admission: AwaitedAdmission
  readonly settings: Settings
  /** Id of this process among those that share the database. It survives restarts. */
  readonly nodeId: string
  /** Signalling receives the same book as its `DialGate`. */
  readonly permits: PermitIssuer
  /** Metrics and traces. */
  readonly telemetry: Telemetry
  /** Request budgets of API keys. */
  readonly requests: RateLimiter
  /** Recordings and documents, the same for every process. */
  readonly objects: ObjectStore
  /** The only route to URLs and addresses that customers name. */
  readonly egress: Egress
  /** Call `wake` after queueing a mail. */
  readonly mail: { wake(): void }
  /** Next hop of calls in the test environment: the simulated carrier. */
  readonly sandboxGateway: Gateway
  /** Returns the vendors and models that failed several times in a row, for as long as they rest (`breakerKey`). */
  openCircuits(): Promise<readonly string[]>
  /** Returns the amount of work that waits and the time since the job runner last ran. */
  backlog(): Backlog
  /** Returns the base URL of absolute addresses, without a trailing slash. */
  publicUrl(): string
}
