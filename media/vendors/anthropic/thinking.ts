import { VendorHttpError } from '../shared/vendor-http.js'

type Fields = Readonly<Record<string, unknown>>

/**
 * Fields that keep a model from thinking before its first word, the strongest first. Which of them a model
 * takes depends on its generation; the others are a 400.
 * https://platform.claude.com/docs/en/models/sonnet-5-5/migration-guide
 */
const WAYS: readonly Fields[] = [
  { thinking: { type: 'disabled' } },
  { thinking: { type: 'between_tools' } },
  { output_config: { effort: 'low' } },
  {},
]

/** How to ask a model: the index of a way not to think, and whether to cache the prompt. */
export interface Manner {
  readonly way: number
  readonly cached: boolean
}

/** Returns the manner that fits a model by its name. A refusal corrects it. */
export function firstManner(model: string): Manner {
  const way = /^claude-sonnet-5-5/.test(model) ? 1 : /^claude-(opus-5-5|fable|mythos)/.test(model) ? 2 : 0
  return { way, cached: true }
}

/** Returns the fields of the manner. The cached prefix of a conversation grows with every turn. */
export function mannerFields({ way, cached }: Manner): Fields {
  return { ...WAYS[way], ...(cached ? { cache_control: { type: 'ephemeral' } } : {}) }
}

/** Returns the manner to try after a refusal, or null when the refusal has another reason. */
export function nextManner(error: unknown, { way, cached }: Manner): Manner | null {
  if (!(error instanceof VendorHttpError) || error.status !== 400) return null
  if (cached && /cache_control/.test(error.message)) return { way, cached: false }
  if (/thinking|output_config|effort/.test(error.message) && way + 1 < WAYS.length) {
    return { way: way + 1, cached }
  }
  return null
}
