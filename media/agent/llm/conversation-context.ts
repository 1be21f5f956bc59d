import { languageName } from '../language/language-tags.js'
import type { ChatMessage } from '../vendor-ports.js'

/** Appended to the agent's own prompt. */
const TELEPHONE =
  'You are on a telephone call and your answers are spoken. Answer briefly, in complete sentences, ' +
  'without lists, markup or emoji. A note in brackets after your words says that the caller interrupted ' +
  'you there and did not hear the rest; never say such a note.'

const INTERRUPTED = '[interrupted by the caller]'

/**
 * The model's context: the prompt, and the conversation as both sides heard it. Agent words are added only
 * after they were sent, together with their tool rounds.
 */
export class ConversationContext {
  readonly #messages: ChatMessage[]
  readonly #prompt: string
  readonly #multilingual: boolean

  constructor(systemPrompt: string, languages: readonly string[]) {
    const spoken = `Languages of this call: ${languages.join(', ')}.`
    this.#prompt = `${systemPrompt}\n\n${TELEPHONE} ${spoken}`
    this.#multilingual = languages.length > 1
    this.#messages = [{ role: 'system', content: this.#prompt }]
  }

  /** Sets the current language. The model is informed when the call has several. */
  setLanguage(language: string): void {
    if (!this.#multilingual) return
    const { name, script } = languageName(language)
    const letters =
      language === 'en-IN' ? '' : `, written in ${script}, also when the caller's words come in Latin letters`
    const content = `${this.#prompt} The caller speaks ${name} now: answer in ${name}${letters}.`
    this.#messages[0] = { role: 'system', content }
  }

  /** Adds a note for the model. */
  addNote(content: string): void {
    this.#messages.push({ role: 'system', content })
  }

  /** Replaces caller words that were unknown when they were added. */
  rewrite(read: (text: string) => string): void {
    for (const [index, message] of this.#messages.entries()) {
      if (message.role === 'user') this.#messages[index] = { role: 'user', content: read(message.content) }
    }
  }

  addCallerTurn(text: string): void {
    const last = this.#messages.at(-1)
    // Two caller turns without audible speech between them are one message.
    if (last?.role === 'user') {
      this.#messages[this.#messages.length - 1] = { role: 'user', content: `${last.content} ${text}` }
    } else this.#messages.push({ role: 'user', content: text })
  }

  /** Adds a turn of the agent. With an empty `heard`, adds only the interruption. */
  addAgentTurn(heard: string, interrupted: boolean, rounds: readonly ChatMessage[] = []): void {
    // The words of a tool round are part of `heard` already.
    for (const message of rounds) {
      this.#messages.push(message.role === 'assistant' ? { ...message, content: null } : message)
    }
    const content = interrupted ? `${heard} ${INTERRUPTED}`.trim() : heard
    if (content !== '') this.#messages.push({ role: 'assistant', content })
  }

  /** Adds a tool result that arrived after the caller had interrupted. */
  addLateToolResult(name: string, result: string): void {
    this.#messages.push({ role: 'system', content: `The result of ${name}, which came late: ${result}` })
  }

  /**
   * Returns the messages of a request: the conversation, the uncommitted words and the current tool rounds.
   */
  messages(pending: string | null, rounds: readonly ChatMessage[]): readonly ChatMessage[] {
    const messages = [...this.#messages]
    if (pending !== null) {
      const last = messages.at(-1)
      if (last?.role === 'user') {
        messages[messages.length - 1] = { role: 'user', content: `${last.content} ${pending}` }
      } else messages.push({ role: 'user', content: pending })
    }
    return [...messages, ...rounds]
  }
}
