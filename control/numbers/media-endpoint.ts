import { z } from 'zod'
import { isId } from '../../media/base/ids.js'
import { BOT_FORMATS, BOT_RATES, type BotFormat, type BotRate } from '../../media/byo/bot-spec.js'
import { type BotDialect, namedRate, supportsAudio } from '../../media/byo/dialects/bot-dialect.js'
import { BOT_TYPES, dialectOf } from '../../media/byo/dialects/registry.js'
import type { Deps } from '../api/deps.js'
import { type Refusal, refuse } from '../api/problem.js'
import { openEnum } from '../base/schemas.js'
import type { Db, Trx } from '../db/database.js'
import { parsedUrl } from '../net/url-form.js'
import { refusedTarget } from '../secrets/host-store.js'
import { hostOf } from '../secrets/hosts.js'
import { unknownSecrets } from '../secrets/store.js'

/**
 * Parameter names travel in headers, queries and JSON of other vendors, so they use plain characters only.
 */
const PARAMETER = /^[A-Za-z0-9_.-]{1,64}$/
const MAX_PARAMETERS = 30

/** At most 512 bytes, not characters. `;` is excluded because one bot type separates parameters with it. */
const ParameterValue = z
  .string()
  .max(512)
  .refine((text) => Buffer.byteLength(text) <= 512, 'must be at most 512 bytes')
  .regex(/^[^\p{Cc};]*$/u, 'must have no control characters and no semicolon')

/** The endpoint in a request. Omitted fields keep their value. */
export const MediaEndpointInput = z.strictObject({
  type: z.enum(BOT_TYPES).optional(),
  url: z
    .string()
    .max(2048)
    .regex(/^(wss?|tls|tcp):/i, 'must be a URL with the scheme wss or tls')
    .optional(),
  format: z.enum(BOT_FORMATS).optional(),
  sampleRate: z
    .int()
    .refine((rate) => BOT_RATES.some((known) => known === rate), `must be one of ${BOT_RATES.join(', ')}`)
    .meta({ enum: [...BOT_RATES] })
    .optional(),
  authSecretId: z.string().nullable().optional(),
  customParameters: z
    .record(z.string().regex(PARAMETER, 'must be letters, digits, _ . or -'), ParameterValue)
    .refine((map) => Object.keys(map).length <= MAX_PARAMETERS, `must have at most ${MAX_PARAMETERS} entries`)
    .meta({ maxProperties: MAX_PARAMETERS })
    .optional(),
})

/** The endpoint in a response. */
export const MediaEndpoint = z
  .object({
    type: openEnum(...BOT_TYPES),
    url: z.string(),
    format: openEnum(...BOT_FORMATS),
    sampleRate: z.int(),
    authSecretId: z.string().nullable(),
    customParameters: z.record(z.string(), z.string()),
  })
  .meta({ description: 'WebSocket or TCP endpoint of the customer’s own bot.' })

const StoredEndpoint = z.object({
  type: z.enum(BOT_TYPES),
  url: z.string(),
  format: z.enum(BOT_FORMATS),
  sampleRate: z.union([z.literal(8000), z.literal(16000), z.literal(24000)]),
  authSecretId: z.string().nullable(),
  customParameters: z.record(z.string(), z.string()),
})
export type StoredEndpoint = z.output<typeof StoredEndpoint>

/** Parses the endpoint that is stored with a number. */
export function readEndpoint(text: string | null): StoredEndpoint | null {
  return text === null ? null : StoredEndpoint.parse(JSON.parse(text))
}

/** An endpoint whose format and rate may still default to those of its type. */
export type MergedEndpoint = Omit<StoredEndpoint, 'format' | 'sampleRate'> & {
  readonly format: BotFormat | undefined
  readonly sampleRate: number | undefined
}

/**
 * Returns the endpoint after a PATCH: omitted fields stay, parameters are replaced. A new type starts afresh;
 * a new format drops the old rate. Returns the name of a required field that is missing.
 */
export function mergeEndpoint(
  stored: StoredEndpoint | null,
  patch: z.output<typeof MediaEndpointInput>,
): MergedEndpoint | 'type' | 'url' {
  const kept = stored !== null && (patch.type ?? stored.type) === stored.type ? stored : null
  const { type = kept?.type, url = kept?.url, format = kept?.format } = patch
  if (type === undefined) return 'type'
  if (url === undefined) return 'url'
  return {
    type,
    url,
    format,
    sampleRate: patch.sampleRate ?? (format === kept?.format ? kept?.sampleRate : undefined),
    authSecretId: patch.authSecretId === undefined ? (kept?.authSecretId ?? null) : patch.authSecretId,
    customParameters: patch.customParameters ?? kept?.customParameters ?? {},
  }
}

/**
 * Completes the endpoint with its type's default format and rate, or refuses it. The host name is resolved
 * now and again for every call.
 */
export async function checkEndpoint(
  { db, egress }: Pick<Deps, 'db' | 'egress'>,
  organizationId: string,
  input: MergedEndpoint,
): Promise<StoredEndpoint | Refusal<'unprocessable_entity' | 'not_found'>> {
  const contradiction = (message: string, field: string) =>
    refuse('unprocessable_entity', message, { path: `mediaEndpoint.${field}` })

  const dialect = dialectOf(input.type)
  const problem = await egress.check(input.url, dialect.transport, organizationId)
  if (problem !== null) return contradiction(`The URL ${problem.reason}.`, 'url')
  const unsaid = unsayable(dialect, input)
  if (unsaid !== null) {
    return contradiction(`Not supported for bots of type ${input.type}: ${unsaid.why}.`, unsaid.field)
  }
  if (dialect.query === false && new URL(input.url).search !== '') {
    return contradiction('URLs of this bot type must not have a query. Use customParameters.', 'url')
  }
  const offered = dialect.audio
  const chosen = offered.find(([format]) => input.format === undefined || format === input.format)
  if (chosen === undefined) {
    const formats = offered.map(([format]) => format).join(', ')
    return contradiction(`Bots of type ${input.type} support ${formats}.`, 'format')
  }
  const [format, rates] = chosen
  const named = namedRate(dialect, input.url)
  const sampleRate = (input.sampleRate ?? named ?? rates[0]) as BotRate
  if (named !== null && named !== sampleRate) {
    return contradiction(`The URL requests ${named} Hz.`, 'sampleRate')
  }
  if (!supportsAudio(dialect, { format, sampleRate })) {
    return contradiction(
      `Bots of type ${input.type} support ${format} at ${rates.join(', ')} Hz.`,
      'sampleRate',
    )
  }
  const { authSecretId } = input
  if (authSecretId !== null && !(await isSecret(db, organizationId, authSecretId))) {
    return refuse('not_found', 'There is no such secret.', {
      resource: 'secret',
      path: 'mediaEndpoint.authSecretId',
    })
  }
  const target = authSecretId === null ? [] : [{ secretId: authSecretId, url: input.url }]
  if ((await refusedTarget(db, organizationId, target)) !== null) {
    const host = hostOf(input.url)
    return contradiction(`${host} is not one of the hosts of the secret. Add it in the dashboard.`, 'url')
  }
  return {
    type: input.type,
    url: parsedUrl(input.url),
    format,
    sampleRate,
    authSecretId,
    customParameters: input.customParameters,
  }
}

/** Returns the first field that the protocol cannot carry, or null. */
function unsayable(
  { transport, authenticate, parameters }: BotDialect,
  input: MergedEndpoint,
): { readonly field: 'url' | 'authSecretId' | 'customParameters'; readonly why: string } | null {
  const { pathname, search, hash } = new URL(input.url)
  if (transport === 'tcp' && (!['', '/'].includes(pathname) || search !== '' || hash !== '')) {
    return { field: 'url', why: 'the URL consists of host and port only' }
  }
  if (authenticate === null && input.authSecretId !== null) {
    return { field: 'authSecretId', why: 'the protocol has no secret' }
  }
  if (parameters === 'none' && Object.keys(input.customParameters).length > 0) {
    return { field: 'customParameters', why: 'the protocol has no parameters' }
  }
  return null
}

async function isSecret(db: Db | Trx, organizationId: string, id: string): Promise<boolean> {
  return isId('sec', id) && (await unknownSecrets(db, organizationId, [id])).length === 0
}
