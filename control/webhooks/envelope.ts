import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { Timestamp, timestamp } from '../base/schemas.js'
import { findCall } from '../calls/store.js'
import { Call, callView } from '../calls/view.js'
import { findCheck } from '../compliance/check-store.js'
import { ComplianceCheck, checkView } from '../compliance/check-view.js'
import type { EventRow } from '../db/tables/calling.js'

/** Body of a webhook and payload of a single event. */
export const Envelope = z.object({
  id: z.string(),
  type: z.string(),
  environment: z.enum(['test', 'live']).nullable(),
  created_at: Timestamp,
  data: z.union([z.object({ call: Call }), z.object({ check: ComplianceCheck })]),
  links: z.object({ self: z.string(), recording: z.string().optional(), transcript: z.string().optional() }),
})

/** Returns the event with the current state of its subject, or null if the subject no longer exists. */
export async function buildEnvelope(
  deps: Pick<Deps, 'db' | 'publicUrl'>,
  event: EventRow,
): Promise<z.input<typeof Envelope> | null> {
  const rendered = await render(deps, event)
  if (rendered === null) return null
  return {
    id: event.id,
    type: event.type,
    environment: event.environment,
    created_at: timestamp(event.createdAt),
    ...rendered,
  }
}

type Rendered = Pick<z.input<typeof Envelope>, 'data' | 'links'>

async function render(deps: Pick<Deps, 'db' | 'publicUrl'>, event: EventRow): Promise<Rendered | null> {
  // Calls and checks belong to one environment. Events of both environments concern neither.
  if (event.environment === null) return null
  const owner = { organizationId: event.organizationId, environment: event.environment }
  const base = `${deps.publicUrl()}/v1`
  if (event.subjectType === 'call') {
    const row = await findCall(deps.db, owner, event.subjectId)
    if (row === null) return null
    const call = callView(row)
    const self = `${base}/calls/${call.id}`
    return {
      data: { call },
      links: {
        self,
        ...(call.hasRecording ? { recording: `${self}/recording` } : {}),
        ...(call.hasTranscript ? { transcript: `${self}/transcript` } : {}),
      },
    }
  }
  if (event.subjectType === 'check') {
    const row = await findCheck(deps.db, owner.organizationId, owner.environment, event.subjectId)
    if (row === null) return null
    return { data: { check: checkView(row) }, links: { self: `${base}/compliance/checks/${row.id}` } }
  }
  return null
}

/** Returns the JSON text of an event for webhooks, or null if the subject no longer exists. */
export async function renderEnvelope(
  deps: Pick<Deps, 'db' | 'publicUrl'>,
  event: EventRow,
): Promise<string | null> {
  const envelope = await buildEnvelope(deps, event)
  return envelope === null ? null : JSON.stringify(Envelope.parse(envelope))
}
