import { z } from 'zod'
import { openEnum, Timestamp, timestamp } from '../../base/schemas.js'
import type { EvidenceAnchorRow, EvidenceRow } from '../../db/tables/calling.js'

const OptionalText = z.string().nullable()
const OptionalTime = Timestamp.nullable()

const SealedCheck = z.looseObject({
  id: z.string(),
  type: z.string(),
  outcome: openEnum('pass', 'warn', 'block', 'skipped'),
  code: OptionalText,
  reason: z.string(),
  message: z.string(),
  source: OptionalText,
  nextAllowedAt: OptionalTime,
  checkedAt: Timestamp,
})

const Outcome = z.looseObject({
  disposition: OptionalText,
  startedAt: OptionalTime,
  answeredAt: OptionalTime,
  endedAt: OptionalTime,
  durationSeconds: z.int(),
  recordingSha256: OptionalText,
  parts: z
    .array(z.looseObject({ transferId: z.string(), part: openEnum('human', 'return'), sha256: z.string() }))
    .optional()
    .meta({ description: 'The recordings of transfers. Absent without any.' }),
  transcriptSha256: OptionalText,
  monitors: z
    .array(
      z.looseObject({
        mode: openEnum('listen', 'takeover'),
        userId: z.string(),
        startedAt: OptionalTime,
        endedAt: OptionalTime,
      }),
    )
    .optional()
    .meta({ description: 'Who listened to the call or took it over. Absent if nobody did.' }),
})

/** A sealed record. The members before `salt` are those of its sealed text. */
export const EvidenceRecord = z
  .looseObject({
    id: z.string(),
    seq: z.int(),
    environment: z.enum(['test', 'live']),
    kind: openEnum('gate', 'outcome'),
    callId: OptionalText,
    gateRunId: OptionalText,
    subject: OptionalText.optional().meta({ description: 'SHA-256 over the salt and the number.' }),
    personalSha256: OptionalText.optional().meta({ description: 'SHA-256 over the salt and `personal`.' }),
    checks: z.array(SealedCheck).optional(),
    suppressionMatched: z.boolean().optional(),
    sender: z
      .looseObject({
        purpose: z.string(),
        peId: OptionalText,
        header: OptionalText,
        declarationRef: OptionalText,
      })
      .optional(),
    number: z.string(),
    agentId: OptionalText,
    agentVersionId: OptionalText,
    campaignId: OptionalText,
    policyVersion: z.string().optional(),
    decidedAt: Timestamp.optional(),
    outcome: Outcome.nullable(),
    sealedAt: Timestamp,
    prevHash: z.string(),
    alg: z.string(),
    keyId: z.string(),
    e164: OptionalText.meta({ description: 'Null after the erasure of the person.' }),
    salt: OptionalText,
    personal: z.record(z.string(), z.json()).nullable(),
    record: z.string().meta({ description: 'The sealed text: canonical JSON (RFC 8785).' }),
    hash: z.string(),
    signature: z.string(),
  })
  .meta({ description: 'A record of the evidence chain. docs/evidence.md states how to verify it.' })

/** Returns a gate or outcome record as the API shows it. */
export function evidenceView(row: EvidenceRow): z.input<typeof EvidenceRecord> {
  // Spread into a literal, the members would outlive the answer until the old generation is collected.
  return Object.assign(JSON.parse(row.record), {
    e164: row.e164,
    salt: row.salt,
    personal: row.personal === null ? null : JSON.parse(row.personal),
    record: row.record,
    hash: row.hash,
    signature: row.signature,
  })
}

export const EvidenceHead = z.object({
  seq: z.int(),
  hash: z.string(),
  sealedAt: OptionalTime.meta({ description: 'Null before the first record.' }),
  keyId: z.string(),
  publicKey: z.string().meta({ description: 'Raw Ed25519 public key, 64 hex digits.' }),
})

/** Returns a head that was given away. */
export function anchorView(row: EvidenceAnchorRow): z.input<typeof EvidenceHead> {
  const { seq, hash, sealedAt, keyId, publicKey } = row
  return { seq, hash, sealedAt: timestamp(sealedAt), keyId, publicKey }
}

export const EvidenceTimeStamp = z
  .object({
    seq: z.int().meta({ description: 'The head that was time-stamped; it covers the records before it.' }),
    at: Timestamp.meta({ description: 'Time that the authority states.' }),
    authority: z.string().meta({ description: "Subject of the authority's certificate." }),
  })
  .meta({ description: 'What a time stamp authority (RFC 3161) has confirmed.' })

export function timeStampView(row: EvidenceAnchorRow): z.input<typeof EvidenceTimeStamp> {
  return { seq: row.seq, at: timestamp(row.stampedAt ?? 0), authority: row.authority ?? '' }
}
