import type { Essentials } from '../message/message-validation.js'
import { parseUri } from '../message/sip-header.js'
import { headerOf, type SipRequest } from '../message/sip-message.js'

/** Words that identify unwanted callers, and the action for their requests. */
export interface SpammerList {
  /** Compared case-insensitively with the User-Agent and the user part of To and From. */
  readonly words: readonly string[]
  /** `reject` answers 603, `discard` does not answer. */
  readonly action: 'reject' | 'discard'
}

export function isSpam(list: SpammerList, request: SipRequest, essentials: Essentials): boolean {
  const text = [
    headerOf(request, 'User-Agent') ?? '',
    parseUri(essentials.to.uri)?.user ?? '',
    parseUri(essentials.from.uri)?.user ?? '',
  ]
    .join('\n')
    .toLowerCase()
  return list.words.some((word) => word !== '' && text.includes(word.toLowerCase()))
}
