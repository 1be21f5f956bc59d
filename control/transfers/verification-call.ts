import { errorText } from '../../media/base/errors.js'
import { newId } from '../../media/base/ids.js'
import { EMBEDDED, EMBEDDED_VOICE } from '../../media/vendors/vendor-ids.js'
import { callNeverBegan } from '../../signalling/call/call-events.js'
import { endingOfError } from '../../signalling/call/ending.js'
import type { Deps } from '../api/deps.js'
import { isRefusal, type Refusal, refuse, tooEarly, unavailable } from '../api/problem.js'
import { timestampOrNull } from '../base/schemas.js'
import { storeCallEvent } from '../calls/lifecycle/settle.js'
import { releaseSlot, takeTrunkChannel } from '../calls/placement/call-slots.js'
import { type OutboundRoute, outboundRoute } from '../calls/placement/outbound-route.js'
import { insertCall } from '../calls/store.js'
import { hoursOn, isInside, nextAllowedAt } from '../compliance/calling-hours.js'
import { type Clearance, clearDial } from '../compliance/clearance.js'
import type { NumberRow } from '../db/tables/calling.js'
import { hashCode, newCode, verificationText } from '../destinations/code.js'
import { type Destination, type Owner, statusOf } from '../destinations/store.js'
import {
  storeCode,
  takeVerificationCall,
  verificationCallBudget,
} from '../destinations/verification-store.js'
import { listNumbers } from '../numbers/store.js'
import { recordTrunkUse } from '../trunks/store.js'

/** Longer than the text lasts in any language. */
const MAX_SECONDS = 120
const RING_MS = 30_000
/** Numbers that are tried as caller ID. */
const NUMBERS = 100

/** The last allowed call was taken between the check and the dial. */
class NoCallLeft extends Error {}

/** The calling hours ended between the check and the dial. */
class OutsideHours extends Error {}

/**
 * Calls a destination and says a code, which `confirm` takes. The call costs nothing, takes no slot of an agent and is
 * not recorded. Returns null when it was placed.
 */
export async function placeVerificationCall(
  deps: Deps,
  owner: Owner,
  destination: Destination,
): Promise<Refusal | null> {
  const { db, clock, nodeId, rootKey } = deps
  const { row } = destination
  switch (statusOf(destination)) {
    case 'verified':
      return refuse('conflict', 'The destination is already verified.')
    case 'disabled':
      return refuse('conflict', 'The destination is disabled. Set enabled to true first.')
    case 'pending':
  }
  const { left, nextAt } = await verificationCallBudget(db, owner, row, clock.wall())
  if (left === 0) return exhausted(nextAt - clock.wall())
  if (deps.calls.draining || !deps.calls.connected) {
    return unavailable('No calls can be placed at the moment. Retry in a moment.', { reason: 'not_ready' })
  }
  if (!maySpeak(deps, owner, clock.wall())) return outsideHours(deps, owner)
  const from = await callerOf(deps, owner)
  if (isRefusal(from)) return from
  const { number, route } = from

  const callId = newId('call', clock.wall())
  if (route.trunk !== null) {
    const busy = await takeTrunkChannel(db, route.trunk, { callId, nodeId }, clock.wall())
    if (busy !== null) {
      const message = 'All channels of the SIP trunk are in use. Retry when a call has ended.'
      return refuse('concurrent_call_limit_reached', message, { pool: 'sipTrunk', ...busy })
    }
  }
  const code = newCode(owner.environment)
  const dial = { organizationId: owner.organizationId, callId, from: number.e164 }
  let clearance: Clearance
  try {
    clearance = await clearDial(
      deps,
      {
        ...dial,
        gate: { to: row.e164, environment: owner.environment, purpose: 'service', trigger: 'verification' },
        agentId: null,
        agentVersionId: null,
      },
      async (trx, record, now) => {
        if (!maySpeak(deps, owner, now)) throw new OutsideHours()
        if (!(await takeVerificationCall(trx, owner, row, now))) throw new NoCallLeft()
        await storeCode(trx, owner, row, hashCode(rootKey, row.id, code), now)
        const { trunk } = route
        if (trunk !== null) await recordTrunkUse(trx, trunk, trunk.id, 'outbound', now)
        await insertCall(
          trx,
          {
            ...{ id: callId, organizationId: owner.organizationId, environment: owner.environment },
            ...{ direction: 'outbound', fromNumber: number.e164, toNumber: row.e164, numberId: number.id },
            ...{ agentId: null, agentVersion: null, agentVersionId: null, routingMode: 'svc_agent' },
            ...{ purpose: 'service', nodeId, variables: {}, metadata: {}, idempotencyId: null },
            complianceRunId: record.runId,
            evidenceId: record.evidenceId,
            ratePaisePerMinute: 0,
          },
          now,
        )
      },
    )
  } catch (error) {
    await releaseSlot(db, callId)
    if (error instanceof OutsideHours) return outsideHours(deps, owner)
    if (!(error instanceof NoCallLeft)) throw error
    const budget = await verificationCallBudget(db, owner, row, clock.wall())
    return exhausted(budget.nextAt - clock.wall())
  }
  if (!clearance.cleared) {
    await releaseSlot(db, callId)
    const { code: reason, deciding } = clearance.verdict
    return refuse(reason === 'validation_error' ? 'unprocessable_entity' : reason, deciding.message, {
      checkType: deciding.type,
      runId: clearance.runId,
    })
  }
  const voice = {
    languages: [row.language],
    textToSpeech: { vendor: EMBEDDED, model: null, voice: EMBEDDED_VOICE, pace: 1 },
  }
  try {
    deps.calls.dial(clearance.permit, {
      party: {
        kind: 'speaker',
        voice,
        maxCallSeconds: MAX_SECONDS,
        text: verificationText(row.language, code),
      },
      gateway: route.gateway,
      ringTimeoutMs: Math.min(RING_MS, route.ringTimeoutMs),
      recordTo: null,
    })
  } catch (error) {
    deps.log.error({ callId, error: errorText(error) }, 'call.dial_failed')
    const ended = callNeverBegan(callId, endingOfError(error), clock.wall())
    await db.transaction().execute((trx) => storeCallEvent(trx, deps.policy, ended))
  }
  return null
}

/** Returns the number that calls, and its route: the newest one that can. */
async function callerOf(
  deps: Deps,
  owner: Owner,
): Promise<{ readonly number: NumberRow; readonly route: OutboundRoute } | Refusal> {
  const { items } = await listNumbers(deps.db, owner, {}, { limit: NUMBERS, after: null })
  let reason: Refusal | null = null
  for (const number of items) {
    if (number.status !== 'active') continue
    const route = await outboundRoute(deps, number)
    if (!isRefusal(route)) return { number, route }
    reason ??= route
  }
  return (
    reason ??
    refuse('unprocessable_entity', 'No active number can place the call. Get a number first.', {
      resource: 'number',
    })
  )
}

/** Calling hours. The number may be that of a stranger, so live calls keep the hours of promotional calls. */
const hoursOf = ({ policy }: Deps, { environment }: Owner) =>
  ({ rules: policy.rules.hours, purpose: 'promotional', environment, narrowing: null }) as const

function maySpeak(deps: Deps, owner: Owner, now: number): boolean {
  return owner.environment === 'test' || isInside(hoursOn(hoursOf(deps, owner), now), now)
}

function outsideHours(deps: Deps, owner: Owner): Refusal<'blocked_opt_out'> {
  const next = nextAllowedAt(hoursOf(deps, owner), deps.clock.wall())
  return refuse('blocked_opt_out', 'Verification calls keep the calling hours of promotional calls.', {
    checkType: 'calling_window',
    nextAllowedAt: timestampOrNull(next),
  })
}

function exhausted(ms: number): Refusal<'rate_limited'> {
  const message = 'No verification call is left at the moment. Retry after the time in Retry-After.'
  return tooEarly(message, ms / 1000, { callsLeftToday: 0 })
}
