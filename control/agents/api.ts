import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { Instant, parseInstant } from '../base/instant.js'
import { idParam, nameText } from '../base/schemas.js'
import { authorOf } from '../compliance/bulk.js'
import { isForeignKeyViolation } from '../db/constraint-error.js'
import { parsedUrl } from '../net/url-form.js'
import { type AgentConfig, type ConfigPatch, configPatchShape, defaultConfig, readConfig } from './config.js'
import { mergeConfig } from './merge.js'
import { noticeWarnings } from './notice.js'
import { publishProblem } from './publishable.js'
import { missingReference, recordUses } from './references.js'
import {
  catalogueProblem,
  duplicateName,
  headerProblem,
  reservedName,
  toolProblem,
  transferProblem,
  unlistedModels,
} from './rules.js'
import { targetRefusal } from './secret-targets.js'
import {
  agentExisted,
  findAgent,
  findVersion,
  createAgent as insertAgent,
  listVersions,
  numbersOf,
  listAgents as pageOfAgents,
  publishDraft,
  updateDraft,
} from './store.js'
import {
  Agent,
  AgentPath,
  AgentVersion,
  agentView,
  changedMeanwhile,
  noAgent,
  versionView,
  withNumbers,
} from './view.js'

const Name = nameText(80)
const Description = z.string().max(500).nullable()

const AgentPatch = z
  .strictObject({ name: Name.optional(), description: Description.optional(), ...configPatchShape })
  .refine((body) => Object.keys(body).length > 0, 'must hold at least one field')
  .meta({ minProperties: 1 })

/** Attempts to apply a PATCH when other requests change the agent at the same time. */
const PATCH_ATTEMPTS = 5

export const createAgent = operation({
  id: 'createAgent',
  method: 'post',
  path: '/v1/agents',
  tag: 'Agents',
  summary: 'Create an agent',
  description: 'The agent starts as a draft.',
  audience: 'key',
  scope: 'write',
  body: z.strictObject({ name: Name, description: Description.optional(), ...configPatchShape }),
  status: 201,
  result: Agent,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ body, actor, deps, requestId }) => {
    const { name, description = null, ...fields } = body
    const { organizationId } = actor
    const { voice } = fields
    // The default language of recognition is that of the agent.
    const sttLanguage = voice?.sttLanguage ?? voice?.languages?.[0]
    const given = sttLanguage === undefined ? fields : { ...fields, voice: { ...voice, sttLanguage } }
    const config = await configured(deps, organizationId, defaultConfig, given)
    if (isRefusal(config)) return config
    const now = deps.clock.wall()
    return guarded(() =>
      deps.db.transaction().execute(async (trx) => {
        const row = await insertAgent(trx, { organizationId, name, description, config }, now)
        await recordUses(trx, row, { actor, requestId, now })
        return agentView(row, [])
      }),
    )
  },
})

export const listAgents = listOperation({
  id: 'listAgents',
  path: '/v1/agents',
  tag: 'Agents',
  summary: 'List agents',
  description: 'Newest first.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({
    search: z.string().trim().min(1).max(80).optional().meta({ description: 'A part of the name.' }),
  }),
  result: Agent,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const { items, next } = await pageOfAgents(deps.db, actor.organizationId, query, page)
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
  summary: 'Get an agent',
  description: 'Includes the draft.',
  audience: 'key',
  scope: 'read',
  params: AgentPath,
  status: 200,
  result: Agent,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findAgent(deps.db, actor.organizationId, params.id)
    return row === null ? noAgent() : withNumbers(deps.db, actor, row)
  },
})

export const updateAgent = operation({
  id: 'updateAgent',
  method: 'patch',
  path: '/v1/agents/:id',
  tag: 'Agents',
  summary: 'Update the draft of an agent',
  description:
    'Objects are merged, arrays are replaced. With `ifUpdatedAt`, the `updatedAt` of the agent that was read, the request fails with `conflict` if the agent was changed since.',
  audience: 'key',
  scope: 'write',
  params: AgentPath,
  query: z.object({ ifUpdatedAt: Instant.optional() }),
  body: AgentPatch,
  status: 200,
  result: Agent,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, query, body, actor, deps, requestId }) => {
    const { name, description, ...fields } = body
    const known = query.ifUpdatedAt === undefined ? null : parseInstant(query.ifUpdatedAt)
    for (let attempt = 0; attempt < PATCH_ATTEMPTS; attempt++) {
      const seen = await findAgent(deps.db, actor.organizationId, params.id)
      if (seen === null) return noAgent()
      if (known !== null && seen.updatedAt !== known) return changedMeanwhile()
      const config = await configured(deps, actor.organizationId, readConfig(seen.draft), fields)
      if (isRefusal(config)) return config
      const change = {
        name: name ?? seen.name,
        description: description === undefined ? seen.description : description,
        config,
      }
      const now = deps.clock.wall()
      const row = await guarded(() =>
        deps.db.transaction().execute(async (trx) => {
          const updated = await updateDraft(trx, seen, change, now)
          if (updated !== null) await recordUses(trx, updated, { actor, requestId, now })
          return updated
        }),
      )
      if (isRefusal(row)) return row
      if (row !== null) return withNumbers(deps.db, actor, row)
    }
    return changedMeanwhile()
  },
})

export const publishAgent = operation({
  id: 'publishAgent',
  method: 'post',
  path: '/v1/agents/:id/publish',
  tag: 'Agents',
  summary: 'Publish the draft of an agent',
  description:
    'The draft becomes the next version, which the next call uses. `warnings` says when live calls are recorded or may be monitored and the agent gives no notice of that.',
  audience: 'key',
  scope: 'write',
  params: AgentPath,
  body: z.strictObject({ note: z.string().max(500).nullable().optional() }).optional(),
  status: 201,
  result: AgentVersion,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const seen = await findAgent(deps.db, actor.organizationId, params.id)
    if (seen === null) return noAgent()
    if (seen.draftHash === seen.publishedHash) {
      return refuse('conflict', 'There is nothing to publish: the draft equals the published version.')
    }
    const config = readConfig(seen.draft)
    const problem = await publishProblem(deps, seen, config)
    if (problem !== null) return problem
    const now = deps.clock.wall()
    return deps.db.transaction().execute(async (trx) => {
      const done = await publishDraft(trx, seen, { note: body?.note ?? null, by: authorOf(actor) }, now)
      if (done === null) return changedMeanwhile()
      await recordUses(trx, done.agent, { actor, requestId, now })
      const { organizationId } = actor
      const warnings = await noticeWarnings(trx, { organizationId, agentId: seen.id }, config)
      return { ...versionView(done.version), warnings }
    })
  },
})

export const listAgentVersions = listOperation({
  id: 'listAgentVersions',
  path: '/v1/agents/:id/versions',
  tag: 'Agents',
  summary: 'List the versions of an agent',
  description: 'Newest first. The versions of a deleted agent are kept.',
  audience: 'key',
  scope: 'read',
  params: AgentPath,
  result: AgentVersion,
  defaultLimit: 50,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    if (!(await agentExisted(deps.db, actor.organizationId, params.id))) return noAgent()
    const { items, next } = await listVersions(deps.db, actor.organizationId, params.id, page)
    return { items: items.map(versionView), next }
  },
})

export const readAgentVersion = operation({
  id: 'readAgentVersion',
  method: 'get',
  path: '/v1/agents/:id/versions/:version',
  tag: 'Agents',
  summary: 'Get a version of an agent',
  description: 'A version never changes. The versions of a deleted agent are kept.',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('agt'), version: z.string().meta({ maxLength: 64 }) }),
  status: 200,
  result: AgentVersion,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const noVersion = () => refuse('not_found', 'The version does not exist.')
    // A path that holds no version number names nothing, like a malformed id.
    if (!/^[1-9]\d{0,8}$/.test(params.version)) return noVersion()
    const row = await findVersion(deps.db, actor.organizationId, params.id, Number(params.version))
    return row === null ? noVersion() : versionView(row)
  },
})

/** Returns the changed configuration, or why it cannot be saved. Resolves the host names of tools' URLs. */
async function configured(
  deps: Deps,
  organizationId: string,
  base: AgentConfig,
  patch: ConfigPatch,
): Promise<AgentConfig | Refusal<'validation_error' | 'unprocessable_entity' | 'not_found'>> {
  const merged = mergeConfig(base, patch)
  const issue =
    duplicateName(merged) ??
    reservedName(merged) ??
    headerProblem(merged) ??
    (patch.tools === undefined ? null : await addressIssue(deps, organizationId, merged))
  if (issue !== null) {
    return refuse('validation_error', 'A field failed validation.', {
      issues: [{ path: issue.path, reason: issue.message }],
    })
  }
  const config = patch.tools === undefined ? merged : withParsedUrls(merged)
  const problem =
    catalogueProblem(config, deps.settings.providers) ?? toolProblem(config) ?? transferProblem(config)
  if (problem !== null) return refuse('unprocessable_entity', problem.message, { path: problem.path })
  for (const unlisted of unlistedModels(config, deps.settings.providers)) {
    deps.log.warn({ organizationId, ...unlisted }, 'agent.unlisted_model')
  }
  const missing = await missingReference(deps.db, organizationId, config)
  if (missing === null) {
    const target = patch.tools === undefined ? null : await targetRefusal(deps.db, organizationId, config)
    return target ?? config
  }
  const { resource, path } = missing
  return refuse('not_found', `The ${resource.replaceAll('_', ' ')} does not exist. Correct ${path}.`, {
    resource,
    path,
  })
}

/** Returns the first tool whose URL is not a public https URL. */
async function addressIssue(
  { egress }: Deps,
  organizationId: string,
  { tools }: AgentConfig,
): Promise<{ readonly path: string; readonly message: string } | null> {
  const urls = [...new Set(tools.flatMap(({ http }) => (http === null ? [] : [http.url])))]
  const problems = new Map(
    await Promise.all(
      urls.map(async (url) => [url, await egress.check(url, 'http', organizationId)] as const),
    ),
  )
  for (const [index, { http }] of tools.entries()) {
    const problem = http === null ? null : (problems.get(http.url) ?? null)
    if (problem !== null) return { path: `tools[${index}].http.url`, message: problem.reason }
  }
  return null
}

function withParsedUrls(config: AgentConfig): AgentConfig {
  const tools = config.tools.map((tool) =>
    tool.http === null ? tool : { ...tool, http: { ...tool.http, url: parsedUrl(tool.http.url) } },
  )
  return { ...config, tools }
}

/** A secret or connection that was deleted after the check is a conflict. */
async function guarded<T>(run: () => Promise<T>): Promise<T | Refusal<'conflict'>> {
  try {
    return await run()
  } catch (error) {
    if (isForeignKeyViolation(error)) return changedMeanwhile()
    throw error
  }
}
