import type { ChangeOf } from '../api/audit.js'
import { recorder } from '../api/audited.js'
import type { Db, Trx } from '../db/database.js'
import type { SecretRow } from '../db/tables/organization.js'
import { coversHost, hostOf } from './hosts.js'
import type { Vault } from './vault.js'

/** A URL that a secret would be sent to. */
export interface SecretTarget {
  readonly secretId: string
  readonly url: string
}

/** The change that makes a secret travel to a host. */
export type SecretChange = ChangeOf & {
  /** Time of the change (Unix ms). */
  readonly now: number
}

export type SecretForUrl =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'host_not_allowed' }

/** Decrypts the value of a secret, for sending it to the URL. Never return it to clients. */
export async function readSecretFor(
  db: Db | Trx,
  vault: Vault,
  organizationId: string,
  { secretId, url }: SecretTarget,
): Promise<SecretForUrl> {
  const row = await db
    .selectFrom('secrets')
    .select(['id', 'sealed', 'keyId', 'hosts'])
    .where('organizationId', '=', organizationId)
    .where('id', '=', secretId)
    .executeTakeFirst()
  if (row === undefined) return { kind: 'missing' }
  if (!(await mayTravel(db, row, hostOf(url)))) return { kind: 'host_not_allowed' }
  return { kind: 'value', value: vault.open(row, row.id) }
}

/** Returns the first target whose host is not allowed for its secret, or null. Unknown secrets are ignored. */
export async function refusedTarget<T extends SecretTarget>(
  db: Db | Trx,
  organizationId: string,
  targets: readonly T[],
): Promise<T | null> {
  if (targets.length === 0) return null
  const rows = await db
    .selectFrom('secrets')
    .select(['id', 'hosts'])
    .where('organizationId', '=', organizationId)
    .where(
      'id',
      'in',
      targets.map(({ secretId }) => secretId),
    )
    .execute()
  for (const target of targets) {
    const row = rows.find(({ id }) => id === target.secretId)
    if (row !== undefined && !(await mayTravel(db, row, hostOf(target.url)))) return target
  }
  return null
}

/**
 * Records the hosts that secrets are sent to, with an audit entry for every pair that is new. Call it in the
 * transaction of the change. Rejects with a foreign key violation if a secret does not exist.
 */
export async function recordTargets(
  trx: Trx,
  targets: readonly SecretTarget[],
  { now, ...change }: SecretChange,
): Promise<void> {
  const pairs = new Map(
    targets.map(({ secretId, url }) => [`${secretId} ${hostOf(url)}`, { secretId, host: hostOf(url) }]),
  )
  // The same order in every transaction: two of them never wait for each other.
  for (const [, { secretId, host }] of [...pairs].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const added = await trx
      .insertInto('secretHosts')
      .values({ secretId, host, inherited: 0, createdAt: now })
      .onConflict((conflict) => conflict.columns(['secretId', 'host']).doNothing())
      .returning('host')
      .executeTakeFirst()
    if (added === undefined) continue
    await recorder(trx, change, now)('secret.host_added', secretId, { after: { host } })
  }
}

/** Returns the hosts that a secret of an earlier release was sent to when the database was migrated. */
export async function inheritedHosts(db: Db | Trx, secretId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('secretHosts')
    .select('host')
    .where('secretId', '=', secretId)
    .where('inherited', '=', 1)
    .orderBy('host')
    .execute()
  return rows.map(({ host }) => host)
}

/** Parses the hosts that a person allowed in a session. */
export function hostsOf({ hosts }: Pick<SecretRow, 'hosts'>): readonly string[] {
  return JSON.parse(hosts) as string[]
}

/** A secret of an earlier release has no hosts until a person sets them. */
async function mayTravel(
  db: Db | Trx,
  secret: Pick<SecretRow, 'id' | 'hosts'>,
  host: string,
): Promise<boolean> {
  const hosts = hostsOf(secret)
  return hosts.length > 0 ? coversHost(hosts, host) : (await inheritedHosts(db, secret.id)).includes(host)
}
