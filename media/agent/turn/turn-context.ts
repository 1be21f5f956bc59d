import type { ConversationEvent } from '../conversation-events.js'
import type { CallLanguage } from '../language/call-language.js'
import type { Phase, TurnInput } from './turn-types.js'

/** What the parts of a conversation have in common: its time, and the turn machine they report to. */
export interface TurnContext {
  /** Session ms; 0 before the start. */
  now(): number
  readonly phase: Phase
  /** When the caller began what is being said or waited for; null while there is nothing of it. */
  readonly callerStartMs: number | null
  readonly language: CallLanguage
  /** Tells the machine; its effects have run when this returns, unless an effect is what brought it. */
  feed(input: TurnInput): void
  /** Nothing that was begun can be relied on any more: the conversation is over. */
  failed(error: unknown): void
  emit(event: ConversationEvent): void
}
