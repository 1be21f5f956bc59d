import { type CatalogueProviders, findLanguageModel } from '../../media/vendors/catalogue.js'
import type { EmbeddingSettings } from '../../media/vendors/openai/embeddings.js'
import { MAX_DIMENSIONS } from '../../media/vendors/openai/embeddings.js'
import type { Variable } from '../../media/vendors/vendor-module.js'
import { httpUrl, integer, invalid, type Parsed, text, valid } from './parsers.js'

const OPENAI_URL = 'https://api.openai.com/v1'

export const KNOWLEDGE_VARIABLES = [
  {
    name: 'PARLEY_EMBEDDINGS_MODEL',
    default: '',
    description:
      'Embeddings model for knowledge bases (docs/knowledge.md), for example text-embedding-3-small; empty searches by words only',
  },
  {
    name: 'PARLEY_EMBEDDINGS_BASE_URL',
    default: 'PARLEY_OPENAI_BASE_URL',
    description: 'OpenAI-compatible endpoint of that model',
  },
  {
    name: 'PARLEY_EMBEDDINGS_API_KEY',
    default: '',
    description: 'API key of that endpoint; without an endpoint of its own, PARLEY_OPENAI_API_KEY is used',
    secret: true,
  },
  {
    name: 'PARLEY_EMBEDDINGS_DIMENSIONS',
    default: '',
    description:
      "Length of the vectors, for models that can shorten them, for example 512; empty takes the model's own",
  },
  {
    name: 'PARLEY_EMBEDDINGS_QUESTION_PREFIX',
    default: '',
    description: 'Text before each question, for models that need one, for example query: with E5',
  },
  {
    name: 'PARLEY_EMBEDDINGS_PASSAGE_PREFIX',
    default: '',
    description: 'Text before each passage, for example passage: with E5',
  },
  {
    name: 'PARLEY_EMBEDDINGS_DEADLINE_MS',
    default: '1000',
    description: 'Longest wait for the vector of a question, 50 to 5000; then the search goes by words only',
  },
  {
    name: 'PARLEY_KNOWLEDGE_QUESTIONS_MODEL',
    default: '',
    description:
      'Language model that a build asks for the questions that each passage answers (docs/knowledge.md); empty asks none',
  },
  {
    name: 'PARLEY_KNOWLEDGE_QUESTIONS_LANGUAGES',
    default: 'en,hi',
    description: 'Languages of these questions besides that of the passage, comma-separated, at most 6',
  },
  {
    name: 'PARLEY_KNOWLEDGE_QUESTIONS_LIMIT',
    default: '2000',
    description:
      'Most passages that one build asks the model about, one request each; the next build goes on',
  },
] as const satisfies readonly Variable[]

type Name = (typeof KNOWLEDGE_VARIABLES)[number]['name']
type Given = (name: string) => string | null
type Read = <T>(name: Name, fallback: string, parse: (value: string) => Parsed<T>) => T | null

/** Questions that a language model makes for passages. */
export interface QuestionSettings {
  readonly model: string
  /** ISO 639 codes. */
  readonly languages: readonly string[]
  /** Passages that one build asks about. */
  readonly limit: number
}

/** Models for knowledge bases. Null does without one. */
export interface KnowledgeSettings {
  readonly embeddings: EmbeddingSettings | null
  readonly questions: QuestionSettings | null
}

/** Reads the settings of knowledge bases. Variables of a model that is not named are rejected. */
export function readKnowledge(given: Given, read: Read, providers: CatalogueProviders): KnowledgeSettings {
  return {
    embeddings: part(given, read, 'PARLEY_EMBEDDINGS_MODEL', () => embeddings(given, read)),
    questions: part(given, read, 'PARLEY_KNOWLEDGE_QUESTIONS_MODEL', () => questions(read, providers)),
  }
}

function part<T>(given: Given, read: Read, model: Name, settings: () => T): T | null {
  if (given(model) !== null) return settings()
  const prefix = model.replace(/MODEL$/, '')
  const stray = KNOWLEDGE_VARIABLES.find(({ name }) => name.startsWith(prefix) && given(name) !== null)
  if (stray !== undefined) read(stray.name, '', () => invalid(`also set ${model}, or remove it`))
  return null
}

function embeddings(given: Given, read: Read): EmbeddingSettings {
  const own = given('PARLEY_EMBEDDINGS_BASE_URL')
  const shared = given('PARLEY_OPENAI_BASE_URL')
  // The key of one server is never sent to another one.
  const apiKey = given('PARLEY_EMBEDDINGS_API_KEY') ?? (own === null ? given('PARLEY_OPENAI_API_KEY') : null)
  if (own === null && shared === null && apiKey === null) {
    read('PARLEY_EMBEDDINGS_MODEL', '', () =>
      invalid('also set PARLEY_EMBEDDINGS_BASE_URL or PARLEY_EMBEDDINGS_API_KEY, or remove it'),
    )
  }
  const dimensions = given('PARLEY_EMBEDDINGS_DIMENSIONS')
  return {
    baseUrl: read('PARLEY_EMBEDDINGS_BASE_URL', shared ?? OPENAI_URL, httpUrl) ?? '',
    apiKey,
    model: read('PARLEY_EMBEDDINGS_MODEL', '', text) ?? '',
    dimensions:
      dimensions === null ? null : read('PARLEY_EMBEDDINGS_DIMENSIONS', '', integer(8, MAX_DIMENSIONS)),
    questionPrefix: read('PARLEY_EMBEDDINGS_QUESTION_PREFIX', '', text) ?? '',
    passagePrefix: read('PARLEY_EMBEDDINGS_PASSAGE_PREFIX', '', text) ?? '',
    deadlineMs: read('PARLEY_EMBEDDINGS_DEADLINE_MS', '1000', integer(50, 5000)) ?? 0,
  }
}

function questions(read: Read, providers: CatalogueProviders): QuestionSettings {
  return {
    model:
      read('PARLEY_KNOWLEDGE_QUESTIONS_MODEL', '', (name) =>
        findLanguageModel(name, providers) === null
          ? invalid('name a language model of a configured vendor, as agents do')
          : valid(name),
      ) ?? '',
    languages: read('PARLEY_KNOWLEDGE_QUESTIONS_LANGUAGES', 'en,hi', languages) ?? [],
    limit: read('PARLEY_KNOWLEDGE_QUESTIONS_LIMIT', '2000', integer(1, 50_000)) ?? 0,
  }
}

function languages(value: string): Parsed<readonly string[]> {
  const names = value.split(',').map((name) => name.trim())
  return names.length <= 6 && names.every((name) => /^[a-z]{2,3}$/.test(name))
    ? valid(names)
    : invalid('use at most 6 language codes such as en,hi,ta')
}
