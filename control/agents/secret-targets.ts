import { type Refusal, refuse } from '../api/problem.js'
import { isBelow } from '../connections/base-url.js'
import { findConnections } from '../connections/store.js'
import type { Db, Trx } from '../db/database.js'
import { refusedTarget, type SecretTarget } from '../secrets/host-store.js'
import { hostOf } from '../secrets/hosts.js'
import type { AgentConfig } from './config.js'

type Target = SecretTarget & { readonly path: string }

/** Refuses a configuration with a tool whose URL is outside its connection or the hosts of its secrets. */
export async function targetRefusal(
  db: Db | Trx,
  organizationId: string,
  config: AgentConfig,
): Promise<Refusal<'unprocessable_entity'> | null> {
  const { targets, outside } = await examine(db, organizationId, config)
  if (outside !== null) {
    const message = 'The URL is not below the base URL of the connection. Correct the URL of the tool.'
    return refuse('unprocessable_entity', message, { path: outside })
  }
  const refused = await refusedTarget(db, organizationId, targets)
  if (refused === null) return null
  const message = `${hostOf(refused.url)} is not one of the hosts of the secret. Add it to the secret in the dashboard.`
  return refuse('unprocessable_entity', message, { path: refused.path })
}

/** Returns the URLs that tools send secrets to, with the secrets of their connections. */
export async function secretTargets(
  db: Db | Trx,
  organizationId: string,
  config: AgentConfig,
): Promise<readonly SecretTarget[]> {
  return (await examine(db, organizationId, config)).targets
}

async function examine(
  db: Db | Trx,
  organizationId: string,
  { tools }: AgentConfig,
): Promise<{ readonly targets: readonly Target[]; readonly outside: string | null }> {
  const connectionIds = tools.flatMap(({ connectionId }) => (connectionId === null ? [] : [connectionId]))
  const connections = await findConnections(db, organizationId, connectionIds)
  const targets: Target[] = []
  let outside: string | null = null
  for (const [index, { http, connectionId }] of tools.entries()) {
    if (http === null) continue
    const path = `tools[${index}].http.url`
    const connection = connections.find(({ id }) => id === connectionId)
    if (connection !== undefined && !isBelow(http.url, connection.baseUrl)) outside ??= path
    for (const secretId of [connection?.secretId, http.auth?.secretId, http.auth?.secondary?.secretId]) {
      if (typeof secretId === 'string') targets.push({ secretId, url: http.url, path })
    }
  }
  return { targets, outside }
}
