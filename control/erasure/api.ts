import { z } from 'zod'
import { audited } from '../api/audited.js'
import { type Operation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { E164, idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { ErasureRow } from '../db/tables/erasures.js'
import { findErasure, requestErasure } from './store.js'

const Erasure = z
  .object({
    id: z.string(),
    environment: z.enum(['test', 'live']),
    e164: z.string().nullable().meta({ description: 'Null once the erasure is done.' }),
    state: openEnum('pending', 'delayed', 'done'),
    delayReason: openEnum(
      'live_call',
      'call_not_stored',
      'payment_dispute',
      'wallet_on_hold',
      'legal_floor',
    ).nullable(),
    scheduledFor: Timestamp.nullable().meta({ description: 'When the reason of the delay ends, if known.' }),
    calls: z.int().meta({ description: 'Calls that were made anonymous so far.' }),
    records: z.int().meta({ description: 'Sealed records that were made anonymous so far.' }),
    createdAt: Timestamp,
    completedAt: Timestamp.nullable(),
  })
  .meta({ description: 'The erasure of a person. docs/evidence.md lists what is removed and what stays.' })

const startErasure = operation({
  id: 'startErasure',
  method: 'post',
  path: '/v1/compliance/erasures',
  tag: 'Compliance',
  summary: 'Delete what is stored about a person',
  description:
    'Removes what the environment stores about a number, in the background. Calls, charges, checks and sealed ' +
    'records stay without the number. A number whose erasure has not ended keeps that erasure. A live call, a ' +
    'payment dispute, a wallet on hold and legal retention delay it.',
  audience: 'key',
  scope: 'admin',
  body: z.strictObject({ e164: E164 }),
  status: 202,
  result: Erasure,
  idempotent: 'accepted',
  fails: [],
  run: (input) =>
    audited(input, async (trx, record, now) => {
      const { row, isNew } = await requestErasure(trx, input.actor, input.body.e164, now)
      // The audit log never changes, so it does not name the number.
      if (isNew) await record('erasure.requested', row.id)
      return input.keep(trx, erasureView(row))
    }),
})

const readErasure = operation({
  id: 'readErasure',
  method: 'get',
  path: '/v1/compliance/erasures/:id',
  tag: 'Compliance',
  summary: 'Get an erasure',
  description: 'Shows how far the erasure of a person has come, and why it waits.',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('ers') }),
  status: 200,
  result: Erasure,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findErasure(deps.db, actor, params.id)
    return row === null ? refuse('not_found', 'The erasure does not exist.') : erasureView(row)
  },
})

export const erasureOperations: readonly Operation[] = [startErasure, readErasure]

function erasureView(row: ErasureRow): z.input<typeof Erasure> {
  return {
    id: row.id,
    environment: row.environment,
    e164: row.e164,
    state: row.state,
    delayReason: row.delayReason,
    scheduledFor: timestampOrNull(row.scheduledFor),
    calls: row.calls,
    records: row.records,
    createdAt: timestamp(row.createdAt),
    completedAt: timestampOrNull(row.completedAt),
  }
}
