import { vendorTag } from '../../language/language-tags.js'

/*
 * The voices of the embedded synthesiser: eSpeak NG has one voice per language and timbre variants
 * that go with each of them, so a voice here is a variant and the language picks the rest. No
 * synthesiser is imported: the control plane validates against these tables without loading the synthesiser.
 */

/** The eleven languages of the contract; `od-IN` is its tag for Odia (`or` in ISO 639). */
export const VOICE_LANGUAGES = [
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

export type VoiceLanguage = (typeof VOICE_LANGUAGES)[number]

export interface EspeakVoice {
  readonly voice: string
  readonly gender: 'female' | 'male'
  /** Variant file of eSpeak NG, appended to the language as `hi+f3`. */
  readonly variant: string
}

export const ESPEAK_VOICES: readonly EspeakVoice[] = [
  { voice: 'asha', gender: 'female', variant: 'f3' },
  { voice: 'ravi', gender: 'male', variant: 'm3' },
  { voice: 'meera', gender: 'female', variant: 'f2' },
  { voice: 'arjun', gender: 'male', variant: 'm7' },
]

/** eSpeak NG's own words per minute at pace 1. */
const NORMAL_RATE = 175

/** The paces this synthesiser really follows: it clips at 80 and 450 words a minute. */
export const ESPEAK_PACE_MIN = 0.5
export const ESPEAK_PACE_MAX = 2.5

/** Words per minute for a pace, within what the synthesiser follows. */
export function espeakRate(pace: number): number {
  const within = Math.min(ESPEAK_PACE_MAX, Math.max(ESPEAK_PACE_MIN, Number.isFinite(pace) ? pace : 1))
  return Math.round(NORMAL_RATE * within)
}

export function isVoiceLanguage(language: string): language is VoiceLanguage {
  return (VOICE_LANGUAGES as readonly string[]).includes(language)
}

/** What eSpeak NG calls this voice in this language (`hi+f3`), or null when either is unknown. */
export function espeakName(voice: string, language: string): string | null {
  const known = ESPEAK_VOICES.find((candidate) => candidate.voice === voice)
  const tag = language === 'or-IN' ? 'od-IN' : language
  if (known === undefined || !isVoiceLanguage(tag)) return null
  // It ships no Indian English; its British one is the nearest (file name `en`).
  return `${vendorTag('iso', tag)}+${known.variant}`
}
