import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../base/project-root.js'

/*
 * The word lists of each language, from language/data/<tag>.json. A speaker of a language can edit its file
 * without a build; a wrong file stops the start of the service with an error that names the field.
 */

/** A list of words. Each string of the JSON array holds one or more words, separated by blanks. */
const WORDS = 'words'
/**
 * Regular expressions. A text matches the list when it matches one of them. They are applied to the words of callers,
 * so each repetition has a maximum (`isBounded`).
 */
const PATTERNS = 'patterns'
/** Phrases of one or more words, one in each string of the JSON array. They are compared by words. */
const PHRASES = 'phrases'
const TEXT = 'text'

/** Words that count in every call, and words that count only in calls of this language. */
const SCOPED = { everywhere: WORDS, thisLanguage: WORDS } as const

export const LANGUAGE_TAGS = [
  'en-IN',
  'hi-IN',
  'bn-IN',
  'ta-IN',
  'te-IN',
  'kn-IN',
  'ml-IN',
  'mr-IN',
  'gu-IN',
  'pa-IN',
  'od-IN',
] as const

const SHAPE = {
  /** Sounds of listening, which do not interrupt the agent. */
  backchannels: SCOPED,
  /** Said into a new call. They do not interrupt an opening line. */
  greetings: WORDS,
  /** Last words of an unfinished sentence. */
  continues: SCOPED,
  /** Ends of two or more words that require an object. */
  asksForMore: PATTERNS,
  /** Sounds of thinking. */
  fillers: WORDS,
  /** Digits as words. */
  digits: SCOPED,
  /** Words that repeat the following digit once or twice. */
  double: WORDS,
  triple: WORDS,
  /** Announcements of a number, by its kind. */
  numbers: {
    card: PATTERNS,
    aadhaar: PATTERNS,
    code: PATTERNS,
    phone: PATTERNS,
    /** "My number": a telephone number, unless another number was asked for. */
    mine: PATTERNS,
    /** "Number": any number. */
    other: PATTERNS,
    /** Words after the length of a number ("10-digit"). */
    digit: PATTERNS,
  },
  /** Words before numerals that are a time or an amount. */
  timeOrAmount: PATTERNS,
  /** Names of letters. */
  letters: WORDS,
  /** Email addresses said aloud: their announcement, the "at", and words that another one follows. */
  email: { announced: PATTERNS, at: WORDS, continues: WORDS },
  /** Words that callers of every language use, so that they tell no language. */
  sharedWords: WORDS,
  /** Words that only this language has, in its own script and in Latin letters. */
  ownWords: { native: WORDS, latin: WORDS },
  /** Beginnings of the names of all languages in this language. Latin names must match completely. */
  languageNames: record(WORDS),
  /**
   * Requests for another language: verbs, beginnings of verbs in native script, words that may stand beside
   * a name without a verb, negations before, after and at the end of a word, subjects of talk about a
   * language, and conjunctions between clauses.
   */
  languageRequest: {
    verbs: WORDS,
    verbStems: WORDS,
    beside: WORDS,
    notBefore: WORDS,
    notAfter: WORDS,
    notEndings: WORDS,
    subjects: WORDS,
    conjunctions: WORDS,
  },
  /** Phrases that machines say and people do not. */
  machines: { screening: PATTERNS, voicemail: PATTERNS, nameRequest: PATTERNS, menu: PATTERNS },
  /** Words for amounts, symbols and months. */
  spokenForm: {
    rupee: TEXT,
    rupees: TEXT,
    paise: TEXT,
    thousand: TEXT,
    lakh: TEXT,
    crore: TEXT,
    percent: TEXT,
    at: TEXT,
    dot: TEXT,
    dash: TEXT,
    underscore: TEXT,
    slash: TEXT,
    months: WORDS,
  },
  /** First words of an outbound call whose agent has no opening line. `{business}` is the business name. */
  openings: { named: TEXT, unnamed: TEXT },
  /** Phrases that the agent speaks without the model (tts/phrases.ts). */
  phrases: {
    /** A provider failed and is tried again. */
    failure: TEXT,
    /** A tool takes time, then takes even longer. */
    wait: TEXT,
    stillWaiting: TEXT,
    /** The caller spoke and no text arrived. */
    repeat: TEXT,
    /** The caller is silent. Replaces an agent's nudge that is written in another language. */
    stillThere: TEXT,
    /** No recogniser is available. */
    digitsOnly: TEXT,
    /** The call ends because a provider failed. */
    goodbye: TEXT,
    /** The caller opted out of calls. The call ends after it. */
    optedOut: TEXT,
    /** An agent takes over from a bot that was lost. */
    technicalProblem: TEXT,
    /** Said, in turn, while the caller speaks for long. */
    listening: TEXT,
    following: TEXT,
  },
  /** The ten digits from zero on, as they are spoken one by one. */
  spokenDigits: WORDS,
  /** The call that verifies a telephone. `{digits}` are the digits of the code. */
  verification: { announcement: TEXT, code: TEXT, again: TEXT },
  /**
   * Lines of a transfer: to the caller while a telephone rings, when the transfer failed and when the caller ended the
   * wait; to the person, about the caller, whose words replace `{words}`, about the keys, about keys and words, when the
   * caller hung up, and when the service ended the call. The last two also follow the question of a takeover.
   */
  transfer: {
    waiting: TEXT,
    missed: TEXT,
    returned: TEXT,
    intro: TEXT,
    said: TEXT,
    keys: TEXT,
    consultKeys: TEXT,
    gone: TEXT,
    ended: TEXT,
  },
  /** Sentences with which a caller asks for a person, and parts of sentences that say the opposite. */
  personRequest: { asks: PATTERNS, denies: PATTERNS },
  /**
   * Answers of a person to whom a caller is presented: words that accept and that decline, words that may stand
   * beside them, and sentences that do the one or the other.
   */
  personAnswer: { yes: WORDS, no: WORDS, beside: WORDS, connects: PATTERNS, refuses: PATTERNS },
  /** Sentences with which a caller who waits asks for the agent. */
  returnRequest: PATTERNS,
  /** Clauses that ask for no more calls, words that limit such a wish to now or today, and polite words at its end. */
  optOut: { requests: PATTERNS, notNow: PATTERNS, courtesy: PHRASES },
} as const

type Of<S> = S extends typeof TEXT
  ? string
  : S extends string
    ? readonly string[]
    : { readonly [K in keyof S]: Of<S[K]> }
export type LanguageData = Of<typeof SHAPE>
type Shape = string | { readonly [field: string]: Shape }

/** Parses the content of a language file. Throws an error that names the field when it is invalid. */
export function parseLanguageData(value: unknown): LanguageData {
  return parse(value, SHAPE, '') as LanguageData
}

function parse(value: unknown, shape: Shape, field: string): unknown {
  if (shape === TEXT) {
    if (typeof value !== 'string' || value.trim() === '') throw new Error(`${field}: a text is required`)
    return value
  }
  if (typeof shape === 'string') {
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
      throw new Error(`${field}: an array of strings is required`)
    }
    if (shape === WORDS) return (value as string[]).flatMap((item) => item.split(/\s+/).filter(Boolean))
    if (shape === PHRASES) return value
    for (const pattern of value as string[]) {
      if (!isBounded(pattern)) {
        throw new Error(
          `${field}: ${pattern} repeats without a small maximum; write {0,${MAX_REPETITIONS}} or less instead of * and +`,
        )
      }
      try {
        new RegExp(pattern)
      } catch {
        throw new Error(`${field}: ${pattern} is no regular expression`)
      }
    }
    return value
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${field}: an object is required`)
  }
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(shape, name))
  if (unknown !== undefined) throw new Error(`${field}.${unknown}: there is no such field`.replace(/^\./, ''))
  return Object.fromEntries(
    Object.entries(shape).map(([name, of]) => {
      const path = field === '' ? name : `${field}.${name}`
      return [name, parse((value as Record<string, unknown>)[name], of, path)]
    }),
  )
}

/** Maximum number of repetitions of a part of a pattern. */
const MAX_REPETITIONS = 60

/** Returns whether each repetition of a pattern has a maximum of at most `MAX_REPETITIONS`. */
export function isBounded(pattern: string): boolean {
  // A sign behind a backslash or within a class is text.
  const plain = pattern.replace(/\\./gsu, 'x').replace(/\[[^\]]{0,500}\]/gu, 'x')
  const mosts = plain.match(/(?<=[{,])[^{},]*(?=\})/g) ?? []
  return !/[*+]/.test(plain) && mosts.every((most) => most !== '' && Number(most) <= MAX_REPETITIONS)
}

function record<S extends Shape>(of: S): Record<(typeof LANGUAGE_TAGS)[number], S> {
  return Object.fromEntries(LANGUAGE_TAGS.map((tag) => [tag, of])) as Record<
    (typeof LANGUAGE_TAGS)[number],
    S
  >
}

function read(tag: string): LanguageData {
  const file = join(projectRoot, 'media', 'agent', 'language', 'data', `${tag}.json`)
  try {
    return parseLanguageData(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

const DATA: ReadonlyMap<string, LanguageData> = new Map(LANGUAGE_TAGS.map((tag) => [tag, read(tag)]))
const ENGLISH = DATA.get('en-IN') as LanguageData

/** Returns the data of a language, English when the language is unknown. */
export function languageData(tag: string): LanguageData {
  return DATA.get(tag) ?? ENGLISH
}

/** Returns the words of a list in all languages. */
export function allWords(list: (data: LanguageData) => readonly string[]): readonly string[] {
  return [...DATA.values()].flatMap(list)
}

/** Returns a list of each language by its tag. */
export function wordsByLanguage(
  list: (data: LanguageData) => readonly string[],
): ReadonlyMap<string, readonly string[]> {
  return new Map([...DATA].map(([tag, data]) => [tag, list(data)]))
}
