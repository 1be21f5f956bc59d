/*
 * Times are Unix milliseconds, flags 0/1, lists and objects JSON text: the same on both engines.
 */

type Environment = 'test' | 'live'

/** What an operator may set for one organization; no row means the defaults. */
export interface CallingProfileRow {
  readonly organizationId: string
  /** Kill switch: set while calling is stopped for this organization. */
  readonly enforcedAt: number | null
  readonly enforcedReason: string | null
  /** The organization's own narrower hours, minutes from midnight IST; both or neither. */
  readonly windowStartMinute: number | null
  readonly windowEndMinute: number | null
  /** Concurrent calls; null is the default of the environment. */
  readonly agentCallsTest: number | null
  readonly agentCallsLive: number | null
  /** Agreed price; null is the list price. */
  readonly ratePaisePerMinute: number | null
}

/** Shared by both environments. */
export interface AgentRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly purpose: string
  /** Canonical JSON of agents/config.ts `AgentConfig`. */
  readonly draft: string
  /** SHA-256 of draft and purpose, hex: equal to `publishedHash` when there is nothing to publish. */
  readonly draftHash: string
  readonly publishedHash: string | null
  readonly publishedVersion: number | null
  readonly latestVersion: number | null
  /** Grows with every change of the row: a writer that read an older one writes nothing. */
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
  readonly routingMode: string
  readonly agentId: string | null
  /** The trunk its calls come over; null for a number of ours. */
  readonly sipTrunkId: string | null
  readonly recordCalls: number
  /** JSON of byo/endpoint.ts `StoredEndpoint`; kept while the number is routed to an agent. */
  readonly mediaEndpoint: string | null
  readonly createdAt: number
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
  /** The agent is null when an inbound call was refused before one was found. */
  readonly agentId: string | null
  readonly agentVersion: number | null
  readonly agentVersionId: string | null
  readonly routingMode: string
  readonly purpose: string
  readonly campaignId: string | null
  readonly recipientId: string | null
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
  readonly charges: string
  readonly billedPaise: number
  readonly variables: string
  readonly metadata: string
  readonly latency: string | null
  readonly error: string | null
  readonly complianceRunId: string | null
  readonly evidenceId: string | null
  /** Of the request that placed it: the unique key that makes a retry find this call. */
  readonly idempotencyId: string | null
  readonly sipCallId: string | null
  /** The process that owns the call, until `leaseUntil`. */
  readonly nodeId: string
  readonly leaseUntil: number
  readonly hangupRequestedAt: number | null
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
  /** `seq` of the call event it came with. */
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
  /** Below the recordings folder. */
  readonly file: string
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
  /** Order within the run. */
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

/** Insert-only (a trigger sees to it), but for setting `e164` to null. */
export interface EvidenceRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly seq: number
  readonly kind: string
  readonly callId: string | null
  readonly gateRunId: string
  readonly e164: string | null
  /** The sealed part as canonical JSON: what `hash` covers after `prevHash`. */
  readonly record: string
  readonly prevHash: string
  readonly hash: string
  readonly keyId: string
  readonly signature: string
  readonly sealedAt: number
}

/** The end of each chain; the row every append updates, and thereby locks. */
export interface EvidenceHeadRow {
  readonly organizationId: string
  readonly environment: Environment
  readonly seq: number
  readonly hash: string
}

/** The events of the contract, in the transaction of the change they tell of. */
export interface EventRow {
  readonly id: string
  readonly organizationId: string
  /** Null for what concerns both environments. */
  readonly environment: Environment | null
  readonly type: string
  readonly subjectType: string
  readonly subjectId: string
  readonly createdAt: number
}

/** A place in a concurrency pool, numbered from 1: the primary key is the limit. */
export interface CallSlotRow {
  readonly organizationId: string
  readonly environment: Environment
  readonly pool: string
  readonly slot: number
  readonly callId: string
  readonly nodeId: string
  readonly takenAt: number
}

export interface CallingTables {
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
  events: EventRow
  callSlots: CallSlotRow
}
