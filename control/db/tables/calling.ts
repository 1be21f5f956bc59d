/*
 * Times are Unix milliseconds, flags are 0 or 1, lists and objects are JSON text, in both SQLite and
 * PostgreSQL.
 */

type Environment = 'test' | 'live'

/** Settings of one organization that staff can change. Without a row the defaults apply. */
export interface CallingProfileRow {
  readonly organizationId: string
  /** Time at which staff blocked new calls (kill switch). Null while calls are allowed. */
  readonly enforcedAt: number | null
  readonly enforcedReason: string | null
  /** Narrower calling hours of the organization (minutes after midnight IST). Both are set or neither. */
  readonly windowStartMinute: number | null
  readonly windowEndMinute: number | null
  /** Limit of concurrent calls. Null means the default of the environment. */
  readonly agentCallsTest: number | null
  readonly agentCallsLive: number | null
  /** Agreed price. Null means the list price. */
  readonly ratePaisePerMinute: number | null
}

/** An agent, shared by the test and the live environment. */
export interface AgentRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly purpose: string
  /** Canonical JSON of agents/config.ts `AgentConfig`. */
  readonly draft: string
  /** SHA-256 of draft and purpose (hex). Equals `publishedHash` if the draft has no unpublished changes. */
  readonly draftHash: string
  readonly publishedHash: string | null
  readonly publishedVersion: number | null
  readonly latestVersion: number | null
  /**
   * Incremented by every update. An update based on an older revision changes nothing (optimistic locking).
   */
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly deletedAt: number | null
}

export interface AgentVersionRow {
  readonly id: string
  readonly organizationId: string
  readonly agentId: string
  readonly version: number
  readonly purpose: string
  readonly config: string
  readonly note: string | null
  /** How each knowledge base is delivered, decided when the version was published. Null for earlier releases. */
  readonly knowledge: string | null
  /** `user` or `key`. Null for versions of earlier releases, as `createdById`. */
  readonly createdByType: string | null
  readonly createdById: string | null
  readonly createdAt: number
}

export interface NumberRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly e164: string
  readonly label: string
  readonly provider: string
  readonly region: string
  readonly numberType: string
  readonly series: string
  readonly rentalPaise: number
  readonly setupPaise: number
  readonly renewalCycle: string
  readonly nextRentalAt: number | null
  readonly purchasedAt: number | null
  readonly releaseAt: number | null
  readonly releasedAt: number | null
  readonly status: string
  readonly inbound: string
  /** Why calls do not arrive while `inbound` is `error`. */
  readonly inboundReason: string | null
  readonly routingMode: string
  readonly agentId: string | null
  /** Id of the number at its carrier. Null if the carrier knows it by its digits. */
  readonly carrierNumberId: string | null
  /** Trunk that carries the calls. Null for numbers of the service. */
  readonly sipTrunkId: string | null
  /** JSON of numbers/sip-binding.ts `SipBinding` while the number is in `byo_sip`, else null. */
  readonly sipTrunk: string | null
  readonly recordCalls: number
  /** JSON of byo/endpoint.ts `StoredEndpoint`. Kept while the number is routed to an agent. */
  readonly mediaEndpoint: string | null
  /** Treatment of a call whose bot is lost: `agent` hands it to the agent of the number. */
  readonly byoFallback: 'hangup' | 'agent'
  readonly createdAt: number
}

/** Purchase of a number. The carrier is asked once: by the request that sets `askedAt`. */
export interface NumberPurchaseRow {
  readonly numberId: string
  readonly organizationId: string
  readonly environment: Environment
  readonly idempotencyId: string
  readonly totalPaise: number
  readonly askedAt: number | null
  readonly failureCode: string | null
  readonly failureReason: string | null
  readonly createdAt: number
}

/** A number that the simulated carrier sold. */
export interface SandboxPurchaseRow {
  readonly e164: string
  readonly reference: string
  readonly boughtAt: number
}

export interface CallRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly direction: 'outbound' | 'inbound'
  readonly status: 'queued' | 'initiated' | 'ringing' | 'in_progress' | 'ended'
  readonly fromNumber: string
  readonly toNumber: string
  readonly numberId: string
  /** Null if an inbound call was refused before its agent was known. */
  readonly agentId: string | null
  readonly agentVersion: number | null
  readonly agentVersionId: string | null
  readonly routingMode: string
  readonly purpose: string
  readonly campaignId: string | null
  readonly recipientId: string | null
  /** Scheduled callback that the call carries out. */
  readonly callbackId: string | null
  readonly disposition: string | null
  readonly endedReason: string | null
  readonly answeredBy: string | null
  readonly startedAt: number | null
  readonly ringingAt: number | null
  readonly answeredAt: number | null
  readonly endedAt: number | null
  readonly agentSeconds: number
  readonly humanSeconds: number
  readonly ratePaisePerMinute: number
  /** Time at which an agent took over from a lost bot. Null if none did. */
  readonly agentTookOverAt: number | null
  /** The price of a minute from then on (paise). Set with `agentTookOverAt`. */
  readonly agentRatePaisePerMinute: number | null
  readonly charges: string
  readonly billedPaise: number
  readonly variables: string
  readonly metadata: string
  readonly latency: string | null
  readonly error: string | null
  readonly complianceRunId: string | null
  readonly evidenceId: string | null
  /** Id of the idempotent request that placed the call. Unique, so that a retry finds this call. */
  readonly idempotencyId: string | null
  readonly sipCallId: string | null
  /**
   * Time at which a campaign or a callback made the call, just before its INVITE. Null for other calls, and for a dial that earlier
   * releases made and did not send.
   */
  readonly sentAt: number | null
  /** 1 if a campaign's call was not answered because of the carrier. Null until it ends, and for other calls. */
  readonly carrierFailed: number | null
  /** Process that handles the call until `leaseUntil`. */
  readonly nodeId: string
  readonly leaseUntil: number
  readonly hangupRequestedAt: number | null
  /** The cause of the hang-up: a request of the API ends the call at once, staff ends it with last words. */
  readonly hangupCause: 'request' | 'staff' | null
  /** The latest transfer attempt as JSON of its row and of the parts that were recorded. Null without any. */
  readonly transfer: string | null
  readonly createdAt: number
}

export interface CallEventRow {
  readonly callId: string
  readonly seq: number
  readonly type: string
  readonly at: number
  readonly body: string
}

export interface TranscriptSegmentRow {
  readonly callId: string
  /** `seq` of the call event that reported the segment. */
  readonly seq: number
  readonly role: string
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  readonly language: string | null
  readonly interrupted: number
  readonly words: string | null
}

export interface RecordingRow {
  readonly callId: string
  readonly organizationId: string
  readonly environment: Environment
  /** Key in the object store. */
  readonly key: string
  readonly bytes: number
  readonly durationMs: number
  readonly sha256: string
  readonly createdAt: number
}

export interface CheckRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly runId: string
  /** Order of the check in its run. */
  readonly position: number
  readonly type: string
  readonly outcome: string
  readonly code: string | null
  readonly reason: string
  readonly message: string
  readonly e164: string
  readonly purpose: string
  readonly trigger: string
  readonly callId: string | null
  readonly campaignId: string | null
  readonly recipientId: string | null
  readonly source: string | null
  readonly details: string
  readonly nextAllowedAt: number | null
  readonly checkedAt: number
}

/**
 * Sealed record. A trigger rejects every change but two: `e164`, `salt` and `personal` become null together, and
 * records before `keptFrom` of their chain are removed.
 */
export interface EvidenceRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly seq: number
  readonly kind: string
  readonly callId: string | null
  readonly gateRunId: string | null
  readonly e164: string | null
  /** 32 random bytes (hex) of the commitments in `record`. */
  readonly salt: string | null
  /** Further data of the person as canonical JSON, or null if there is none. */
  readonly personal: string | null
  /** Sealed part as canonical JSON. `hash` covers `prevHash` and this. */
  readonly record: string
  readonly prevHash: string
  readonly hash: string
  readonly keyId: string
  readonly signature: string
  readonly sealedAt: number
}

/** Last record of each chain. Every append updates and thereby locks this row. */
export interface EvidenceHeadRow {
  readonly organizationId: string
  readonly environment: Environment
  readonly seq: number
  readonly hash: string
  /** Key that signs the next record. Null before the first record. */
  readonly keyId: string | null
  /** Number of the first record that is kept. A retention record seals its change. */
  readonly keptFrom: number
}

/** A head of a chain that was given away: to the customer as an event, and to a time stamp authority if there is one. */
export interface EvidenceAnchorRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly seq: number
  readonly hash: string
  readonly keyId: string
  /** Raw Ed25519 key, hex. */
  readonly publicKey: string
  readonly sealedAt: number
  /** Token of the time stamp authority over `hash` (DER, base64). Null until it has answered. */
  readonly token: string | null
  /** Time and name that the token states. Null without one. */
  readonly stampedAt: number | null
  readonly authority: string | null
}

/** Public keys that have signed sealed records. */
export interface EvidenceKeyRow {
  readonly keyId: string
  /** Raw Ed25519 key, hex. */
  readonly publicKey: string
  readonly createdAt: number
}

/** Rules of an operator by which calls were decided. */
export interface GatePolicyRow {
  readonly version: string
  /** Canonical JSON. */
  readonly rules: string
  readonly createdAt: number
}

/** Public event, inserted in the transaction of the change that it reports. */
export interface EventRow {
  readonly id: string
  readonly organizationId: string
  /** Null for events that concern both environments. */
  readonly environment: Environment | null
  readonly type: string
  readonly subjectType: string
  readonly subjectId: string
  /** Id of the second subject of types that have two. */
  readonly secondSubjectId: string | null
  readonly createdAt: number
}

/** Slot of a concurrency pool, numbered from 1. The primary key enforces the limit. */
export interface CallSlotRow {
  readonly organizationId: string
  readonly environment: Environment
  readonly pool: string
  readonly slot: number
  readonly callId: string
  readonly nodeId: string
  readonly takenAt: number
}

/** Written every second while a process has live calls, and under another name while it runs. */
export interface NodeHeartbeatRow {
  readonly nodeId: string
  readonly aliveAt: number
}

/** A request about a live call for the process that carries it. Rows last seconds. */
export interface CallRequestRow {
  readonly id: string
  readonly callId: string
  /** The process that carries the call. */
  readonly nodeId: string
  readonly kind: string
  readonly body: string
  readonly createdAt: number
  /** Null until the process takes it. */
  readonly takenAt: number | null
  /** `{ answer }`, or the JSON value null when it failed. */
  readonly answer: string | null
}

export interface CallingTables {
  callRequests: CallRequestRow
  numberPurchases: NumberPurchaseRow
  sandboxPurchases: SandboxPurchaseRow
  callingProfiles: CallingProfileRow
  agents: AgentRow
  agentVersions: AgentVersionRow
  numbers: NumberRow
  calls: CallRow
  callEvents: CallEventRow
  transcriptSegments: TranscriptSegmentRow
  recordings: RecordingRow
  checks: CheckRow
  evidence: EvidenceRow
  evidenceHeads: EvidenceHeadRow
  evidenceKeys: EvidenceKeyRow
  evidenceAnchors: EvidenceAnchorRow
  gatePolicies: GatePolicyRow
  events: EventRow
  callSlots: CallSlotRow
  nodeHeartbeats: NodeHeartbeatRow
}
