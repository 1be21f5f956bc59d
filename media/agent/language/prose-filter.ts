import { EngineError } from '../../base/errors.js'
import { MARK_BEGINS, type Mark, markAt } from './prose-markup.js'
import { reasoningOpener } from './reasoning-opener.js'
import type { WrittenCall } from './written-calls.js'

/**
 * Form in which a model separates its reasoning from its words. `unknown`: no answer has shown it yet. `plain`: with
 * marks, or not at all. `implicit`: the reasoning comes first, without a mark at its beginning, because the template
 * of the model contains that mark. `guessed`: the name of the model suggests `implicit`.
 */
export type ReasoningForm = 'unknown' | 'guessed' | 'implicit' | 'plain'

/** The words that a piece of streamed text adds to the answer. */
export interface ProsePiece {
  /** Words for the caller. */
  readonly text: string
  /** True if all words before this piece were reasoning. */
  readonly withdrawn: boolean
  /** True if the piece holds reasoning, a call or words that wait. */
  readonly worked: boolean
}

/** Maximum length (UTF-16 units) of text that waits, and of the text of one call. */
const MAX_WAITING = 65_536
/** Maximum length (UTF-16 units) of a role or channel. */
const MAX_HEADER = 64
/** Marks of reasoning whose end alone shows that all text before it was reasoning. */
const LONE = /think|thought|reasoning/
/** Names of channels of OpenAI's open models, for servers that remove the marks and leave the names. */
const BARE_CHANNEL = 'analysis'
const BARE_FINAL = 'assistantfinal'
const RECIPIENT = /\bto=([\w.-]+)/
const NAMED = /^[\w:-]+(?:\s+name)?=\s*"?([\w.-]+)/

const ROLE = /^\s{0,40}(?:assistant|model|ai|user|human|system|tool|ipython|developer)?\s{0,40}$/i

type Mode = 'prose' | 'thought' | 'call' | 'role' | 'channel' | 'over'

/**
 * Passes on the words of a streamed answer. Holds back its reasoning, its tool calls and the marks of its template. A
 * pure machine: the pieces may be cut anywhere. Throws EngineError `vendor_failed` for reasoning without end.
 */
export class ProseFilter {
  readonly #form: ReasoningForm
  readonly #tools: boolean
  readonly #written: WrittenCall[] = []
  #mode: Mode = 'prose'
  /** Text that may be the beginning of a mark. */
  #pending = ''
  /** Words that wait until it is known whether they are reasoning. Null when words pass. */
  #held: string | null = ''
  #holds: 'start' | 'opener' | 'reasoning' | 'implicit' | 'json' | 'bareChannel' = 'start'
  /** True if words were passed on. */
  #said = false
  /** True if a mark has ended reasoning, alone or in a pair. */
  #ended = false
  /** Place of an end mark of reasoning without its beginning: `first` before words, `late` behind words that were passed on. */
  #lone: 'first' | 'late' | null = null
  /** True if something ended the answer before the model had finished. */
  #cut = false
  #depth = 0
  /** Text behind the end of nested reasoning. */
  #after: string | null = null
  #header = ''
  #call: { name: string | null; mark: string; text: string; depth: number } | null = null
  #out = ''
  #withdrawn = false
  #worked = false

  /** `tools`: the model may call tools, so that an answer of JSON may be a call. */
  constructor(form: ReasoningForm, tools: boolean) {
    this.#form = form
    this.#tools = tools
  }

  /** Calls that the text contains. */
  get written(): readonly WrittenCall[] {
    return this.#written
  }

  /**
   * The form that the answer has shown, after its end. Null without news. `unknown`: the answer disproves `implicit`.
   * A caller can have the model write the end mark of reasoning. That mark counts only before words, and only while the
   * form is not known.
   */
  get learnt(): 'implicit' | 'plain' | 'unknown' | null {
    const isOpen = this.#form === 'unknown' || this.#form === 'guessed'
    if (this.#lone !== null) return isOpen && this.#lone === 'first' ? 'implicit' : null
    if (this.#cut) return null
    if (isOpen) return this.#said || this.#ended ? 'plain' : null
    return this.#form === 'implicit' && this.#said && !this.#ended ? 'unknown' : null
  }

  push(text: string): ProsePiece {
    this.#pending += text
    let at = 0
    const { length } = this.#pending
    while (at < length) {
      MARK_BEGINS.lastIndex = at
      const begin = MARK_BEGINS.exec(this.#pending)?.index ?? length
      this.#flow(this.#pending.slice(at, begin))
      at = begin
      if (at === length) break
      const mark = markAt(this.#pending.slice(at, at + 256))
      if (mark === 'part') break
      if (mark === null) this.#flow(this.#pending.charAt(at++))
      else {
        this.#take(mark, this.#pending.slice(at, at + mark.length))
        at += mark.length
      }
    }
    this.#pending = this.#pending.slice(at)
    return this.#piece()
  }

  /**
   * Ends the text. Words that wait and are no reasoning are passed on. `cut`: something ended the answer before the
   * model had finished.
   */
  end(cut = false): ProsePiece {
    this.#cut = cut
    // A mark that was cut off is dropped; a lone bracket is text.
    if (this.#pending.length <= 2) this.#flow(this.#pending)
    this.#pending = ''
    if (this.#mode === 'call') this.#endCall()
    if (this.#mode === 'role' && !ROLE.test(this.#header)) this.#emit(this.#header)
    if (this.#mode === 'thought' && this.#after !== null && !this.#said) {
      this.#held = null
      this.#emit(this.#after)
    }
    const held = this.#held ?? ''
    if (this.#holds === 'json') this.#written.push({ name: null, text: held })
    else if (!this.#isReasoning(held)) this.#release()
    return this.#piece()
  }

  /** Passes on an answer of JSON that turned out to be no call. */
  releaseJson(): string {
    const held = this.#holds === 'json' ? (this.#held ?? '') : ''
    this.#held = null
    return held
  }

  /** Tells whether words that waited until the end are reasoning that was cut off. Complete reasoning has its end mark. */
  #isReasoning(held: string): boolean {
    return this.#holds === 'bareChannel' || (this.#cut && reasoningOpener(held) === true)
  }

  #piece(): ProsePiece {
    const piece = { text: this.#out, withdrawn: this.#withdrawn, worked: this.#worked }
    this.#out = ''
    this.#withdrawn = false
    this.#worked = false
    return piece
  }

  #flow(text: string): void {
    if (text === '') return
    switch (this.#mode) {
      case 'prose':
        this.#say(text)
        return
      case 'thought':
        this.#worked = true
        if (this.#after !== null) this.#after += text.slice(0, MAX_WAITING - this.#after.length)
        return
      case 'call':
        this.#worked = true
        if (this.#call !== null) this.#call.text += text.slice(0, MAX_WAITING - this.#call.text.length)
        return
      case 'role':
      case 'channel':
        this.#readHeader(text)
        return
      case 'over':
    }
  }

  #say(text: string): void {
    if (this.#held === null) {
      this.#emit(text)
      return
    }
    this.#held += text
    if (this.#held.length > MAX_WAITING) {
      throw new EngineError('vendor_failed', 'the model reasons without end', { retryable: true })
    }
    if (this.#holds === 'start') this.#judge(this.#held)
    if (this.#holds === 'opener') {
      const reasons = reasoningOpener(this.#held)
      if (reasons === true) this.#holds = 'reasoning'
      if (reasons === false) this.#release()
    }
    if (this.#holds === 'bareChannel') {
      const final = this.#held?.indexOf(BARE_FINAL) ?? -1
      if (final >= 0) {
        this.#held = this.#held?.slice(final + BARE_FINAL.length) ?? null
        this.#release()
      }
    }
    if (this.#held !== null && this.#held.trim() !== '') this.#worked = true
  }

  /** Decides from the first words whether the answer has to wait. */
  #judge(held: string): void {
    const start = held.trimStart()
    if (start === '') return
    if (this.#tools && /^(?:\{|\[\s*\{|```)/.test(start)) this.#holds = 'json'
    else if (this.#tools && /^(?:\[\s*|`{1,2})$/.test(start)) return
    else if (this.#ended) this.#release()
    else if (BARE_CHANNEL.startsWith(start)) return
    else if (start.startsWith(BARE_CHANNEL) && /^\p{L}/u.test(start.slice(BARE_CHANNEL.length))) {
      this.#holds = 'bareChannel'
    } else if (this.#form === 'implicit' || this.#form === 'guessed') this.#holds = 'implicit'
    else if (this.#form === 'unknown') this.#holds = 'opener'
    else this.#release()
  }

  #release(): void {
    const held = this.#held ?? ''
    this.#held = null
    this.#emit(held)
  }

  #emit(text: string): void {
    this.#out += text
    if (text.trim() !== '') this.#said = true
  }

  // ---- marks

  #take(mark: Mark, text: string): void {
    if (this.#mode === 'thought') this.#takeInThought(mark)
    else if (this.#mode === 'call') this.#takeInCall(mark, text)
    else if (this.#mode === 'role' || this.#mode === 'channel') this.#takeInHeader(mark)
    else if (this.#mode === 'over') {
      if (mark.kind === 'channel' || mark.name === 'start') this.#enter(mark)
    } else this.#enter(mark)
  }

  /** Takes a mark between words. */
  #enter(mark: Mark): void {
    switch (mark.kind) {
      case 'thoughtOpen':
        if ((this.#held ?? '').trim() !== '') this.#release()
        this.#think()
        return
      case 'thoughtClose':
        if (!this.#ended && LONE.test(mark.name)) this.#thoughtWasWords()
        return
      case 'callOpen':
        this.#release()
        this.#mode = 'call'
        this.#call = { name: NAMED.exec(mark.name)?.[1] ?? null, mark: mark.name, text: '', depth: 0 }
        this.#worked = true
        return
      case 'role':
      case 'channel':
        if (mark.kind === 'role') this.#header = ''
        else this.#header += ' '
        this.#mode = mark.kind
        return
      case 'message': {
        // The name of the channel stands alone when its mark is part of the template.
        const name = this.#held?.trim() ?? ''
        if (this.#said || !/^[a-z ]{1,20}$/.test(name)) return
        this.#held = ''
        this.#header = name
        this.#openChannel()
        return
      }
      case 'turnEnd':
        // The model must not write text behind its own turn.
        if (this.#said || (this.#held ?? '').trim() !== '') this.#mode = 'over'
        return
      case 'callClose':
      case 'skip':
    }
  }

  #think(): void {
    this.#mode = 'thought'
    this.#depth = 1
    this.#after = null
    this.#worked = true
  }

  /** Withdraws all words so far: they were reasoning whose first mark is part of the template. */
  #thoughtWasWords(): void {
    this.#lone = this.#said ? 'late' : 'first'
    this.#ended = true
    this.#withdrawn ||= this.#said
    this.#said = false
    this.#out = ''
    this.#held = ''
    this.#holds = 'start'
    this.#worked = true
  }

  #takeInThought({ kind, name }: Mark): void {
    if (kind === 'thoughtOpen') this.#depth++
    if (kind === 'thoughtClose') {
      this.#ended = true
      this.#depth--
      if (this.#depth === 0) this.#mode = 'prose'
      else this.#after = ''
    }
    if (kind === 'turnEnd' || kind === 'role' || kind === 'channel') {
      this.#mode = 'prose'
      this.#ended = true
      if (kind !== 'turnEnd') this.#enter({ kind, name, length: 0 })
    }
  }

  #takeInCall(mark: Mark, text: string): void {
    const call = this.#call
    if (call === null) return
    const { kind } = mark
    if (kind === 'turnEnd' || kind === 'role' || kind === 'channel') {
      this.#endCall()
      this.#enter(mark)
    } else if (kind === 'callOpen' && mark.name === call.mark && call.text.trim() !== '') {
      // Some models repeat the mark instead of closing it.
      this.#endCall()
      this.#enter(mark)
    } else if (kind === 'callClose' && call.depth === 0) this.#endCall()
    else {
      if (kind === 'callOpen') call.depth++
      if (kind === 'callClose') call.depth--
      this.#flow(text)
    }
  }

  #endCall(): void {
    if (this.#call !== null) this.#written.push({ name: this.#call.name, text: this.#call.text })
    this.#call = null
    this.#mode = 'prose'
  }

  // ---- roles and channels

  #takeInHeader(mark: Mark): void {
    if (mark.kind === 'channel') this.#enter(mark)
    else if (mark.kind === 'message') {
      if (this.#mode === 'channel') this.#openChannel()
      else this.#openRole('')
    }
  }

  #readHeader(text: string): void {
    const all = (this.#header + text).replace(/^\s+/, '')
    const line = all.slice(0, MAX_HEADER).indexOf('\n')
    // The length is counted in the whole header, so that the end does not depend on the pieces.
    const end = line >= 0 ? line : all.length > MAX_HEADER ? MAX_HEADER : null
    this.#header = end === null ? all : all.slice(0, end)
    if (end === null) return
    const rest = all.slice(end)
    if (this.#mode === 'channel') {
      // Without the mark of its text only the channel `final` is known to hold words for the caller.
      const [, words] = /^final\b([\s\S]*)$/.exec(this.#header) ?? []
      this.#openChannel()
      this.#flow((words ?? '') + rest)
      return
    }
    const [, role = '', words = ''] = /^([a-z]*)([\s\S]*)$/i.exec(this.#header) ?? []
    this.#header = role
    this.#openRole(words + rest)
  }

  /** Begins a turn. The model must not write those of other roles. */
  #openRole(rest: string): void {
    const role = this.#header.trim().toLowerCase()
    this.#mode = role === '' || role === 'assistant' || role === 'model' || role === 'ai' ? 'prose' : 'over'
    this.#flow(rest)
  }

  #openChannel(): void {
    const header = this.#header
    this.#header = ''
    const recipient = RECIPIENT.exec(header)?.[1]
    if (recipient !== undefined) {
      this.#mode = 'call'
      this.#call = { name: recipient.replace(/^functions\./, ''), mark: '', text: '', depth: 0 }
    } else if (/\bfinal\b/.test(header)) this.#mode = 'prose'
    else this.#think()
  }
}
