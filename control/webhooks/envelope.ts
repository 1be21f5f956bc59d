import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { Timestamp, timestamp } from '../base/schemas.js'
import type { EventRow } from '../db/tables/calling.js'
import { EVENTS, eventDefinition, type RenderedSubject, type SubjectName } from '../events/event-types.js'
import { RENDERERS, SUBJECT_SCHEMAS, type SubjectLinks, type SubjectOwner } from './subjects.js'

/** Returns the schema of `data` for events with these subjects. */
export function dataSchema(subjects: readonly SubjectName[]): z.ZodObject {
  return z.object(Object.fromEntries(subjects.map((name) => [name, SUBJECT_SCHEMAS[name]])))
}

type EventData = Readonly<Record<string, unknown>>

/** All shapes of `data`. One with more members comes first, so that none is taken for a shorter one. */
function dataShapes(): z.ZodType<EventData, EventData> {
  const lists = new Map(Object.values(EVENTS).map(({ subjects }) => [subjects.join(), subjects]))
  return z.union([...lists.values()].toSorted((a, b) => b.length - a.length).map(dataSchema))
}

/** Body of a webhook and payload of a single event. */
export const Envelope = z.object({
  id: z.string(),
  type: z.string(),
  environment: z.enum(['test', 'live']).nullable(),
  created_at: Timestamp,
  data: dataShapes(),
  links: z.object({
    self: z.string(),
    recording: z.string().optional(),
    transcript: z.string().optional(),
    handoff: z.string().optional(),
  }),
})

/** Returns the event with the current state of its subjects, or null if one of them no longer exists. */
export async function buildEnvelope(
  deps: Pick<Deps, 'db' | 'publicUrl' | 'rootKey'>,
  event: EventRow,
): Promise<z.input<typeof Envelope> | null> {
  const subjects = eventDefinition(event.type)?.subjects ?? []
  const ids = [event.subjectId, event.secondSubjectId]
  const parts: RenderedView[] = []
  for (const [index, name] of subjects.entries()) {
    const id = ids[index] ?? null
    const part = id === null || !isRendered(name) ? null : await render(name, deps, event, id)
    if (part === null) return null
    parts.push(part)
  }
  const [first] = parts
  if (first === undefined) return null
  return {
    id: event.id,
    type: event.type,
    environment: event.environment,
    created_at: timestamp(event.createdAt),
    data: Object.fromEntries(parts.map(({ name, view }) => [name, view])),
    links: Object.assign({}, ...parts.map(({ links }) => links), { self: first.self }),
  }
}

function isRendered(name: SubjectName): name is RenderedSubject {
  return Object.hasOwn(RENDERERS, name)
}

interface RenderedView {
  readonly name: SubjectName
  readonly view: unknown
  readonly self: string
  readonly links: SubjectLinks
}

async function render<S extends RenderedSubject>(
  name: S,
  deps: Pick<Deps, 'db' | 'publicUrl' | 'rootKey'>,
  owner: SubjectOwner,
  id: string,
): Promise<RenderedView | null> {
  const renderer = RENDERERS[name]
  const view = await renderer.load(deps.db, owner, id)
  if (view === null) return null
  const self = deps.publicUrl() + renderer.path.replace(':id', id)
  return { name, view, self, links: renderer.links?.(view, self, deps) ?? {} }
}

/** Returns the JSON text of an event for webhooks, or null if a subject no longer exists. */
export async function renderEnvelope(
  deps: Pick<Deps, 'db' | 'publicUrl' | 'rootKey'>,
  event: EventRow,
): Promise<string | null> {
  const envelope = await buildEnvelope(deps, event)
  return envelope === null ? null : JSON.stringify(Envelope.parse(envelope))
}
