import { type Generated, type Kysely, sql } from 'kysely'

type Environment = 'test' | 'live'

export interface SipTrunkRow {
  readonly id: string
  readonly organizationId: string
  readonly environment: Environment
  readonly name: string
  readonly status: 'pending_verification' | 'active' | 'disabled'
  readonly disabledReason: string | null
  readonly approvedAt: number | null
  readonly allowOrigination: number
  readonly callerIdPolicy: 'did' | 'trunk_default'
  /** The trunk's own number or account name, for `trunk_default`. */
  readonly callerId: string | null
  /** JSON array, preference order. */
  readonly codecs: string
  /** JSON object. */
  readonly customHeaders: string
  /** Unique among all trunks that exist, whoever has them. */
  readonly digestUsername: string | null
  /** Sealed; bound to the trunk's id. */
  readonly digestPassword: string | null
  readonly digestAlgorithm: 'MD5' | 'SHA-256'
  /** Lower case. */
  readonly realm: string
  readonly inboundAuth: 'ip_acl' | 'digest' | 'both'
  /** JSON array of canonical ranges, as `sipTrunkRanges` has them to search in. */
  readonly ipAcl: string
  readonly lastInboundAt: number | null
  readonly lastOutboundAt: number | null
  /** JSON object; null before the first test. */
  readonly lastProbe: string | null
  readonly maxConcurrent: number
  readonly callsPerMinute: number
  /** JSON array of the beginnings of numbers that may be dialled. */
  readonly allowedPrefixes: string
  readonly outboundAuthUsername: string | null
  /** Sealed; bound to the trunk's id. */
  readonly outboundPassword: string | null
  readonly outboundHost: string | null
  /** 0: none is named, DNS tells it. */
  readonly outboundPort: number
  readonly outboundTransport: 'udp' | 'tcp' | 'tls'
  readonly outboundNumberFormat: 'e164' | 'national' | 'national0'
  /** Domain of From and of the registered account; null is our own address, or the host. */
  readonly outboundDomain: string | null
  readonly ringTimeoutMs: number
  /** Whether media is protected (RFC 4568). */
  readonly srtp: 'off' | 'optional' | 'required'
  readonly register: number
  readonly registerSeconds: number
  /** `file`: kept by the operator's trunk file. */
  readonly source: 'api' | 'file'
  readonly createdAt: number
  readonly updatedAt: number
  readonly deletedAt: number | null
}

/** The address ranges of a trunk, in the order of `signalling/trunk/cidr.ts` keys. */
export interface SipTrunkRangeRow {
  readonly trunkId: string
  readonly first: string
  readonly last: string
  readonly prefix: number
}

export interface TrunkTables {
  sipTrunks: Omit<SipTrunkRow, 'srtp'> & { readonly srtp: Generated<SipTrunkRow['srtp']> }
  sipTrunkRanges: SipTrunkRangeRow
}

/** Migration 0006: trunks, their address ranges, and the trunk a number is on. */
export async function createTrunkTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('sipTrunks')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('disabledReason', 'text')
    .addColumn('approvedAt', 'bigint')
    .addColumn('allowOrigination', 'integer', (c) => c.notNull())
    .addColumn('callerIdPolicy', 'text', (c) => c.notNull())
    .addColumn('callerId', 'text')
    .addColumn('codecs', 'text', (c) => c.notNull())
    .addColumn('customHeaders', 'text', (c) => c.notNull())
    .addColumn('digestUsername', 'text')
    .addColumn('digestPassword', 'text')
    .addColumn('digestAlgorithm', 'text', (c) => c.notNull())
    .addColumn('realm', 'text', (c) => c.notNull())
    .addColumn('inboundAuth', 'text', (c) => c.notNull())
    .addColumn('ipAcl', 'text', (c) => c.notNull())
    .addColumn('lastInboundAt', 'bigint')
    .addColumn('lastOutboundAt', 'bigint')
    .addColumn('lastProbe', 'text')
    .addColumn('maxConcurrent', 'integer', (c) => c.notNull())
    .addColumn('callsPerMinute', 'integer', (c) => c.notNull())
    .addColumn('allowedPrefixes', 'text', (c) => c.notNull())
    .addColumn('outboundAuthUsername', 'text')
    .addColumn('outboundPassword', 'text')
    .addColumn('outboundHost', 'text')
    .addColumn('outboundPort', 'integer', (c) => c.notNull())
    .addColumn('outboundTransport', 'text', (c) => c.notNull())
    .addColumn('outboundNumberFormat', 'text', (c) => c.notNull())
    .addColumn('outboundDomain', 'text')
    .addColumn('ringTimeoutMs', 'integer', (c) => c.notNull())
    .addColumn('register', 'integer', (c) => c.notNull())
    .addColumn('registerSeconds', 'integer', (c) => c.notNull())
    .addColumn('source', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addColumn('deletedAt', 'bigint')
    .execute()
  await schema
    .createIndex('sipTrunksUsername')
    .unique()
    .on('sipTrunks')
    .column('digestUsername')
    .where(sql.ref('deletedAt'), 'is', null)
    .execute()
  await schema
    .createIndex('sipTrunksOfFile')
    .unique()
    .on('sipTrunks')
    .columns(['organizationId', 'source', 'name'])
    .where('source', '=', 'file')
    .execute()
  await schema.createIndex('sipTrunksRealm').on('sipTrunks').column('realm').execute()
  await schema
    .createIndex('sipTrunksList')
    .on('sipTrunks')
    .columns(['organizationId', 'environment', 'createdAt', 'id'])
    .execute()
  await schema
    .createTable('sipTrunkRanges')
    .addColumn('trunkId', 'text', (c) => c.notNull().references('sipTrunks.id'))
    .addColumn('first', 'text', (c) => c.notNull())
    .addColumn('last', 'text', (c) => c.notNull())
    .addColumn('prefix', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('sipTrunkRangesKey', ['trunkId', 'first', 'last'])
    .execute()
  await schema.createIndex('sipTrunkRangesOrder').on('sipTrunkRanges').columns(['first', 'last']).execute()
  await schema
    .alterTable('numbers')
    .addColumn('sipTrunkId', 'text', (c) => c.references('sipTrunks.id'))
    .execute()
  await schema.createIndex('numbersOfTrunk').on('numbers').column('sipTrunkId').execute()
}

/** Whether the media of a trunk is protected. */
export async function addTrunkSrtp({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('sipTrunks')
    .addColumn('srtp', 'text', (c) => c.notNull().defaultTo('optional'))
    .execute()
}
