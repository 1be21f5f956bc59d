import { AnsweredByNote } from '../answering-machine/answered-by-note.js'
import type { AnsweredBy } from '../answering-machine/answering-machine-detector.js'
import { languageName } from '../language/language-tags.js'
import type { ChatMessage } from '../vendor-ports.js'

/** Appended to the agent's own prompt: what any voice on a telephone has to know. */
const TELEPHONE =
  'You are on a telephone call and your answers are spoken. Answer briefly, in complete sentences, ' +
  'without lists, markup or emoji. A note in brackets after your words says that the caller interrupted ' +
  'you there and did not hear the rest; never say such a note.'

const INTERRUPTED = '[interrupted by the caller]'

/**
 * What the model is told: the prompt and the conversation as both sides really heard it. An agent's
 * words are added only when they were sent, tool rounds with the answer they led to.
 */
export class ConversationContext {
  readonly #messages: ChatMessage[]
  readonly #prompt: string
  readonly #multilingual: boolean
  readonly #answeredByNote = new AnsweredByNote()

  constructor(systemPrompt: string, languages: readonly string[]) {
    const spoken = `Languages of this call: ${languages.join(', ')}.`
    this.#prompt = `${systemPrompt}\n\n${TELEPHONE} ${spoken}`
    this.#multilingual = languages.length > 1
    this.#messages = [{ role: 'system', content: this.#prompt }]
  }

  /** The language of the call now, of which the model is told when there are several. */
  setLanguage(language: string): void {
    if (!this.#multilingual) return
    const { name, script } = languageName(language)
    const letters =
      language === 'en-IN' ? '' : `, written in ${script}, also when the caller's words come in Latin letters`
    const content = `${this.#prompt} The caller speaks ${name} now: answer in ${name}${letters}.`
    this.#messages[0] = { role: 'system', content }
  }

  /** Tells the model when it is not simply a person. Returns what was told, null when nothing was. */
  answeredBy(by: AnsweredBy): string | null {
    const content = this.#answeredByNote.of(by)
    if (content !== null) this.#messages.push({ role: 'system', content })
    return content
  }

  /** Words of the caller that were not known when they were said. */
  rewrite(read: (text: string) => string): void {
    for (const [index, message] of this.#messages.entries()) {
      if (message.role === 'user') this.#messages[index] = { role: 'user', content: read(message.content) }
    }
  }

  addCallerTurn(text: string): void {
    const last = this.#messages.at(-1)
    // Two turns of the caller with nothing heard between them are one to the model.
    if (last?.role === 'user') {
      this.#messages[this.#messages.length - 1] = { role: 'user', content: `${last.content} ${text}` }
    } else this.#messages.push({ role: 'user', content: text })
  }

  /** `heard` may be empty: then only the interruption is told. */
  addAgentTurn(heard: string, interrupted: boolean, rounds: readonly ChatMessage[] = []): void {
    // Words of a tool round are part of `heard`; said twice they would be told twice.
    for (const message of rounds) {
      this.#messages.push(message.role === 'assistant' ? { ...message, content: null } : message)
    }
    const content = interrupted ? `${heard} ${INTERRUPTED}`.trim() : heard
    if (content !== '') this.#messages.push({ role: 'assistant', content })
  }

  /** A result of a tool that came after the caller had taken the floor. */
  addLateToolResult(name: string, result: string): void {
    this.#messages.push({ role: 'system', content: `The result of ${name}, which came late: ${result}` })
  }

  /** The messages of a request: the conversation, the words not committed yet, the running tool rounds. */
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
