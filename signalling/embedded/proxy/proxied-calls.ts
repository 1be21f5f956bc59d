import { parseRAck, reliableRSeq } from '../dialog/prack.js'
import { paramOf, parseAddress } from '../message/sip-header.js'
import { headerOf, type SipMessage, type SipRequest, type SipResponse } from '../message/sip-message.js'

/** Calls remembered; beyond it the one that was silent longest is forgotten. */
const MAX_CALLS = 50_000
/** Destinations of one call whose numbering is remembered. */
const MAX_FORKS = 32

/** How the reliable provisional responses of one call are numbered for its caller. */
interface Numbering {
  /** The highest RSeq the caller has seen; 0 before the first. */
  highest: number
  /** By To tag: what is added to the RSeq of that destination. */
  readonly offsets: Map<string, number>
}

/**
 * The calls this server proxied and stays in the path of. Their later requests are forwarded
 * wherever their Route and target say; nobody else's are, or the server would be an open relay.
 */
export class ProxiedCalls {
  /** By Call-ID, the longest silent first. */
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

  /** Whether a request belongs to one of them, which counts as a sign of life. */
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
   * A reliable provisional response with an RSeq that goes on from those of the destinations tried
   * before: many callers keep one number for the whole INVITE (RFC 3262 4), and would take the first
   * response of the next destination for an old one.
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
      : { ...response, headers: replaced(response, 'RSeq', String(rseq + offset)) }
  }

  /** A PRACK with the number its destination gave. */
  restoreRAck(callId: string, prack: SipRequest): SipRequest {
    const rack = prack.method === 'PRACK' ? parseRAck(prack) : null
    const offset = this.#calls.get(callId)?.offsets.get(toTag(prack) ?? '') ?? 0
    if (rack === null || offset === 0) return prack
    return { ...prack, headers: replaced(prack, 'RAck', `${rack.rseq - offset} ${rack.cseq} INVITE`) }
  }
}

function toTag(message: SipMessage): string | null {
  return paramOf(parseAddress(headerOf(message, 'To') ?? '')?.params ?? '', 'tag')
}

function replaced(message: SipMessage, name: string, value: string) {
  return message.headers.map((header) => (header.name === name ? { name, value } : header))
}
