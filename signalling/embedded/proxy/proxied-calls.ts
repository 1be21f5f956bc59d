import { parseRAck, reliableRSeq } from '../dialog/prack.js'
import { parseAddress } from '../message/name-addr.js'
import { paramOf } from '../message/sip-header.js'
import { headerOf, type SipMessage, type SipRequest, type SipResponse } from '../message/sip-message.js'

/** Maximum number of calls remembered; beyond it the one idle longest is forgotten. */
const MAX_CALLS = 50_000
/** Maximum number of destinations of a call whose numbering is remembered. */
const MAX_FORKS = 32

/** How reliable provisional responses of one call are numbered towards its caller. */
interface Numbering {
  /** The highest RSeq sent to the caller; 0 before the first. */
  highest: number
  /** Offset added to the RSeq of each destination, by To tag. */
  readonly offsets: Map<string, number>
}

/**
 * The calls that this server proxied with Record-Route. Their later requests are forwarded to any Route and
 * target; those of other calls are not, because the server would be an open relay.
 *
 * Serves `proxy` commands of `parley sip-server`; calls of the service do not use it.
 */
export class ProxiedCalls {
  /** By Call-ID, the one idle longest first. */
  readonly #calls = new Map<string, Numbering>()

  get size(): number {
    return this.#calls.size
  }

  add(callId: string): void {
    this.#calls.delete(callId)
    this.#calls.set(callId, { highest: 0, offsets: new Map() })
    if (this.#calls.size <= MAX_CALLS) return
    for (const oldest of this.#calls.keys()) {
      this.#calls.delete(oldest)
      break
    }
  }

  /** Returns whether a request belongs to a proxied call, and marks the call as active. */
  touch(callId: string): boolean {
    const call = this.#calls.get(callId)
    if (call === undefined) return false
    this.#calls.delete(callId)
    this.#calls.set(callId, call)
    return true
  }

  remove(callId: string): void {
    this.#calls.delete(callId)
  }

  /**
   * Returns a reliable provisional response with an RSeq that continues those of earlier destinations. Many
   * callers keep one sequence for the whole INVITE (RFC 3262 4) and would take the first response of the next
   * destination for an old one.
   */
  renumberRSeq(callId: string, response: SipResponse): SipResponse {
    const call = this.#calls.get(callId)
    const rseq = reliableRSeq(response)
    const tag = toTag(response)
    if (call === undefined || rseq === null || tag === null) return response
    let offset = call.offsets.get(tag)
    if (offset === undefined) {
      offset = call.highest === 0 || call.offsets.size >= MAX_FORKS ? 0 : call.highest + 1 - rseq
      call.offsets.set(tag, offset)
    }
    call.highest = Math.max(call.highest, rseq + offset)
    return offset === 0
      ? response
      : { ...response, headers: withHeader(response, 'RSeq', String(rseq + offset)) }
  }

  /** Returns a PRACK with the RSeq of its destination. */
  restoreRAck(callId: string, prack: SipRequest): SipRequest {
    const rack = prack.method === 'PRACK' ? parseRAck(prack) : null
    const offset = this.#calls.get(callId)?.offsets.get(toTag(prack) ?? '') ?? 0
    if (rack === null || offset === 0) return prack
    return { ...prack, headers: withHeader(prack, 'RAck', `${rack.rseq - offset} ${rack.cseq} INVITE`) }
  }
}

function toTag(message: SipMessage): string | null {
  return paramOf(parseAddress(headerOf(message, 'To') ?? '')?.params ?? '', 'tag')
}

function withHeader(message: SipMessage, name: string, value: string) {
  return message.headers.map((header) => (header.name === name ? { name, value } : header))
}
