/*
 * The eleven languages of the contract and what each party calls them: the one table of tags. No imports:
 * rules, vendors and the control plane all read it.
 */

interface LanguageRow {
  /** English name, as a model is told it. */
  readonly name: string
  /** How it is written, as a model is told it. */
  readonly script: string
  /** ISO 639-1: OpenAI, Cartesia, ElevenLabs, Flux; Deepgram's listen but for English. */
  readonly iso: string
  readonly deepgram: string
  /** Synthesis, REST and the legacy recognition socket. */
  readonly sarvam: string
  readonly sarvamRealtime: string
  /** Other names that recognisers give it: ISO 639-3 and words. */
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
  // The contract says `od`, ISO 639 `or`; the vendor's own endpoints disagree with each other.
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

/** Who names a language: a vendor's endpoint, or the standard that most of them follow. */
export type TagStyle = 'iso' | 'deepgram' | 'sarvam' | 'sarvamRealtime'

/** What that party calls the language of a contract's tag; a tag not of the contract stays as it is. */
export function vendorTag(style: TagStyle, tag: string): string {
  return LANGUAGES[tag === 'or-IN' ? 'od-IN' : tag]?.[style] ?? tag
}

/**
 * The contract's tag of what a vendor wrote: a tag with any region (`hi`, `hi-IN`, `or-IN`, `en_US`), or a
 * name (`hindi`). Null for anything else, also for `unknown` and languages outside the contract.
 */
export function contractTag(given: unknown): string | null {
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
 * What one stream hears: of the languages that may be spoken, those that the vendor understands
 * `together` with the one to begin with; that one alone when it does not go with others.
 */
export function heardTogether(
  language: string,
  languages: readonly string[],
  together: readonly string[],
): readonly string[] {
  if (!together.includes(language)) return [language]
  return [language, ...languages.filter((other) => other !== language && together.includes(other))]
}

/** How a person calls it, and how it is written: `Hindi`, `Devanagari`. */
export function languageName(tag: string): { readonly name: string; readonly script: string } {
  const known = LANGUAGES[tag]
  return known ?? { name: tag, script: 'its own script' }
}
