import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import { audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { operation } from '../api/operation.js'
import { isRefusal, refuse, unavailable } from '../api/problem.js'
import { idParam, openEnum } from '../base/schemas.js'
import type { Owner } from '../numbers/store.js'
import { atCarrier, type CallRequestHandlers } from './call-requests.js'
import { type CallWithParts, findCall } from './store.js'

/* Operations on a running call besides its end and its transfer. */

const SAY = 'say'
const NOTE = 'note'
/** Time (ms) that a request waits for the end of a text. Shorter than the limit of requests between processes. */
const SAY_WAIT_MS = 10_000
const TEXT_MAX = 1_000

const CallPath = z.object({ id: idParam('call') })
const Text = z
  .string()
  .trim()
  .min(1)
  .max(TEXT_MAX)
  .meta({ description: `1 to ${TEXT_MAX.toLocaleString('en')} characters.` })

type Said = 'said' | 'cut' | 'failed' | 'in_progress'

const sayOnCall = operation({
  id: 'sayOnCall',
  method: 'post',
  path: '/v1/calls/:id/say',
  tag: 'Calls',
  summary: 'Say a text on a running call',
  description:
    'All parties of the call hear it, in the voice of the agent; beside a media bot an embedded voice says it. The agent first ends its clause; with interrupt it stops at once. The answer comes with the end of the text, or after 10 seconds with in_progress. A further text cuts an earlier one.',
  audience: 'key',
  scope: 'write',
  idempotent: 'accepted',
  params: CallPath,
  body: z.strictObject({ text: Text, interrupt: z.boolean().default(false) }),
  status: 200,
  result: z.object({ outcome: openEnum('said', 'cut', 'failed', 'in_progress') }),
  fails: ['not_found', 'call_not_live', 'internal_error'],
  run: async (input) => {
    const { params, actor, deps, idempotencyId: id } = input
    const call = await liveCall(deps, actor, params.id)
    if (isRefusal(call)) return call
    const body = { text: input.body.text, now: input.body.interrupt }
    const answered = await atCarrier(deps, call, { kind: SAY, body, id }, () => say(deps, call.id, body))
    if (answered === null) return noAnswer()
    const outcome = answered.answer
    if (outcome === null) return notLive()
    return audited(input, async (trx, record) => {
      await record('call.said', call.id, { after: { outcome } })
      return input.keep(trx, { outcome })
    })
  },
})

const noteOnCall = operation({
  id: 'noteOnCall',
  method: 'post',
  path: '/v1/calls/:id/note',
  tag: 'Calls',
  summary: 'Give a note to the agent of a running call',
  description:
    'The model reads it before its next reply. It is not heard on the call; the transcript holds it. A call without an agent of the service is answered with 409.',
  audience: 'key',
  scope: 'write',
  idempotent: 'accepted',
  params: CallPath,
  body: z.strictObject({ text: Text }),
  status: 200,
  result: z.object({ noted: z.literal(true) }),
  fails: ['not_found', 'call_not_live', 'internal_error'],
  run: async (input) => {
    const { params, actor, deps, idempotencyId: id } = input
    const call = await liveCall(deps, actor, params.id)
    if (isRefusal(call)) return call
    const { text } = input.body
    const asked = { kind: NOTE, body: text, id }
    const answered = await atCarrier(deps, call, asked, () => note(deps, call.id, text))
    if (answered === null) return noAnswer()
    if (!answered.answer) return refuse('call_not_live', 'No agent of the service is on the call.')
    return audited(input, async (trx, record) => {
      await record('call.noted', call.id)
      return input.keep(trx, { noted: true } as const)
    })
  },
})

export const liveCallOperations = [sayOnCall, noteOnCall]

/** Carries out what other processes ask about calls of this one. */
export function liveCallRequests(deps: Pick<Deps, 'calls' | 'clock' | 'log'>): CallRequestHandlers {
  return {
    [SAY]: (callId, body) => say(deps, callId, body as { readonly text: string; readonly now: boolean }),
    [NOTE]: (callId, body) => note(deps, callId, body as string),
  }
}

/** Resolves with null when the call has no media. */
async function say(
  { calls, clock, log }: Pick<Deps, 'calls' | 'clock' | 'log'>,
  callId: string,
  { text, now }: { readonly text: string; readonly now: boolean },
): Promise<Said | null> {
  const said = calls.say(callId, text, now).catch((error: unknown) => {
    log.warn({ callId, error: errorText(error) }, 'call.say_failed')
    return 'failed' as const
  })
  return await new Promise((resolve) => {
    const timer = clock.after(SAY_WAIT_MS, () => resolve('in_progress'))
    void said.then((outcome) => {
      timer.cancel()
      resolve(outcome)
    })
  })
}

async function note(
  { calls, log }: Pick<Deps, 'calls' | 'log'>,
  callId: string,
  text: string,
): Promise<boolean> {
  return await calls.note(callId, text).catch((error: unknown) => {
    log.warn({ callId, error: errorText(error) }, 'call.note_failed')
    return false
  })
}

/** Returns a call in progress, or a refusal. */
export async function liveCall({ db }: Pick<Deps, 'db'>, owner: Owner, id: string) {
  const call: CallWithParts | null = await findCall(db, owner, id)
  if (call === null) return refuse('not_found', 'The call does not exist.')
  return call.status === 'in_progress' ? call : notLive()
}

function notLive() {
  return refuse('call_not_live', 'The call is not in progress.')
}

function noAnswer() {
  const message = 'Another process of the service carries the call and did not answer. Ask again.'
  return unavailable(message, { reason: 'other_process' })
}
