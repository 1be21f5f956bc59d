/*
 * Times are Unix milliseconds, flags are 0 or 1, lists and objects are JSON text, in both SQLite and
 * PostgreSQL.
 */

type Environment = 'test' | 'live'

/** Entry of the do-not-call list. It protects in both environments. An organization has one entry per number and source. */
export interface SuppressionRow {
  readonly id: string
  readonly organizationId: string
  /** Environment of the key that made the entry, and of the keys that may read it. */
  readonly environment: Environment
  readonly e164: string
  /** `opt_out`, `manual`, `import`, `complaint` or `regulator`. */
  readonly source: string
  readonly reason: string | null
  /** Call on which the person opted out. */
  readonly callId: string | null
  /** Until then the entry cannot be removed and consent cannot be recorded again. Set for opt-outs. */
  readonly lockedUntil: number | null
  /** The entry does not count from then on. Null if it does not expire. */
  readonly expiresAt: number | null
  readonly createdAt: number
  /** `user`, `key` or `call`. */
  readonly createdByType: string
  readonly createdById: string
  readonly removedAt: number | null
  readonly removedByType: string | null
  readonly removedById: string | null
}

/** A consent as it was recorded. Only the revocation and the successor are set later. */
export interface ConsentRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly e164: string
  readonly purpose: string
  readonly kind: string
  readonly scope: string
  readonly source: string
  readonly evidenceRef: string | null
  readonly capturedAt: number
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly createdByType: string
  readonly createdById: string
  readonly revokedAt: number | null
  readonly revokedReason: string | null
  /** 1 for the newest consent of a number and purpose, else 0. */
  readonly current: number
}

/** Latest answer of the DND register about a number. */
export interface RegisterAnswerRow {
  readonly organizationId: string
  readonly environment: Environment
  readonly e164: string
  readonly state: 'listed' | 'not_listed'
  /** Adapter that answered. */
  readonly register: string
  readonly category: string | null
  readonly reference: string | null
  readonly checkedAt: number
  readonly validUntil: number
  readonly costPaise: number
}

/** A file of numbers that the DND register was asked about. It belongs to the service, not to an organization. */
export interface RegisterScrubRow {
  readonly id: string
  /** When the register answered. */
  readonly scrubbedAt: number
  readonly validUntil: number
  readonly createdAt: number
  /** Id of the staff user. Null for an import on the command line. */
  readonly createdBy: string | null
  /** Null until the whole file is stored. Its numbers count for nothing before. */
  readonly importedAt: number | null
  /** Rows of the file; null until the whole file is stored. */
  readonly rows: number | null
  /** Hash of the file in hexadecimal digits; null until the whole file is stored. */
  readonly sha256: string | null
}

export interface RegisterScrubNumberRow {
  readonly e164: string
  readonly scrubId: string
  readonly state: 'listed' | 'not_listed'
  readonly category: string | null
}

export interface ComplianceTables {
  suppressions: SuppressionRow
  consents: ConsentRow
  registerAnswers: RegisterAnswerRow
  registerScrubs: RegisterScrubRow
  registerScrubNumbers: RegisterScrubNumberRow
}
