import { EVENT_TYPES, EVENTS } from '../events/event-types.js'
import { SUBJECT_SCHEMAS } from '../webhooks/subjects.js'
import type { WebhookDescription } from './document-webhooks.js'

/** All events for the OpenAPI description. */
export const WEBHOOKS: readonly WebhookDescription[] = EVENT_TYPES.map((type) => {
  const { when, subjects, ...marks } = EVENTS[type]
  return {
    type,
    when,
    shared: 'shared' in marks,
    data: Object.fromEntries(subjects.map((name) => [name, SUBJECT_SCHEMAS[name]])),
  }
})
