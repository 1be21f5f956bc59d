import { z } from 'zod'
import { Call } from '../calls/view.js'
import { ComplianceCheck } from '../compliance/check-view.js'
import type { EventType } from '../events/store.js'
import { PhoneNumber } from '../numbers/api.js'
import type { WebhookDescription } from './document-webhooks.js'

/** Schema of a resource that this release does not implement. */
const unavailable = (what: string) =>
  z.looseObject({ id: z.string() }).meta({ description: `The ${what} as its GET operation returns it.` })

const Transfer = z.looseObject({ id: z.string(), attempt: z.int(), status: z.string() }).meta({
  description: 'The transfer attempt of this event, which may differ from the latest attempt of the call.',
})
const Campaign = unavailable('campaign')
const Wallet = z.looseObject({
  balancePaise: z.int(),
  thresholdPaise: z.int(),
  currency: z.string(),
})
const KnowledgeBase = unavailable('knowledge base')
const Build = z.looseObject({ id: z.string(), status: z.string(), error: z.string().nullable() })

const CATALOGUE: Readonly<Record<EventType, Omit<WebhookDescription, 'type'>>> = {
  'call.initiated': {
    when: 'An outbound call was accepted or an inbound call arrived.',
    data: { call: Call },
  },
  'call.answered': { when: 'The call was answered and media is connected.', data: { call: Call } },
  'call.completed': {
    when: 'A call ended, with any outcome. For an answered agent call the event is delayed by up to about 90 seconds until the summary is ready.',
    data: { call: Call },
  },
  'call.failed': {
    when: 'A call ended as failed, no_answer or busy. Sent in addition to call.completed.',
    data: { call: Call },
  },
  'call.transfer_started': {
    when: 'The agent started to transfer the call, and the phone of the destination rings.',
    data: { call: Call, transfer: Transfer },
  },
  'call.transferred': {
    when: 'The transfer destination answered the call.',
    data: { call: Call, transfer: Transfer },
  },
  'call.transfer_failed': {
    when: 'The transfer destination did not answer, or the caller hung up first. May also follow call.transferred.',
    data: { call: Call, transfer: Transfer },
  },
  'campaign.completed': {
    when: 'All recipients of a campaign have reached a final state.',
    data: { campaign: Campaign },
  },
  'campaign.paused': {
    when: 'A campaign was paused, possibly automatically because the wallet balance is too low.',
    data: { campaign: Campaign },
  },
  'compliance.check.blocked': {
    when: 'A compliance check blocked a call before it was dialled. Contains the check that decided.',
    data: { check: ComplianceCheck },
  },
  'wallet.balance.low': {
    when: 'The balance fell below the low-balance threshold.',
    data: { wallet: Wallet },
  },
  'number.renewal_due': {
    when: 'A renewal is due and the balance does not cover it. The number is released at releaseAt unless the balance is topped up.',
    data: { number: PhoneNumber },
  },
  'number.released': {
    when: 'A renewal was not paid by releaseAt, and the number was released.',
    data: { number: PhoneNumber },
  },
  'number.suspended': {
    when: 'No longer sent. The type is kept so that existing subscriptions stay valid.',
    data: { number: PhoneNumber },
  },
  'number.reactivated': {
    when: 'The overdue rent of a number that was suspended under the previous policy was paid.',
    data: { number: PhoneNumber },
  },
  'knowledge.build.completed': {
    when: 'The build of a knowledge base finished.',
    data: { knowledgeBase: KnowledgeBase, build: Build },
  },
  'knowledge.build.failed': {
    when: 'The build of a knowledge base failed. build.error contains the reason.',
    data: { knowledgeBase: KnowledgeBase, build: Build },
  },
}

/** All events for the OpenAPI description. */
export const WEBHOOKS: readonly WebhookDescription[] = Object.entries(CATALOGUE).map(
  ([type, description]) => ({ type, ...description }),
)
