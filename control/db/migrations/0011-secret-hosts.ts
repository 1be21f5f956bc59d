import type { Kysely } from 'kysely'

/**
 * Migration 0011: the hosts that a secret may be sent to, and the hosts that it was sent to. Secrets of earlier
 * releases have no hosts; they keep working where agents, numbers and connections send them today.
 */
export async function createSecretHosts(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('secrets')
    .addColumn('hosts', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute()
  await schema
    .createTable('secretHosts')
    .addColumn('secretId', 'text', (c) => c.notNull().references('secrets.id').onDelete('cascade'))
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('inherited', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('secretHostsKey', ['secretId', 'host'])
    .execute()
  await keepPairs(db as Kysely<Earlier>)
}

/** The columns that this migration reads and writes. */
interface Earlier {
  readonly secretHosts: { secretId: string; host: string; inherited: number; createdAt: number }
  readonly connections: { secretId: string | null; baseUrl: string }
  readonly numbers: { mediaEndpoint: string | null; releasedAt: number | null }
  readonly secretUses: { secretId: string; usedByType: string; usedById: string }
  readonly agents: { id: string; draft: string; publishedVersion: number | null; deletedAt: number | null }
  readonly agentVersions: { agentId: string; version: number; config: string }
}

type Auth = {
  readonly secretId?: unknown
  readonly secondary?: { readonly secretId?: unknown } | null
} | null

async function keepPairs(db: Kysely<Earlier>): Promise<void> {
  const uses = await db.selectFrom('secretUses').select(['secretId', 'usedByType', 'usedById']).execute()
  const used = new Set(uses.map(({ secretId }) => secretId))
  const pairs = new Map<string, { secretId: string; host: string }>()
  const keep = (secretId: unknown, url: unknown): void => {
    if (typeof secretId !== 'string' || typeof url !== 'string' || !URL.canParse(url)) return
    const host = new URL(url).hostname.toLowerCase().replace(/\.$/, '')
    pairs.set(`${secretId} ${host}`, { secretId, host })
  }
  for (const { secretId, baseUrl } of await db
    .selectFrom('connections')
    .select(['secretId', 'baseUrl'])
    .execute()) {
    keep(secretId, baseUrl)
  }
  const keepUsed = (secretId: unknown, url: unknown): void => {
    // A use without a row names a secret of no organization or of another one.
    if (typeof secretId === 'string' && used.has(secretId)) keep(secretId, url)
  }
  for (const { mediaEndpoint } of await db
    .selectFrom('numbers')
    .select('mediaEndpoint')
    .where('mediaEndpoint', 'is not', null)
    .where('releasedAt', 'is', null)
    .execute()) {
    const endpoint = JSON.parse(mediaEndpoint ?? '{}') as { authSecretId?: unknown; url?: unknown }
    keepUsed(endpoint.authSecretId, endpoint.url)
  }
  const agentIds = new Set(uses.flatMap((use) => (use.usedByType === 'agent' ? [use.usedById] : [])))
  for (const id of agentIds) {
    for (const config of await configurations(db, id)) {
      const { tools = [] } = JSON.parse(config) as {
        tools?: readonly { http?: { url?: unknown; auth?: Auth } | null }[]
      }
      for (const { http } of tools) {
        keepUsed(http?.auth?.secretId, http?.url)
        keepUsed(http?.auth?.secondary?.secretId, http?.url)
      }
    }
  }
  const createdAt = Date.now()
  for (const pair of pairs.values()) {
    await db
      .insertInto('secretHosts')
      .values({ ...pair, inherited: 1, createdAt })
      .execute()
  }
}

/** Returns the draft and the published version of an agent. */
async function configurations(db: Kysely<Earlier>, id: string): Promise<readonly string[]> {
  const agent = await db
    .selectFrom('agents')
    .select(['draft', 'publishedVersion'])
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
  if (agent === undefined) return []
  if (agent.publishedVersion === null) return [agent.draft]
  const version = await db
    .selectFrom('agentVersions')
    .select('config')
    .where('agentId', '=', id)
    .where('version', '=', agent.publishedVersion)
    .executeTakeFirst()
  return version === undefined ? [agent.draft] : [agent.draft, version.config]
}
