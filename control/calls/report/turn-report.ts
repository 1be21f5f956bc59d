import { sumUsage, type Usage } from '../../../media/agent/conversation/usage-meter.js'
import type { TurnRecord } from '../../../media/agent/conversation-events.js'
import type { Db } from '../../db/database.js'

/** Timing and usage of a call's conversation. It contains no transcript. */
export interface TurnReport {
  readonly turns: readonly TurnRecord[]
  /** Of the conversation and of transfers. Null while the conversation lasts, and when its process died. */
  readonly usage: Usage | null
}

/** Reads the report, which is kept as long as the call's events. It is empty for a call without an agent. */
export async function readTurnReport(db: Db, callId: string): Promise<TurnReport> {
  const rows = await db
    .selectFrom('callEvents')
    .select(['type', 'body'])
    .where('callId', '=', callId)
    .where('type', 'in', ['turn_record', 'usage'])
    .orderBy('seq')
    .execute()
  const bodies = (type: string) =>
    rows.flatMap((row) => (row.type === type ? [JSON.parse(row.body) as unknown] : []))
  const parts = bodies('usage') as { readonly usage: Usage }[]
  return {
    turns: (bodies('turn_record') as { readonly record: TurnRecord }[]).map(({ record }) => record),
    usage: parts.length === 0 ? null : sumUsage(parts.map(({ usage }) => usage)),
  }
}
