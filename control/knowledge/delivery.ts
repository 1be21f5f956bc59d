import { KNOWLEDGE_TOKENS } from '../../media/agent/llm/knowledge.js'
import { INLINE_TOKENS } from './view.js'

/** How an agent gets the content of a knowledge base. `mode` is null for a base that was never built. */
export interface KnowledgeDelivery {
  readonly id: string
  readonly buildId: string | null
  readonly mode: 'inline' | 'search' | null
}

interface Deliverable {
  readonly id: string
  readonly servingBuildId: string | null
  readonly compiledTokens: number | null
}

/**
 * Decides how the bases of one agent are delivered. They share one budget of tokens: bases become part of the prompt
 * from the smallest up while they fit, and the others are searched. A base that `before` says is searched stays so.
 */
export function deliveryOf(
  bases: readonly Deliverable[],
  before: readonly KnowledgeDelivery[] = [],
): KnowledgeDelivery[] {
  const searched = new Set(before.filter(({ mode }) => mode === 'search').map(({ id }) => id))
  const smallestFirst = bases.toSorted(
    (a, b) => (a.compiledTokens ?? 0) - (b.compiledTokens ?? 0) || (a.id < b.id ? -1 : 1),
  )
  let left = KNOWLEDGE_TOKENS
  return smallestFirst.map(({ id, servingBuildId: buildId, compiledTokens: tokens }) => {
    if (buildId === null || tokens === null) return { id, buildId: null, mode: null }
    const fits = tokens <= INLINE_TOKENS && tokens <= left && !searched.has(id)
    if (fits) left -= tokens
    return { id, buildId, mode: fits ? ('inline' as const) : ('search' as const) }
  })
}

/** Parses the stored deliveries of a version. Versions of earlier releases have none. */
export function readDelivery(stored: string | null): readonly KnowledgeDelivery[] {
  return stored === null ? [] : JSON.parse(stored)
}
