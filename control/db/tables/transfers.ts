type Environment = 'test' | 'live'

/** Telephone of a person to whom calls are transferred. Both environments share it. */
export interface TransferDestinationRow {
  readonly id: string
  readonly organizationId: string
  /** Name by which agents and models know it. Never changes. */
  readonly key: string
  readonly label: string
  readonly e164: string
  /** JSON array of windows (destinations/hours.ts). Empty means any time. */
  readonly hours: string
  readonly language: string
  readonly enabled: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Verification of a destination in one environment. It counts only for the number that it names. */
export interface DestinationVerificationRow {
  readonly destinationId: string
  readonly environment: Environment
  readonly organizationId: string
  readonly e164: string
  /** HMAC of the code that waits for its confirmation. Null if none does. */
  readonly codeHash: string | null
  readonly codeExpiresAt: number | null
  /** Wrong codes that are still allowed. */
  readonly attemptsLeft: number
  readonly lastCallAt: number | null
  readonly verifiedAt: number | null
}

/**
 * Verification call of the last 24 hours in one scope (destination, number or organization), numbered from 1. The
 * primary key enforces the limit of the scope.
 */
export interface VerificationCallSlotRow {
  readonly environment: Environment
  readonly scope: string
  readonly slot: number
  readonly takenAt: number
}

/** Use of a destination by the draft or the published version of an agent. */
export interface DestinationUseRow {
  readonly destinationId: string
  readonly agentId: string
}

/** Attempt to hand a call to a person. */
export interface TransferAttemptRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly callId: string
  /** 1 or 2. */
  readonly attempt: number
  /** The destination may have been deleted since. */
  readonly destinationId: string
  readonly label: string
  readonly mode: string
  readonly trigger: string
  readonly reason: string | null
  /** Text that the person heard before the caller. */
  readonly brief: string | null
  /** Call-ID of the leg to the person. Null until the person answered. */
  readonly sipCallId: string | null
  readonly status: string
  readonly outcome: string | null
  /** Price of a minute with the person. */
  readonly ratePaisePerMinute: number
  /** 1 when `call.transfer_started` was sent. */
  readonly announced: number
  readonly requestedAt: number
  readonly acceptedAt: number | null
  readonly answeredAt: number | null
  readonly bridgedAt: number | null
  readonly endedAt: number | null
}

/** Recording of a part of a call with a transfer. */
export interface TransferRecordingRow {
  readonly transferId: string
  /** `human`: the person's part. `return`: the agent's part after an attempt that failed. */
  readonly part: 'human' | 'return'
  readonly callId: string
  /** Name of the file without its ending. It begins with the id of the call. */
  readonly name: string
  /** Key in the object store. */
  readonly key: string
  readonly bytes: number
  readonly durationMs: number
  readonly sha256: string
  readonly createdAt: number
}

export interface TransferTables {
  transferAttempts: TransferAttemptRow
  transferRecordings: TransferRecordingRow
  transferDestinations: TransferDestinationRow
  destinationVerifications: DestinationVerificationRow
  verificationCallSlots: VerificationCallSlotRow
  destinationUses: DestinationUseRow
}
