import { errorText } from '../../media/base/errors.js'
import type { Deps } from '../api/deps.js'
import { isRefusal } from '../api/problem.js'
import { dialCall } from '../calls/placement/place-call.js'
import { isUniqueViolation } from '../db/constraint-error.js'
import type { CampaignRow, PausedReason } from '../db/tables/campaigns.js'
import {
  AttemptLostError,
  bindAttempt,
  type Claim,
  claimRecipient,
  excludeRecipient,
  releaseClaim,
  releaseUndone,
} from '../recipients/attempts.js'
import { busyUntil } from '../recipients/person.js'
import { type Route, takeRouteTurn } from '../recipients/route-pace.js'
import { refusedDial } from './dial-outcome.js'
import { nextOpening } from './dial-window.js'
import type { CampaignState, Dial } from './dialler.js'

/** Recipients that one right to dial may pass over because they cannot be called. */
const MAX_PASSED = 50
/** Wait after an error or a limit (ms). */
const SOON_MS = 1_000

export interface DialContext {
  readonly deps: Deps
  /** Owner of the claims: this run of the job. */
  readonly claimedBy: string
  readonly campaign: CampaignRow
  readonly state: CampaignState
  readonly route: Route
}

/** Result of the right to dial. `empty`: no recipient is due. */
export type DialResult =
  | { readonly kind: 'placed' | 'empty' | 'lost' | 'wait' }
  | { readonly kind: 'pause'; readonly reason: PausedReason }

/**
 * Uses one right to dial: takes the turn and claims a recipient in one transaction, then places the call. The
 * transaction of the call makes the claim an attempt. A crash in between leaves a claim that ends by itself.
 */
export async function dialOnce(context: DialContext, dial: Dial): Promise<DialResult> {
  const { deps, claimedBy, campaign } = context
  let now = deps.clock.wall()
  let claim = await takeTurn(context, dial, now)
  if (claim === 'lost') return { kind: 'lost' }
  for (let passed = 0; claim !== null && passed < MAX_PASSED; passed++) {
    const result = await placeAttempt(context, claim)
    if (result !== 'passed') return result
    now = deps.clock.wall()
    claim = await claimRecipient(deps.db, campaign, claimedBy, now)
  }
  return { kind: 'empty' }
}

/**
 * Takes the turn of the campaign and of the route and claims a recipient, in one transaction. `lost`: another process, or
 * another campaign on the route, perhaps of another organization, has the turn, and this one still has its own.
 */
async function takeTurn(
  { deps, claimedBy, campaign, route }: DialContext,
  dial: Dial,
  now: number,
): Promise<Claim | null | 'lost'> {
  try {
    return await deps.db.transaction().execute(async (trx) => {
      const turn = await trx
        .updateTable('campaigns')
        // A dial that comes late moves the next one of its campaign: unused pace is never made up for.
        .set({ nextDialAt: dial.nextDialAt + Math.max(0, now - dial.at) })
        .where('id', '=', campaign.id)
        .where('status', '=', 'running')
        .where('nextDialAt', '=', campaign.nextDialAt)
        .returning(['id', 'uploaded'])
        .executeTakeFirst()
      if (turn === undefined) throw new TurnLostError()
      const { nextRouteDialAt } = dial
      if (nextRouteDialAt > now && !(await takeRouteTurn(trx, route, nextRouteDialAt, now))) {
        throw new TurnLostError()
      }
      return await claimRecipient(trx, turn, claimedBy, now)
    })
  } catch (error) {
    if (error instanceof TurnLostError) return 'lost'
    throw error
  }
}

/** The turn belongs to another dial. The transaction that would take it is undone. */
class TurnLostError extends Error {}

/** The window of the campaign closed while its call was made. There is no call. */
class WindowClosedError extends Error {}

/** Returns whether a campaign may dial at a time. */
function isOpen({ campaign, state }: DialContext, now: number): boolean {
  return nextOpening(state.window, now) === now && (campaign.endsAt === null || now < campaign.endsAt)
}

/** Places the call of a claim. Returns `passed` if the recipient cannot be called now. */
async function placeAttempt(context: DialContext, claim: Claim): Promise<DialResult | 'passed'> {
  const { deps, campaign } = context
  const { db, clock, log } = deps
  const { recipient } = claim
  const gapMs = deps.settings.callGapMinutes * 60_000
  const waits = await busyUntil(
    db,
    campaign,
    { e164: recipient.e164, campaignId: campaign.id, gapMs },
    clock.wall(),
  )
  if (waits !== null) {
    await deferRecipient(context, claim, waits)
    return 'passed'
  }
  const open = (now: number): boolean => isOpen(context, now)
  // The dial was planned a while ago, and the gate knows the legal hours only.
  if (!open(clock.wall())) {
    await deferRecipient(context, claim, clock.wall())
    return { kind: 'wait' }
  }
  try {
    const call = await dialCall(deps, campaign, {
      to: recipient.e164,
      numberId: campaign.numberId,
      agentId: campaign.agentId,
      variables: JSON.parse(recipient.variables),
      metadata: {},
      idempotencyId: null,
      origin: {
        trigger: 'campaign',
        campaignId: campaign.id,
        recipientId: recipient.id,
        callbackId: null,
        agentVersion: campaign.agentVersion,
        isOpen: open,
        bind: async (trx, callId, now) => {
          if (!open(now)) throw new WindowClosedError()
          await bindAttempt(trx, claim, callId, now)
        },
      },
    })
    if (!isRefusal(call)) return { kind: 'placed' }
    const refused = refusedDial(call, clock.wall())
    switch (refused.kind) {
      case 'exclude':
        await excludeRecipient(db, claim, refused.reason, clock.wall())
        return 'passed'
      case 'defer':
        await deferRecipient(context, claim, refused.until)
        return 'passed'
      case 'pause':
        await releaseClaim(db, claim, clock.wall())
        return refused
      case 'retry':
        await releaseClaim(db, claim, clock.wall() + SOON_MS)
        return { kind: 'wait' }
    }
  } catch (error) {
    if (error instanceof AttemptLostError) return { kind: 'lost' }
    if (error instanceof WindowClosedError) {
      await deferRecipient(context, claim, clock.wall())
      return { kind: 'wait' }
    }
    const fields = { campaignId: campaign.id, recipientId: recipient.id, error: errorText(error) }
    // Another campaign or a callback calls the person at this moment.
    if (isUniqueViolation(error)) await releaseClaim(db, claim, clock.wall() + SOON_MS)
    else {
      log.warn(fields, 'campaign.dial_failed')
      await releaseUndone(db, claim, clock.wall())
    }
    return { kind: 'wait' }
  }
}

/** Lets a claimed recipient wait, or settles it if no slot is left before the end of the campaign. */
async function deferRecipient(
  { deps, campaign, state }: DialContext,
  claim: Claim,
  until: number | null,
): Promise<void> {
  const opens = until === null ? null : nextOpening(state.window, until)
  const { endsAt } = campaign
  if (opens === null || (endsAt !== null && opens >= endsAt)) {
    await excludeRecipient(deps.db, claim, 'outside_window', deps.clock.wall())
  } else await releaseClaim(deps.db, claim, opens)
}
