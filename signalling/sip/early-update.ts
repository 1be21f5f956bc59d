import type { OfferReply } from './dialog-port.js'
import type { RawRequest, RawResponse } from './drachtio-types.js'
import { sessionIntervalError } from './in-dialog-request.js'
import { unsupportedBy } from './option-tags.js'
import { readSessionBody } from './session-body.js'
import { warning } from './warning.js'

export interface EarlyUpdate {
  /** Takes the offer of the UPDATE; null while no reliable response has answered the offer of the INVITE. */
  readonly offered: ((offer: string, reply: OfferReply) => void) | null
  /** The refusal of an offer that comes too early (RFC 3311 5.2). */
  readonly tooEarly: { readonly status: 491 | 500; readonly headers?: Readonly<Record<string, string>> }
}

/**
 * Answers an UPDATE before the final response to its INVITE. An UPDATE without an offer only checks whether we are
 * alive.
 */
export function answerEarlyUpdate(
  update: RawRequest,
  answer: RawResponse,
  { offered, tooEarly }: EarlyUpdate,
): void {
  const unsupported = unsupportedBy(update.get('Require'))
  const tooShort = sessionIntervalError(update)
  const body = readSessionBody(update)
  if (unsupported !== null) answer.send(420, { headers: unsupported })
  else if (tooShort !== null) answer.send(tooShort.status, { headers: tooShort.headers })
  else if (!body.ok) answer.send(body.status, { headers: body.headers })
  else if (body.sdp === '') answer.send(200)
  else if (offered === null) answer.send(tooEarly.status, { headers: tooEarly.headers ?? {} })
  else {
    offered(body.sdp, (status, sdp, reason) => {
      if (status === 200) answer.send(200, { headers: { 'Content-Type': 'application/sdp' }, body: sdp })
      else answer.send(status, reason === undefined ? {} : { headers: { Warning: warning(reason) } })
    })
  }
}
