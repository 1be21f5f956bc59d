import type { Role } from '../db/tables/identity.js'

export type Environment = 'test' | 'live'
/** Each scope includes the previous ones. */
export type Scope = 'read' | 'write' | 'admin'

/**
 * Audience of an operation. `key`: an API key, or a session whose role has the scope. `session`: a signed-in member
 * of an organization. `account`: any signed-in user, including staff. `staff`: signed-in staff of the service.
 * `signed`: another service, by its signature. `address`: the holder of the signed address. `operator`: the operator
 * of this installation, by token. `public`: everyone.
 */
export type Audience = 'key' | 'session' | 'account' | 'staff' | 'signed' | 'address' | 'operator' | 'public'

/** An API key. All data it accesses belongs to its organization and environment. */
export interface KeyActor {
  readonly kind: 'key'
  readonly keyId: string
  readonly organizationId: string
  readonly environment: Environment
  /** Effective scopes: the scopes of the key, limited by the current role of its creator. */
  readonly scopes: readonly Scope[]
}

/** A signed-in user who acts for one organization in one environment. */
export interface SessionActor {
  readonly kind: 'session'
  readonly sessionId: string
  readonly userId: string
  readonly organizationId: string
  readonly environment: Environment
  readonly role: Role
  /** Scopes that the role has. */
  readonly scopes: readonly Scope[]
}

/** A signed-in user, independent of organizations. */
export interface AccountActor {
  readonly kind: 'account'
  readonly sessionId: string
  /** Latest end of the session (Unix ms). */
  readonly sessionEndsAt: number
  readonly userId: string
  readonly staff: boolean
  /** Time of the last proof of a second factor in the session (Unix ms). Null without one. */
  readonly factorAt: number | null
  /** Time of the last proof that a change in the session asked for (Unix ms). Null without one. */
  readonly steppedUpAt: number | null
}

/** A signed-in member of the staff of the service. */
export interface StaffActor {
  readonly kind: 'staff'
  readonly sessionId: string
  readonly userId: string
}

/** Another service, identified by its signature. */
export interface SignedActor {
  readonly kind: 'signed'
  /** True for a request that was accepted before. Only schemes that pass repetitions set it. */
  readonly repeated: boolean
}

/** A signed address. Its holder may do one thing until the address expires. */
export interface AddressActor {
  readonly kind: 'address'
  /** Subject of the address, for example the id of an upload. */
  readonly subject: string
  /** Unix ms. */
  readonly expiresAt: number
  /** Organization of the subject, if the address states it. */
  readonly organizationId?: string
}

/** A caller that acts for an organization. */
export type Actor = KeyActor | SessionActor
/** A caller with a name for the audit log. */
export type AnyActor = Actor | AccountActor | StaffActor

interface Actors {
  readonly key: Actor
  readonly session: SessionActor
  readonly account: AccountActor
  readonly staff: StaffActor
  readonly signed: SignedActor
  readonly address: AddressActor
  readonly operator: null
  readonly public: null
}

export type ActorOf<A extends Audience> = Actors[A]
