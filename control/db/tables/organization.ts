/*
 * Times are Unix milliseconds, flags are 0 or 1, lists and objects are JSON text, in both SQLite and
 * PostgreSQL.
 */

/** Details that an organization provides and rights that staff granted. Without a row the defaults apply. */
export interface OrganizationProfileRow {
  readonly organizationId: string
  readonly billingName: string | null
  readonly billingAddress: string | null
  readonly billingCity: string | null
  readonly billingPincode: string | null
  /** Two-digit GST state code. */
  readonly billingStateCode: string | null
  readonly billingGstin: string | null
  /** 1 for a unit or a developer of a special economic zone. */
  readonly billingSez: number
  /** Principal entity ID in the DLT registers of the access providers. */
  readonly peId: string | null
  /** `off`, `warn` or `block`. Null means `block`. */
  readonly robocallMode: string | null
  /** Share of the agent call slots that all campaigns together may use (percent). Null means 70. */
  readonly campaignSharePercent: number | null
  /** Limit of concurrent calls connected to bots of the customer. Null means the default. */
  readonly byoCallsTest: number | null
  readonly byoCallsLive: number | null
  /** 1 if staff allowed the organization to create SIP trunks. */
  readonly trunkingEnabled: number
  /** Value of `MONITORING` for calls of the environment. Null means the default. */
  readonly monitoringTest: string | null
  readonly monitoringLive: string | null
  /** 1 if developers may monitor calls too. */
  readonly developersMonitor: number
  /** 1 if members need a second factor to act for the organization in a session. */
  readonly requireSecondFactor: number
  /** Incremented by every update. */
  readonly revision: number
  readonly updatedAt: number
}

/**
 * Submission for verification. The newest one determines the state. Without one the organization is
 * `unverified`.
 */
export interface OrganizationVerificationRow {
  readonly id: string
  readonly organizationId: string
  readonly status: string
  /** Submitted details, encrypted with AES-256-GCM: names, tax numbers, a contact's phone number. */
  readonly details: string
  readonly submittedBy: string
  readonly submittedAt: number
  readonly decidedBy: string | null
  readonly decidedAt: number | null
  /** Reason of a rejection, shown to the organization. */
  readonly rejectionReason: string | null
}

/** Robocall declaration. A trigger rejects every change except setting `withdrawnAt` once. */
/** A file that a customer uploads at a signed address. */
export interface UploadRow {
  readonly id: string
  readonly organizationId: string
  readonly purpose: 'verification' | 'knowledge'
  /** `used` uploads are kept; the sweep removes `expired` ones. */
  readonly state: 'awaiting' | 'stored' | 'used' | 'expired'
  readonly fileName: string
  readonly contentType: string
  /** Announced size, and the real one once the bytes are there. */
  readonly bytes: number
  /** Key in the object store. Null until the bytes are there, like the hash (hex). */
  readonly key: string | null
  readonly sha256: string | null
  readonly createdBy: string
  readonly createdAt: number
}

export interface RobocallDeclarationRow {
  readonly id: string
  readonly organizationId: string
  /** Access provider that received the declaration. */
  readonly provider: string
  readonly reference: string
  readonly objective: string
  /** JSON array of E.164 numbers. */
  readonly callerIds: string
  /** ISO date (IST). */
  readonly declaredOn: string
  readonly effectiveFrom: string
  readonly createdBy: string
  readonly createdAt: number
  readonly withdrawnAt: number | null
}

export interface SenderIdRow {
  readonly id: string
  readonly organizationId: string
  readonly series: string
  readonly e164: string
  readonly category: string
  readonly dltHeaderId: string
  readonly status: string
  readonly submittedBy: string
  readonly decidedBy: string | null
  readonly decidedAt: number | null
  readonly rejectionReason: string | null
  readonly createdAt: number
}

/** Entry of the audit log. A trigger rejects every change and removal. */
export interface AuditEntryRow {
  readonly id: string
  readonly organizationId: string
  /** `user`, `staff`, `key` or `system`. */
  readonly actorType: string
  readonly actorId: string
  /** Name of the action, for example `organization.updated`. */
  readonly action: string
  readonly subjectType: string
  readonly subjectId: string
  readonly reason: string | null
  /**
   * Changed fields as JSON, without secrets. Null if the object did not exist before (or after) the change.
   */
  readonly before: string | null
  readonly after: string | null
  readonly requestId: string | null
  readonly createdAt: number
}

export interface SecretRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  /** Value encrypted with AES-256-GCM under the key `keyId`. */
  readonly sealed: string
  /** Encryption key: first 16 hex digits of its SHA-256. */
  readonly keyId: string
  /** Last four characters of the value. Null if the value is too short to show any. */
  readonly last4: string | null
  /** JSON array of the hosts that the secret may be sent to. Empty for secrets of earlier releases. */
  readonly hosts: string
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedAt: number
}

/** Reference to a secret. The foreign key prevents the removal of a secret that is in use. */
export interface SecretUseRow {
  readonly secretId: string
  readonly usedByType: string
  readonly usedById: string
}

/** A host that a secret was configured to be sent to. The first use of a pair has an audit entry. */
export interface SecretHostRow {
  readonly secretId: string
  readonly host: string
  /** 1 if an earlier release sent the secret there. Such pairs count until the secret gets its hosts. */
  readonly inherited: number
  readonly createdAt: number
}

export interface ConnectionRow {
  readonly id: string
  readonly organizationId: string
  readonly kind: string
  readonly name: string
  readonly baseUrl: string
  readonly secretId: string | null
  readonly status: string
  readonly testedAt: number | null
  /**
   * Incremented when the base URL or the secret changes. The result of a test that ran meanwhile is
   * discarded.
   */
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Use of a connection by an agent. */
export interface ConnectionUseRow {
  readonly connectionId: string
  readonly agentId: string
}

export interface OrganizationTables {
  organizationProfiles: OrganizationProfileRow
  organizationVerifications: OrganizationVerificationRow
  uploads: UploadRow
  robocallDeclarations: RobocallDeclarationRow
  senderIds: SenderIdRow
  auditEntries: AuditEntryRow
  secrets: SecretRow
  secretUses: SecretUseRow
  secretHosts: SecretHostRow
  connections: ConnectionRow
  connectionUses: ConnectionUseRow
}
