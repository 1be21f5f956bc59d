import { languageData } from '../../media/agent/language/language-data.js'
import { asksForNoCalls } from '../../media/agent/language/opt-out-request.js'
import type { ServiceAnswer } from '../../media/agent/tools/service-tools.js'
import type { Clock } from '../../media/base/clock.js'
import type { Ending } from '../../signalling/call/ending.js'
import type { CallControl } from '../../signalling/call/ports.js'
import { readConfig } from '../agents/config.js'
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
  | 'transfer'
>

/** An opt-out in the words of a caller or with a key, which was stored. */
export interface HeardOptOut {
  readonly callId: string
  /** Language of the call (BCP 47), or null if nothing was said. */
  readonly language: string | null
}

/** The call of a person who wants none ends as calls end that the agent ends. */
const OPTED_OUT: Ending = { by: 'agent', cause: 'agent_hangup', fault: 'none', note: 'opt_out' }

/** Confirms an opt-out to the person, in the language of the call, and ends the call with the hang-up line. */
export function confirmOptOut(calls: Pick<CallControl, 'finish'>, { callId, language }: HeardOptOut): void {
  calls.finish(callId, languageData(language ?? '').optOut.confirmed, OPTED_OUT)
}

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

/**
 * Looks for an opt-out in what the caller said or typed. Until a person is known to have answered an outbound call the
 * words wait: `earlier` looks at them once that is known, and `undecided` when the call ends and it never was. Returns
 * an opt-out that the agent has to confirm; one beside a person to whom the call was handed is not the agent's.
 */
export async function hearOptOut(
  trx: Trx,
  rules: Policy,
  callId: string,
  heard: { readonly text: string } | 'earlier' | 'undecided',
  now: number,
): Promise<HeardOptOut | null> {
  const texts = typeof heard === 'string' ? await callerTexts(trx, callId) : [heard.text]
  const candidates = texts.filter((text) => asksForNoCalls(text) || /^[0-9*#]$/.test(text))
  if (candidates.length === 0) return null
  const call = await findHeardCall(trx, callId)
  if (call === null || call.answeredBy === 'voicemail' || call.answeredBy === 'screening') return null
  const person = call.direction === 'inbound' || call.answeredBy === 'human'
  if (person === (heard === 'undecided')) return null
  const settings = await optOutSettings(trx, call)
  for (const text of candidates) {
    const pressed = text === settings.dtmfKey && (await wasPressed(trx, callId, text))
    if (!pressed && !(settings.phrases && asksForNoCalls(text))) continue
    const reason = pressed ? 'Pressed the opt-out key' : 'Asked for no more calls'
    if (!(await optOut(trx, rules, call, reason, now)) || isHandedOver(call)) return null
    return { callId, language: (await lastLanguage(trx, callId)) ?? settings.language }
  }
  return null
}

/** Returns whether the caller talks to a person to whom the agent handed the call. */
function isHandedOver({ transfer }: HeardCall): boolean {
  return transfer !== null && (JSON.parse(transfer) as { status?: unknown }).status === 'bridged'
}

/** Returns the language in which somebody spoke last, or null. */
async function lastLanguage(trx: Trx, callId: string): Promise<string | null> {
  const segment = await trx
    .selectFrom('transcriptSegments')
    .select('language')
    .where('callId', '=', callId)
    .where('language', 'is not', null)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return segment?.language ?? null
}

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
  const entry = { e164, source: 'opt_out', reason, callId: id }
  await suppress(trx, rules, { organizationId, environment }, entry, { type: 'call', id }, now)
  return true
}

async function findHeardCall(trx: Trx, callId: string): Promise<HeardCall | null> {
  const call = await trx
    .selectFrom('calls')
    .select(['id', 'organizationId', 'environment', 'direction', 'fromNumber', 'toNumber'])
    .select(['agentVersionId', 'answeredBy', 'transfer'])
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

interface OptOutSettings {
  readonly phrases: boolean
  readonly dtmfKey: string | null
  /** First language of the agent. */
  readonly language: string | null
}

const DEFAULTS: OptOutSettings = { phrases: true, dtmfKey: null, language: null }

async function optOutSettings(
  trx: Trx,
  { organizationId, agentVersionId }: HeardCall,
): Promise<OptOutSettings> {
  if (agentVersionId === null) return DEFAULTS
  const version = await trx
    .selectFrom('agentVersions')
    .select('config')
    .where('id', '=', agentVersionId)
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  if (version === undefined) return DEFAULTS
  const { callSettings, voice } = readConfig(version.config)
  return { ...callSettings.optOut, language: voice.languages[0] ?? null }
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
