import { z } from 'zod'
import { isId } from '../../media/base/ids.js'
import {
  BOT_AUDIO,
  BOT_FORMATS,
  BOT_TYPES,
  type BotRate,
  carries,
  transportOf,
} from '../../media/byo/spec.js'
import type { Db, Trx } from '../db/open.js'
import type { Deps } from '../deps.js'
import { type Refusal, refuse } from '../http/problem.js'
import { openEnum } from '../http/schemas.js'
import { unknownSecrets } from '../secrets/store.js'

/** Names of parameters travel in headers, queries and JSON of other makers: plain characters only. */
const PARAMETER = /^[A-Za-z0-9_.-]{1,64}$/
const MAX_PARAMETERS = 30

/** Bytes, not characters; no `;`, which separates parameters where one type writes them in a line. */
const ParameterValue = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= 512, 'must be at most 512 bytes')
  .regex(/^[^\p{Cc};]*$/u, 'must have no control characters and no semicolon')

/** As it is written in a request. */
export const MediaEndpointInput = z.strictObject({
  type: z.enum(BOT_TYPES),
  url: z.string().min(1).max(2048),
  format: z.enum(BOT_FORMATS).optional(),
  sampleRate: z.int().optional(),
  authSecretId: z.string().nullable().optional(),
  customParameters: z
    .record(z.string().regex(PARAMETER, 'must be letters, digits, _ . or -'), ParameterValue)
    .refine((map) => Object.keys(map).length <= MAX_PARAMETERS, `must have at most ${MAX_PARAMETERS} entries`)
    .optional(),
})

/** As it is shown. */
export const MediaEndpoint = z
  .object({
    type: openEnum(...BOT_TYPES),
    url: z.string(),
    format: openEnum(...BOT_FORMATS),
    sampleRate: z.int(),
    authSecretId: z.string().nullable(),
    customParameters: z.record(z.string(), z.string()),
  })
  .meta({ description: 'The media socket of the customer’s own bot.' })

const StoredEndpoint = z.object({
  type: z.enum(BOT_TYPES),
  url: z.string(),
  format: z.enum(BOT_FORMATS),
  sampleRate: z.union([z.literal(8000), z.literal(16000), z.literal(24000)]),
  authSecretId: z.string().nullable(),
  customParameters: z.record(z.string(), z.string()),
})
export type StoredEndpoint = z.output<typeof StoredEndpoint>

/** The stored text of a number. */
export function readEndpoint(text: string | null): StoredEndpoint | null {
  return text === null ? null : StoredEndpoint.parse(JSON.parse(text))
}

/**
 * What a request asks for, with the type's own format and rate where it names none; or why it cannot
 * be. The address is looked up now and again at every call.
 */
export async function checkEndpoint(
  { db, egress }: Pick<Deps, 'db' | 'egress'>,
  organizationId: string,
  input: z.output<typeof MediaEndpointInput>,
): Promise<StoredEndpoint | Refusal<'unprocessable_entity' | 'not_found'>> {
  const contradiction = (message: string, field: string) =>
    refuse('unprocessable_entity', message, { path: `mediaEndpoint.${field}` })

  const transport = transportOf(input.type)
  const problem = await egress.check(input.url, transport)
  if (problem !== null) return contradiction(`The address ${problem.reason}.`, 'url')
  if (transport === 'tcp') {
    const unsaid = unsayable(input)
    if (unsaid !== null) {
      return contradiction(`Bots of type ${input.type} cannot be told this: ${unsaid.why}.`, unsaid.field)
    }
  }
  if (input.type === 'twilio' && new URL(input.url).search !== '') {
    return contradiction('Bots of this type take no query; use customParameters.', 'url')
  }
  const offered = BOT_AUDIO[input.type]
  const chosen = offered.find(([format]) => input.format === undefined || format === input.format)
  if (chosen === undefined) {
    const formats = offered.map(([format]) => format).join(', ')
    return contradiction(`Bots of type ${input.type} speak ${formats}.`, 'format')
  }
  const [format, rates] = chosen
  const sampleRate = (input.sampleRate ?? rates[0]) as BotRate
  if (!carries(input.type, { format, sampleRate })) {
    return contradiction(
      `Bots of type ${input.type} speak ${format} at ${rates.join(', ')} Hz.`,
      'sampleRate',
    )
  }
  const authSecretId = input.authSecretId ?? null
  if (authSecretId !== null && !(await isSecret(db, organizationId, authSecretId))) {
    return refuse('not_found', 'There is no such secret.', {
      resource: 'secret',
      path: 'mediaEndpoint.authSecretId',
    })
  }
  return {
    type: input.type,
    url: input.url,
    format,
    sampleRate,
    authSecretId,
    customParameters: input.customParameters ?? {},
  }
}

/** What a protocol without an opening request and without words has no place for. */
function unsayable(
  input: z.output<typeof MediaEndpointInput>,
): { readonly field: 'url' | 'authSecretId' | 'customParameters'; readonly why: string } | null {
  const { pathname, search, hash } = new URL(input.url)
  if (!['', '/'].includes(pathname) || search !== '' || hash !== '') {
    return { field: 'url', why: 'the address is host and port only' }
  }
  if ((input.authSecretId ?? null) !== null) {
    return { field: 'authSecretId', why: 'the protocol has no place for a secret' }
  }
  if (Object.keys(input.customParameters ?? {}).length > 0) {
    return { field: 'customParameters', why: 'the protocol has no place for parameters' }
  }
  return null
}

async function isSecret(db: Db | Trx, organizationId: string, id: string): Promise<boolean> {
  return isId('sec', id) && (await unknownSecrets(db, organizationId, [id])).length === 0
}
