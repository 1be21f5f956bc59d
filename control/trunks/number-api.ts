import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal } from '../api/problem.js'
import { E164, idParam, oneLine } from '../base/schemas.js'
import { noNumber, numberView, PhoneNumber } from '../numbers/api.js'
import { findNumber, releaseNumber } from '../numbers/store.js'
import { approvedSenders } from '../organization/registration-store.js'
import { apiSeriesOf, importNumber } from './import-number.js'
import { lockOwnTrunk, noTrunk } from './manage-trunk.js'
import { findTrunk, pageOfTrunkNumbers } from './store.js'

const TrunkPath = z.object({ id: idParam('trk') })
const COMMON = { tag: 'SIP trunks', audience: 'key' } as const

const listSipTrunkNumbers = listOperation({
  ...COMMON,
  id: 'listSipTrunkNumbers',
  path: '/v1/sip-trunks/:id/numbers',
  summary: 'List the numbers of a SIP trunk',
  description: 'Released numbers are not included.',
  scope: 'read',
  params: TrunkPath,
  result: PhoneNumber,
  defaultLimit: 100,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    const trunk = await findTrunk(deps.db, actor, params.id)
    if (trunk === null) return noTrunk()
    const { items, next } = await pageOfTrunkNumbers(deps.db, actor, trunk.id, page)
    return { items: items.map(numberView), next }
  },
})

const importSipTrunkNumbers = operation({
  ...COMMON,
  id: 'importSipTrunkNumbers',
  method: 'post',
  path: '/v1/sip-trunks/:id/numbers',
  summary: 'Add numbers to a SIP trunk',
  description:
    'Adds numbers that your carrier routes to the trunk. They cost no rental. A number that cannot be added is listed in `rejected`; the others are added.',
  scope: 'admin',
  params: TrunkPath,
  body: z.strictObject({
    e164s: z
      .array(z.string().max(40))
      .min(1)
      .max(100)
      .meta({ description: 'E.164, for example +918041234567. A number that is named twice counts once.' }),
    label: oneLine(80).optional(),
  }),
  status: 200,
  result: z.object({
    imported: z.array(PhoneNumber),
    rejected: z.array(z.object({ index: z.int(), e164: z.string(), code: z.string(), message: z.string() })),
  }),
  fails: ['not_found', 'conflict'],
  run: ({ params, body, ...input }) =>
    audited(input, async (trx, record, now) => {
      const trunk = await lockOwnTrunk(trx, input, params.id, now)
      if (isRefusal(trunk)) return trunk
      const senders = await approvedSenders(trx, trunk.organizationId)
      const imported: z.input<typeof PhoneNumber>[] = []
      const rejected: { index: number; e164: string; code: string; message: string }[] = []
      for (const [index, e164] of body.e164s.entries()) {
        if (body.e164s.indexOf(e164) < index) continue
        const reject = (code: string, message: string) => rejected.push({ index, e164, code, message })
        const checked = E164.safeParse(e164)
        if (!checked.success) {
          reject('validation_error', checked.error.issues[0]?.message ?? 'must be an E.164 number')
          continue
        }
        if (apiSeriesOf(e164) !== 'regular' && !senders.has(e164)) {
          reject('blocked_dlt_invalid', 'A number of the 140 or 160 series needs an approved sender id.')
          continue
        }
        const row = await importNumber(trx, trunk, { e164, label: body.label ?? trunk.name }, now)
        if (row === null) {
          reject('conflict', 'The number is already in use.')
          continue
        }
        await record('number.imported', row.id, { after: { e164, sipTrunkId: trunk.id } })
        imported.push(numberView(row))
      }
      return { imported, rejected }
    }),
})

const removeSipTrunkNumber = operation({
  ...COMMON,
  id: 'removeSipTrunkNumber',
  method: 'delete',
  path: '/v1/sip-trunks/:id/numbers/:numberId',
  summary: 'Remove a number from a SIP trunk',
  description: 'The number takes and places no more calls. Calls in progress continue.',
  scope: 'admin',
  params: z.object({ id: idParam('trk'), numberId: idParam('num') }),
  status: 204,
  fails: ['not_found', 'conflict'],
  run: ({ params, ...input }) =>
    audited(input, async (trx, record, now) => {
      const trunk = await lockOwnTrunk(trx, input, params.id, now)
      if (isRefusal(trunk)) return trunk
      const number = await findNumber(trx, input.actor, params.numberId)
      if (number?.sipTrunkId !== trunk.id) return noNumber()
      await releaseNumber(trx, input.actor, number.id, now)
      await record('number.removed', number.id, { before: { e164: number.e164, sipTrunkId: trunk.id } })
      return undefined
    }),
})

export const trunkNumberOperations = [listSipTrunkNumbers, importSipTrunkNumbers, removeSipTrunkNumber]
