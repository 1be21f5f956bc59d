import { basename, join } from 'node:path'
import { type RawBuilder, sql } from 'kysely'
import type { AnsweredBy } from '../../../media/agent/answering-machine/answering-machine-detector.js'
import type { TurnTrace } from '../../../media/agent/conversation-events.js'
import type { BotStats } from '../../../media/byo/bot-event.js'
import type { CallEvent } from '../../../signalling/call/call-events.js'
import { type Disposition, outcomeOf } from '../../../signalling/call/ending.js'
import type { RecordingFile } from '../../../workers/channel/protocol.js'
import { rateCall } from '../../billing/rating.js'
import type { PolicyInForce } from '../../config/policy-file.js'
import { builtOnce } from '../../db/built-once.js'
import type { Trx } from '../../db/database.js'
import type { CallEventRow, CallRow } from '../../db/tables/calling.js'
import { insertEvents } from '../../events/store.js'
import { addJobs } from '../../jobs/store.js'
import { recordCallChange } from '../../live/changes.js'
import { attemptAnswered, attemptEnded, callbackUndone } from '../../recipients/settle.js'
import { startResultExtraction } from '../../results/store.js'
import { findPersonPart, NO_PERSON, settleCall, startBilling } from '../../wallet/call-billing.js'
import { endMonitors, storeMonitorStep } from '../monitors/store.js'
import { hearOptOut } from '../opt-out.js'
import { releaseSlot } from '../placement/call-slots.js'
import { botLatency, callLatency } from '../report/latency.js'
import { rateOf } from '../store.js'
import { segmentOf } from '../transcript.js'
import { carrierRecordJob } from '../transfers/carrier-record.js'
import { endTransfers, storeParts, storeTransferStep } from '../transfers/store.js'
import { sealingJob } from './seal-outcome.js'
import { storingJob } from './storing-job.js'

/** Returns the folder of recordings below the data folder. */
export function recordingsFolder(dataFolder: string): string {
  return join(dataFolder, 'recordings')
}

/** Returns the path of a recording: of a call by its id, or of a part of a call by its name. */
export function recordingPath(folder: string, name: string): string {
  return join(folder, `${name}.wav`)
}

/** Returns the key of a recording in the object store. */
export function recordingKey(name: string): string {
  return `${RECORDING_KEYS}${name}.wav`
}

/** Returns a recording of a part of a call with its name, which is that of its file. */
export function partFile(file: RecordingFile): {
  readonly name: string
  readonly key: string
  readonly file: RecordingFile
} {
  const name = basename(file.path, '.wav')
  return { name, key: recordingKey(name), file }
}

/** Prefix of the keys of all recordings. They sort by the start of their calls. */
export const RECORDING_KEYS = 'recordings/'

const insertOnce = builtOnce<CallEventRow, Pick<CallEventRow, 'seq'>>((db, place) =>
  db
    .insertInto('callEvents')
    .values({
      callId: place('callId'),
      seq: place('seq'),
      type: place('type'),
      at: place('at'),
      body: place('body'),
    })
    .onConflict((conflict) => conflict.columns(['callId', 'seq']).doNothing())
    .returning('seq'),
)

/**
 * Stores one event of a call and everything it changes: the call's state, transcript, bill, recording and
 * slot, and the events that customers see. Storing an event twice changes nothing; neither does an event that
 * does not fit the call's state.
 */
export async function storeCallEvent(trx: Trx, { rules }: PolicyInForce, event: CallEvent): Promise<void> {
  const { callId, seq, type, at, ...body } = event
  const [stored] = await insertOnce(trx, { callId, seq, type, at, body: JSON.stringify(body) })
  if (stored === undefined) return

  const segment = segmentOf(event)
  if (segment !== null) await trx.insertInto('transcriptSegments').values(segment).execute()
  if (segment?.role === 'caller') await hearOptOut(trx, rules, callId, segment, at)
  if (segment !== null) await recordCallChange(trx, callId, 'transcript', at)
  // The end is told by its events.
  else if (CHANGES_CALL.has(type)) await recordCallChange(trx, callId, 'call', at)

  switch (event.type) {
    case 'dialing':
      await changing(trx, callId, ['queued'], { status: 'initiated', sipCallId: event.sipCallId }).execute()
      break
    case 'ringing':
      await changing(trx, callId, ['queued', 'initiated'], { status: 'ringing', ringingAt: at }).execute()
      break
    case 'answered': {
      const call = await changing(trx, callId, ['queued', 'initiated', 'ringing'], {
        status: 'in_progress',
        answeredAt: at,
        // Until answering machine detection has decided. A bridge without an agent has none.
        answeredBy: sql<string | null>`case when "routingMode" = 'byo_sip' then null else 'unknown' end`,
      })
        .returningAll()
        .executeTakeFirst()
      if (call === undefined) break
      await startBilling(trx, call, at)
      await attemptAnswered(trx, call, at)
      await publishEvents(trx, call, ['call.answered'], at)
      break
    }
    case 'answered_by':
      await trx
        .updateTable('calls')
        .set({ answeredBy: apiAnsweredBy(event.by) })
        .where('id', '=', callId)
        .execute()
      if (event.by === 'human') await hearOptOut(trx, rules, callId, 'earlier', at)
      break
    case 'agent_took_over':
      // Only a published agent stands by for a bot.
      if (event.agentVersionId !== null) await storeTakeover(trx, callId, event.agentVersionId, at)
      break
    case 'transfer':
      await storeTransferStep(trx, event)
      break
    case 'monitored':
      await storeMonitorStep(trx, event)
      break
    case 'ended':
      await endCall(trx, rules, event)
      break
    default:
      break
  }
}

/** Events after which the view of a call is another. */
const CHANGES_CALL: ReadonlySet<CallEvent['type']> = new Set([
  ...(['dialing', 'ringing', 'answered', 'answered_by', 'agent_took_over'] as const),
  ...(['held', 'transfer', 'monitored'] as const),
])

/** Maps the detected party to the API's values, which have no menus and no fax machines. */
function apiAnsweredBy(by: AnsweredBy): string {
  return by === 'human' || by === 'voicemail' || by === 'screening' ? by : 'unknown'
}

/** Notes that an agent took a call over from a lost bot: from now on it costs what a call of an agent costs. */
async function storeTakeover(trx: Trx, callId: string, agentVersionId: string, at: number): Promise<void> {
  const call = await trx
    .selectFrom('calls')
    .selectAll()
    .where('id', '=', callId)
    .where('endedAt', 'is', null)
    .where('agentTookOverAt', 'is', null)
    .executeTakeFirst()
  if (call === undefined) return
  const version = await trx
    .selectFrom('agentVersions')
    .select(['agentId', 'version'])
    .where('id', '=', agentVersionId)
    .where('organizationId', '=', call.organizationId)
    .executeTakeFirstOrThrow()
  await trx
    .updateTable('calls')
    .set({
      agentId: version.agentId,
      agentVersion: version.version,
      agentVersionId,
      agentTookOverAt: at,
      agentRatePaisePerMinute: await rateOf(trx, { ...call, routingMode: 'svc_agent' }),
    })
    .where('id', '=', callId)
    .where('agentTookOverAt', 'is', null)
    .execute()
  // The minute in progress has become dearer.
  if (call.answeredAt !== null) await startBilling(trx, call, at)
}

export type Ended = CallEvent & { readonly type: 'ended' }

async function endCall(trx: Trx, rules: PolicyInForce['rules'], event: Ended): Promise<void> {
  const { callId, at, callerLeftAt = at, ending, recording, parts = [] } = event
  const call = await trx.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
  if (call === undefined) return
  const answered = call.answeredAt !== null
  // Most calls of a campaign end unanswered. They have no words, transfers or listeners.
  if (answered) await hearOptOut(trx, rules, callId, 'undecided', at)
  if (call.endedAt !== null) return
  const outcome = outcomeOf(ending, answered)
  // Words to a person after the caller's part cost nothing.
  const endedAt = Math.max(callerLeftAt, call.answeredAt ?? 0)
  if (answered) {
    await endTransfers(trx, callId, endedAt)
    await endMonitors(trx, callId, endedAt)
  }
  const person = answered ? await findPersonPart(trx, callId, endedAt) : NO_PERSON
  const bill = rateCall({
    answeredAt: call.answeredAt,
    endedAt,
    ratePaisePerMinute: call.ratePaisePerMinute,
    agentTookOverAt: call.agentTookOverAt,
    agentRatePaisePerMinute: call.agentRatePaisePerMinute,
    ...person,
  })
  const seconds = (person: boolean) =>
    bill.charges
      .filter(({ kind }) => (kind === 'human') === person)
      .reduce((sum, charge) => sum + charge.seconds, 0)
  // A bot may speak before its call is answered.
  const latency = answered || call.routingMode === 'byo_ws' ? await latencyOf(trx, callId) : null
  // The gate blocks a call before its INVITE.
  const sent = call.status !== 'queued' && ending.cause !== 'gate_blocked'
  const carrierFailed = failedByCarrier(ending, call)
  const change = {
    status: 'ended' as const,
    endedAt,
    endedReason: outcome.endedReason,
    disposition: await dispositionOf(trx, callId, outcome.disposition),
    agentSeconds: seconds(false),
    humanSeconds: seconds(true),
    charges: JSON.stringify(bill.charges),
    billedPaise: bill.billedPaise,
    latency: latency === null ? null : JSON.stringify(latency),
    error: errorOf(event),
    ...(call.recipientId === null ? {} : { carrierFailed: sent && carrierFailed ? 1 : 0 }),
  }
  const changed = await changing(trx, callId, ['queued', 'initiated', 'ringing', 'in_progress'], change)
    .returning('id')
    .executeTakeFirst()
  if (changed === undefined) return
  const ended: CallRow = { ...call, ...change }
  if (recording !== null) {
    await trx
      .insertInto('recordings')
      .values({
        callId,
        organizationId: call.organizationId,
        environment: call.environment,
        key: recordingKey(callId),
        bytes: recording.bytes,
        durationMs: Math.round(recording.durationMs),
        sha256: recording.sha256,
        createdAt: at,
      })
      .execute()
  }
  const files = parts.map(partFile)
  const stored = [...(recording === null ? [] : [callId]), ...(await storeParts(trx, files, at))]
  const storing = stored.map((name) => storingJob(name, call.nodeId, at))
  const checking = person.bridgedAt === null ? [] : [carrierRecordJob(callId, endedAt)]
  await addJobs(trx, [...storing, sealingJob(call, at), ...checking], at)
  await releaseSlot(trx, callId)
  if (!sent) await callbackUndone(trx, ended, endedAt)
  await attemptEnded(
    trx,
    ended,
    {
      sent,
      sip: ending.sip ?? null,
      lost: ending.cause === 'internal' && ending.fault === 'ours',
      firstAudioMs: latency?.firstAudioMs ?? null,
    },
    endedAt,
  )
  const failed = ['failed', 'no_answer', 'busy'].includes(outcome.disposition)
  const types = [
    ...((await startResultExtraction(trx, ended, at)) ? [] : ['call.completed' as const]),
    ...(failed ? ['call.failed' as const] : []),
  ]
  await publishEvents(trx, ended, types, at)
  if (types.length === 0) await recordCallChange(trx, callId, 'call', at)
  // The wallet comes last: all calls of the organization wait for it, and a dial locks its campaign first, too.
  await settleCall(trx, ended, bill.charges, at)
}

/** Returns the statement that changes a call if it is in one of the given states. */
function changing(
  trx: Trx,
  callId: string,
  from: readonly CallRow['status'][],
  change: { readonly [Column in keyof CallRow]?: CallRow[Column] | RawBuilder<CallRow[Column]> },
) {
  return trx.updateTable('calls').set(change).where('id', '=', callId).where('status', 'in', from)
}

async function publishEvents(
  trx: Trx,
  { organizationId, environment, id }: CallRow,
  types: readonly ('call.answered' | 'call.completed' | 'call.failed')[],
  at: number,
): Promise<void> {
  const events = types.map((type) => ({ organizationId, environment, type, subjects: { call: id } }))
  await insertEvents(trx, events, at)
}

/** Refines `answered`: a voicemail recorder and a fax machine are not a person who answered. */
async function dispositionOf(trx: Trx, callId: string, disposition: Disposition): Promise<Disposition> {
  if (disposition !== 'answered') return disposition
  const last = await trx
    .selectFrom('callEvents')
    .select('body')
    .where('callId', '=', callId)
    .where('type', '=', 'answered_by')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  const by = last === undefined ? 'human' : (JSON.parse(last.body) as { by: AnsweredBy }).by
  return by === 'voicemail' ? 'voicemail' : by === 'fax' ? 'unknown' : 'answered'
}

async function latencyOf(trx: Trx, callId: string) {
  const traces = await trx
    .selectFrom('callEvents')
    .select(['type', 'body'])
    .where('callId', '=', callId)
    .where('type', 'in', ['trace', 'bot_stats'])
    .execute()
  const bot = traces.find(({ type }) => type === 'bot_stats')
  if (bot !== undefined) return botLatency((JSON.parse(bot.body) as { stats: BotStats }).stats)
  const first = await trx
    .selectFrom('transcriptSegments')
    .select((column) => column.fn.min('startMs').as('startMs'))
    .where('callId', '=', callId)
    .where('role', '=', 'agent')
    .executeTakeFirst()
  return callLatency(
    traces.map(({ body }) => (JSON.parse(body) as { trace: TurnTrace }).trace),
    first?.startMs ?? null,
  )
}

/** Returns whether a call was not answered because of the carrier. A 408 without ringing is no answer of anybody. */
function failedByCarrier({ fault, sip }: Ended['ending'], call: CallRow): boolean {
  if (call.answeredAt !== null) return false
  return fault === 'carrier' || (sip === 408 && call.ringingAt === null)
}

/** Returns the error text of a failed call, or null when nothing failed. */
function errorOf({ ending, recordingCut = false }: Ended): string | null {
  const cut = recordingCut ? ['the recording could not be written to its end'] : []
  if (ending.fault === 'none') return cut[0] ?? null
  const note = ending.note ?? ending.cause
  return [ending.sip === undefined ? note : `${note} (SIP ${ending.sip})`, ...cut].join('; ')
}
