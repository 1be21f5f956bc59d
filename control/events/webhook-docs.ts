import { z } from 'zod'
import { Call } from '../calls/view.js'
import { ComplianceCheck } from '../compliance/check-view.js'
import { PhoneNumber } from '../numbers/api.js'
import type { WebhookDescription } from '../openapi/document-webhooks.js'
import type { EventType } from './store.js'

/** A resource whose operations are not part of this release. */
const later = (what: string) =>
  z.looseObject({ id: z.string() }).meta({ description: `The ${what}, as its GET answers it` })

const Transfer = z
  .looseObject({ id: z.string(), attempt: z.int(), status: z.string() })
  .meta({ description: "The attempt concerned, which may differ from the call's latest" })
const Campaign = later('campaign')
const Wallet = z.looseObject({
  balancePaise: z.int(),
  thresholdPaise: z.int(),
  currency: z.string(),
})
const KnowledgeBase = later('knowledge base')
const Build = z.looseObject({ id: z.string(), status: z.string(), error: z.string().nullable() })

const CATALOGUE: Readonly<Record<EventType, Omit<WebhookDescription, 'type'>>> = {
  'call.initiated': {
    when: 'A dial was accepted and the call row exists, outbound or inbound.',
    data: { call: Call },
  },
  'call.answered': { when: 'The far end connected to the media path.', data: { call: Call } },
  'call.completed': {
    when: 'A call ended, whatever came of it. For an answered agent call it waits up to about 90 seconds for the summary.',
    data: { call: Call },
  },
  'call.failed': {
    when: 'A call ended as failed, no_answer or busy; sent beside call.completed.',
    data: { call: Call },
  },
  'call.transfer_started': {
    when: 'The agent began handing the call to a person, whose phone rings.',
    data: { call: Call, transfer: Transfer },
  },
  'call.transferred': { when: 'The person took the call.', data: { call: Call, transfer: Transfer } },
  'call.transfer_failed': {
    when: 'Nobody took the call, or the caller hung up first. May also follow call.transferred.',
    data: { call: Call, transfer: Transfer },
  },
  'campaign.completed': { when: 'Every recipient has settled.', data: { campaign: Campaign } },
  'campaign.paused': {
    when: 'A campaign paused, also automatically at the wallet floor.',
    data: { campaign: Campaign },
  },
  'compliance.check.blocked': {
    when: 'The pre-dial gate refused a call; holds the deciding check.',
    data: { check: ComplianceCheck },
  },
  'wallet.balance.low': {
    when: 'The balance crossed the low-balance threshold.',
    data: { wallet: Wallet },
  },
  'number.renewal_due': {
    when: 'A renewal is due and the balance cannot cover it; releaseAt says when the number is released.',
    data: { number: PhoneNumber },
  },
  'number.released': {
    when: 'A renewal went unpaid past releaseAt; the number is gone.',
    data: { number: PhoneNumber },
  },
  'number.suspended': {
    when: 'No longer sent; kept so that subscriptions stay valid.',
    data: { number: PhoneNumber },
  },
  'number.reactivated': {
    when: 'A number suspended under the old policy had its overdue rent paid.',
    data: { number: PhoneNumber },
  },
  'knowledge.build.completed': {
    when: 'A knowledge base finished building.',
    data: { knowledgeBase: KnowledgeBase, build: Build },
  },
  'knowledge.build.failed': {
    when: 'A build failed; build.error says why.',
    data: { knowledgeBase: KnowledgeBase, build: Build },
  },
}

/** Every event, as the API description shows it. */
export const WEBHOOKS: readonly WebhookDescription[] = Object.entries(CATALOGUE).map(
  ([type, description]) => ({ type, ...description }),
)
