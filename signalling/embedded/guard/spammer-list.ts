import type { Essentials } from '../message/message-validation.js'
import { parseUri } from '../message/sip-header.js'
import { headerOf, type SipRequest } from '../message/sip-message.js'

/** Words that give unwanted callers away, and what becomes of their requests. */
export interface SpammerList {
  /** Compared without case, anywhere in the User-Agent or the user of To or From. */
  readonly words: readonly string[]
  /** `reject` answers 603, `discard` says nothing. */
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
