import {
  type CatalogueProviders,
  type FallbackNames,
  recognitionModels,
  voices,
} from '../../media/vendors/catalogue.js'
import { httpUrl, invalid, type Parsed, valid } from './parsers.js'

/** Variables that name the fallback of each kind of vendor. */
export const FALLBACK_VARIABLES = [
  {
    name: 'PARLEY_STT_FALLBACK',
    default: 'one of each other vendor',
    description: "Recognition models to use when an agent's own fails, comma-separated, or none",
  },
  {
    name: 'PARLEY_LLM_FALLBACK',
    default: 'one of each other vendor',
    description: "Language models to use when an agent's own fails, comma-separated, or none",
  },
  {
    name: 'PARLEY_LLM_FALLBACK_URL',
    default: '',
    description: 'A second OpenAI-compatible endpoint; PARLEY_LLM_FALLBACK must then begin with its model',
  },
  { name: 'PARLEY_LLM_FALLBACK_API_KEY', default: '', description: 'API key of that endpoint', secret: true },
  {
    name: 'PARLEY_TTS_FALLBACK',
    default: 'one of each other vendor',
    description:
      "Voices to use when an agent's own fails, as model/voice or model; the embedded voice is always last",
  },
] as const

type Name = (typeof FALLBACK_VARIABLES)[number]['name']
type Read = <T>(name: Name, fallback: string, parse: (value: string) => Parsed<T>) => T | null

export interface FallbackSettings {
  readonly fallbacks?: FallbackNames
  readonly secondChat?: { readonly baseUrl: string; readonly apiKey: string | null; readonly model: string }
}

/** Reads the fallback settings. Variables that are not set leave their fields out. */
export function readFallbacks(
  given: (name: Name) => string | null,
  read: Read,
  providers: CatalogueProviders,
): FallbackSettings {
  const list = (name: Name, known: (entry: string) => boolean): readonly string[] | null =>
    given(name) === null ? null : read(name, '', names(known))
  const llm = list(
    'PARLEY_LLM_FALLBACK',
    () => providers.openai !== null || given('PARLEY_LLM_FALLBACK_URL') !== null,
  )
  const fallbacks: FallbackNames = {
    stt: list('PARLEY_STT_FALLBACK', (name) =>
      recognitionModels(providers).some(({ sttModel }) => sttModel === name),
    ),
    llm,
    tts: list('PARLEY_TTS_FALLBACK', (name) =>
      voices(providers).some((row) => name === row.ttsModel || name === `${row.ttsModel}/${row.ttsVoice}`),
    ),
  }
  const chosen = Object.values(fallbacks).some((names) => names !== null)
  const secondChat = readSecondChat(given, read, llm?.[0])
  return { ...(chosen ? { fallbacks } : {}), ...(secondChat === null ? {} : { secondChat }) }
}

function readSecondChat(
  given: (name: Name) => string | null,
  read: Read,
  model: string | undefined,
): NonNullable<FallbackSettings['secondChat']> | null {
  const apiKey = given('PARLEY_LLM_FALLBACK_API_KEY')
  if (given('PARLEY_LLM_FALLBACK_URL') === null) {
    if (apiKey !== null) {
      read('PARLEY_LLM_FALLBACK_API_KEY', '', () => invalid('also set PARLEY_LLM_FALLBACK_URL, or remove it'))
    }
    return null
  }
  const baseUrl = read('PARLEY_LLM_FALLBACK_URL', '', (value) =>
    model === undefined
      ? invalid('also set PARLEY_LLM_FALLBACK to a model of this endpoint')
      : httpUrl(value),
  )
  return baseUrl === null || model === undefined ? null : { baseUrl, apiKey, model }
}

function names(known: (entry: string) => boolean): (value: string) => Parsed<readonly string[]> {
  return (value) => {
    if (value === 'none') return valid([])
    const entries = value.split(',').map((entry) => entry.trim())
    const strange = entries.find((entry) => entry === '' || !known(entry))
    if (strange !== undefined)
      return invalid(`${strange || 'an empty name'} is not offered by a configured vendor`)
    return new Set(entries).size === entries.length ? valid(entries) : invalid('name each once')
  }
}
