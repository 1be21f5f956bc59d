import { z } from 'zod'
import type { ContactStore } from '../../signalling/trunk/registrar.js'
import { liveContacts, type RegisteredContact } from '../../signalling/trunk/registrar-rules.js'
import type { Db } from '../db/database.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'

/*
 * Registered contacts of telephone systems. Every process reads the stored contacts; the connection of a contact
 * belongs to the process that accepted it.
 */

const Stored = z.array(
  z.object({
    uri: z.string(),
    callId: z.string(),
    cseq: z.int(),
    q: z.number(),
    flow: z.object({
      transport: z.enum(['udp', 'tcp', 'tls']),
      address: z.string(),
      port: z.int(),
      local: z.string(),
    }),
    registeredAt: z.int(),
    expiresAt: z.int(),
  }),
)

/** Stored contacts of a trunk without a registered telephone system. */
export const NO_CONTACTS = '[]'

/** Returns where the telephone system of a trunk is registered, the contact that is called first. */
export function contactsOf(
  { contacts }: Pick<SipTrunkRow, 'contacts'>,
  now: number,
): readonly RegisteredContact[] {
  return liveContacts(Stored.parse(JSON.parse(contacts)), now)
}

/** Opens the store of the registrar. Changes of one trunk wait for each other, also those of other processes. */
export function openContacts(db: Db): ContactStore {
  return {
    change: (trunkId, change) =>
      db.transaction().execute(async (trx) => {
        const row = await trx
          .updateTable('sipTrunks')
          .set((eb) => ({ contacts: eb.ref('contacts') }))
          .where('id', '=', trunkId)
          .where('environment', '=', 'live')
          .where('status', '!=', 'disabled')
          .where('deletedAt', 'is', null)
          .returning('contacts')
          .executeTakeFirst()
        if (row === undefined) return null
        const outcome = change(Stored.parse(JSON.parse(row.contacts)))
        if (outcome.kind === 'refused') return outcome
        const contacts = JSON.stringify(outcome.contacts)
        if (contacts !== row.contacts)
          await trx.updateTable('sipTrunks').set({ contacts }).where('id', '=', trunkId).execute()
        return outcome
      }),
  }
}
