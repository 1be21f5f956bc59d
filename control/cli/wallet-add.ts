import { systemClock } from '../../media/base/clock.js'
import { audited } from '../api/audited.js'
import { isRefusal } from '../api/problem.js'
import type { Db } from '../db/database.js'
import { adjustBalance, MAX_ADJUSTMENT_PAISE } from '../wallet/adjust.js'
import { findOrganization } from './find-organization.js'
import { parseOptions, UsageError } from './options.js'

const MAX_RUPEES = MAX_ADJUSTMENT_PAISE / 100

/** Adds money to a wallet and records it in the audit log. Returns the line to print. */
export async function addToWallet(db: Db, args: readonly string[]): Promise<string> {
  const { values } = parseOptions(args, {
    rupees: { type: 'string' },
    reference: { type: 'string' },
    organization: { type: 'string' },
  })
  const { reference = '' } = values
  const rupees = Number(values.rupees)
  if (!Number.isInteger(rupees) || rupees < 1 || rupees > MAX_RUPEES) {
    throw new UsageError(`--rupees must be a whole number from 1 to ${MAX_RUPEES}`)
  }
  if (!/^[\x20-\x7e]{1,80}$/.test(reference)) {
    throw new UsageError('--reference must have 1 to 80 characters; each reference adds money once')
  }
  const organizationId = await findOrganization(db, values.organization)
  const amountPaise = rupees * 100
  const change = { deps: { db, clock: systemClock }, organizationId, actor: null, requestId: null }
  const entry = await audited(change, async (trx, record, now) => {
    const made = await adjustBalance(trx, organizationId, { amountPaise, reference }, now)
    if (isRefusal(made)) return made
    await record('wallet.adjusted', organizationId, {
      reason: `parley wallet add, reference ${reference}`,
      before: { balancePaise: made.balanceAfterPaise - amountPaise },
      after: { balancePaise: made.balanceAfterPaise },
    })
    return made
  })
  if (isRefusal(entry)) throw new UsageError(entry.message)
  return `The balance is ${(entry.balanceAfterPaise / 100).toFixed(2)} rupees now.`
}
