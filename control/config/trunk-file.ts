import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { EngineError, errorText } from '../../media/base/errors.js'
import { CODEC_NAMES } from '../../media/codec/registry.js'
import { parseCidr } from '../../signalling/trunk/cidr.js'
import { CALLER_ID_POLICIES, NUMBER_FORMATS } from '../../signalling/trunk/number-format.js'
import { SERVICE_REALM } from '../../signalling/trunk/trunk-authenticator.js'
import { E164 } from '../base/schemas.js'

/*
 * Format of PARLEY_TRUNKS_FILE, the trunks of the operator in JSON. See docs/sip-trunks.md.
 */

export const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\]|[0-9a-f:]+)$/i

const Host = z
  .string()
  .max(253)
  .regex(HOST, 'must be a host name or an IP address')
  .transform((host) => host.replace(/^\[|\]$/g, ''))

/** Schema of text in a SIP header: no control characters, no surrounding white space. */
export const HeaderText = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\p{C}]+$/u, 'must have no control characters')
  .refine((text) => text.trim() === text, 'must have no white space around it')

const Codec = z.enum(CODEC_NAMES)

/** Schema of an address range, converted to its canonical form. */
const Range = z.string().transform((text, context) => {
  const range = parseCidr(text)
  if (range !== null) return range
  context.addIssue({ code: 'custom', message: 'must be an address or a range, for example 203.0.113.0/24' })
  return z.NEVER
})

export const HeaderName = z
  .string()
  .max(64)
  .regex(/^X-[A-Za-z0-9-]+$/, 'must be the name of an X- header')
  .refine((name) => !/^X-Svc-/i.test(name), 'X-Svc- headers are reserved')

const Gateway = z
  .strictObject({
    /** If missing, calls go to where the telephone system registered with the credentials of `inbound`. */
    host: Host.optional(),
    /** Port. Default: 5060, or 5061 with TLS. `srv` means that DNS determines it. */
    port: z.union([z.int().min(1).max(65_535), z.literal('srv')]).optional(),
    transport: z.enum(['udp', 'tcp', 'tls']).default('udp'),
    username: HeaderText.optional(),
    password: HeaderText.optional(),
    /** Domain in From and of the registered account. */
    domain: Host.optional(),
    register: z.boolean().default(false),
    registerSeconds: z.int().min(60).max(86_400).default(600),
    numberFormat: z.enum(NUMBER_FORMATS).default('e164'),
    callerIdPolicy: z.enum(CALLER_ID_POLICIES).default('did'),
    callerId: HeaderText.optional(),
    headers: z.record(HeaderName, HeaderText).default({}),
    /** False for a carrier that never reports the answer. */
    reportsAnswer: z.boolean().default(true),
    ringTimeoutSeconds: z.int().min(5).max(180).default(45),
  })
  .refine((gateway) => (gateway.username === undefined) === (gateway.password === undefined), {
    message: 'username and password go together',
    path: ['password'],
  })
  .refine((gateway) => !gateway.register || gateway.host !== undefined, {
    message: 'registering needs a host',
    path: ['register'],
  })
  .refine((gateway) => !gateway.register || gateway.username !== undefined, {
    message: 'registering needs a username and a password',
    path: ['register'],
  })

const Inbound = z
  .strictObject({
    auth: z.enum(['ip_acl', 'digest', 'both']),
    addresses: z.array(Range).max(64).default([]),
    username: HeaderText.optional(),
    password: HeaderText.optional(),
    realm: HeaderText.transform((realm) => realm.toLowerCase()).default(SERVICE_REALM),
    algorithm: z.enum(['MD5', 'SHA-256']).default('MD5'),
  })
  .refine((inbound) => inbound.auth === 'digest' || inbound.addresses.length > 0, {
    message: 'name at least one address',
    path: ['addresses'],
  })
  .refine((inbound) => inbound.auth === 'ip_acl' || inbound.username !== undefined, {
    message: 'is needed for digest',
    path: ['username'],
  })
  .refine((inbound) => (inbound.username === undefined) === (inbound.password === undefined), {
    message: 'username and password go together',
    path: ['password'],
  })
  .refine((inbound) => inbound.algorithm === 'MD5' || inbound.realm !== SERVICE_REALM, {
    message: `SHA-256 needs a realm of its own: ${SERVICE_REALM} is asked with MD5`,
    path: ['realm'],
  })

const HostedNumber = z.strictObject({
  e164: E164,
  /** Id or name of the agent. If missing, the agent set with the API is kept. */
  agent: HeaderText.optional(),
  label: HeaderText.optional(),
  recordCalls: z.boolean().optional(),
})

const Trunk = z
  .strictObject({
    name: HeaderText.max(80),
    /** Organization of the trunk. Default: the oldest organization. */
    organization: z.string().optional(),
    enabled: z.boolean().default(true),
    /** Carrier whose numbers, of all organizations, use this trunk. */
    carrier: z
      .string()
      .regex(/^[a-z0-9_]{1,40}$/, 'must be the name of a carrier, for example vobiz')
      .optional(),
    gateway: Gateway.optional(),
    inbound: Inbound,
    codecs: z.array(Codec).min(1).default(['PCMA', 'PCMU']),
    srtp: z.enum(['off', 'optional', 'required']).default('optional'),
    maxConcurrent: z.int().min(1).max(10_000).default(10),
    callsPerMinute: z.int().min(1).max(10_000).default(60),
    allowedPrefixes: z
      .array(z.string().regex(/^\+\d{0,15}$/, 'must begin with +'))
      .max(100)
      .default(['+91']),
    numbers: z.array(HostedNumber).max(10_000).default([]),
  })
  .refine(
    ({ gateway, inbound }) =>
      gateway === undefined || gateway.host !== undefined || inbound.auth !== 'ip_acl',
    {
      message: 'is needed, unless the telephone system registers with a password',
      path: ['gateway', 'host'],
    },
  )

const TrunkFile = z.strictObject({ trunks: z.array(Trunk).max(1000) }).superRefine(({ trunks }, context) => {
  unique(
    trunks.map(({ name, organization = '' }) => `${organization} ${name}`),
    (index) => ['trunks', index, 'name'],
  )
  unique(
    trunks.map(({ inbound }) => inbound.username ?? null),
    (index) => ['trunks', index, 'inbound', 'username'],
  )
  const numbers = trunks.flatMap((trunk, index) =>
    trunk.numbers.map(({ e164 }, at) => ({ e164, path: ['trunks', index, 'numbers', at, 'e164'] })),
  )
  unique(
    numbers.map(({ e164 }) => e164),
    (index) => numbers[index]?.path ?? [],
  )

  function unique(values: readonly (string | null)[], path: (index: number) => (string | number)[]): void {
    for (const [index, value] of values.entries()) {
      if (value === null || values.indexOf(value) === index) continue
      context.addIssue({ code: 'custom', message: 'is there twice', path: path(index) })
    }
  }
})

export type TrunkFile = z.output<typeof TrunkFile>
export type FileTrunk = TrunkFile['trunks'][number]

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the trunk file. A string value `env:NAME` is replaced by the environment variable. Throws
 * EngineError `config_invalid` with one line per error, which contains the location in the file and never a
 * secret.
 */
export function readTrunkFile(path: string, environment: Environment): TrunkFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new EngineError('config_invalid', `${path} cannot be read: ${errorText(error)}`, { cause: error })
  }
  return parseTrunkFile(text, path, environment)
}

export function parseTrunkFile(text: string, where: string, environment: Environment): TrunkFile {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // The message of the JSON parser may quote text around the error, such as a password.
    throw new EngineError('config_invalid', `${where} is not JSON`)
  }
  const unset: string[] = []
  const filled = fillIn(json, [], environment, unset)
  if (unset.length > 0)
    throw new EngineError('config_invalid', unset.map((line) => `${where}: ${line}`).join('\n'))
  const parsed = TrunkFile.safeParse(filled)
  if (parsed.success) return parsed.data
  throw invalidTrunkFile(
    where,
    parsed.error.issues.map((issue) => ({ path: issue.path, message: issue.message })),
  )
}

/** Returns an error with the location of each issue in the file. */
export function invalidTrunkFile(
  where: string,
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): EngineError {
  const lines = issues.map(({ path, message }) => `${where}: ${locationOf(path)}: ${message}`)
  return new EngineError('config_invalid', lines.join('\n'))
}

function locationOf(path: readonly PropertyKey[]): string {
  const location = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  return location.replace(/^\./, '') || 'the file'
}

function fillIn(
  value: unknown,
  path: readonly PropertyKey[],
  environment: Environment,
  unset: string[],
): unknown {
  if (typeof value === 'string' && value.startsWith('env:')) {
    const name = value.slice('env:'.length)
    const found = environment[name]
    if (found !== undefined && found !== '') return found
    unset.push(`${locationOf(path)}: the environment variable ${name} is not set`)
    return value
  }
  if (Array.isArray(value)) return value.map((item, at) => fillIn(item, [...path, at], environment, unset))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, fillIn(item, [...path, key], environment, unset)]),
    )
  }
  return value
}
