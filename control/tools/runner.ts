import type { ToolAction } from '../../media/agent/agent-spec.js'
import {
  type ServiceAnswer,
  type ServiceKind,
  type ServiceTools,
  serviceRequest,
  toolResultText,
} from '../../media/agent/tools/service-tools.js'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { AgentTools } from '../../signalling/call/ports.js'
import type { BaseToSearch, KnowledgeSearch } from '../api/deps.js'
import type { RootKey } from '../base/root-key.js'
import { isBelow } from '../connections/base-url.js'
import { findConnection } from '../connections/store.js'
import type { Db } from '../db/database.js'
import type { Egress } from '../net/egress.js'
import { readSecretFor, type SecretForUrl } from '../secrets/host-store.js'
import { openVault } from '../secrets/vault.js'
import { sendToolRequest } from './send-request.js'

/** Passages that an answer is given. */
const PASSAGES = 4
/** Longest wait for the vector of the caller's words (ms). The settings may set a shorter one. */
const VECTORS_MS = 1500

/** Maximum concurrent requests of a call. An agent has up to 32 tools. */
const MAX_CONCURRENT = 8

const GONE = 'Failed: the credentials of this tool are gone. Nothing was sent.'
const HOST_NOT_ALLOWED =
  'Failed (secret_host_not_allowed): the credentials of this tool may not be sent to its address. Nothing was sent.'

/**
 * Runs the HTTP and preset tools of live calls. Secrets are read for each request, so that changes take
 * effect immediately, and never leave this thread.
 */
export function openAgentTools(deps: {
  readonly db: Db
  readonly rootKey: RootKey
  readonly egress: Egress
  readonly clock: Clock
  readonly log: Log
  readonly services: ServiceTools
  readonly knowledge: KnowledgeSearch
}): AgentTools {
  const { db, egress, clock, log, services, knowledge } = deps
  const vault = openVault(deps.rootKey, 'secret-encryption')
  const running = new Map<string, number>()

  async function send(
    callId: string,
    tool: Parameters<AgentTools['run']>[1],
    args: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const { action } = tool
    if (action.kind === 'knowledge') return await searchKnowledge(callId, action.bases, args)
    if (isService(action)) return await runPreset(callId, action.kind, args)
    if (action.kind !== 'http') return `Failed: ${tool.name} is no request to another system.`
    const { request } = action
    const organizationId = await organizationOf(callId)
    if (organizationId === null) return 'Failed: the call is not known. Nothing was sent.'
    const connection =
      request.connectionId === null ? null : await findConnection(db, organizationId, request.connectionId)
    if (request.connectionId !== null && connection === null) return GONE
    const primaryId = connection?.secretId ?? request.auth?.secretId ?? null
    const [primary, secondary] = [
      await secretOf(primaryId, request.url, organizationId),
      await secretOf(request.auth?.secondary?.secretId ?? null, request.url, organizationId),
    ]
    const outside = connection !== null && !isBelow(request.url, connection.baseUrl)
    if (outside || primary.kind === 'host_not_allowed' || secondary.kind === 'host_not_allowed') {
      log.warn({ callId, tool: tool.name, reason: 'secret_host_not_allowed' }, 'tool.refused')
      return HOST_NOT_ALLOWED
    }
    if (primary.kind === 'missing' || secondary.kind === 'missing') return GONE
    const secrets = { primary: primary.value, secondary: secondary.value }
    const startedAt = clock.now()
    const result = await sendToolRequest({
      egress,
      organizationId,
      clock,
      tool: request,
      args,
      secrets,
    })
    const ms = Math.round(clock.now() - startedAt)
    log.info({ callId, tool: tool.name, ms, failed: result.startsWith('Failed') }, 'tool.finished')
    return result
  }

  /** Returns the passages as JSON (`SearchResultText`), which the conversation reads: by words, or with `vectors`. */
  async function searchKnowledge(
    callId: string,
    bases: readonly BaseToSearch[],
    { query, context, vectors }: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const organizationId = await organizationOf(callId)
    if (organizationId === null) return 'Failed: the call is not known.'
    const question = { text: String(query), context: typeof context === 'string' ? context : '' }
    try {
      const vectorsMs = vectors === true ? VECTORS_MS : 0
      const found = await knowledge.search(organizationId, bases, question, { limit: PASSAGES, vectorsMs })
      const [near, possible] = [found.vectors === 'near', found.vectors === 'possible']
      return JSON.stringify({ passages: found.passages, more: near || possible, near })
    } catch (error) {
      log.error({ callId, error: errorText(error) }, 'knowledge.search_failed')
      return 'Failed: the knowledge could not be searched.'
    }
  }

  async function organizationOf(callId: string): Promise<string | null> {
    const call = await db
      .selectFrom('calls')
      .select('organizationId')
      .where('id', '=', callId)
      .executeTakeFirst()
    return call?.organizationId ?? null
  }

  async function secretOf(
    secretId: string | null,
    url: string,
    organizationId: string,
  ): Promise<SecretForUrl | { readonly kind: 'value'; readonly value: null }> {
    if (secretId === null) return { kind: 'value', value: null }
    return await readSecretFor(db, vault, organizationId, { secretId, url })
  }

  async function runPreset(
    callId: string,
    kind: ServiceKind,
    args: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const request = serviceRequest(kind, args, clock.wall())
    if (typeof request === 'string') return request
    let answer: ServiceAnswer
    try {
      answer = await services.carryOut(callId, request)
    } catch (error) {
      log.error({ callId, preset: kind, error: errorText(error) }, 'preset_tool.failed')
      answer = { status: 'failed' }
    }
    const refusal = answer.status === 'refused' ? answer.refusal : undefined
    log.info({ callId, preset: kind, status: answer.status, refusal }, 'preset_tool.finished')
    return toolResultText(kind, answer)
  }

  return {
    async run(callId, tool, args) {
      const count = running.get(callId) ?? 0
      if (count >= MAX_CONCURRENT) return 'Failed: too many requests are running. Nothing was sent.'
      running.set(callId, count + 1)
      try {
        return await send(callId, tool, args)
      } finally {
        const left = (running.get(callId) ?? 1) - 1
        if (left === 0) running.delete(callId)
        else running.set(callId, left)
      }
    },
  }
}

function isService(action: ToolAction): action is { readonly kind: ServiceKind } {
  return action.kind === 'transfer_call' || action.kind === 'opt_out' || action.kind === 'schedule_callback'
}
