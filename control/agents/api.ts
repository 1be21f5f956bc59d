import { z } from 'zod'
import type { AgentRow, AgentVersionRow } from '../db/calling-tables.js'
import type { Deps } from '../deps.js'
import { type Actor, listOperation, operation } from '../http/operation.js'
import { isRefusal, type Refusal, refuse } from '../http/problem.js'
import { idParam, openEnum, Timestamp, timestamp } from '../http/schemas.js'
import { AgentConfig, type ConfigPatch, configPatchShape, defaultConfig, readConfig } from './config.js'
import { mergeConfig } from './merge.js'
import { undeclared } from './placeholders.js'
import { catalogueProblem, duplicateName, unsupported } from './rules.js'
import {
  findAgent,
  findVersion,
  createAgent as insertAgent,
  listVersions,
  numbersOf,
  listAgents as pageOfAgents,
  publishDraft,
  updateDraft,
} from './store.js'

const Purpose = openEnum('promotional', 'service', 'transactional', 'collections')
const Name = z.string().min(1).max(80)
const Description = z.string().max(500).nullable()

const Agent = z.object({
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

const AgentVersion = z.object({
  id: z.string(),
  agentId: z.string(),
  version: z.int(),
  note: z.string().nullable(),
  createdAt: Timestamp,
  purpose: Purpose,
  ...AgentConfig.shape,
})

const AgentPath = z.object({ id: idParam('agt') })
const AgentPatch = z
  .strictObject({ name: Name.optional(), description: Description.optional(), ...configPatchShape })
  .refine((body) => Object.keys(body).length > 0, 'must hold at least one field')

/** A PATCH that meets another one is applied to what that left, this often. */
const PATCH_ATTEMPTS = 5

const noAgent = () => refuse('not_found', 'There is no such agent.')
const changedMeanwhile = () =>
  refuse('conflict', 'The agent was changed by another request at the same time; read it and try again.')

export const createAgent = operation({
  id: 'createAgent',
  method: 'post',
  path: '/v1/agents',
  tag: 'Agents',
  summary: 'Create an agent as a draft.',
  audience: 'key',
  scope: 'write',
  body: z.strictObject({ name: Name, description: Description.optional(), ...configPatchShape }),
  status: 201,
  result: Agent,
  fails: ['unprocessable_entity'],
  run: async ({ body, actor, deps }) => {
    const { name, description = null, ...fields } = body
    const config = configured(deps, defaultConfig, fields)
    if (isRefusal(config)) return config
    const row = await insertAgent(
      deps.db,
      { organizationId: actor.organizationId, name, description, config },
      deps.clock.wall(),
    )
    return agentView(row, [])
  },
})

export const listAgents = listOperation({
  id: 'listAgents',
  path: '/v1/agents',
  tag: 'Agents',
  summary: 'List agents, newest first.',
  audience: 'key',
  scope: 'read',
  result: Agent,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await pageOfAgents(deps.db, actor.organizationId, page)
    const numbers = await numbersOf(
      deps.db,
      actor.organizationId,
      actor.environment,
      items.map((row) => row.id),
    )
    return { items: items.map((row) => agentView(row, numbers.get(row.id) ?? [])), next }
  },
})

export const readAgent = operation({
  id: 'readAgent',
  method: 'get',
  path: '/v1/agents/:id',
  tag: 'Agents',
  summary: 'Read an agent with its draft.',
  audience: 'key',
  scope: 'read',
  params: AgentPath,
  status: 200,
  result: Agent,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findAgent(deps.db, actor.organizationId, params.id)
    return row === null ? noAgent() : withNumbers(deps, actor, row)
  },
})

export const updateAgent = operation({
  id: 'updateAgent',
  method: 'patch',
  path: '/v1/agents/:id',
  tag: 'Agents',
  summary: 'Change the draft of an agent; objects merge, arrays are replaced.',
  audience: 'key',
  scope: 'write',
  params: AgentPath,
  body: AgentPatch,
  status: 200,
  result: Agent,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps }) => {
    const { name, description, ...fields } = body
    for (let attempt = 0; attempt < PATCH_ATTEMPTS; attempt++) {
      const seen = await findAgent(deps.db, actor.organizationId, params.id)
      if (seen === null) return noAgent()
      const config = configured(deps, readConfig(seen.draft), fields)
      if (isRefusal(config)) return config
      const change = {
        name: name ?? seen.name,
        description: description === undefined ? seen.description : description,
        config,
      }
      const row = await updateDraft(deps.db, seen, change, deps.clock.wall())
      if (row !== null) return withNumbers(deps, actor, row)
    }
    return changedMeanwhile()
  },
})

export const publishAgent = operation({
  id: 'publishAgent',
  method: 'post',
  path: '/v1/agents/:id/publish',
  tag: 'Agents',
  summary: 'Make the draft the next version, used by the next call.',
  audience: 'key',
  scope: 'write',
  params: AgentPath,
  body: z.strictObject({ note: z.string().max(500).nullable().optional() }).optional(),
  status: 201,
  result: AgentVersion,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps }) => {
    const seen = await findAgent(deps.db, actor.organizationId, params.id)
    if (seen === null) return noAgent()
    if (seen.draftHash === seen.publishedHash) {
      return refuse('conflict', 'There is nothing to publish: the draft is the published version.')
    }
    const problem = publishProblem(deps, readConfig(seen.draft))
    if (problem !== null) return problem
    const now = deps.clock.wall()
    const version = await deps.db
      .transaction()
      .execute((trx) => publishDraft(trx, seen, body?.note ?? null, now))
    return version === null ? changedMeanwhile() : versionView(version)
  },
})

export const listAgentVersions = listOperation({
  id: 'listAgentVersions',
  path: '/v1/agents/:id/versions',
  tag: 'Agents',
  summary: 'List the versions of an agent, newest first.',
  audience: 'key',
  scope: 'read',
  params: AgentPath,
  result: AgentVersion,
  defaultLimit: 50,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    if ((await findAgent(deps.db, actor.organizationId, params.id)) === null) return noAgent()
    const { items, next } = await listVersions(deps.db, actor.organizationId, params.id, page)
    return { items: items.map(versionView), next }
  },
})

export const readAgentVersion = operation({
  id: 'readAgentVersion',
  method: 'get',
  path: '/v1/agents/:id/versions/:version',
  tag: 'Agents',
  summary: 'Read one version of an agent.',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('agt'), version: z.string() }),
  status: 200,
  result: AgentVersion,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const noVersion = () => refuse('not_found', 'There is no such version.')
    // Like a malformed id, anything that is no version number names nothing.
    if (!/^[1-9]\d{0,8}$/.test(params.version)) return noVersion()
    if ((await findAgent(deps.db, actor.organizationId, params.id)) === null) return noVersion()
    const row = await findVersion(deps.db, actor.organizationId, params.id, Number(params.version))
    return row === null ? noVersion() : versionView(row)
  },
})

/** The configuration after a change, or why it cannot be saved. */
function configured(
  deps: Deps,
  base: AgentConfig,
  patch: ConfigPatch,
): AgentConfig | Refusal<'validation_error' | 'unprocessable_entity'> {
  const config = mergeConfig(base, patch)
  const duplicate = duplicateName(config)
  if (duplicate !== null) {
    return refuse('validation_error', 'A field failed validation.', {
      issues: [{ path: duplicate.path, reason: duplicate.message }],
    })
  }
  const problem = catalogueProblem(config, deps.settings.providers) ?? unsupported(config)
  return problem === null ? config : refuse('unprocessable_entity', problem.message, { path: problem.path })
}

/** A draft may be incomplete, a version not. */
function publishProblem(deps: Deps, config: AgentConfig): Refusal<'unprocessable_entity'> | null {
  if (config.systemPrompt.trim() === '') {
    return refuse('unprocessable_entity', 'An agent needs a system prompt.', { path: 'systemPrompt' })
  }
  const unknown = undeclared(config)
  if (unknown !== null) {
    const message = `Undeclared variables: ${unknown.names.join(', ')}.`
    return refuse('unprocessable_entity', message, { path: unknown.path, undeclared: unknown.names })
  }
  // The catalogue may have changed since the draft was saved.
  const problem = catalogueProblem(config, deps.settings.providers)
  return problem === null ? null : refuse('unprocessable_entity', problem.message, { path: problem.path })
}

async function withNumbers(deps: Deps, actor: Actor, row: AgentRow) {
  const numbers = await numbersOf(deps.db, actor.organizationId, actor.environment, [row.id])
  return agentView(row, numbers.get(row.id) ?? [])
}

function agentView(row: AgentRow, numberIds: readonly string[]): z.input<typeof Agent> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    purpose: row.purpose,
    publishedVersion: row.publishedVersion,
    latestVersion: row.latestVersion,
    hasUnpublishedChanges: row.draftHash !== row.publishedHash,
    numberIds: [...numberIds],
    ...readConfig(row.draft),
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
    deletedAt: null,
  }
}

function versionView(row: AgentVersionRow): z.input<typeof AgentVersion> {
  return {
    id: row.id,
    agentId: row.agentId,
    version: row.version,
    note: row.note,
    createdAt: timestamp(row.createdAt),
    purpose: row.purpose,
    ...readConfig(row.config),
  }
}
