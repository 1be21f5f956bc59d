import type { Actor } from '../api/actor.js'
import { audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { Carrier, CarrierFailure, Offer } from '../carriers/carrier.js'
import { totalPaise } from '../carriers/directory.js'
import { classifyNumber } from '../compliance/numbering.js'
import type { NumberRow } from '../db/tables/calling.js'
import { type Mail, queueMailToStaff } from '../mail/outbox.js'
import { missingForLive } from '../organization/live-readiness.js'
import { availablePaise } from '../wallet/ledger.js'
import { readWallet } from '../wallet/store.js'
import { refuseAgent } from './agent-binding.js'
import { type Finding, nextStep } from './purchase-step.js'
import {
  abandon,
  activate,
  beginPurchase,
  findBegunPurchase,
  findPurchase,
  noteOrder,
  type Purchase,
  setInbound,
  takeRightToAsk,
} from './purchase-store.js'

/*
 * The purchase of a number. The money is held and the number stored before the carrier is asked, and the carrier is
 * asked once. If its answer is lost, the money stays held until the carrier's own list tells what happened.
 */

/** Time limits of requests to a carrier (ms). */
const BUY_MS = 30_000
const LOOK_UP_MS = 15_000

export interface PurchaseBody {
  readonly e164: string
  readonly provider: string
  readonly label?: string | undefined
  readonly agentId?: string | null | undefined
  readonly confirmedTotalPaise?: number | undefined
}

type PurchaseDeps = Pick<Deps, 'db' | 'clock' | 'log' | 'carriers'>

export async function purchaseNumber(
  input: {
    readonly actor: Actor
    readonly deps: Deps
    readonly requestId: string
    readonly idempotencyId: string
  },
  body: PurchaseBody,
): Promise<NumberRow | Refusal> {
  const { actor, deps, idempotencyId } = input
  const earlier = await findBegunPurchase(deps.db, actor, idempotencyId)
  if (earlier !== null) return finish(deps, earlier)

  const checked = await checkOrder(deps, actor, body)
  if (isRefusal(checked)) return checked
  const begun = await begin(input, body, checked).catch(async (error: unknown) => {
    // Another process may have begun the same request meanwhile.
    const same = await findBegunPurchase(deps.db, actor, idempotencyId)
    if (same === null) throw error
    return same
  })
  return isRefusal(begun) ? begun : finish(deps, begun)
}

/** Checks what can be checked without a change, and reads the price of now. */
async function checkOrder(deps: Deps, actor: Actor, body: PurchaseBody): Promise<Offer | Refusal> {
  const { e164, provider, agentId, confirmedTotalPaise } = body
  const kind = classifyNumber(e164, []).kind
  if (kind === 'promotional_series' || kind === 'service_series') {
    return refuse(
      'blocked_dlt_invalid',
      'No carrier sells numbers of the 140 and 160 series. Register a sender id instead.',
      { series: kind === 'promotional_series' ? 'promotional_140' : 'service_160' },
    )
  }
  const carrier = deps.carriers.find(actor.environment, provider)
  if (carrier === null) {
    const issues = [{ path: 'provider', reason: 'is not one of GET /v1/numbers/carriers' }]
    return refuse('validation_error', 'The carrier does not exist in this environment.', { issues })
  }
  if (agentId) {
    const problem = await refuseAgent(deps.db, actor, agentId)
    if (problem !== null) return problem
  }
  if (actor.environment === 'live') {
    const all = await missingForLive(deps.db, actor.organizationId, deps.clock.wall())
    // A robocall declaration names the numbers, so that they are bought before it.
    const missing = all.filter((requirement) => requirement !== 'robocall_declaration')
    if (missing.length > 0) {
      return refuse('compliance_incomplete', `Buying numbers first requires: ${missing.join(', ')}.`, {
        missing,
      })
    }
  }
  const quoted = await deps.carriers.ask(carrier, LOOK_UP_MS, (signal) => carrier.quote(e164, signal))
  if (!quoted.ok) return refusalOf(carrier, quoted)
  const offer = quoted.value
  if (offer === null)
    return refuse('number_unavailable', 'The number is no longer for sale. Choose another one.', { provider })
  if (confirmedTotalPaise !== undefined && confirmedTotalPaise !== totalPaise(offer)) {
    return refuse('price_changed', 'The price changed. Confirm the new total.', {
      confirmedTotalPaise,
      totalPaise: totalPaise(offer),
    })
  }
  return offer
}

async function begin(
  input: {
    readonly actor: Actor
    readonly deps: Deps
    readonly requestId: string
    readonly idempotencyId: string
  },
  body: PurchaseBody,
  offer: Offer,
): Promise<Purchase | Refusal> {
  const { actor: owner, deps, idempotencyId } = input
  class Unpaid extends Error {}
  try {
    return await audited(input, async (trx, record, now) => {
      const { e164, label = e164, agentId = null } = body
      const begun = await beginPurchase(trx, { owner, offer, label, agentId, idempotencyId }, now)
      // Thrown, so that the number is not inserted.
      if (begun === 'unpaid') throw new Unpaid()
      if (begun === 'taken') {
        return refuse('number_unavailable', 'The number is taken. Choose another one.', {
          provider: offer.provider,
        })
      }
      const { provider } = offer
      await record('number.purchase_started', begun.number.id, {
        after: { e164, provider, totalPaise: totalPaise(offer) },
      })
      return begun
    })
  } catch (error) {
    if (!(error instanceof Unpaid)) throw error
    const wallet = await readWallet(deps.db, owner.organizationId, deps.clock.wall())
    return refuse('insufficient_funds', 'The wallet does not cover set-up and the first month.', {
      balancePaise: availablePaise(wallet),
      requiredPaise: totalPaise(offer),
      onHold: wallet.onHold === 1,
    })
  }
}

/** Brings a purchase to its end, or as far as the carrier lets it, and returns the number or why there is none. */
async function finish(deps: PurchaseDeps, begun: Purchase): Promise<NumberRow | Refusal> {
  const carrier = deps.carriers.find(begun.number.environment, begun.number.provider)
  if (carrier !== null && begun.number.status === 'pending') {
    await ask(deps, carrier, begun)
    await settlePurchase(deps, begun.number.id)
  }
  const after = (await findPurchase(deps.db, begun.number.id)) ?? begun
  const { number, purchase } = after
  if (number.status === 'pending') {
    return refuse(
      'provider_unavailable',
      'The carrier did not say whether it sold the number. The price stays held until that is known. Retry with the same Idempotency-Key.',
      { provider: number.provider, numberId: number.id },
      { 'retry-after': '5' },
    )
  }
  if (number.status !== 'failed') return number
  const code = FAILURES.find((known) => known === purchase.failureCode) ?? 'provider_unavailable'
  return refuse(
    code,
    `Nothing was bought: ${purchase.failureReason ?? 'the carrier did not sell the number'}.`,
    {
      provider: number.provider,
      ...(code === 'provider_rejected' ? { reason: purchase.failureReason } : {}),
      ...(code === 'compliance_incomplete' ? { missing: ['carrier_documents'] } : {}),
    },
  )
}

const FAILURES = [
  'number_unavailable',
  'provider_quota_exhausted',
  'provider_rejected',
  'compliance_incomplete',
  'provider_unavailable',
] as const

/** Asks the carrier to sell, unless it was asked before. */
async function ask(deps: PurchaseDeps, carrier: Carrier, begun: Purchase): Promise<void> {
  const { db, clock, log, carriers } = deps
  const { number } = begun
  if (!(await takeRightToAsk(db, number.id, clock.wall()))) return
  const order = { e164: number.e164, reference: number.id }
  const sold = await carriers.ask(carrier, BUY_MS, (signal) => carrier.buy(order, signal))
  if (sold.ok) {
    await db.transaction().execute((trx) => activate(trx, begun, sold.value, clock.wall()))
    return
  }
  const { code, reason, unknown } = sold
  log.warn(
    { provider: carrier.provider, numberId: number.id, code, reason, unknown },
    'number.purchase_refused',
  )
  if (!unknown) await db.transaction().execute((trx) => abandon(trx, begun, { code, reason }, clock.wall()))
  else if (code === 'compliance_incomplete') await noteOrder(db, number.id, { code, reason })
}

/**
 * Settles a pending purchase by the carrier's own list. Returns the time of the next look (Unix ms), or null if the
 * purchase is settled.
 */
export async function settlePurchase(deps: PurchaseDeps, numberId: string): Promise<number | null> {
  const { db, clock, log, carriers } = deps
  const begun = await findPurchase(db, numberId)
  if (begun === null || begun.number.status !== 'pending') return null
  const { number, purchase } = begun
  const carrier = carriers.find(number.environment, number.provider)
  const { askedAt } = purchase
  const listed =
    carrier === null || askedAt === null
      ? null
      : await carriers.ask(carrier, LOOK_UP_MS, (signal) =>
          carrier.findOwned({ e164: number.e164, reference: number.id }, askedAt, signal),
        )
  if (listed?.ok === false)
    log.warn({ numberId, provider: number.provider, reason: listed.reason }, 'number.purchase_open')
  const owned = listed?.ok === true ? listed.value : null
  const finding: Finding = listed?.ok === true ? (owned === null ? 'absent' : 'owned') : 'unreadable'
  const now = clock.wall()
  const step = nextStep(purchase, finding, now)
  if (step.type === 'wait') return step.until
  log.info({ numberId, provider: number.provider, step: step.type }, 'number.purchase_settled')
  if (step.type === 'activate' && owned !== null) {
    await db.transaction().execute((trx) => activate(trx, begun, owned, now))
    return null
  }
  // A client that comes back at this moment must not ask the carrier any more.
  if (askedAt === null && !(await takeRightToAsk(db, numberId, now))) return now
  const failure = { code: 'provider_unavailable', reason: 'the carrier did not sell the number' }
  const isShort = askedAt !== null && carrier !== null && (await isAccountShort(deps, carrier, begun))
  await db.transaction().execute(async (trx) => {
    await abandon(trx, begun, failure, now)
    if (isShort) await queueMailToStaff(trx, now, accountNotice(carrier))
  })
  return null
}

/** Returns whether our own account at the carrier is too low for a purchase. */
async function isAccountShort(
  { log, carriers }: PurchaseDeps,
  carrier: Carrier,
  { number, purchase }: Purchase,
): Promise<boolean> {
  const { balance } = carrier
  if (balance === null) return false
  const read = await carriers.ask(carrier, LOOK_UP_MS, (signal) => balance(signal))
  if (!read.ok || read.value >= purchase.totalPaise) return false
  log.error({ provider: carrier.provider, numberId: number.id }, 'number.carrier_account_short')
  return true
}

function accountNotice({ label }: Carrier): Mail {
  return {
    kind: 'notice',
    subject: `The account at ${label} is too low`,
    text: `${label} did not sell a number, and the account of the service at ${label} holds less than its price. The customer was charged nothing. Add money to the account, and the next purchase succeeds.`,
  }
}

/** Routes the calls of a number to the service. Returns true if they arrive. */
export async function routeNumber(deps: PurchaseDeps, number: NumberRow): Promise<boolean> {
  const carrier = deps.carriers.find(number.environment, number.provider)
  if (carrier === null) return true
  const { e164, carrierNumberId } = number
  const routed = await deps.carriers.ask(carrier, LOOK_UP_MS, (signal) =>
    carrier.route({ e164, carrierNumberId }, signal),
  )
  await setInbound(deps.db, number.id, routed.ok ? 'ready' : 'error', routed.ok ? null : routed.reason)
  return routed.ok
}

/** Returns the API error of a carrier's failure. */
export function refusalOf({ provider, label }: Carrier, failure: CarrierFailure): Refusal {
  const { code, reason, retryAfterSeconds } = failure
  const headers: Record<string, string> =
    retryAfterSeconds === null ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) }
  return refuse(
    code,
    `${label}: ${reason}.`,
    { provider, ...(code === 'provider_rejected' ? { reason } : {}) },
    headers,
  )
}
