/*
 * The supported languages and the tag that each vendor uses. Imports nothing because rules, vendors and the
 * control plane all use this table.
 */

interface LanguageRow {
  /** English name, as given to a model. */
  readonly name: string
  /** Script, as given to a model. */
  readonly script: string
  /** ISO 639-1: OpenAI, Cartesia, ElevenLabs, Deepgram Flux, and Deepgram `listen` except for English. */
  readonly iso: string
  readonly deepgram: string
  /** Sarvam synthesis, REST and the legacy recognition socket. */
  readonly sarvam: string
  readonly sarvamRealtime: string
  /** Other names that recognisers use: ISO 639-3 codes and words. */
  readonly also: readonly string[]
}

const LANGUAGES: Readonly<Record<string, LanguageRow>> = {
  'en-IN': row('English', 'Latin letters', 'en', ['eng'], { deepgram: 'en-IN' }),
  'hi-IN': row('Hindi', 'Devanagari', 'hi', ['hin']),
  'bn-IN': row('Bengali', 'Bengali script', 'bn', ['ben', 'bangla']),
  'ta-IN': row('Tamil', 'Tamil script', 'ta', ['tam']),
  'te-IN': row('Telugu', 'Telugu script', 'te', ['tel']),
  'kn-IN': row('Kannada', 'Kannada script', 'kn', ['kan']),
  'ml-IN': row('Malayalam', 'Malayalam script', 'ml', ['mal']),
  'mr-IN': row('Marathi', 'Devanagari', 'mr', ['mar']),
  'gu-IN': row('Gujarati', 'Gujarati script', 'gu', ['guj']),
  'pa-IN': row('Punjabi', 'Gurmukhi', 'pa', ['pan', 'panjabi']),
  // Our API uses `od`, ISO 639 uses `or`, and the vendor's endpoints differ from each other.
  'od-IN': row('Odia', 'Odia script', 'or', ['od', 'ori', 'ory', 'oriya'], { realtime: 'or-IN' }),
}

function row(
  name: string,
  script: string,
  iso: string,
  also: readonly string[],
  { deepgram = iso, realtime }: { readonly deepgram?: string; readonly realtime?: string } = {},
): LanguageRow {
  const tag = iso === 'or' ? 'od-IN' : `${iso}-IN`
  return { name, script, iso, deepgram, sarvam: tag, sarvamRealtime: realtime ?? tag, also }
}

/** A vendor endpoint's tags, or the ISO standard that most vendors follow. */
export type TagStyle = 'iso' | 'deepgram' | 'sarvam' | 'sarvamRealtime'

/** Returns the vendor's tag for a language tag. An unknown tag is returned unchanged. */
export function vendorTag(style: TagStyle, tag: string): string {
  return LANGUAGES[tag === 'or-IN' ? 'od-IN' : tag]?.[style] ?? tag
}

/**
 * Returns the language tag for a vendor's name of a language: a tag with any region (`hi`, `hi-IN`, `or-IN`,
 * `en_US`) or a name (`hindi`). Returns null for anything else, including `unknown`.
 */
export function languageTagOf(given: unknown): string | null {
  if (typeof given !== 'string') return null
  const word = given.trim().toLowerCase().split(/[-_]/)[0]
  if (!word) return null
  return BY_NAME.get(word) ?? null
}

const BY_NAME: ReadonlyMap<string, string> = new Map(
  Object.entries(LANGUAGES).flatMap(([tag, { name, iso, also }]) =>
    [iso, name.toLowerCase(), ...also].map((word) => [word, tag] as const),
  ),
)

/**
 * Returns the languages that one stream understands: `language` and, when the vendor can combine them, the
 * other spoken ones in `together`.
 */
export function combinedLanguages(
  language: string,
  languages: readonly string[],
  together: readonly string[],
): readonly string[] {
  if (!together.includes(language)) return [language]
  return [language, ...languages.filter((other) => other !== language && together.includes(other))]
}

/** Returns the English name of a language and its script, such as `Hindi` and `Devanagari`. */
export function languageName(tag: string): { readonly name: string; readonly script: string } {
  const known = LANGUAGES[tag]
  return known ?? { name: tag, script: 'its own script' }
}
