import type { ConversationEvent } from '../conversation-events.js'
import type { CallLanguage } from '../language/call-language.js'
import type { Phase, TurnInput } from './turn-types.js'

/** What the parts of a conversation share: session time and the turn machine to which they report. */
export interface TurnContext {
  /** Returns the session time (ms), 0 before the start. */
  now(): number
  readonly phase: Phase
  /** Start of the caller's current turn (session ms). Null when there is none. */
  readonly callerStartMs: number | null
  readonly language: CallLanguage
  /** Feeds the machine. Runs all effects before it returns, unless called from an effect. */
  feed(input: TurnInput): void
  /** Ends the conversation after an internal error. */
  failed(error: unknown): void
  emit(event: ConversationEvent): void
}
