import type { Turn } from '../../media/agent/conversation-events.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import {
  CALLER_LEG,
  type LegId,
  type LegRequest,
  type MediaPool,
  type SessionEvent,
} from '../../workers/channel/protocol.js'
import type { CallId } from './call-events.js'
import type { FurtherLeg } from './further-leg.js'

/** Longest note (characters) that a media session takes. */
const MAX_NOTE = 2_000
/** The key with which a person takes the call; with the other one the person declines. */
const ACCEPT = '1'
const DECLINE = '2'

export interface LegSpeechDeps {
  readonly pool: MediaPool
  readonly log: Log
}

/**
 * Says a text to a leg. Resolves when it was said, cut or not possible, and at once without a text; never rejects. `now`
 * stops the agent in the middle of its clause.
 */
export async function sayTo(
  { pool, log }: LegSpeechDeps,
  callId: CallId,
  { leg, text, now = false }: { readonly leg: LegId; readonly text: string | null; readonly now?: boolean },
): Promise<void> {
  if (text === null || text === '') return
  await pool
    .request({ type: 'say', session: callId, leg, text, ...(now ? { now } : {}) })
    .catch((error: unknown) => log.warn({ callId, error: errorText(error) }, 'transfer.line_failed'))
}

/** Continues the recording in another file; null ends it. The call goes on when that fails. */
export function recordTo({ pool, log }: LegSpeechDeps, callId: CallId, path: string | null): void {
  pool
    .request({ type: 'record', session: callId, path })
    .catch((error: unknown) => log.warn({ callId, error: errorText(error) }, 'transfer.record_failed'))
}

/** Tells the agent something for its next reply. Resolves also when it failed. */
export async function noteTo(
  { pool, log }: LegSpeechDeps,
  callId: CallId,
  text: string,
  failed: 'transfer.note_failed' | 'takeover.note_failed',
): Promise<void> {
  await pool
    .request({ type: 'note', session: callId, text: text.slice(0, MAX_NOTE) })
    .catch((error: unknown) => log.warn({ callId, error: errorText(error) }, failed))
}

/**
 * Waits until the person of a leg decides by a key. Resolves with null when the time is over or the leg left; never
 * rejects.
 */
export async function decisionByKey(
  { pool, log }: LegSpeechDeps,
  callId: CallId,
  leg: FurtherLeg,
  timeoutMs: number,
): Promise<'accepted' | 'declined' | null> {
  const options = { maxDigits: 1, terminator: null, timeoutMs }
  try {
    for (;;) {
      const { digits, ending } = await pool.request({
        type: 'collect',
        session: callId,
        leg: leg.id,
        options,
      })
      if (leg.isOver || ending !== 'complete') return null
      if (digits === ACCEPT) return 'accepted'
      if (digits === DECLINE) return 'declined'
    }
  } catch (error) {
    // The timer of the state ends the wait.
    log.warn({ callId, error: errorText(error) }, 'transfer.keys_failed')
    return null
  }
}

/** Recognises a leg from now on in these languages; null ends that. A talk goes on when it fails. */
export function listenTo(
  { pool, log }: LegSpeechDeps,
  callId: CallId,
  what: {
    readonly leg: LegId
    readonly languages: readonly string[] | null
    readonly sipCallId: string | null
    /** Logged when it fails. */
    readonly event: 'transfer.listen_failed' | 'takeover.listen_failed'
  },
): void {
  const { leg, languages, sipCallId, event } = what
  const from = sipCallId === null ? {} : { sipCallId }
  pool
    .request({ type: 'listen', session: callId, leg, languages, ...from })
    .catch((error: unknown) => log.warn({ callId, leg, error: errorText(error) }, event))
}

/**
 * Sends a request without which a party would hear nothing. Resolves also when it failed;
 * `failed` returns what is logged then.
 */
export async function askOrEnd(
  { pool, log }: LegSpeechDeps,
  callId: CallId,
  request: LegRequest,
  failed: (error: unknown) => 'transfer.request_failed' | 'takeover.request_failed' | null,
): Promise<void> {
  await pool.request(request).catch((error: unknown) => {
    const event = failed(error)
    if (event !== null) log.error({ callId, request: request.type, error: errorText(error) }, event)
  })
}

export type Heard = SessionEvent & { readonly type: 'heard' }

/** Returns the line of the transcript for what caller or person said outside of the agent's conversation. */
export function heardTurn(id: number, { leg, text, language, startMs, endMs, words }: Heard): Turn {
  const speaker = leg === CALLER_LEG ? 'caller' : 'human'
  return { id, speaker, text, heardText: text, language, startMs, endMs, words }
}
