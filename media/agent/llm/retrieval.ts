import { z } from 'zod'
import type { Clock, Timer } from '../../base/clock.js'
import type { AgentSpec } from '../agent-spec.js'
import { BACKCHANNELS, GREETINGS } from '../language/backchannel.js'
import { plainWords } from '../language/plain-words.js'
import { wordSet } from '../language/word-list.js'
import type { ToolRunner } from '../tools/tool-calls.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { Cancellable } from '../vendor-ports.js'

/** Name of the tool that searches. No tool of an agent can have it, and the model does not see it. */
export const KNOWLEDGE_TOOL = '#knowledge'

/** Longest wait of a reply for its passages (ms). The reply then goes without. */
const WAIT_MS = 150
/** Time limit of a search (ms). */
const TIMEOUT_MS = 2000
/** Maximum concurrent vector searches. */
const MAX_REFINING = 2
/** Words that a search on unfinished words needs. */
const MIN_PARTIAL_WORDS = 2
/** Below this score, a passage does not answer the question. */
export const MIN_SCORE = 0.35

const FILLERS = wordSet(({ fillers }) => fillers)

const FoundText = z.object({
  text: z.string(),
  heading: z.string(),
  page: z.number().nullable(),
  documentName: z.string(),
  documentId: z.string(),
  knowledgeBaseId: z.string(),
  index: z.number(),
  score: z.number(),
})
/**
 * Result of the search tool, as JSON. With `more`, a search with `vectors` may find better passages later; with `near`,
 * these ones were found by the meaning of almost all of the words, and are not worth a wait.
 */
export const SearchResultText = z.object({
  passages: z.array(FoundText),
  more: z.boolean().default(false),
  near: z.boolean().default(false),
})
export type FoundText = z.output<typeof FoundText>

/** Passages for the words of a caller. */
export interface Retrieved {
  readonly question: string
  readonly passages: readonly FoundText[]
  /** Best score, also of a passage that does not answer. */
  readonly bestScore: number
  readonly tookMs: number
}

export interface RetrievalOptions {
  readonly tools: ToolRunner
  readonly turnContext: TurnContext
  readonly clock: Clock
}

/** Passages found for the latest words. */
interface Latest {
  readonly key: string
  readonly found: Retrieved | null
  /** A reply need not wait for a better result. */
  readonly settled: boolean
}

/**
 * Searches the agent's knowledge while the caller still speaks, so that the passages are there when the turn ends. One
 * search by words runs at a time; of the words that come meanwhile the latest are searched next. Where passages have
 * vectors, a search by meaning follows, which asks a vendor and takes longer; until it answers, the passages found by
 * words stand.
 */
export class Retrieval {
  readonly #options: RetrievalOptions
  #preparing: Cancellable | null = null
  #running: { readonly key: string; readonly job: Cancellable } | null = null
  #next: string | null = null
  #last: Latest | null = null
  readonly #refining = new Map<string, Cancellable>()
  #refineNext: string | null = null
  readonly #waiting = new Set<{ readonly key: string; ready(found: Retrieved | null): void }>()
  #before = ''

  constructor(options: RetrievalOptions) {
    this.#options = options
  }

  /** Has the indexes loaded by a search for nothing, so that the first question does not wait for a large one. */
  prepare(): void {
    this.#preparing = this.#request('', false, () => {
      this.#preparing = null
    })
  }

  /** Takes note of what the caller said so far. */
  heard(text: string): void {
    if (contentWords(text, this.#options.turnContext.language.current).length < MIN_PARTIAL_WORDS) return
    this.#want(text)
  }

  /** Takes note of the words of a finished turn. They help to understand the next question. */
  committed(text: string): void {
    this.#before = text
  }

  /**
   * Calls `ready` with the passages for these words: at once when they are there or when the words ask nothing
   * (null), else after the search, at the latest after `WAIT_MS`, with the passages found by words until then or null.
   */
  whenReady(text: string, ready: (found: Retrieved | null) => void): Cancellable {
    const words = contentWords(text, this.#options.turnContext.language.current)
    const key = keyOf(text)
    const last = this.#last
    if (words.length === 0) ready(null)
    else if (last?.key === key && last.settled) ready(last.found)
    else {
      this.#want(text)
      const resolve = (found: Retrieved | null): void => {
        cancel()
        ready(found)
      }
      const waiting = { key, ready: resolve }
      const timer: Timer = this.#options.clock.after(WAIT_MS, () =>
        resolve(this.#last?.key === key ? this.#last.found : null),
      )
      const cancel = (): void => {
        timer.cancel()
        this.#waiting.delete(waiting)
      }
      this.#waiting.add(waiting)
      return { cancel }
    }
    return { cancel() {} }
  }

  close(): void {
    this.#preparing?.cancel()
    this.#preparing = null
    this.#running?.job.cancel()
    this.#running = null
    this.#next = null
    for (const job of this.#refining.values()) job.cancel()
    this.#refining.clear()
    this.#refineNext = null
    this.#waiting.clear()
  }

  #want(text: string): void {
    const key = keyOf(text)
    if (this.#running?.key === key || this.#last?.key === key) return
    if (this.#running === null) this.#search(text)
    else this.#next = text
  }

  #search(text: string): void {
    const key = keyOf(text)
    const startedAt = this.#options.turnContext.now()
    const job = this.#request(text, false, (result) => {
      this.#running = null
      const answer = this.#parsed(text, result, startedAt)
      this.#found({ key, found: answer?.found ?? null, settled: !answer?.more || answer.near })
      if (answer?.more) this.#refine(text)
      const next = this.#next
      this.#next = null
      if (next !== null) this.#want(next)
    })
    this.#running = { key, job }
  }

  /** Searches by meaning. Beyond the limit, the latest words wait. */
  #refine(text: string): void {
    if (this.#refining.size >= MAX_REFINING) {
      this.#refineNext = text
      return
    }
    const key = keyOf(text)
    if (this.#refining.has(key)) return
    const startedAt = this.#options.turnContext.now()
    const job = this.#request(text, true, (result) => {
      this.#refining.delete(key)
      const next = this.#refineNext
      this.#refineNext = null
      if (next !== null) this.#refine(next)
      if (this.#last?.key !== key) return
      const answer = this.#parsed(text, result, startedAt)
      this.#found({ key, found: answer?.found ?? this.#last.found, settled: true })
    })
    this.#refining.set(key, job)
  }

  #request(text: string, vectors: boolean, done: (result: string) => void): Cancellable {
    const args = { query: text, context: this.#before, ...(vectors ? { vectors } : {}) }
    return this.#options.tools.run({ tool: KNOWLEDGE_TOOL, arguments: args, timeoutMs: TIMEOUT_MS }, done)
  }

  #found(latest: Latest): void {
    this.#last = latest
    if (!latest.settled) return
    for (const waiting of [...this.#waiting]) if (waiting.key === latest.key) waiting.ready(latest.found)
  }

  /** Returns null when the search failed, which the service has logged. */
  #parsed(
    question: string,
    result: string,
    startedAt: number,
  ): { readonly found: Retrieved; readonly more: boolean; readonly near: boolean } | null {
    if (!result.startsWith('{')) return null
    const { passages, more, near } = SearchResultText.parse(JSON.parse(result))
    const bestScore = passages.reduce((best, { score }) => Math.max(best, score), 0)
    const good = passages.filter(({ score }) => score >= MIN_SCORE)
    const tookMs = this.#options.turnContext.now() - startedAt
    return { found: { question, passages: good, bestScore, tookMs }, more, near }
  }
}

/** Returns whether an agent has knowledge to search. */
export function searchesKnowledge({ tools }: Pick<AgentSpec, 'tools'>): boolean {
  return tools.some(({ action }) => action.kind === 'knowledge')
}

function keyOf(text: string): string {
  return plainWords(text).join(' ')
}

/** Returns the words that can be asked for: no greeting, no sound of listening or thinking, no bare number. */
function contentWords(text: string, language: string): readonly string[] {
  return plainWords(text).filter(
    (word) =>
      /\p{L}/u.test(word) && !GREETINGS.has(word) && !FILLERS.has(word) && !BACKCHANNELS.has(word, language),
  )
}
