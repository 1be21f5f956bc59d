import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { pageOf } from '../api/pagination.js'
import { isRefusal, refuse } from '../api/problem.js'
import { withWarnings } from '../api/reply.js'
import { E164, idParam, oneLine, openEnum, Timestamp, timestamp } from '../base/schemas.js'
import type { Offer } from '../carriers/carrier.js'
import { CIRCLES } from '../carriers/circles.js'
import { offerKey, textOrder, totalPaise } from '../carriers/directory.js'
import { noNumber, numberView, PhoneNumber } from './api.js'
import { AGAIN_MS } from './number-jobs.js'
import { purchaseNumber, refusalOf, routeNumber } from './purchase.js'
import { addRouteJob } from './purchase-store.js'
import { giveBack } from './release.js'
import { renewalAfter } from './rental-dates.js'
import { findNumber, findNumberEver, IMPORTED, setInboundSwitch } from './store.js'

const COMMON = { tag: 'Numbers', audience: 'key' } as const
const PROVIDER_FAILURES = [
  'provider_unavailable',
  'provider_quota_exhausted',
  'provider_rejected',
  'compliance_incomplete',
  'number_unavailable',
] as const
const Provider = z
  .string()
  .max(40)
  .regex(/^[a-z0-9_]+$/)

const listCarriers = listOperation({
  ...COMMON,
  id: 'listNumberCarriers',
  path: '/v1/numbers/carriers',
  summary: 'List carriers that sell numbers',
  description: 'Carriers of the environment of the key. A test key sees the sandbox only.',
  scope: 'read',
  result: z.object({ label: z.string(), provider: z.string() }),
  paged: false,
  fails: [],
  run: async ({ actor, deps }) => ({
    items: deps.carriers.of(actor.environment).map(({ label, provider }) => ({ label, provider })),
    next: null,
  }),
})

const unknownProvider = () =>
  refuse('validation_error', 'The carrier does not exist in this environment.', {
    issues: [{ path: 'query.provider', reason: 'is not one of GET /v1/numbers/carriers' }],
  })

const listRegions = listOperation({
  ...COMMON,
  id: 'listNumberRegions',
  path: '/v1/numbers/regions',
  summary: 'List regions with numbers',
  description: 'Telecom circles in which carriers sell numbers.',
  scope: 'read',
  query: z.object({ provider: Provider.optional() }),
  result: z.object({
    code: z.string(),
    name: z.string(),
    provider: z.string(),
    numberTypes: z.array(openEnum('landline', 'mobile', 'tollfree')),
  }),
  paged: false,
  fails: [],
  run: async ({ query, actor, deps }) => {
    const carriers = deps.carriers
      .of(actor.environment)
      .filter(({ provider }) => query.provider === undefined || provider === query.provider)
    if (query.provider !== undefined && carriers.length === 0) return unknownProvider()
    return {
      items: carriers.flatMap(({ provider, regions }) =>
        regions.map(({ code, name, numberTypes }) => ({
          code,
          name,
          provider,
          numberTypes: [...numberTypes],
        })),
      ),
      next: null,
    }
  },
})

const NumberOffer = PhoneNumber.pick({
  e164: true,
  provider: true,
  region: true,
  numberType: true,
  series: true,
  capabilities: true,
  currency: true,
  rentalPaise: true,
  setupPaise: true,
  renewalCycle: true,
}).extend({
  totalPaise: z.int().meta({ description: 'Set-up fee and the first month.' }),
  renewsAt: Timestamp.meta({ description: 'First renewal if it is bought now.' }),
})

const searchNumbers = listOperation({
  ...COMMON,
  id: 'searchAvailableNumbers',
  path: '/v1/numbers/available',
  summary: 'List numbers for sale',
  description:
    'Offers of all carriers, cheapest first. A carrier that fails is named in `meta.warnings`; if no carrier lists a number, its failure is returned. Another customer can buy an offer at any time.',
  scope: 'read',
  query: z.object({
    provider: Provider.optional(),
    region: z.enum(Object.keys(CIRCLES) as [string, ...string[]]).optional(),
    numberType: z.enum(['landline', 'mobile', 'tollfree']).optional(),
    series: z.enum(['regular', 'promotional_140', 'service_160']).optional(),
    contains: z
      .string()
      .regex(/^\d{2,10}$/, 'must be 2 to 10 digits')
      .optional(),
  }),
  result: NumberOffer,
  warning: z.object({ provider: z.string(), code: z.string() }),
  fails: [...PROVIDER_FAILURES, 'blocked_dlt_invalid'],
  run: async ({ query, actor, deps, page }) => {
    const { provider, region = null, numberType = null, contains = null, series = 'regular' } = query
    if (series !== 'regular') {
      return refuse('blocked_dlt_invalid', 'No carrier sells numbers of the 140 and 160 series.', { series })
    }
    const all = deps.carriers.of(actor.environment)
    const asked = all.filter((carrier) => provider === undefined || carrier.provider === provider)
    if (provider !== undefined && asked.length === 0) return unknownProvider()
    const { offers, warnings } = await deps.carriers.search(asked, { region, numberType, contains })
    const [first] = warnings
    const failing = asked.find((carrier) => carrier.provider === first?.provider)
    if (offers.length === 0 && first !== undefined && failing !== undefined)
      return refusalOf(failing, first.failure)
    const { after } = page
    const from = after === null ? 0 : offers.findIndex((offer) => isAfter(offer, Number(after.key), after.id))
    const rows = from === -1 ? [] : offers.slice(from, from + page.limit + 1)
    const now = deps.clock.wall()
    const found = pageOf(
      rows,
      page,
      (offer) => ({ key: totalPaise(offer), id: offerKey(offer) }),
      (offer) => offerView(offer, now),
      after === null ? offers.length : undefined,
    )
    return withWarnings(
      found,
      warnings.map(({ provider: failed, failure }) => ({ provider: failed, code: failure.code })),
    )
  },
})

function isAfter(offer: Offer, key: number, id: string): boolean {
  const total = totalPaise(offer)
  return total > key || (total === key && textOrder(offerKey(offer), id) > 0)
}

function offerView(offer: Offer, now: number): z.input<typeof NumberOffer> {
  return {
    ...offer,
    series: 'regular',
    capabilities: { sms: false, voice: true },
    currency: 'INR',
    totalPaise: totalPaise(offer),
    renewsAt: timestamp(renewalAfter(now, offer.renewalCycle, now)),
  }
}

const buyNumber = operation({
  ...COMMON,
  id: 'purchaseNumber',
  method: 'post',
  path: '/v1/numbers/purchase',
  summary: 'Buy a number',
  description:
    'Costs the set-up fee and the first month. With `confirmedTotalPaise` nothing is bought at another price. If the carrier does not answer, the price stays held and the response is 503: retry with the same key, which never buys twice.',
  scope: 'admin',
  body: z.strictObject({
    e164: E164,
    provider: Provider,
    label: oneLine(80).optional(),
    agentId: z.string().nullable().optional(),
    confirmedTotalPaise: z.int().min(0).max(1_000_000_000).optional(),
  }),
  status: 201,
  result: PhoneNumber,
  idempotent: 'required',
  fails: [
    ...PROVIDER_FAILURES,
    ...([
      'blocked_dlt_invalid',
      'price_changed',
      'insufficient_funds',
      'not_found',
      'unprocessable_entity',
    ] as const),
  ],
  run: async ({ body, idempotencyId, ...input }) => {
    if (idempotencyId === null) return refuse('bad_request', 'The Idempotency-Key header is required.')
    const bought = await purchaseNumber({ ...input, idempotencyId }, body)
    if (isRefusal(bought)) return bought
    if (bought.inbound === 'pending') await routeNumber(input.deps, bought)
    return numberView((await findNumberEver(input.deps.db, input.actor, bought.id)) ?? bought)
  },
})

const NumberPath = z.object({ id: idParam('num') })

const switchInbound = operation({
  ...COMMON,
  id: 'setNumberInbound',
  method: 'post',
  path: '/v1/numbers/:id/inbound',
  summary: 'Set inbound calling of a number',
  description:
    'Off refuses inbound calls only. On also repairs the routing at the carrier; if that fails, `inbound` is `error` and `inboundReason` says why.',
  scope: 'write',
  params: NumberPath,
  body: z.strictObject({ enabled: z.boolean() }),
  status: 200,
  result: PhoneNumber,
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, ...input }) => {
    const { actor, deps } = input
    const outcome = await audited(input, async (trx, record, now) => {
      const before = await findNumber(trx, actor, params.id)
      if (before === null) return noNumber()
      if (before.status !== 'active') {
        return refuse('conflict', 'The number is not active yet.', { status: before.status })
      }
      const carrier = deps.carriers.find(before.environment, before.provider)
      // Only the carrier can tell whether calls arrive.
      const inbound = !body.enabled ? 'disabled' : carrier === null ? 'ready' : 'pending'
      const row = await setInboundSwitch(trx, actor, params.id, inbound)
      // A process that stops before the answer leaves the routing to the job.
      if (inbound === 'pending') await addRouteJob(trx, before.id, now + AGAIN_MS, now)
      await record('number.inbound_set', params.id, {
        before: { inbound: before.inbound },
        after: { inbound },
      })
      return row ?? noNumber()
    })
    if (isRefusal(outcome)) return outcome
    if (body.enabled) await routeNumber(deps, outcome)
    const after = await findNumber(deps.db, actor, params.id)
    return after === null ? noNumber() : numberView(after)
  },
})

const releaseOwnNumber = operation({
  ...COMMON,
  id: 'releaseNumber',
  method: 'post',
  path: '/v1/numbers/:id/release',
  summary: 'Release a number',
  description:
    'The number takes and places no more calls, and goes back to its carrier. A rental that was paid is not refunded. Calls in progress continue.',
  scope: 'admin',
  params: NumberPath,
  status: 200,
  result: PhoneNumber,
  fails: ['not_found', 'conflict'],
  run: async ({ params, ...input }) =>
    audited(input, async (trx, record, now) => {
      const { actor } = input
      const before = await findNumber(trx, actor, params.id)
      if (before === null) return noNumber()
      if (before.status === 'pending') {
        return refuse('conflict', 'The purchase of the number is not settled yet.', { status: before.status })
      }
      if (before.provider === IMPORTED) {
        return refuse('conflict', 'The number is on a SIP trunk. Remove it from the trunk.', {
          sipTrunkId: before.sipTrunkId,
        })
      }
      await giveBack(trx, before, now)
      await record('number.released', params.id, { before: { e164: before.e164, status: before.status } })
      return numberView((await findNumberEver(trx, actor, params.id)) ?? before)
    }),
})

export const purchaseOperations = [
  listCarriers,
  listRegions,
  searchNumbers,
  buyNumber,
  switchInbound,
  releaseOwnNumber,
]
