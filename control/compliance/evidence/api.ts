import { z } from 'zod'
import type { Deps } from '../../api/deps.js'
import { downloadOperation, type Operation, operation } from '../../api/operation.js'
import { refuse } from '../../api/problem.js'
import { JsonText } from '../../api/reply.js'
import { idParam } from '../../base/schemas.js'
import { listPersonChecks } from '../check-store.js'
import { ComplianceCheck, checkView } from '../check-view.js'
import { Consent, consentView } from '../consent-api.js'
import { namesOf } from '../person-names.js'
import { Suppression, suppressionView } from '../suppression-api.js'
import { findCoveringAnchor } from './anchors.js'
import { writeBundle } from './bundle.js'
import { evidencePage } from './pdf.js'
import {
  type CallEvidence,
  findCallEvidence,
  headView,
  listPersonConsents,
  listPersonEvidence,
  listPersonSuppressions,
  problemOfRecords,
} from './read.js'
import { openEvidenceKeys } from './seal.js'
import type { Owner } from './store.js'
import { EvidenceHead, EvidenceRecord, EvidenceTimeStamp, evidenceView, timeStampView } from './view.js'

const CallPath = z.object({ id: idParam('call') })
const MAX_CHECKS = 500
const MAX_RECORDS = 200
const MAX_ENTRIES = 500

const noEvidence = () => refuse('not_found', 'There is no sealed record of this call.')

const readCallEvidence = operation({
  id: 'readCallEvidence',
  method: 'get',
  path: '/v1/calls/:id/evidence',
  tag: 'Calls',
  summary: 'Get the sealed records of a call',
  description:
    'The decision of the compliance gate, sealed before the call was dialled, and the outcome, sealed within ' +
    'seconds after its end. An inbound call has no gate record. `verification` covers these records; ' +
    '"Download the evidence chain" proves the whole chain.',
  audience: 'key',
  scope: 'read',
  params: CallPath,
  status: 200,
  result: z.object({
    gate: EvidenceRecord.nullable(),
    outcome: EvidenceRecord.nullable(),
    verification: z.object({
      valid: z.boolean(),
      problem: z.string().nullable(),
      head: EvidenceHead,
      timeStamp: EvidenceTimeStamp.nullable().meta({
        description: 'The first time stamp that covers these records. Null if there is none yet.',
      }),
    }),
  }),
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const evidence = await findCallEvidence(deps.db, actor, params.id)
    if (evidence === null) return noEvidence()
    const { gate, outcome } = evidence
    return {
      gate: gate && evidenceView(gate),
      outcome: outcome && evidenceView(outcome),
      verification: await verificationOf(deps, actor, evidence),
    }
  },
})

const downloadCallEvidence = downloadOperation({
  id: 'downloadCallEvidence',
  path: '/v1/calls/:id/evidence.pdf',
  tag: 'Calls',
  summary: 'Download the evidence of a call as a page',
  description:
    'One page of PDF for a reader who does not know the service, drawn only from the sealed records.',
  audience: 'key',
  scope: 'read',
  params: CallPath,
  contentType: 'application/pdf',
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const evidence = await findCallEvidence(deps.db, actor, params.id)
    if (evidence === null) return noEvidence()
    const verification = await verificationOf(deps, actor, evidence)
    const page = evidencePage(params.id, evidence, verification, deps.clock.wall())
    return { fileName: `${params.id}-evidence.pdf`, content: await deps.pdf.render(page) }
  },
})

const PersonRecord = z.object({
  e164: z.string(),
  consents: z.array(Consent),
  suppression: z.array(Suppression),
  checks: z.array(ComplianceCheck),
  evidence: z.array(EvidenceRecord),
})

const readPersonEvidence = operation({
  id: 'readPersonEvidence',
  method: 'get',
  path: '/v1/compliance/evidence',
  tag: 'Compliance',
  summary: 'Get the record of a number',
  description:
    `Everything about one number: the newest ${MAX_CHECKS} checks, the newest ${MAX_RECORDS} sealed records, and ` +
    'the whole history of its consents and do-not-call entries.',
  audience: 'key',
  scope: 'read',
  query: z.object({
    e164: z
      .string()
      .regex(/^\+91\d{10,11}$/, 'must be an Indian number, for example +919876543210')
      .meta({ examples: ['+919876543210'] }),
  }),
  status: 200,
  result: PersonRecord,
  fails: [],
  run: async ({ query: { e164 }, actor, deps }) => {
    const now = deps.clock.wall()
    const [consents, suppression, checks, evidence] = await Promise.all([
      listPersonConsents(deps.db, actor, e164, MAX_ENTRIES),
      listPersonSuppressions(deps.db, actor, namesOf(deps.rootKey, actor.organizationId, e164), MAX_ENTRIES),
      listPersonChecks(deps.db, actor, e164, MAX_CHECKS),
      listPersonEvidence(deps.db, actor, e164, MAX_RECORDS),
    ])
    const data: z.input<typeof PersonRecord> = {
      e164,
      consents: consents.map((row) => consentView(row, now)),
      suppression: suppression.map((row) => suppressionView(row, now)),
      checks: checks.map(checkView),
      evidence: evidence.map(evidenceView),
    }
    // A check of hundreds of stored rows against the schema takes as long as the writing of them, and most of the memory.
    return new JsonText(JSON.stringify({ data }))
  },
})

const readEvidenceHead = operation({
  id: 'readEvidenceHead',
  method: 'get',
  path: '/v1/compliance/evidence/head',
  tag: 'Compliance',
  summary: 'Get the head of the evidence chain',
  description:
    'The last sealed record of the environment. Keep it: with it the verifier finds a chain that was cut off or ' +
    'rewritten later.',
  audience: 'key',
  scope: 'read',
  status: 200,
  result: EvidenceHead,
  fails: [],
  run: ({ actor, deps }) => headView(deps.db, actor, openEvidenceKeys(deps.rootKey)),
})

const exportEvidence = downloadOperation({
  id: 'exportEvidence',
  path: '/v1/compliance/evidence/export',
  tag: 'Compliance',
  summary: 'Download the evidence chain',
  description:
    'All sealed records of the environment as a bundle for the offline verifier, one JSON object per line ' +
    '(`parley evidence verify`, docs/evidence.md).',
  audience: 'key',
  scope: 'read',
  contentType: 'application/x-ndjson',
  fails: [],
  run: ({ actor, deps }) => ({
    fileName: `evidence-${actor.environment}.jsonl`,
    content: writeBundle(deps.reads, actor, openEvidenceKeys(deps.rootKey)),
  }),
})

export const evidenceOperations: readonly Operation[] = [
  readCallEvidence,
  downloadCallEvidence,
  readPersonEvidence,
  readEvidenceHead,
  exportEvidence,
]

async function verificationOf(
  { db, rootKey }: Pick<Deps, 'db' | 'rootKey'>,
  owner: Owner,
  { gate, outcome }: CallEvidence,
) {
  const keys = openEvidenceKeys(rootKey)
  const rows = [gate, outcome].filter((row) => row !== null)
  const problem = await problemOfRecords(db, owner, keys, rows)
  const anchor = await findCoveringAnchor(db, owner, Math.max(...rows.map(({ seq }) => seq)))
  return {
    ...{ valid: problem === null, problem },
    head: await headView(db, owner, keys),
    timeStamp: anchor === null ? null : timeStampView(anchor),
  }
}
