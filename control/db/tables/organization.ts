/*
 * Times are Unix milliseconds, flags 0/1, lists and objects JSON text: the same on both engines.
 */

/** What an organization says of itself, and what the operator granted it; no row means the defaults. */
export interface OrganizationProfileRow {
  readonly organizationId: string
  readonly billingName: string | null
  readonly billingAddress: string | null
  readonly billingCity: string | null
  readonly billingPincode: string | null
  /** Two-digit GST state code. */
  readonly billingStateCode: string | null
  readonly billingGstin: string | null
  /** Principal entity of the operators' sender registers (DLT). */
  readonly peId: string | null
  /** `off`, `warn` or `block`; null is `block`. */
  readonly robocallMode: string | null
  /** Percent of the agent slots that all campaigns together may hold; null is 70. */
  readonly campaignSharePercent: number | null
  /** Concurrent calls bridged to a bot of the customer's; null is the default. */
  readonly byoCallsTest: number | null
  readonly byoCallsLive: number | null
  /** Set by staff: may create SIP trunks. */
  readonly trunkingEnabled: number
  /** Grows with every change. */
  readonly revision: number
  readonly updatedAt: number
}

/** One submission for verification. The newest tells the state; none is `unverified`. */
export interface OrganizationVerificationRow {
  readonly id: string
  readonly organizationId: string
  readonly status: string
  /** AES-256-GCM of the submitted details: names, tax numbers, a person's phone. */
  readonly details: string
  readonly submittedBy: string
  readonly submittedAt: number
  readonly decidedBy: string | null
  readonly decidedAt: number | null
  /** Why it was rejected, as the organization reads it. */
  readonly rejectionReason: string | null
}

/** Insert-only but for `withdrawnAt`, which is set once; a trigger sees to it. */
export interface RobocallDeclarationRow {
  readonly id: string
  readonly organizationId: string
  /** The access provider it was made to. */
  readonly provider: string
  readonly reference: string
  readonly objective: string
  /** JSON array of E.164 numbers. */
  readonly callerIds: string
  /** ISO dates, IST. */
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

/** Insert-only (a trigger sees to it). */
export interface AuditEntryRow {
  readonly id: string
  readonly organizationId: string
  /** `user`, `staff`, `key` or `system`. */
  readonly actorType: string
  readonly actorId: string
  /** Slug such as `organization.updated`. */
  readonly action: string
  readonly subjectType: string
  readonly subjectId: string
  readonly reason: string | null
  /** JSON of the changed fields, never a secret; null when there was nothing before (or after). */
  readonly before: string | null
  readonly after: string | null
  readonly requestId: string | null
  readonly createdAt: number
}

export interface SecretRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  /** AES-256-GCM under the key that `keyId` names. */
  readonly sealed: string
  /** Which encryption key: the first 16 hex digits of its SHA-256. */
  readonly keyId: string
  /** Last characters, to recognise it by; null when the value is too short to show any. */
  readonly last4: string | null
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedAt: number
}

/** What refers to a secret: while there is a row, the foreign key keeps the secret. */
export interface SecretUseRow {
  readonly secretId: string
  readonly usedByType: string
  readonly usedById: string
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
  /** Grows with every change of what is tested: a test that ran meanwhile is not recorded. */
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Which agents use a connection. */
export interface ConnectionUseRow {
  readonly connectionId: string
  readonly agentId: string
}

export interface OrganizationTables {
  organizationProfiles: OrganizationProfileRow
  organizationVerifications: OrganizationVerificationRow
  robocallDeclarations: RobocallDeclarationRow
  senderIds: SenderIdRow
  auditEntries: AuditEntryRow
  secrets: SecretRow
  secretUses: SecretUseRow
  connections: ConnectionRow
  connectionUses: ConnectionUseRow
}
