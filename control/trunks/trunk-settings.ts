import { z } from 'zod'
import { isPublicAddress } from '../../media/base/public-address.js'
import type { CodecName } from '../../media/codec/codec.js'
import { CODEC_NAMES } from '../../media/codec/registry.js'
import { type Cidr, parseCidr } from '../../signalling/trunk/cidr.js'
import { CALLER_ID_POLICIES, NUMBER_FORMATS } from '../../signalling/trunk/number-format.js'
import { type Refusal, refuse } from '../api/problem.js'
import { oneLine } from '../base/schemas.js'
import { HeaderName, HeaderText, HOST } from '../config/trunk-file.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'

/*
 * Settings of a trunk that customers write, and the rules between them.
 */

export const MAX_RANGES = 16
/** Shortest prefixes of address ranges (bits). */
const SHORTEST = { 4: 24, 6: 48 } as const

const Account = oneLine(64).meta({ examples: ['911171366900'] })

const shape = {
  name: oneLine(80),
  inboundAuth: z.enum(['ip_acl', 'digest', 'both']).meta({
    description:
      'How your telephone system proves who it is: by its address, by user name and password, or by both.',
  }),
  ipAcl: z
    .array(z.string().max(50))
    .max(MAX_RANGES)
    .meta({
      description:
        'Public addresses and ranges that your telephone system sends from; at most a /24 (IPv4) or a /48 (IPv6) each.',
      examples: [['198.51.100.7', '2001:db8:5::/48']],
    }),
  callerIdPolicy: z.enum(CALLER_ID_POLICIES),
  codecs: z.array(z.enum(CODEC_NAMES)).min(1).max(CODEC_NAMES.length),
  maxConcurrent: z.int().min(1).max(1000),
  outboundHost: z.string().max(253).regex(HOST, 'must be a host name or an IP address').nullable().meta({
    description:
      'Host of your telephone system or carrier. Null: calls go to where your telephone system is registered.',
  }),
  outboundPort: z.int().min(1).max(65_535),
  outboundTransport: z.enum(['tls', 'tcp', 'udp']),
  outboundNumberFormat: z.enum(NUMBER_FORMATS),
  outboundAuthUsername: Account.nullable(),
  outboundPassword: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[^\p{C}]+$/u, 'must have no control characters')
    .nullable()
    .meta({ writeOnly: true }),
  register: z.boolean().meta({ description: 'The service registers at outboundHost (SIP REGISTER).' }),
  customHeaders: z
    .record(HeaderName, HeaderText)
    .refine((headers) => Object.keys(headers).length <= 20, 'must have at most 20 headers')
    .meta({ maxProperties: 20, description: 'Further X- headers of every call to outboundHost.' }),
}

export const TrunkPatch = z
  .strictObject(shape)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'at least one field is required')
  .meta({ minProperties: 1 })
export type TrunkPatch = z.output<typeof TrunkPatch>

export const NewTrunk = z.strictObject(shape).partial().required({ name: true })
export type NewTrunk = z.output<typeof NewTrunk>

/** Settings of a trunk before the first PATCH. */
export const DEFAULTS = {
  inboundAuth: 'digest',
  ipAcl: '[]',
  callerIdPolicy: 'did',
  codecs: JSON.stringify(['PCMA', 'PCMU'] satisfies CodecName[]),
  maxConcurrent: 10,
  outboundHost: null,
  outboundPort: 5061,
  outboundTransport: 'tls',
  outboundNumberFormat: 'e164',
  outboundAuthUsername: null,
  outboundPassword: null,
  register: 0,
  customHeaders: '{}',
} as const

/** The columns that customers write. `outboundPassword` is in clear here; undefined keeps the stored one. */
export type TrunkColumns = Pick<
  SipTrunkRow,
  | 'inboundAuth'
  | 'callerIdPolicy'
  | 'codecs'
  | 'maxConcurrent'
  | 'outboundHost'
  | 'outboundPort'
  | 'outboundTransport'
  | 'outboundNumberFormat'
  | 'outboundAuthUsername'
  | 'register'
  | 'customHeaders'
>

export interface CheckedSettings {
  readonly columns: TrunkColumns
  readonly ranges: readonly Cidr[]
}

type Stored = TrunkColumns & Pick<SipTrunkRow, 'ipAcl' | 'outboundPassword'>

/**
 * Applies a PATCH to stored settings, and checks the fields that it changes and the rules that depend on them: stored settings
 * may be older than a rule. Without a port in the PATCH, a new transport gets its own port: 5061 for TLS, else 5060.
 */
export function applySettings(
  stored: Stored,
  patch: Partial<TrunkPatch>,
  allowPrivate: boolean,
): CheckedSettings | Refusal<'unprocessable_entity' | 'validation_error'> {
  const known = z.array(z.string()).parse(JSON.parse(stored.ipAcl))
  const { ipAcl: texts = known, inboundAuth = stored.inboundAuth } = patch
  const canonical = (list: readonly string[]) => list.map((text) => parseCidr(text)?.text ?? text).join()
  // Addresses also have to satisfy a new kind of proof.
  const changesProof = canonical(texts) !== canonical(known) || inboundAuth !== stored.inboundAuth
  const ranges = parseRanges(texts, changesProof ? (range) => rangeProblem(range, allowPrivate) : () => null)
  if (!Array.isArray(ranges)) return ranges
  const { outboundHost: host = stored.outboundHost } = patch
  const columns: TrunkColumns = {
    inboundAuth,
    callerIdPolicy: patch.callerIdPolicy ?? stored.callerIdPolicy,
    codecs: patch.codecs === undefined ? stored.codecs : JSON.stringify([...new Set(patch.codecs)]),
    maxConcurrent: patch.maxConcurrent ?? stored.maxConcurrent,
    outboundHost: host?.replace(/^\[|\]$/g, '').toLowerCase() ?? null,
    outboundPort: patch.outboundPort ?? defaultPort(patch) ?? stored.outboundPort,
    outboundTransport: patch.outboundTransport ?? stored.outboundTransport,
    outboundNumberFormat: patch.outboundNumberFormat ?? stored.outboundNumberFormat,
    outboundAuthUsername:
      patch.outboundAuthUsername === undefined ? stored.outboundAuthUsername : patch.outboundAuthUsername,
    register: patch.register === undefined ? stored.register : patch.register ? 1 : 0,
    customHeaders:
      patch.customHeaders === undefined ? stored.customHeaders : JSON.stringify(patch.customHeaders),
  }
  const contradiction = (path: string, message: string) => refuse('unprocessable_entity', message, { path })
  if (changesProof && inboundAuth !== 'digest' && ranges.length === 0) {
    return contradiction('ipAcl', `inboundAuth ${inboundAuth} needs at least one address in ipAcl.`)
  }
  const password = patch.outboundPassword === undefined ? stored.outboundPassword : patch.outboundPassword
  const changesLogin = patch.outboundAuthUsername !== undefined || patch.outboundPassword !== undefined
  if (changesLogin && (columns.outboundAuthUsername === null) !== (password === null)) {
    return contradiction(
      columns.outboundAuthUsername === null ? 'outboundAuthUsername' : 'outboundPassword',
      'outboundAuthUsername and outboundPassword go together. Set both, or clear both.',
    )
  }
  const changesTarget = changesLogin || patch.register !== undefined || patch.outboundHost !== undefined
  if (changesTarget && columns.register === 1 && (columns.outboundHost === null || password === null)) {
    return contradiction(
      'register',
      'Registering needs outboundHost, outboundAuthUsername and outboundPassword.',
    )
  }
  return { columns, ranges }
}

function defaultPort({ outboundTransport }: Partial<TrunkPatch>): number | undefined {
  if (outboundTransport === undefined) return undefined
  return outboundTransport === 'tls' ? 5061 : 5060
}

function parseRanges(
  texts: readonly string[],
  problemOf: (range: Cidr) => string | null,
): Cidr[] | Refusal<'validation_error'> {
  const issues: { path: string; reason: string }[] = []
  const ranges = new Map<string, Cidr>()
  for (const [index, text] of texts.entries()) {
    const range = parseCidr(text)
    const reason = range === null ? 'is not an address or a range such as 198.51.100.0/28' : problemOf(range)
    if (reason !== null) issues.push({ path: `ipAcl[${index}]`, reason })
    else if (range !== null) ranges.set(range.text, range)
  }
  if (issues.length === 0) return [...ranges.values()]
  return refuse('validation_error', 'Some addresses cannot be used. details.issues lists them.', { issues })
}

/** Ranges that the development setting admits besides public ones: loopback, and those of RFC 1918 and RFC 4193. */
const PRIVATE = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
].flatMap((text) => parseCidr(text) ?? [])

/** A range within one /24 or /48 is public if its first and its last address are. */
function rangeProblem({ family, prefix, text, first, last }: Cidr, allowPrivate: boolean): string | null {
  if (prefix < SHORTEST[family]) return `is larger than a /${SHORTEST[family]}`
  if (allowPrivate && PRIVATE.some((range) => range.first <= first && last <= range.last)) return null
  const ends = [text.split('/')[0] ?? '', addressOf(first, family), addressOf(last, family)]
  return ends.every(isPublicAddress) ? null : 'is not a public address'
}

/** Returns the address of a key of `Cidr`. */
function addressOf(key: string, family: 4 | 6): string {
  if (family === 6) return (key.match(/.{4}/g) ?? []).join(':')
  return (key.slice(-8).match(/.{2}/g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.')
}
