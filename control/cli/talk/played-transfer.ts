import type { AgentSpec } from '../../../media/agent/agent-spec.js'
import type { Conversation } from '../../../media/agent/conversation/conversation.js'
import type { ConversationEvent } from '../../../media/agent/conversation-events.js'
import { languageData } from '../../../media/agent/language/language-data.js'
import { asksToReturn, personAnswer } from '../../../media/agent/language/person-answer.js'
import { asksForPerson } from '../../../media/agent/language/person-request.js'
import {
  type ServiceAnswer,
  serviceRequest,
  toolResultText,
} from '../../../media/agent/tools/service-tools.js'
import type { ToolRequest } from '../../../media/agent/tools/tool-calls.js'
import type { LanguageModel } from '../../../media/agent/vendor-ports.js'
import type { Clock } from '../../../media/base/clock.js'
import type { TalkLine } from '../../../signalling/call/consult-talk.js'
import { MAX_ATTEMPTS } from '../../../signalling/call/transfer-machine.js'
import type { DestinationName } from '../../agents/transfer-tool.js'
import { modelAnswer, modelBrief, plainBrief } from '../../transfers/brief.js'
import { startsByWords } from '../../transfers/transfer-party.js'
import type { Printer } from './printer.js'

/** The developer types these for an unanswered telephone, and before words of the waiting caller. */
const NO_ANSWER = '-'
const CALLER = /^caller:\s*/i

interface Attempt {
  readonly destination: DestinationName
  readonly fallbackId: string | null
  readonly note: string | null
  readonly talk: TalkLine[]
}

/**
 * A transfer without telephones: the developer who types is also the person who is called. Modes, lines, words and the
 * number of attempts are those of a call; hours and verification of destinations are not looked at.
 */
export class PlayedTransfer {
  readonly #spec: AgentSpec
  readonly #destinations: readonly DestinationName[]
  /** Writes briefs and answers; null for a model that cannot. */
  readonly #model: LanguageModel | null
  readonly #clock: Clock
  readonly #printer: Printer
  readonly #conversation: () => Pick<Conversation, 'say' | 'setAway'>
  readonly #segments: { readonly role: string; readonly text: string }[] = []
  #attempts = 0
  #attempt: Attempt | null = null
  #began: (() => void) | null = null

  constructor(options: {
    readonly spec: AgentSpec
    readonly destinations: readonly DestinationName[]
    readonly model: LanguageModel | null
    readonly clock: Clock
    readonly printer: Printer
    readonly conversation: () => Pick<Conversation, 'say' | 'setAway'>
  }) {
    this.#spec = options.spec
    this.#destinations = options.destinations
    this.#model = options.model
    this.#clock = options.clock
    this.#printer = options.printer
    this.#conversation = options.conversation
  }

  /** A person is being called. */
  get active(): boolean {
    return this.#attempt !== null
  }

  /** Resolves when the next transfer begins. */
  began(): Promise<void> {
    return new Promise((resolve) => {
      if (this.active) resolve()
      else this.#began = resolve
    })
  }

  /** Takes the events of the conversation: its words are what briefs are made of. */
  event(event: ConversationEvent): void {
    if (event.type !== 'turn') return
    const { speaker, text, heardText } = event.turn
    this.#segments.push({ role: speaker, text: speaker === 'agent' ? heardText : text })
    if (speaker !== 'caller' || !asksForPerson(text) || !startsByWords(this.#spec.transfer)) return
    // After this event, like a request that the desk decides on.
    queueMicrotask(() => this.#request(null, null))
  }

  /** Runs the preset `transfer_call`; see `ToolRunner.serve`. */
  readonly serve = ({ arguments: given }: ToolRequest, done: (result: string) => void) => {
    let isCancelled = false
    queueMicrotask(() => {
      const asked = serviceRequest('transfer_call', given, this.#clock.wall())
      if (typeof asked === 'string' || asked.kind !== 'transfer_call') {
        if (!isCancelled) done(String(asked))
        return
      }
      const answer = this.#request(asked.destinationId, asked.note === '' ? null : asked.note)
      if (!isCancelled) done(toolResultText('transfer_call', answer))
    })
    return {
      cancel: () => {
        isCancelled = true
      },
    }
  }

  /** Takes a line that was typed during a transfer. Returns whether the person has the caller now. */
  async line(text: string): Promise<boolean> {
    const attempt = this.#attempt
    if (attempt === null) return false
    if (CALLER.test(text)) {
      const words = text.replace(CALLER, '')
      this.#printer.line(`you    ${words}`)
      if (asksToReturn(words)) await this.#back(languageData(this.#language).transfer.returned)
      return false
    }
    const { transfer } = this.#spec
    const consults = transfer.handoff === 'warm'
    const answer = text === '1' ? 'accepts' : text === '2' ? 'declines' : consults ? personAnswer(text) : null
    if (answer === 'accepts') {
      this.#attempt = null
      this.#bridged(attempt)
      return true
    }
    if (answer === 'declines' || text === NO_ANSWER) await this.#missed(attempt)
    else if (consults) await this.#reply(attempt, text)
    else this.#printer.line('       only the keys 1 and 2 count here')
    return false
  }

  get #language(): string {
    return this.#spec.languages[0] ?? 'en-IN'
  }

  #request(named: string | null, note: string | null): ServiceAnswer {
    const { transfer } = this.#spec
    if (this.#attempt !== null) return { status: 'refused', refusal: 'transfer_in_progress' }
    if (this.#attempts >= MAX_ATTEMPTS) return { status: 'refused', refusal: 'attempts_exhausted' }
    const wanted = named ?? transfer.defaultDestinationId
    const destination = this.#destinations.find(({ id, key }) => id === wanted || key === wanted)
    const listed = transfer.destinations.find(({ destinationId }) => destinationId === destination?.id)
    if (destination === undefined || listed === undefined) {
      return { status: 'refused', refusal: 'destination_not_allowed' }
    }
    const conversation = this.#conversation()
    conversation.setAway(true)
    if (transfer.preTransferLine !== null)
      void conversation.say({ text: transfer.preTransferLine, last: false })
    void this.#call({ destination, fallbackId: listed.fallbackDestinationId, note, talk: [] })
    return { status: 'done' }
  }

  async #call(attempt: Attempt): Promise<void> {
    this.#attempts++
    this.#attempt = attempt
    const { transfer, languageModel } = this.#spec
    const { label } = attempt.destination
    this.#printer.line(`       the telephone of ${label} rings: you are that person now`)
    const { keys, consultKeys } = languageData(this.#language).transfer
    const warm = transfer.handoff === 'warm'
    if (!warm && transfer.blindTransfers) {
      this.#printer.line(`       a blind transfer: 1 answers, ${NO_ANSWER} does not`)
    } else {
      const call = { language: this.#language, note: attempt.note, segments: this.#segments }
      const writer =
        warm && this.#model !== null
          ? { model: this.#model, name: languageModel.model, clock: this.#clock }
          : null
      const written = writer === null ? null : await modelBrief(writer, call)
      if (this.#attempt !== attempt) return
      const brief = written ?? plainBrief(this.#language, attempt.note, this.#segments)
      attempt.talk.push({ by: 'agent', text: brief })
      this.#printer.line(`brief  ${brief} ${warm ? consultKeys : keys}`)
    }
    this.#printer.line(`       ("${NO_ANSWER}": nobody answers; "caller: ...": the caller, who waits)`)
    this.#began?.()
    this.#began = null
  }

  #bridged({ destination }: Attempt): void {
    this.#printer.line(`       ${destination.label} has the caller, and the agent left: transfer_completed`)
  }

  async #missed({ fallbackId, note }: Attempt): Promise<void> {
    const next = this.#destinations.find(({ id }) => id === fallbackId)
    if (next !== undefined && this.#attempts < MAX_ATTEMPTS) {
      await this.#call({ destination: next, fallbackId: null, note, talk: [] })
      return
    }
    await this.#back(this.#spec.transfer.afterMissLine ?? languageData(this.#language).transfer.missed)
  }

  async #reply(attempt: Attempt, text: string): Promise<void> {
    attempt.talk.push({ by: 'person', text })
    const call = { language: this.#language, note: attempt.note, segments: this.#segments }
    const writer =
      this.#model === null
        ? null
        : { model: this.#model, name: this.#spec.languageModel.model, clock: this.#clock }
    const answer = writer === null ? null : await modelAnswer(writer, call, attempt.talk)
    if (this.#attempt !== attempt) return
    if (answer !== null) attempt.talk.push({ by: 'agent', text: answer })
    this.#printer.line(`brief  ${answer ?? languageData(this.#language).transfer.consultKeys}`)
  }

  /** Gives the caller back to the agent, which says a line. */
  async #back(line: string): Promise<void> {
    this.#attempt = null
    const conversation = this.#conversation()
    conversation.setAway(false)
    const said = this.#printer.nextAgentTurn()
    void conversation.say({ text: line, last: false })
    await said
  }
}
