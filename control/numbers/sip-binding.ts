import { z } from 'zod'
import { openEnum } from '../base/schemas.js'
import type { Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'

/*
 * Numbers in `byo_sip`: a telephone system of the customer takes the calls. A trunk that belongs to the number holds
 * the address and the credentials (`control/trunks/number-binding.ts`).
 */

/** Values of its trunk that the row of a number keeps. */
const SipBinding = z.object({
  trunkId: z.string(),
  /** Null for a telephone system that registers. */
  sipUri: z.string().nullable(),
  transport: z.enum(['udp', 'tcp', 'tls']),
  /** Domain that the telephone system names to place calls. */
  domain: z.string(),
  realm: z.string(),
  username: z.string(),
})
export type SipBinding = z.output<typeof SipBinding>

/** The trunk pair of a number in responses. Both directions use one trunk of the service. */
export const SipTrunkDetail = z
  .object({
    provider: z.string().meta({ description: '`parley`: the service itself holds the trunk.' }),
    credentialId: z.string(),
    inboundTrunkId: z.string(),
    outboundTrunkId: z.string(),
    originationSipUri: z.string().meta({
      description:
        'Your telephone system, which takes the calls. One that registers has the user name at `terminationDomain` as its address.',
    }),
    originationUriId: z.string(),
    terminationDomain: z.string().meta({ description: 'Where your telephone system places calls.' }),
    terminationRealm: z.string(),
    terminationUsername: z.string(),
    transport: openEnum('udp', 'tcp', 'tls'),
  })
  .meta({ description: 'Set while `routingMode` is `byo_sip`.' })

/** Returns the trunk pair of a number, or null if it has none. */
export function sipTrunkDetail({ sipTrunk }: NumberRow): z.input<typeof SipTrunkDetail> | null {
  if (sipTrunk === null) return null
  const { trunkId, sipUri, transport, domain, realm, username } = SipBinding.parse(JSON.parse(sipTrunk))
  return {
    provider: 'parley',
    credentialId: trunkId,
    inboundTrunkId: trunkId,
    outboundTrunkId: trunkId,
    originationSipUri: sipUri ?? `sip:${username}@${domain}`,
    originationUriId: trunkId,
    terminationDomain: domain,
    terminationRealm: realm,
    terminationUsername: username,
    transport,
  }
}

/** Ends the trunk of a number. Its credentials are refused from the next INVITE on. */
export async function endSipBinding(trx: Trx, numberId: string, now: number): Promise<void> {
  await trx
    .updateTable('sipTrunks')
    .set({ deletedAt: now })
    .where('numberId', '=', numberId)
    .where('deletedAt', 'is', null)
    .execute()
}
