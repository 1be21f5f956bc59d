import { vendorTag } from '../../agent/language/language-tags.js'

/*
 * Voices of the embedded synthesizer. eSpeak NG has one voice per language and timbre variants that fit every
 * language, so a voice here is a variant. The control plane validates against these tables without loading
 * the synthesizer.
 */

/** The eleven agent languages. Odia is `od-IN` in the API, although its ISO 639 code is `or`. */
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
  /** Variant file of eSpeak NG, appended to the language as in `hi+f3`. */
  readonly variant: string
}

export const ESPEAK_VOICES: readonly EspeakVoice[] = [
  { voice: 'asha', gender: 'female', variant: 'f3' },
  { voice: 'ravi', gender: 'male', variant: 'm3' },
  { voice: 'meera', gender: 'female', variant: 'f2' },
  { voice: 'arjun', gender: 'male', variant: 'm7' },
]

/** eSpeak NG's words per minute at pace 1. */
const NORMAL_RATE = 175

/** Paces the synthesizer follows: it clips at 80 and 450 words per minute. */
export const ESPEAK_PACE_MIN = 0.5
export const ESPEAK_PACE_MAX = 2.5

/** Returns the words per minute for a pace, within the supported range. */
export function espeakRate(pace: number): number {
  const within = Math.min(ESPEAK_PACE_MAX, Math.max(ESPEAK_PACE_MIN, Number.isFinite(pace) ? pace : 1))
  return Math.round(NORMAL_RATE * within)
}

export function isVoiceLanguage(language: string): language is VoiceLanguage {
  return (VOICE_LANGUAGES as readonly string[]).includes(language)
}

/** Returns eSpeak NG's name of the voice in this language (`hi+f3`), or null when either is unknown. */
export function espeakName(voice: string, language: string): string | null {
  const known = ESPEAK_VOICES.find((candidate) => candidate.voice === voice)
  const tag = language === 'or-IN' ? 'od-IN' : language
  if (known === undefined || !isVoiceLanguage(tag)) return null
  // eSpeak NG has no Indian English; British English (file name `en`) is the nearest.
  return `${vendorTag('iso', tag)}+${known.variant}`
}
