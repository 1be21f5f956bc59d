import { CircuitBreakers } from '../../media/agent/circuit-breaker.js'
import { plainWords } from '../../media/agent/language/plain-words.js'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { Question } from '../../media/knowledge/passage-index.js'
import type { Embedder } from '../../media/vendors/openai/embeddings.js'

/** Vectors that are kept: unfinished and final words of a turn are often the same. */
const KEPT = 512
/** Requests at the same time. Beyond that, questions are searched by words only. */
const MAX_RUNNING = 64
/** Words that a recogniser may add at the end of a question without changing much of its meaning, and the share that stays. */
const MAX_NEW_WORDS = 3
const LEAST_SHARE = 0.6
/** A question with fewer words needs what was said before it. */
const WHOLE_QUESTION_WORDS = 4
const BREAKER = 'embeddings'

/** Makes the vectors of questions, in time or not at all. */
export interface QuestionVectors {
  /** Name of the model, see `Embedder.id`. */
  readonly model: string
  /**
   * Resolves with the vector of a question, or with null when there is none within the deadline of the settings or
   * `withinMs`. A vendor that fails repeatedly is left alone for a while.
   */
  of(question: Question, withinMs: number): Promise<Int8Array | null>
  /** Returns the vector of the question, or of its beginning when only its last words are new, if there is one. */
  near(question: Question): Int8Array | null
  /** Breaks off the requests. Idempotent. */
  close(): void
}

export function openQuestionVectors(
  embedder: Embedder,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): QuestionVectors {
  const breakers = new CircuitBreakers(clock)
  const abort = new AbortController()
  /** The one that was used last at the end. */
  const known = new Map<string, Int8Array>()
  const running = new Map<string, Promise<Int8Array | null>>()

  async function ask(text: string): Promise<Int8Array | null> {
    const request = new AbortController()
    const stop = (): void => request.abort()
    abort.signal.addEventListener('abort', stop, { once: true })
    let late = false
    const timer = clock.after(embedder.deadlineMs, () => {
      late = true
      stop()
    })
    try {
      const { vectors } = await embedder.embed('question', [text], request.signal)
      const [vector = null] = vectors
      breakers.succeeded(BREAKER)
      if (vector !== null) keep(text, vector)
      return vector
    } catch (error) {
      if (abort.signal.aborted) return null
      breakers.failed(BREAKER, late)
      const reason = late ? 'deadline' : errorText(error)
      log.warn({ model: embedder.id, reason }, 'knowledge.question_vector_failed')
      return null
    } finally {
      timer.cancel()
      abort.signal.removeEventListener('abort', stop)
      running.delete(text)
    }
  }

  function keep(text: string, vector: Int8Array): void {
    known.set(text, vector)
    const [oldest] = known.keys()
    if (known.size > KEPT && oldest !== undefined) known.delete(oldest)
  }

  return {
    model: embedder.id,
    near(question) {
      const text = wholeQuestion(question)
      const exact = known.get(text)
      if (exact !== undefined) return exact
      const words = text.split(/\s+/)
      const least = Math.max(words.length - MAX_NEW_WORDS, words.length * LEAST_SHARE)
      for (let length = words.length - 1; length >= least; length--) {
        const beginning = known.get(words.slice(0, length).join(' '))
        if (beginning !== undefined) return beginning
      }
      return null
    },
    async of(question, withinMs) {
      const text = wholeQuestion(question)
      const found = known.get(text)
      if (found !== undefined) {
        known.delete(text)
        known.set(text, found)
        return found
      }
      let request = running.get(text)
      if (request === undefined) {
        if (abort.signal.aborted || running.size >= MAX_RUNNING || !breakers.allows(BREAKER)) return null
        request = ask(text)
        running.set(text, request)
      }
      if (withinMs >= embedder.deadlineMs) return request
      let timer: { cancel(): void } | null = null
      const tooLate = new Promise<null>((resolve) => {
        timer = clock.after(withinMs, () => resolve(null))
      })
      try {
        return await Promise.race([request, tooLate])
      } finally {
        ;(timer as { cancel(): void } | null)?.cancel()
      }
    },
    close: () => abort.abort(),
  }
}

/** Returns the words that say what is asked, without marks: short follow-ups ("and on Sunday?") with the words before. */
function wholeQuestion({ text, context = '' }: Question): string {
  const plain = plainWords(text)
  const words = plain.length >= WHOLE_QUESTION_WORDS ? plain : [...plainWords(context), ...plain]
  return words.length > 0 ? words.join(' ') : text
}
