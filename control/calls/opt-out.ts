import { asksForNoCalls } from '../../media/agent/language/opt-out-request.js'
import type { ServiceAnswer } from '../../media/agent/tools/service-tools.js'
import type { Clock } from '../../media/base/clock.js'
import { readVersionConfig } from '../agents/config.js'
import type { Deps } from '../api/deps.js'
import { INDIAN_NUMBER } from '../compliance/bulk.js'
import { suppress } from '../compliance/suppression-store.js'
import type { Policy } from '../config/policy-file.js'
import type { Trx } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'

/* Opt-outs on calls: by the agent's tool, in the caller's words, or with a key. */

type HeardCall = Pick<
  CallRow,
  | 'id'
  | 'organizationId'
  | 'environment'
  | 'direction'
  | 'fromNumber'
  | 'toNumber'
  | 'agentVersionId'
  | 'answeredBy'
>

/**
 * Puts the person of a call on the do-not-call list. Returns false if the call does not exist, a machine answered it,
 * or the other party has no Indian number.
 */
async function optOutOfCalls(
  trx: Trx,
  rules: Policy,
  callId: string,
  reason: string,
  now: number,
): Promise<boolean> {
  const call = await findHeardCall(trx, callId)
  return call !== null && call.answeredBy !== 'voicemail' && (await optOut(trx, rules, call, reason, now))
}

/** Returns the handler of the preset `opt_out` of agents. */
export function optOutTool({
  db,
  clock,
  policy,
}: Pick<Deps, 'db' | 'policy'> & { readonly clock: Pick<Clock, 'wall'> }) {
  return async (callId: string, { reason }: { readonly reason: string }): Promise<ServiceAnswer> => {
    const text = reason === '' ? 'Asked for no more calls' : reason
    const done = await db
      .transaction()
      .execute((trx) => optOutOfCalls(trx, policy.rules, callId, text, clock.wall()))
    return done ? { status: 'done' } : { status: 'refused', refusal: 'not_supported' }
  }
}

/** Returns whether words of a caller can be an opt-out: a request for no more calls, or a key. */
export function mayOptOut(text: string): boolean {
  return asksForNoCalls(text) || /^[0-9*#]$/.test(text)
}

/**
 * Looks for an opt-out in what the caller said or typed. Until a person is known to have answered an outbound call the
 * words wait: `earlier` looks at them once that is known, and `undecided` when the call ends and it never was.
 */
export async function hearOptOut(
  trx: Trx,
  rules: Policy,
  callId: string,
  heard: { readonly text: string } | 'earlier' | 'undecided',
  now: number,
): Promise<void> {
  const texts = typeof heard === 'string' ? await callerTexts(trx, callId) : [heard.text]
  const candidates = texts.filter(mayOptOut)
  if (candidates.length === 0) return
  const call = await findHeardCall(trx, callId)
  if (call === null || call.answeredBy === 'voicemail' || call.answeredBy === 'screening') return
  const person = call.direction === 'inbound' || call.answeredBy === 'human'
  if (person === (heard === 'undecided')) return
  const settings = await optOutSettings(trx, call)
  for (const text of candidates) {
    const pressed = text === settings.dtmfKey && (await wasPressed(trx, callId, text))
    if (!pressed && !(settings.phrases && asksForNoCalls(text))) continue
    await optOut(trx, rules, call, pressed ? 'Pressed the opt-out key' : 'Asked for no more calls', now)
    return
  }
}

/**
 * Follows the reason of an opt-out on an inbound call, because a caller can show the number of another person. The
 * entry still protects that person, and a reviewer of the list sees its evidence.
 */
const UNPROVEN = ' (the number that called is not proven)'

async function optOut(
  trx: Trx,
  rules: Policy,
  call: HeardCall,
  reason: string,
  now: number,
): Promise<boolean> {
  const e164 = call.direction === 'inbound' ? call.fromNumber : call.toNumber
  if (!INDIAN_NUMBER.test(e164)) return false
  const { organizationId, environment, id } = call
  const unproven = call.direction === 'inbound' ? UNPROVEN : ''
  const entry = { e164, source: 'opt_out', reason: `${reason}${unproven}`, callId: id }
  // The call has the number anyway.
  await suppress(
    trx,
    { rules, rootKey: null },
    { organizationId, environment },
    entry,
    { type: 'call', id },
    now,
  )
  return true
}

async function findHeardCall(trx: Trx, callId: string): Promise<HeardCall | null> {
  const call = await trx
    .selectFrom('calls')
    .select(['id', 'organizationId', 'environment', 'direction', 'fromNumber', 'toNumber'])
    .select(['agentVersionId', 'answeredBy'])
    .where('id', '=', callId)
    .executeTakeFirst()
  return call ?? null
}

async function callerTexts(trx: Trx, callId: string): Promise<readonly string[]> {
  const segments = await trx
    .selectFrom('transcriptSegments')
    .select('text')
    .where('callId', '=', callId)
    .where('role', '=', 'caller')
    .orderBy('seq')
    .execute()
  return segments.map(({ text }) => text)
}

async function optOutSettings(
  trx: Trx,
  { organizationId, agentVersionId }: HeardCall,
): Promise<{ readonly phrases: boolean; readonly dtmfKey: string | null }> {
  if (agentVersionId === null) return { phrases: true, dtmfKey: null }
  const version = await trx
    .selectFrom('agentVersions')
    .select('config')
    .where('id', '=', agentVersionId)
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  return version === undefined
    ? { phrases: true, dtmfKey: null }
    : readVersionConfig(version.config).callSettings.optOut
}

/** Returns whether the far side sent the digit. A recogniser may write a spoken number as a digit. */
async function wasPressed(trx: Trx, callId: string, digit: string): Promise<boolean> {
  const presses = await trx
    .selectFrom('callEvents')
    .select('body')
    .where('callId', '=', callId)
    .where('type', '=', 'dtmf')
    .execute()
  return presses.some(({ body }) => (JSON.parse(body) as { digit?: unknown }).digit === digit)
}
