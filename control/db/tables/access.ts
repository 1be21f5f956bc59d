import type { Role } from './identity.js'

export interface SessionRow {
  readonly id: string
  readonly userId: string
  /** HMAC-SHA256 of the cookie value (hex), unique. */
  readonly hash: string
  readonly createdAt: number
  /** Updated at most once a minute. */
  readonly lastSeenAt: number
  /** Time at which the session ends, regardless of activity. */
  readonly expiresAt: number
  /** Unix time (ms) of the last proof of a second factor in this session, its sign-in included. Null without one. */
  readonly factorAt: number | null
  /** Unix time (ms) of the last proof that a change in this session asked for. Null without one. */
  readonly steppedUpAt: number | null
}

export type MailTokenKind = 'verify_email' | 'reset_password' | 'invitation'

/** Token of a mailed link. Only its HMAC is stored. */
export interface MailTokenRow {
  /** HMAC-SHA256 of the token (hex). */
  readonly hash: string
  readonly kind: MailTokenKind
  /** Id of a user or an invitation. */
  readonly subjectId: string
  readonly expiresAt: number
  readonly usedAt: number | null
}

export interface InvitationRow {
  readonly id: string
  readonly organizationId: string
  /** Lower case. One invitation per address and organization: a later one replaces it. */
  readonly email: string
  readonly role: Role
  readonly invitedBy: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly acceptedAt: number | null
}

/** Queued mail. Contains no token: links are created when the mail is written. */
export interface MailRow {
  readonly id: string
  readonly recipient: string
  /** Kind of mail, see mail/outbox.ts. */
  readonly kind: string
  /** JSON of the fields of the mail. */
  readonly fields: string
  readonly state: 'waiting' | 'sent' | 'failed'
  readonly attempts: number
  /** Time of the next attempt. During an attempt, time at which its lease ends. */
  readonly dueAt: number
  /** Attempt that holds the lease. */
  readonly lease: string | null
  readonly lastError: string | null
  readonly createdAt: number
  readonly finishedAt: number | null
}

/** Number of attempts of an address or account in the current minute. */
export interface ThrottleRow {
  /** HMAC of the counted name, so that addresses are not stored. */
  readonly name: string
  readonly startedAt: number
  readonly attempts: number
}

/** Accepted signature. Each signature is accepted once. */
export interface UsedSignatureRow {
  readonly signature: string
  readonly expiresAt: number
}

export interface AccessTables {
  sessions: SessionRow
  mailTokens: MailTokenRow
  invitations: InvitationRow
  mails: MailRow
  throttles: ThrottleRow
  usedSignatures: UsedSignatureRow
}
