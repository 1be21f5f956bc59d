import { anyPattern } from '../language/word-list.js'

/** The party that answered, as its words tell. */
export type GreetingKind = 'voicemail' | 'screening' | 'ivr'

/*
 * Phrases that machines say and people do not: voicemail, network announcements, call screening, menus. A
 * request to leave a message may come from a person, so only announcements count. The order matters: a
 * voicemail may also ask for a name.
 */
const PHRASES: readonly (readonly [GreetingKind, RegExp])[] = [
  ['screening', composed(anyPattern(({ machines }) => machines.screening))],
  ['voicemail', composed(anyPattern(({ machines }) => machines.voicemail))],
  ['screening', composed(anyPattern(({ machines }) => machines.nameRequest))],
  ['ivr', composed(anyPattern(({ machines }) => machines.menu))],
]

/** Composes letters that Unicode writes in two ways, as in the text to match. */
function composed({ source }: RegExp): RegExp {
  return new RegExp(source.normalize('NFC'))
}

/** People say this too, as a question or with a place. The following words decide. */
const LEAVE =
  /(?<!\b(?:want|like|wish|need|love) to )(?<!\b(?:can|may|shall|could|should) (?:i|we) )\b(?:leave|drop) (?:me |us )?(?:a|your) (?:brief |short |detailed )?(?:message|name|voicemail)\b/
const ELSEWHERE = /^ .{0,20}\b(whatsapp|sms|text|inbox|telegram|mail|her|him|them)\b/
/** Words that must follow when more may still arrive. */
const MIN_FOLLOWING = 3

/** Returns the kind of machine, or null when a person could say this. With `complete`, no more words follow. */
export function classifyGreeting(text: string, complete = true): GreetingKind | null {
  const plain = text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[.,!?;:।"“”]/g, ' ')
    .replace(/\s+/g, ' ')
  for (const [kind, phrases] of PHRASES) if (phrases.test(plain)) return kind
  const leave = LEAVE.exec(plain)
  if (leave === null) return null
  const after = plain.slice(leave.index + leave[0].length)
  if (ELSEWHERE.test(after)) return null
  return complete || after.trim().split(' ').length >= MIN_FOLLOWING ? 'voicemail' : null
}
