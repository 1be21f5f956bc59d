import { type Db, openDatabase } from '../../control/db/database.js'
import type { CallRow } from '../../control/db/tables/calling.js'
import { setRequestLimit } from '../../control/limits/rate-limit-store.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'

const ROWS_AT_ONCE = 400
const PLENTY = 100_000_000

/** Fills the table of calls of the idle service and raises its rate limit; returns the calls' ids. */
export async function fillCalls(databaseUrl: string, calls: number): Promise<readonly string[]> {
  const database = openDatabase(databaseUrl, silentLog)
  try {
    const { db } = database
    const number = await db.selectFrom('numbers').selectAll().executeTakeFirstOrThrow()
    const { organizationId, environment } = number
    await setRequestLimit(db, { organizationId, environment }, PLENTY)
    const ids: string[] = []
    for (let made = 0; made < calls; made += ROWS_AT_ONCE) {
      const rows = Array.from({ length: ROWS_AT_ONCE }, (_, index) => callRow(number, made + index))
      await insert(db, rows)
      ids.push(...rows.map(({ id }) => id))
    }
    return ids
  } finally {
    await database.close()
  }
}

async function insert(db: Db, rows: readonly CallRow[]): Promise<void> {
  await db.insertInto('calls').values(rows).execute()
}

function callRow(
  number: {
    readonly id: string
    readonly organizationId: string
    readonly environment: 'test' | 'live'
    readonly e164: string
  },
  index: number,
): CallRow {
  const at = 1_760_000_000_000 + index * 1000
  return {
    id: newId('call', at),
    organizationId: number.organizationId,
    environment: number.environment,
    direction: 'outbound',
    status: 'ended',
    fromNumber: number.e164,
    toNumber: `+9198${String(index).padStart(8, '0')}`,
    numberId: number.id,
    agentId: null,
    agentVersion: null,
    agentVersionId: null,
    routingMode: 'svc_agent',
    purpose: 'transactional',
    campaignId: null,
    recipientId: null,
    callbackId: null,
    sentAt: null,
    carrierFailed: null,
    disposition: 'answered',
    endedReason: 'caller_hangup',
    answeredBy: 'human',
    startedAt: at,
    ringingAt: at + 500,
    answeredAt: at + 4000,
    endedAt: at + 64_000,
    agentSeconds: 60,
    humanSeconds: 0,
    ratePaisePerMinute: 500,
    agentTookOverAt: null,
    agentRatePaisePerMinute: null,
    charges: '[]',
    billedPaise: 500,
    variables: '{}',
    metadata: '{}',
    latency: null,
    error: null,
    complianceRunId: null,
    evidenceId: null,
    idempotencyId: null,
    sipCallId: null,
    nodeId: 'bench',
    leaseUntil: 0,
    hangupRequestedAt: null,
    transfer: null,
    createdAt: at,
  }
}
