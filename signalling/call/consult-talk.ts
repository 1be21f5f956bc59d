import { personAnswer } from '../../media/agent/language/person-answer.js'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'

/** A line of the talk between agent and person while the caller waits. */
export interface TalkLine {
  readonly by: 'agent' | 'person'
  readonly text: string
}

/** Questions that the agent answers before it only repeats how to decide. */
const MAX_QUESTIONS = 6

export interface ConsultTalkOptions {
  readonly callId: string
  readonly clock: Clock
  readonly log: Log
  /** Says a text to the person. Resolves when it was said, cut or not possible; never rejects. */
  readonly say: (text: string) => Promise<void>
  /** Answers the last line of the talk from what the agent knows. Resolves with null when it cannot. */
  readonly answer: (talk: readonly TalkLine[]) => Promise<string | null>
  readonly decided: (accepted: boolean) => void
}

/**
 * The agent presents a caller to a person who was called: says the brief and how to decide, then takes the decision by
 * words, and answers questions about the call. Words count only after the brief, and only when nothing was being said
 * to the person as they began: the greeting of a mailbox decides nothing, and neither does an echo.
 */
export class ConsultTalk {
  readonly #options: ConsultTalkOptions
  readonly #talk: TalkLine[] = []
  /** How to decide. */
  readonly #keys: string
  /** Texts that are being said to the person. */
  #speaking = 0
  /** Clock time (ms) at which our voice fell silent; null before the brief ended. */
  #silentSince: number | null = null
  #questions = 0
  #answering = false
  #isOver = false

  constructor(options: ConsultTalkOptions, brief: { readonly text: string; readonly keys: string }) {
    this.#options = options
    this.#keys = brief.keys
    this.#talk.push({ by: 'agent', text: brief.text })
    void this.#say(`${brief.text} ${brief.keys}`.trim())
  }

  /** Something is being said to the person. */
  get speaking(): boolean {
    return this.#speaking > 0
  }

  /** Takes words of the person that began `agoMs` ago. */
  heard(text: string, agoMs: number): void {
    const { clock, decided } = this.#options
    if (this.#isOver || this.#silentSince === null || this.speaking) return
    if (clock.now() - agoMs < this.#silentSince) return
    const answer = personAnswer(text)
    if (answer !== null) {
      decided(answer === 'accepts')
      return
    }
    this.#talk.push({ by: 'person', text })
    if (!this.#answering) void this.#reply()
  }

  /** Nothing more is said or decided. Idempotent. */
  end(): void {
    this.#isOver = true
  }

  async #reply(): Promise<void> {
    const { answer, log, callId } = this.#options
    this.#answering = true
    const lines = this.#talk.length
    const text =
      this.#questions++ < MAX_QUESTIONS
        ? await answer(this.#talk).catch((error: unknown) => {
            log.warn({ callId, error: errorText(error) }, 'transfer.answer_failed')
            return null
          })
        : null
    this.#answering = false
    if (this.#isOver) return
    // The person went on meanwhile, so the answer is to less than the question.
    if (this.#talk.length > lines) {
      void this.#reply()
      return
    }
    if (text !== null) this.#talk.push({ by: 'agent', text })
    await this.#say(text ?? this.#keys)
  }

  async #say(text: string): Promise<void> {
    this.#speaking++
    await this.#options.say(text)
    this.#speaking--
    this.#silentSince = this.#options.clock.now()
  }
}
