import { z } from 'zod'
import type { Actor } from '../api/actor.js'
import { refuse } from '../api/problem.js'
import { idParam, openEnum, Timestamp, timestamp } from '../base/schemas.js'
import type { Db, Trx } from '../db/database.js'
import type { AgentRow, AgentVersionRow } from '../db/tables/calling.js'
import { readDelivery } from '../knowledge/delivery.js'
import { AgentConfig, readConfig } from './config.js'
import { numbersOf } from './store.js'

const Purpose = openEnum('promotional', 'service', 'transactional', 'collections')

export const Agent = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  purpose: Purpose,
  publishedVersion: z.int().nullable(),
  latestVersion: z.int().nullable(),
  hasUnpublishedChanges: z.boolean(),
  numberIds: z.array(z.string()),
  ...AgentConfig.shape,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  deletedAt: Timestamp.nullable(),
})

export const AgentVersion = z.object({
  id: z.string(),
  agentId: z.string(),
  version: z.int(),
  note: z.string().nullable(),
  createdAt: Timestamp,
  createdBy: z
    .object({ type: openEnum('user', 'key'), id: z.string() })
    .nullable()
    .meta({ description: 'Who published the version. Null for versions of earlier releases.' }),
  purpose: Purpose,
  knowledge: z
    .array(
      z.object({
        id: z.string(),
        buildId: z.string().nullable(),
        mode: openEnum('inline', 'search').nullable(),
      }),
    )
    .meta({ description: 'How each knowledge base was delivered when the version was published.' }),
  ...AgentConfig.shape,
  warnings: z
    .array(z.object({ code: openEnum('recording_notice_missing'), path: z.string(), message: z.string() }))
    .optional()
    .meta({ description: 'In the answer to a publication only.' }),
})

export const AgentPath = z.object({ id: idParam('agt') })

export const noAgent = () => refuse('not_found', 'The agent does not exist.')
export const changedMeanwhile = () =>
  refuse('conflict', 'Another request changed the agent at the same time. Read it and try again.')

/** Returns an agent with the numbers that it answers in the actor's environment. */
export async function withNumbers(db: Db | Trx, actor: Actor, row: AgentRow): Promise<z.input<typeof Agent>> {
  const numbers = await numbersOf(db, actor.organizationId, actor.environment, [row.id])
  return agentView(row, numbers.get(row.id) ?? [])
}

/** Returns a configuration as the API shows it: a tool without a mock has one that is off. */
function shownConfig(config: AgentConfig): AgentConfig {
  const tools = config.tools.map((tool) => ({ ...tool, mock: tool.mock ?? { enabled: false, response: '' } }))
  return { ...config, tools }
}

export function agentView(row: AgentRow, numberIds: readonly string[]): z.input<typeof Agent> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    purpose: row.purpose,
    publishedVersion: row.publishedVersion,
    latestVersion: row.latestVersion,
    hasUnpublishedChanges: row.draftHash !== row.publishedHash,
    numberIds: [...numberIds],
    ...shownConfig(readConfig(row.draft)),
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
    deletedAt: null,
  }
}

export function versionView(row: AgentVersionRow): z.input<typeof AgentVersion> {
  return {
    id: row.id,
    agentId: row.agentId,
    version: row.version,
    note: row.note,
    createdAt: timestamp(row.createdAt),
    createdBy:
      row.createdByType === null || row.createdById === null
        ? null
        : { type: row.createdByType, id: row.createdById },
    purpose: row.purpose,
    knowledge: [...readDelivery(row.knowledge)],
    ...shownConfig(readConfig(row.config)),
  }
}
