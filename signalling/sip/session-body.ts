import type { RawMessage } from './drachtio-types.js'
import { type BodyPart, headerParameter, headerValue, parseMultipart } from './multipart.js'

/** Value of `Accept` headers. */
export const ACCEPTED_TYPES = 'application/sdp, multipart/mixed'

/** The session description of a message, or the refusal of a request with this body. */
export type SessionBody =
  /** `sdp` is '' without a description. */
  | { readonly ok: true; readonly sdp: string }
  | { readonly ok: false; readonly status: 400 | 415; readonly headers: Readonly<Record<string, string>> }

type Readable = Pick<RawMessage, 'body' | 'get'>

const MAX_DEPTH = 4
const UNSUPPORTED: SessionBody = { ok: false, status: 415, headers: { Accept: ACCEPTED_TYPES } }

/**
 * Finds the session description in the body of a message (RFC 3261 7.4, RFC 5621). Refuses with 415 a body, or a part
 * with `handling=required`, that is not understood, and with 400 a body whose parts cannot be told apart. A body
 * without a type is SDP.
 */
export function readSessionBody(message: Readable): SessionBody {
  const { body = '' } = message
  if (body === '') return { ok: true, sdp: '' }
  const encoding = message.get('Content-Encoding')?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== '')
    return { ok: false, status: 415, headers: { 'Accept-Encoding': 'identity' } }
  const type = message.get('Content-Type') ?? ''
  const name = headerValue(type)
  if (name === '' || name === 'application/sdp') return { ok: true, sdp: body }
  if (!name.startsWith('multipart/')) {
    const isOptional =
      headerParameter(message.get('Content-Disposition') ?? '', 'handling')?.toLowerCase() === 'optional'
    return isOptional ? { ok: true, sdp: '' } : UNSUPPORTED
  }
  const found = searchParts(type, body, 0)
  if (found === null) return { ok: false, status: 400, headers: {} }
  return found.isRefused ? UNSUPPORTED : { ok: true, sdp: found.sdp ?? '' }
}

/** Returns the session description of a response or an ACK, which cannot be refused; '' without one. */
export function sessionSdpOf(message: Readable): string {
  const { body = '' } = message
  const type = message.get('Content-Type') ?? ''
  const name = headerValue(type)
  if (name.startsWith('multipart/')) return searchParts(type, body, 0)?.sdp ?? ''
  return name === '' || name === 'application/sdp' ? body : ''
}

interface Found {
  readonly sdp: string | null
  /** True if a part is required and not understood. */
  readonly isRefused: boolean
}

/** Returns null when the parts cannot be told apart. */
function searchParts(contentType: string, body: string, depth: number): Found | null {
  const parts = depth < MAX_DEPTH ? parseMultipart(contentType, body) : null
  if (parts === null) return null
  let sdp: string | null = null
  let isRefused = false
  // Of several alternatives the last one that is understood is the best (RFC 2046 5.1.4).
  const isAlternative = headerValue(contentType) === 'multipart/alternative'
  for (const part of parts) {
    const read = readPart(part, depth)
    isRefused ||= read.isRefused
    if (read.sdp !== null && (sdp === null || isAlternative)) sdp = read.sdp
  }
  return { sdp, isRefused: isRefused && !(isAlternative && sdp !== null) }
}

function readPart({ headers, body }: BodyPart, depth: number): Found {
  const disposition = headers.get('content-disposition') ?? ''
  // A part is required only if it says so: gateways leave the parameter out beside ISUP.
  const isRequired = headerParameter(disposition, 'handling')?.toLowerCase() === 'required'
  const type = headers.get('content-type') ?? ''
  const name = headerValue(type)
  if (name.startsWith('multipart/')) {
    return searchParts(type, body, depth + 1) ?? { sdp: null, isRefused: isRequired }
  }
  const isSdp = name === 'application/sdp' || (name === '' && body.startsWith('v=0'))
  // A description for early media alone (RFC 3959) does not describe the session.
  if (isSdp && headerValue(disposition) !== 'early-session') return { sdp: body, isRefused: false }
  return { sdp: null, isRefused: isRequired }
}
