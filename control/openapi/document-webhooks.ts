import type { z } from 'zod'
import { EXAMPLE_ULID, exampleOf } from './document-examples.js'
import { outputSchema } from './document-schemas.js'

type JsonObject = Readonly<Record<string, unknown>>

/** Description of an event that is sent to webhook endpoints. */
export interface WebhookDescription {
  readonly type: string
  readonly when: string
  /** True if both environments share the subject, so that `environment` is null. */
  readonly shared: boolean
  /** Members of `data` in the envelope. */
  readonly data: Readonly<Record<string, z.ZodType>>
}

/** Returns the `webhooks` of the document. `results` contains the schemas that are components. */
export function describeWebhooks(
  webhooks: readonly WebhookDescription[],
  results: ReadonlyMap<z.ZodType, string>,
): JsonObject {
  return Object.fromEntries(
    webhooks.map((webhook) => [webhook.type, { post: describeWebhook(webhook, results) }]),
  )
}

function describeWebhook(
  { type, when, shared, data }: WebhookDescription,
  results: ReadonlyMap<z.ZodType, string>,
): JsonObject {
  const members = Object.entries(data).map(([name, schema]) => {
    const component = results.get(schema)
    return [
      name,
      component === undefined ? outputSchema(schema) : { $ref: `#/components/schemas/${component}` },
    ]
  })
  const examples = Object.entries(data).map(([name, schema]) => [
    name,
    exampleOf(outputSchema(schema), name, SUBJECT_PREFIX[name]),
  ])
  return {
    operationId: `on${type.replace(/(^|[._])(\w)/g, (_all, _mark, letter: string) => letter.toUpperCase())}`,
    tags: ['Webhooks'],
    summary: when,
    parameters: DELIVERY_HEADERS,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['id', 'type', 'environment', 'created_at', 'data', 'links'],
            properties: {
              id: {
                type: 'string',
                description: 'ID of the event, equal to x-svc-event-id. Use it to detect duplicates.',
              },
              type: { type: 'string', 'x-known-values': [type] },
              environment: { type: ['string', 'null'], 'x-known-values': ['test', 'live'] },
              created_at: { type: 'string', format: 'date-time' },
              data: {
                type: 'object',
                required: Object.keys(data),
                properties: Object.fromEntries(members),
              },
              links: LINKS,
            },
          },
          example: {
            id: `evt_${EXAMPLE_ULID}`,
            type,
            environment: shared ? null : 'live',
            created_at: '2026-11-20T10:00:00.000Z',
            data: Object.fromEntries(examples),
            links: { self: `https://parley.example.com/v1/events/evt_${EXAMPLE_ULID}` },
          },
        },
      },
    },
    responses: {
      '2XX': { description: 'Received. Respond within 10 seconds. The body is ignored.' },
      '4XX': { description: 'Not retried, except 408 and 429.' },
      '5XX': { description: 'Retried with exponential backoff, up to 14 attempts in about one day.' },
    },
  }
}

const SUBJECT_PREFIX: Readonly<Record<string, string>> = {
  call: 'call',
  transfer: 'xfr',
  campaign: 'cmp',
  check: 'chk',
  number: 'num',
  knowledgeBase: 'kb',
  build: 'bld',
}

const header = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
})

const DELIVERY_HEADERS: readonly JsonObject[] = [
  header('x-svc-timestamp', 'Unix time (s) of this attempt.', { type: 'string' }),
  header(
    'x-svc-signature',
    '"v1=" followed by the hexadecimal HMAC-SHA256 of "<timestamp>.<raw body>", keyed with the signing secret of the endpoint. For 24 hours after the secret was replaced there are two signatures, separated by a space.',
    { type: 'string' },
  ),
  header('x-svc-event', 'Type of the event.', { type: 'string' }),
  header('x-svc-event-id', 'ID of the event.', { type: 'string' }),
  header('x-svc-delivery-attempt', 'Number of the attempt, starting at 1.', { type: 'string' }),
]

const LINKS: JsonObject = {
  type: 'object',
  required: ['self'],
  properties: {
    self: { type: 'string', format: 'uri' },
    recording: { type: 'string', format: 'uri', description: 'Present if there is one.' },
    transcript: { type: 'string', format: 'uri', description: 'Present if there is one.' },
    handoff: {
      type: 'string',
      format: 'uri',
      description: 'Transfer events only: a page with the conversation so far, available for 24 hours.',
    },
  },
}
