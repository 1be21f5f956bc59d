import type { ConversationEvent } from '../conversation-events.js'
import type { CallLanguage } from '../language/call-language.js'
import type { Phase, TurnInput } from './turn-types.js'

/**
 * State that the parts of a conversation share: session time, the language, and the input queue of the turn machine.
 * Parts know the turn context and not each other.
 */
export interface TurnContext {
  /** Returns the session time (ms), 0 before the start. */
  now(): number
  readonly phase: Phase
  /** Start of the caller's current turn (session ms). Null when there is none. */
  readonly callerStartMs: number | null
  /** The reply's first sample was sent. */
  readonly audible: boolean
  readonly language: CallLanguage
  /** Queues an input. Runs all effects before it returns, unless called from an effect. */
  feed(input: TurnInput): void
  /** Derives the policy anew before the next input. */
  policyChanged(): void
  /** Ends the conversation after an internal error. */
  failed(error: unknown): void
  emit(event: ConversationEvent): void
}
