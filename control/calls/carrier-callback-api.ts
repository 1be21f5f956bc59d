import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import { cleanText } from '../../media/base/foreign-text.js'
import { uploadOperation } from '../api/operation.js'
import type { SignatureScheme } from '../api/signature-scheme.js'
import { askForRecord } from './transfers/carrier-record.js'

const MAX_BYTES = 64 * 1024
/** The carriers that send callbacks. */
const PROVIDERS = ['vobiz'] as const

/** The scheme of a carrier: its adapter verifies the raw body. Repetitions pass without effect. */
const schemeOf = (provider: string): SignatureScheme => ({
  repeats: 'pass',
  verify(request, { carriers }) {
    const valid = carriers.find('live', provider)?.callbacks?.verify(request) ?? null
    return valid === null ? null : { key: valid.key, signedAt: null }
  },
})

export const receiveCarrierCallback = uploadOperation({
  id: 'receiveCarrierCallback',
  method: 'post',
  path: '/v1/carrier-callbacks/:provider',
  tag: 'Public',
  summary: 'Receive a callback of a carrier',
  description:
    'The carrier signs its callbacks as it documents. A callback only says that something happened to a call: the service then asks the carrier for its record.',
  audience: 'signed',
  signature: ({ provider }) => {
    const known = PROVIDERS.find((each) => each === provider)
    return known === undefined ? null : schemeOf(known)
  },
  params: z.object({ provider: z.enum(PROVIDERS) }),
  query: z.object({
    t: z
      .string()
      .max(200)
      .optional()
      .meta({ description: 'Secret of the address, for callbacks without a signature.' }),
  }),
  accepts: ['application/json', 'application/x-www-form-urlencoded'],
  maxBytes: MAX_BYTES,
  status: 200,
  result: z.object({ received: z.boolean() }),
  fails: [],
  run: async ({ params: { provider }, body, actor, deps }) => {
    const { db, clock, log, carriers } = deps
    const bytes = await buffer(body.content)
    const named = carriers.find('live', provider)?.callbacks?.sipCallIdOf(bytes) ?? null
    const sipCallId = named === null ? null : cleanText(named)
    const { repeated } = actor
    log.info({ provider, repeated, sipCallId }, 'carrier.callback')
    if (!repeated && sipCallId !== null) await askForRecord(db, { provider, sipCallId }, clock.wall())
    return { received: true }
  },
})
