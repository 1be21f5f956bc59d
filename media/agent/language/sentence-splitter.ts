export interface SentenceLimits {
  /** Later sentences are joined until they have this many characters. */
  readonly minLength: number
  /** Longer text is cut at a clause, else between words. */
  readonly maxLength: number
  /** Maximum length of the first piece, because the caller waits for its synthesis. */
  readonly firstMaxLength: number
}

const DEFAULTS: SentenceLimits = { minLength: 24, maxLength: 240, firstMaxLength: 120 }

/** A full stop after these does not end a sentence. */
const ABBREVIATIONS = new Set(
  `mr mrs ms dr prof sr jr st smt shri sri kum adv capt col gen lt sgt rev hon
   rs no nos vs etc approx dept govt ltd pvt inc co corp est ext tel mob fig vol pp
   e.g i.e a.m p.m u.s u.k b.a m.a ph.d jan feb mar apr jun jul aug sep sept oct nov dec
   डॉ श्री कु प्रो`.split(/\s+/),
)

/** The danda and the CJK and Arabic marks end a sentence without a following blank. */
const HARD_END = /[।॥؟۔。！？]/
const SOFT_END = /[.!?…]/
const CLOSING = /["'”’)\]»]/
const CLAUSE = /[,;:—–،]/

/**
 * Splits a model's stream into sentences as soon as each is certain. The first one is returned at once,
 * however short, so that synthesis can begin. Later short ones are joined.
 */
export class SentenceSplitter {
  readonly #limits: SentenceLimits
  #buffer = ''
  #held = ''
  #first = true

  constructor(limits: Partial<SentenceLimits> = {}) {
    this.#limits = { ...DEFAULTS, ...limits }
  }

  /** Returns the sentences that this text completes, in order. */
  push(text: string): string[] {
    this.#buffer += text
    const out: string[] = []
    for (let cut = this.#cut(); cut > 0; cut = this.#cut()) {
      const sentence = this.#buffer.slice(0, cut).trim()
      this.#buffer = this.#buffer.slice(cut).trimStart()
      this.#give(sentence, out)
    }
    return out
  }

  /** Returns the rest at the end of the stream. */
  end(): string[] {
    const out: string[] = []
    const rest = joined(this.#held, this.#buffer.trim())
    this.#held = ''
    this.#buffer = ''
    if (rest !== '') out.push(rest)
    this.#first = true
    return out
  }

  #give(sentence: string, out: string[]): void {
    if (sentence === '') return
    const whole = joined(this.#held, sentence)
    if (!this.#first && whole.length < this.#limits.minLength) {
      this.#held = whole
      return
    }
    this.#held = ''
    this.#first = false
    out.push(whole)
  }

  /** Returns the end of the first certain sentence of the buffer, or 0. */
  #cut(): number {
    const text = this.#buffer
    for (let i = 0; i < text.length; i++) {
      const char = text.charAt(i)
      if (char === '\n' && text.slice(0, i).trim() !== '') return i + 1
      if (HARD_END.test(char)) return closingEnd(text, i + 1)
      if (!SOFT_END.test(char)) continue
      const end = closingEnd(text, i + 1)
      // "3." may become "3.5" and "e.g." may go on.
      if (end >= text.length) break
      if (!/\s/.test(text.charAt(end))) {
        i = end - 1
        continue
      }
      if (char === '.' && !endsSentence(text, i)) continue
      return end
    }
    const max = this.#first ? this.#limits.firstMaxLength : this.#limits.maxLength
    return text.length > max ? forcedCut(text, max) : 0
  }
}

function closingEnd(text: string, from: number): number {
  let end = from
  while (end < text.length && (SOFT_END.test(text.charAt(end)) || CLOSING.test(text.charAt(end)))) end++
  return end
}

function endsSentence(text: string, dot: number): boolean {
  const word = /\S{0,40}$/.exec(text.slice(0, dot))?.[0] ?? ''
  const bare = word.replace(/^["'“‘([]+/, '').toLowerCase()
  if (ABBREVIATIONS.has(bare)) return false
  // Initials ("A. K. Sharma") and the number of a list item do not end a sentence.
  if (/^\p{Lu}$/u.test(word)) return false
  return !(/^\d{1,2}$/.test(bare) && text.slice(0, dot - bare.length).trim() === '')
}

/**
 * Returns the position after the last clause mark that leaves a fair piece, else between words, else
 * anywhere.
 */
function forcedCut(text: string, max: number): number {
  const window = text.slice(0, max)
  for (let i = window.length - 1; i > max / 3; i--) {
    if (CLAUSE.test(window.charAt(i)) && /\s/.test(text.charAt(i + 1))) return i + 1
  }
  const blank = window.lastIndexOf(' ')
  if (blank > 0) return blank + 1
  // Never cuts inside a surrogate pair or before a combining mark.
  let cut = max
  while (cut > 1 && /^[\p{M}\uDC00-\uDFFF\u200D]/u.test(text.charAt(cut))) cut--
  return cut
}

function joined(before: string, after: string): string {
  return before === '' ? after : after === '' ? before : `${before} ${after}`
}
