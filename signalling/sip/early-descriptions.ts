import { parseAddress } from '../embedded/message/name-addr.js'
import { paramOf } from '../embedded/message/sip-header.js'
import type { RawMessage } from './drachtio-types.js'

/** Forks whose descriptions are kept. */
const MAX_FORKS = 16

/**
 * The session descriptions of the provisional responses to one INVITE of ours, by fork. The first one in a reliable
 * response is the answer to our offer (RFC 3261 13.2.1, RFC 3262 5), and the 200 need not repeat it.
 */
export class EarlyDescriptions {
  readonly #byTag = new Map<string, { readonly sdp: string; readonly reliable: boolean }>()

  /** Takes a provisional response. `sdp` is its description, or ''. */
  received(response: Pick<RawMessage, 'get'>, sdp: string): void {
    if (sdp === '') return
    const tag = tagOf(response)
    const reliable = response.get('RSeq') !== undefined
    const known = this.#byTag.get(tag)
    if (known === undefined ? this.#byTag.size < MAX_FORKS : reliable && !known.reliable)
      this.#byTag.set(tag, { sdp, reliable })
  }

  /** Returns the description that the fork of this final response sent before; '' if it sent none. */
  of(response: Pick<RawMessage, 'get'>): string {
    return this.#byTag.get(tagOf(response))?.sdp ?? ''
  }

  clear(): void {
    this.#byTag.clear()
  }
}

function tagOf(response: Pick<RawMessage, 'get'>): string {
  const to = parseAddress(response.get('To') ?? '')
  return (to && paramOf(to.params, 'tag')) ?? ''
}
