import { classifyNumber } from '../compliance/numbering.js'
import type { Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { findCarrierNumber, IMPORTED, insertNumber } from '../numbers/store.js'

/**
 * Adds a number that the customer brings on a trunk. Returns null if the organization has it already, or if it is a
 * number of the sandbox or of a carrier.
 */
export async function importNumber(
  trx: Trx,
  trunk: SipTrunkRow,
  { e164, label }: { readonly e164: string; readonly label: string },
  now: number,
): Promise<NumberRow | null> {
  if ((await findCarrierNumber(trx, e164)) !== null) return null
  const { organizationId, environment, id: sipTrunkId } = trunk
  const number = {
    ...{ organizationId, environment, e164, label, sipTrunkId, provider: IMPORTED, region: 'IN' },
    numberType: lineTypeOf(e164),
    series: apiSeriesOf(e164),
  }
  return insertNumber(trx, number, now)
}

/** Series of a number as the API names it. */
export function apiSeriesOf(e164: string): 'regular' | 'promotional_140' | 'service_160' {
  switch (classifyNumber(e164, []).kind) {
    case 'promotional_series':
      return 'promotional_140'
    case 'service_series':
      return 'service_160'
    default:
      return 'regular'
  }
}

function lineTypeOf(e164: string): 'mobile' | 'tollfree' | 'landline' {
  const known = classifyNumber(e164, [])
  if (known.kind === 'subscriber' && known.lineType === 'mobile') return 'mobile'
  return /^\+91(?:1800|000800)/.test(e164) ? 'tollfree' : 'landline'
}
