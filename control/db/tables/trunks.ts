import type { Generated } from 'kysely'

type Environment = 'test' | 'live'

export interface SipTrunkRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly name: string
  readonly status: 'pending_verification' | 'active' | 'disabled'
  readonly disabledReason: string | null
  readonly approvedAt: number | null
  readonly allowOrigination: number
  /** Budget of the telephone system for a day (IST) and each number that it shows (paise). Null is no limit. */
  readonly originationBudgetPaise: number | null
  readonly callerIdPolicy: 'did' | 'trunk_default'
  /** Number or account name of the trunk, for `trunk_default`. */
  readonly callerId: string | null
  /** JSON array in order of preference. */
  readonly codecs: string
  /** JSON object. */
  readonly customHeaders: string
  /** Unique among all trunks of all organizations. */
  readonly digestUsername: string | null
  /** Encrypted, bound to the id of the trunk. */
  readonly digestPassword: string | null
  readonly digestAlgorithm: 'MD5' | 'SHA-256'
  /** Lower case. */
  readonly realm: string
  readonly inboundAuth: 'ip_acl' | 'digest' | 'both'
  /** JSON array of canonical address ranges. */
  readonly ipAcl: string
  /**
   * JSON array of the ranges of `ipAcl` that do not identify the trunk yet. They wait for staff. A call with the
   * password of the trunk proves a single address of them. `sipTrunkRanges` holds the other ranges, for searching.
   */
  readonly ipAclPending: string
  readonly lastInboundAt: number | null
  readonly lastOutboundAt: number | null
  /** Result of the last test as JSON. Null before the first test. */
  readonly lastProbe: string | null
  readonly maxConcurrent: number
  readonly callsPerMinute: number
  /** JSON array of the prefixes of numbers that may be dialled. */
  readonly allowedPrefixes: string
  readonly outboundAuthUsername: string | null
  /** Encrypted, bound to the id of the trunk. */
  readonly outboundPassword: string | null
  readonly outboundHost: string | null
  /** 0 means that DNS determines the port. */
  readonly outboundPort: number
  readonly outboundTransport: 'udp' | 'tcp' | 'tls'
  readonly outboundNumberFormat: 'e164' | 'national' | 'national0'
  /** Domain in From and of the registered account. Null means the address of the service, or the host. */
  readonly outboundDomain: string | null
  readonly ringTimeoutMs: number
  /** Media protection (SDES, RFC 4568). */
  readonly srtp: 'off' | 'optional' | 'required'
  /** 0 for a carrier that never reports the answer. */
  readonly reportsAnswer: number
  readonly register: number
  readonly registerSeconds: number
  /** Carrier whose numbers this trunk of the operator serves, of all organizations. Null for other trunks. */
  readonly carrier: string | null
  /**
   * `file`: of the operator's trunk file. `number`: made for a number in `byo_sip`; the operations on trunks do not
   * show it.
   */
  readonly source: 'api' | 'file' | 'number'
  /** The number that a trunk of the source `number` belongs to. Unique. */
  readonly numberId: string | null
  /** Id of the idempotent request that made the trunk. Unique, so that a retry finds this trunk. */
  readonly idempotencyId: string | null
  /** Registered contacts of the telephone system: JSON of `trunks/contacts.ts`. Expired contacts may be among them. */
  readonly contacts: string
  /** Process (`node.id`) that registers the trunk at its carrier. Null without one. */
  readonly registeredBy: string | null
  /** End of the lease of that process (Unix ms). */
  readonly registeredUntil: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly deletedAt: number | null
}

/** Address range of a trunk, in the order of the keys of `signalling/trunk/cidr.ts`. */
export interface SipTrunkRangeRow {
  readonly trunkId: string
  readonly first: string
  readonly last: string
  readonly prefix: number
}

/**
 * A single address from which a call arrived with the password of a trunk. If the trunk needs no password from known
 * addresses, and no other trunk shares this one, the address identifies the trunk from then on.
 */
export interface SipTrunkProofRow {
  readonly trunkId: string
  /** Key of `signalling/trunk/cidr.ts`. */
  readonly address: string
  /** Unix time (ms). */
  readonly provenAt: number
}

/** A day on which the telephone system of a number placed calls. */
export interface OriginationDayRow {
  readonly numberId: string
  /** Date in India. */
  readonly day: string
  readonly calls: number
  /** Times (Unix ms) of the mails of the day. */
  readonly fastAt: number | null
  readonly spentAt: number | null
}

/** Request of an organization for the right to create trunks. At most one per organization is pending. */
export interface SipAccessRequestRow {
  readonly id: string
  readonly organizationId: string
  readonly message: string
  readonly status: 'pending' | 'approved' | 'rejected'
  readonly rejectionReason: string | null
  readonly reviewedBy: string | null
  readonly reviewedAt: number | null
  readonly createdAt: number
}

/** One row. Its lock orders all additions of address ranges. */
export interface SipTrunkRangeLockRow {
  readonly id: number
  readonly revision: number
}

export interface TrunkTables {
  sipTrunks: Omit<
    SipTrunkRow,
    | 'srtp'
    | 'contacts'
    | 'reportsAnswer'
    | 'registeredBy'
    | 'registeredUntil'
    | 'ipAclPending'
    | 'originationBudgetPaise'
  > & {
    readonly srtp: Generated<SipTrunkRow['srtp']>
    readonly contacts: Generated<string>
    readonly reportsAnswer: Generated<number>
    readonly registeredBy: Generated<string | null>
    readonly registeredUntil: Generated<number>
    readonly ipAclPending: Generated<string>
    readonly originationBudgetPaise: Generated<number | null>
  }
  sipTrunkRanges: SipTrunkRangeRow
  sipTrunkProofs: SipTrunkProofRow
  originationDays: OriginationDayRow
  sipAccessRequests: SipAccessRequestRow
  sipTrunkRangeLock: SipTrunkRangeLockRow
}
