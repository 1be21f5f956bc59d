import { isId } from '../../media/base/ids.js'
import type { Log } from '../../media/base/log.js'
import { liveBindingProblem } from '../agents/live-models.js'
import type { FileTrunk } from '../config/trunk-file.js'
import type { Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { findOwnNumber, releaseNumber } from '../numbers/store.js'
import { importNumber } from './import-number.js'
import { listTrunkNumbers } from './store.js'

/** Error at a location in the trunk file. */
export class TrunkFileError extends Error {
  readonly path: readonly PropertyKey[]

  constructor(path: readonly PropertyKey[], message: string) {
    super(message)
    this.path = path
  }
}

/**
 * Assigns the numbers of a trunk of the file to it, and releases numbers that are no longer in the file.
 * Throws `TrunkFileError`.
 */
export async function loadNumbers(
  trx: Trx,
  log: Log,
  row: SipTrunkRow,
  trunk: FileTrunk,
  path: readonly PropertyKey[],
  now: number,
): Promise<void> {
  const before = await listTrunkNumbers(trx, row, row.id)
  for (const [at, wanted] of trunk.numbers.entries()) {
    const location = [...path, 'numbers', at]
    const agentId =
      wanted.agent === undefined ? undefined : await agentOf(trx, row, wanted.agent, [...location, 'agent'])
    const number = await takeNumber(trx, row, wanted.e164, wanted.label, [...location, 'e164'], now)
    const change = {
      sipTrunkId: row.id,
      ...(agentId === undefined ? {} : { agentId }),
      ...(wanted.label === undefined ? {} : { label: wanted.label }),
      ...(wanted.recordCalls === undefined ? {} : { recordCalls: wanted.recordCalls ? 1 : 0 }),
    }
    await trx.updateTable('numbers').set(change).where('id', '=', number.id).execute()
    if ((change.agentId ?? number.agentId) === null && number.routingMode === 'svc_agent') {
      log.warn({ trunkId: row.id, numberId: number.id }, 'trunk_file.number_without_agent')
    }
  }
  for (const number of before) {
    if (!trunk.numbers.some(({ e164 }) => e164 === number.e164)) await releaseNumber(trx, row, number.id, now)
  }
}

/** Returns the row of a number of the organization, or inserts it. */
async function takeNumber(
  trx: Trx,
  row: SipTrunkRow,
  e164: string,
  label: string | undefined,
  path: readonly PropertyKey[],
  now: number,
): Promise<NumberRow> {
  const held = await findOwnNumber(trx, row, e164, row.id)
  if (held !== null) return held
  const inserted = await importNumber(trx, row, { e164, label: label ?? row.name }, now)
  if (inserted === null)
    throw new TrunkFileError(path, 'the number already belongs to another organization or to the sandbox')
  return inserted
}

async function agentOf(
  trx: Trx,
  { organizationId }: SipTrunkRow,
  agent: string,
  path: readonly PropertyKey[],
): Promise<string> {
  const rows = await trx
    .selectFrom('agents')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where(isId('agt', agent) ? 'id' : 'name', '=', agent)
    .where('deletedAt', 'is', null)
    .limit(2)
    .execute()
  const [found, another] = rows
  if (found === undefined)
    throw new TrunkFileError(path, 'the agent does not exist; create it first, or remove the field')
  if (another !== undefined) throw new TrunkFileError(path, 'several agents have this name; use the id')
  const problem = await liveBindingProblem(trx, organizationId, found.id)
  if (problem !== null) throw new TrunkFileError(path, problem.message)
  return found.id
}

/** Releases all numbers of a trunk that is no longer in the file. There is no event and no refund. */
export async function releaseNumbers(trx: Trx, trunk: SipTrunkRow, now: number): Promise<void> {
  for (const { id } of await listTrunkNumbers(trx, trunk, trunk.id)) await releaseNumber(trx, trunk, id, now)
}
