import { errorText } from '../../../media/base/errors.js'
import { isId, newId } from '../../../media/base/ids.js'
import { callNeverBegan } from '../../../signalling/call/call-events.js'
import { endingOfError } from '../../../signalling/call/ending.js'
import { isAllowedNumber } from '../../../signalling/trunk/trunk-limiter.js'
import { environmentProblem } from '../../agents/live-models.js'
import { findAgentVersion } from '../../agents/store.js'
import type { Deps } from '../../api/deps.js'
import { isRefusal, type Refusal, refuse, unavailable } from '../../api/problem.js'
import { timestampOrNull } from '../../base/schemas.js'
import { type Clearance, clearDial } from '../../compliance/clearance.js'
import type { Trx } from '../../db/database.js'
import type { CallRow, NumberRow } from '../../db/tables/calling.js'
import { loadAgentKnowledge } from '../../knowledge/agent-knowledge.js'
import { namedNumber } from '../../numbers/named-number.js'
import type { Owner } from '../../numbers/store.js'
import { recordTrunkUse } from '../../trunks/store.js'
import { recordingPath, recordingsFolder, storeCallEvent } from '../lifecycle/settle.js'
import { type CallWithParts, findCall, findPlacedCall, insertCall, rateFor } from '../store.js'
import { type CallTerms, readCallTerms, releaseSlot, type SlotPool, takeSlots } from './call-slots.js'
import { type OutboundRoute, outboundRoute } from './outbound-route.js'
import { agentPartySpec, botPartySpec, type PartySpec } from './party-spec.js'

/** Precision of the last use of a trunk (ms). */
const TRUNK_USE_MS = 1_000

export type PlacementDeps = Pick<
  Deps,
  | 'calls'
  | 'clock'
  | 'db'
  | 'dndService'
  | 'egress'
  | 'log'
  | 'nodeId'
  | 'permits'
  | 'policy'
  | 'rootKey'
  | 'sandboxGateway'
  | 'settings'
>

export interface Placement {
  readonly to: string
  readonly numberId: string
  /** Null uses the number's agent. */
  readonly agentId: string | null
  readonly variables: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  /** The same for every retry of one request, so that the request places one call only. */
  readonly idempotencyId: string | null
  /** Purpose of the call, if it is not placed for a request. */
  readonly origin?: CallOrigin
}

/** An attempt of a campaign, or a scheduled callback. */
export interface CallOrigin {
  readonly trigger: 'campaign' | 'callback'
  readonly campaignId: string | null
  readonly recipientId: string | null
  readonly callbackId: string | null
  /** Version of the agent that carries the call. Null uses the published one. */
  readonly agentVersion: number | null
  /** Tells whether the campaign or the callback allows the dial at a time (Unix ms). The gate checks the law only. */
  isOpen(now: number): boolean
  /** Runs in the transaction that makes the call. If it throws, there is no call. */
  bind(trx: Trx, callId: string, now: number): Promise<void>
}

interface CallTarget {
  readonly number: NumberRow
  readonly party: PartySpec
}

/** Places an outbound call with `dialCall` and returns it as it is stored. */
export async function placeCall(
  deps: PlacementDeps,
  owner: Owner,
  placement: Placement,
): Promise<CallWithParts | Refusal> {
  const placed = await dialCall(deps, owner, placement)
  if (isRefusal(placed)) return placed
  const call = await findCall(deps.db, owner, placed.id)
  // The call's row was committed and is never deleted.
  return call ?? refuse('internal_error', 'The call was placed but cannot be read.')
}

/**
 * Places an outbound call. This is the only function that originates calls. It looks up what the request
 * names, checks the state, reserves a concurrency slot (and a channel of the number's trunk), passes the
 * compliance gate, stores the call with its event, and dials. A refusal releases the slot. A refusal by the
 * gate keeps its rows and its sealed record.
 */
export async function dialCall(
  deps: PlacementDeps,
  owner: Owner,
  placement: Placement,
): Promise<Pick<CallRow, 'id'> | Refusal> {
  const placed = await alreadyPlaced(deps, owner, placement)
  if (placed !== null) return placed

  const terms = await readCallTerms(deps.db, owner)
  const target = await lookUp(deps, owner, placement, terms)
  if (isRefusal(target)) return target
  const { number, party } = target
  const route = await outboundRoute(deps, number)
  if (isRefusal(route)) return route
  const limits = route.gateway.trunk?.limits
  if (limits !== undefined && !isAllowedNumber(limits, placement.to)) {
    return refuse(
      'unprocessable_entity',
      'The SIP trunk of the number may not dial numbers with this prefix.',
      {
        path: 'to',
        reason: 'trunk_prefix',
      },
    )
  }

  if (deps.calls.draining)
    return unavailable('The service is shutting down and accepts no new calls.', { reason: 'draining' })
  if (!deps.calls.connected)
    return unavailable('The SIP server is not connected. Retry in a moment.', { reason: 'no_sip_server' })

  const callId = newId('call', deps.clock.wall())
  const full = await reserveSlots(deps, owner, terms, party.pool, route, callId)
  if (full !== null) return full
  const clearance = await clear(deps, owner, placement, terms, target, route, callId).catch(
    async (error: unknown) => {
      await releaseSlot(deps.db, callId)
      // Another process may have completed a retry of the same request meanwhile.
      const retried = await alreadyPlaced(deps, owner, placement)
      if (retried !== null) return retried
      throw error
    },
  )
  if (!('cleared' in clearance)) return clearance
  if (!clearance.cleared) {
    await releaseSlot(deps.db, callId)
    return blocked(clearance)
  }

  const folder = recordingsFolder(deps.settings.dataFolder)
  try {
    deps.calls.dial(clearance.permit, {
      party: party.forCall(callId),
      gateway: route.gateway,
      ringTimeoutMs: route.ringTimeoutMs,
      recordTo: number.recordCalls === 1 ? recordingPath(folder, callId) : null,
    })
  } catch (error) {
    deps.log.error({ callId, error: errorText(error) }, 'call.dial_failed')
    await deps.db
      .transaction()
      .execute((trx) =>
        storeCallEvent(trx, deps.policy, callNeverBegan(callId, endingOfError(error), deps.clock.wall())),
      )
  }
  return { id: callId }
}

function alreadyPlaced(
  deps: PlacementDeps,
  owner: Owner,
  { idempotencyId }: Placement,
): Promise<CallWithParts | null> {
  return idempotencyId === null ? Promise.resolve(null) : findPlacedCall(deps.db, owner, idempotencyId)
}

/** Looks up what the request names and checks that it can make calls. */
async function lookUp(
  deps: PlacementDeps,
  owner: Owner,
  placement: Placement,
  { monitoring }: CallTerms,
): Promise<CallTarget | Refusal> {
  const { db } = deps
  const missing = (resource: string, path: string) =>
    refuse('not_found', `The ${resource} does not exist. Correct ${path}.`, { resource, path })
  const contradiction = (message: string, path: string) => refuse('unprocessable_entity', message, { path })

  const number = await namedNumber(db, owner, placement.numberId)
  if (isRefusal(number)) return number
  if (number.e164 === placement.to)
    return contradiction('A number cannot call itself. Correct to or numberId.', 'to')
  const numbers = { direction: 'outbound', from: number.e164, to: placement.to } as const
  if (number.routingMode === 'byo_ws') {
    if (placement.agentId !== null) {
      return contradiction('The number is routed to a media endpoint and has no agent.', 'agentId')
    }
    if (number.status !== 'active')
      return contradiction('The number is not active. Use another number.', 'numberId')
    const party = await botPartySpec(
      { ...deps, providers: deps.settings.providers },
      number,
      numbers,
      placement.variables,
    )
    if (party === 'no_endpoint')
      return contradiction(
        'The number has no media endpoint. Set mediaEndpoint of the number first.',
        'numberId',
      )
    if (party === 'no_variables') {
      return contradiction('Bots of this type do not accept variables.', 'variables')
    }
    if (party === 'no_semicolons') {
      return contradiction('Variables for this bot type must not contain ";", nor "=" in names.', 'variables')
    }
    if (party === 'secret_host_not_allowed') {
      return contradiction(
        'The secret of the media endpoint may not be sent to the host of its URL. Add the host to the secret.',
        'numberId',
      )
    }
    if (party === 'no_classification') {
      return contradiction('Set the sender classification of the organization first.', 'numberId')
    }
    return { number, party }
  }
  const agentId = placement.agentId ?? number.agentId
  if (agentId === null) {
    return contradiction('The number has no agent. Set agentId, or bind an agent to the number.', 'agentId')
  }
  const wanted = placement.origin?.agentVersion ?? null
  const agent = isId('agt', agentId)
    ? await findAgentVersion(db, owner.organizationId, agentId, wanted)
    : null
  if (agent === null) return missing('agent', placement.agentId === null ? 'numberId' : 'agentId')
  if (number.status !== 'active')
    return contradiction('The number is not active. Use another number.', 'numberId')
  if (number.routingMode !== 'svc_agent') {
    return contradiction(
      'The number is not routed to an agent. Set routingMode of the number to svc_agent.',
      'numberId',
    )
  }
  const { name, version } = agent
  if (version === null)
    return contradiction('The agent has no published version. Publish it first.', 'agentId')
  const problem = environmentProblem(owner.environment, version)
  if (problem !== null) return contradiction(problem.message, 'agentId')
  const knowledge = await loadAgentKnowledge(db, version)
  if (knowledge.notReady.length > 0) {
    return refuse(
      'knowledge_base_not_ready',
      'A knowledge base of the agent has not been built yet. Build it first.',
      {
        knowledgeBaseIds: knowledge.notReady,
      },
    )
  }
  const party = await agentPartySpec(
    db,
    owner.environment,
    { agent: { id: agentId, name }, version },
    numbers,
    {
      recorded: number.recordCalls === 1,
      monitoring,
      variables: placement.variables,
      knowledge,
      providers: deps.settings.providers,
      now: deps.clock.wall(),
    },
  )
  if (party === null) {
    return contradiction('A voice or model of the published version is no longer available.', 'agentId')
  }
  const { missing: unset } = party
  if (unset.length > 0) {
    return refuse('missing_variables', `Values are missing for: ${unset.join(', ')}.`, { missing: unset })
  }
  return { number, party }
}

/** Reserves a slot of the pool and, over a trunk, one of its channels, which inbound calls share. */
async function reserveSlots(
  deps: PlacementDeps,
  owner: Owner,
  { limits }: CallTerms,
  pool: SlotPool,
  { trunk }: OutboundRoute,
  callId: string,
): Promise<Refusal<'concurrent_call_limit_reached'> | null> {
  const { db, clock, nodeId } = deps
  const holder = { callId, nodeId }
  const none = await takeSlots(db, owner, pool, limits[pool], trunk, holder, clock.wall())
  if (none === null) return null
  const what = pool === 'agentCalls' ? 'agent calls' : 'calls with media endpoints'
  const message =
    none.full === 'sipTrunk'
      ? 'All channels of the SIP trunk are in use. Retry when a call has ended.'
      : `The limit of concurrent ${what} is reached.`
  return refuse('concurrent_call_limit_reached', message, { pool: none.full, ...none.use })
}

function clear(
  deps: PlacementDeps,
  owner: Owner,
  placement: Placement,
  { agreedPaise }: CallTerms,
  { number, party }: CallTarget,
  { trunk }: OutboundRoute,
  callId: string,
): Promise<Clearance> {
  const { row, purpose } = party
  const { origin } = placement
  const { trigger = party.trigger, campaignId = null, recipientId = null, callbackId = null } = origin ?? {}
  return clearDial(
    deps,
    {
      organizationId: owner.organizationId,
      callId,
      from: number.e164,
      gate: {
        to: placement.to,
        environment: owner.environment,
        purpose,
        trigger,
        campaignId,
        recipientId,
      },
      agentId: row.agentId,
      agentVersionId: row.agentVersionId,
      paid: true,
      ...(origin === undefined ? {} : { isOpen: (now) => origin.isOpen(now) }),
    },
    async (trx, record, now) => {
      // The calls of a busy trunk would wait for its row.
      if (trunk !== null && now - (trunk.lastOutboundAt ?? 0) >= TRUNK_USE_MS) {
        await recordTrunkUse(trx, trunk, trunk.id, 'outbound', now)
      }
      await insertCall(
        trx,
        {
          id: callId,
          organizationId: owner.organizationId,
          environment: owner.environment,
          direction: 'outbound',
          fromNumber: number.e164,
          toNumber: placement.to,
          numberId: number.id,
          ...row,
          purpose,
          nodeId: deps.nodeId,
          variables: placement.variables,
          metadata: placement.metadata,
          complianceRunId: record.runId,
          evidenceId: record.evidenceId,
          idempotencyId: placement.idempotencyId,
          ratePaisePerMinute: rateFor(row.routingMode, number, agreedPaise),
          campaignId,
          recipientId,
          callbackId,
          // Committed before the first byte of the INVITE. After a crash in between, an attempt may have had no dial, but never two.
          sentAt: origin === undefined ? null : now,
        },
        now,
      )
      await origin?.bind(trx, callId, now)
    },
  )
}

function blocked({ runId, verdict }: Clearance & { readonly cleared: false }): Refusal {
  const { code, deciding } = verdict
  if (code === 'validation_error') {
    return refuse(code, deciding.message, { issues: [{ path: 'to', reason: deciding.message }] })
  }
  return refuse(code, deciding.message, {
    checkType: deciding.type,
    reason: deciding.reason,
    // The balance and what a call needs.
    ...(code === 'insufficient_funds' ? deciding.details : {}),
    runId,
    nextAllowedAt: timestampOrNull(verdict.nextAllowedAt),
  })
}
