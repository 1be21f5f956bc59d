import { z } from 'zod'
import type { Clock } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import { parseForeignJson } from '../../base/foreign-text.js'
import { toBytes } from '../../knowledge/vectors.js'
import type { VendorConnections } from '../shared/vendor-connections.js'
import { joinUrl, post } from '../shared/vendor-http.js'

/** Settings of the model that makes vectors of passages and questions. */
export interface EmbeddingSettings {
  /** Usually ends in `/v1`. */
  readonly baseUrl: string
  /** Null for servers without one. Never logged. */
  readonly apiKey: string | null
  readonly model: string
  /** Length of the vectors that is asked for. Null takes the model's own. */
  readonly dimensions: number | null
  /** Put before each question and each passage, for models that tell them apart (E5, BGE). Empty puts nothing. */
  readonly questionPrefix: string
  readonly passagePrefix: string
  /** Longest wait for the vector of a question (ms). */
  readonly deadlineMs: number
}

/** Vectors in the order of the texts, as bytes (`media/knowledge/vectors.ts`). */
export interface Embedded {
  readonly vectors: readonly Int8Array[]
  /** Tokens that the endpoint counted, 0 when it does not say. */
  readonly tokens: number
}

export interface Embedder {
  /** Name of the model and of all settings that change its vectors. */
  readonly id: string
  readonly deadlineMs: number
  /**
   * Makes the vectors of up to `MAX_TEXTS` texts. Rejects with EngineError `vendor_rejected`, `vendor_rate_limited`,
   * `vendor_failed`, `vendor_unreachable` or `vendor_stalled`, and `closed` after a cancellation.
   */
  embed(kind: 'question' | 'passage', texts: readonly string[], signal: AbortSignal): Promise<Embedded>
}

/** Texts of a request. Many servers take no more. */
export const MAX_TEXTS = 64
/** Longest vector that is used. */
export const MAX_DIMENSIONS = 4096
const PASSAGE_LIMITS = { headerMs: 30_000, idleMs: 10_000, totalMs: 60_000, maxBytes: 16 * 1024 * 1024 }
const QUESTION_LIMITS = { headerMs: 5000, idleMs: 5000, totalMs: 5000, maxBytes: 1024 * 1024 }

const Answer = z.object({
  data: z.array(
    z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1).max(MAX_DIMENSIONS) }),
  ),
  usage: z.object({ prompt_tokens: z.number().min(0) }).optional(),
})

/**
 * Opens the embeddings of an OpenAI-compatible endpoint.
 * https://platform.openai.com/docs/api-reference/embeddings/create
 */
export function openEmbedder(
  settings: EmbeddingSettings,
  { clock, connections }: { readonly clock: Clock; readonly connections?: VendorConnections | undefined },
): Embedder {
  const { baseUrl, apiKey, model, dimensions, questionPrefix, passagePrefix, deadlineMs } = settings
  return {
    id: [model, dimensions ?? '', passagePrefix].join('/').replace(/\/{1,16}$/, ''),
    deadlineMs,
    async embed(kind, texts, signal) {
      const prefix = kind === 'question' ? questionPrefix : passagePrefix
      const input = prefix === '' ? texts : texts.map((text) => `${prefix} ${text}`)
      const response = await post({
        url: joinUrl(baseUrl, 'embeddings'),
        apiKey,
        body: JSON.stringify({
          model,
          input,
          encoding_format: 'float',
          ...(dimensions === null ? {} : { dimensions }),
        }),
        limits: kind === 'question' ? QUESTION_LIMITS : PASSAGE_LIMITS,
        clock,
        connections,
        signal,
      })
      const chunks: Uint8Array[] = []
      await response.read((chunk) => {
        chunks.push(chunk)
        return true
      })
      return vectorsOf(Buffer.concat(chunks), texts.length, dimensions)
    },
  }
}

function vectorsOf(body: Buffer, count: number, dimensions: number | null): Embedded {
  const parsed = Answer.safeParse(jsonOf(body))
  if (!parsed.success) throw wrong('the embeddings endpoint sent an answer of another form')
  const { data, usage } = parsed.data
  const vectors: (Int8Array | undefined)[] = Array.from({ length: count })
  for (const { index, embedding } of data) {
    if (dimensions !== null && embedding.length !== dimensions) {
      throw wrong(
        `the endpoint sent vectors of ${embedding.length} dimensions, and PARLEY_EMBEDDINGS_DIMENSIONS is ${dimensions}`,
      )
    }
    if (index < count) vectors[index] = bytesOf(embedding)
  }
  const complete = vectors.filter((vector) => vector !== undefined)
  if (complete.length !== count || data.length !== count) {
    throw wrong(`the embeddings endpoint sent ${data.length} vectors for ${count} texts`)
  }
  return { vectors: complete, tokens: Math.round(usage?.prompt_tokens ?? 0) }
}

function jsonOf(body: Buffer): unknown {
  try {
    return parseForeignJson(body.toString('utf8'))
  } catch (error) {
    throw new EngineError('vendor_failed', 'the embeddings endpoint sent invalid JSON', { cause: error })
  }
}

function bytesOf(embedding: readonly number[]): Int8Array {
  try {
    return toBytes(embedding)
  } catch (error) {
    throw new EngineError('vendor_failed', 'the embeddings endpoint sent a vector of zeros', { cause: error })
  }
}

function wrong(message: string): EngineError {
  return new EngineError('vendor_failed', message)
}
