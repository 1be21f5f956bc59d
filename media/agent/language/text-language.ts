import { detectLanguage } from './caller-language.js'

/** Scripts and the language tags that use them. Marathi and Hindi share one. */
const SCRIPTS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\p{Script=Devanagari}/gu, ['hi-IN', 'mr-IN']],
  [/\p{Script=Bengali}/gu, ['bn-IN']],
  [/\p{Script=Tamil}/gu, ['ta-IN']],
  [/\p{Script=Telugu}/gu, ['te-IN']],
  [/\p{Script=Kannada}/gu, ['kn-IN']],
  [/\p{Script=Malayalam}/gu, ['ml-IN']],
  [/\p{Script=Gujarati}/gu, ['gu-IN']],
  [/\p{Script=Gurmukhi}/gu, ['pa-IN']],
  [/\p{Script=Oriya}/gu, ['od-IN']],
  [/\p{Script=Latin}/gu, ['en-IN']],
]

/**
 * Returns the language in which to speak a text, by the script of most of its letters. Returns `current` when
 * the script fits none or several, and for romanised text in that language.
 */
export function languageOf(
  text: string,
  languages: readonly string[],
  current: string = languages[0] ?? 'en-IN',
): string {
  let best: readonly string[] = []
  let most = 0
  for (const [script, tags] of SCRIPTS) {
    const letters = text.match(script)?.length ?? 0
    if (letters > most) {
      most = letters
      best = tags
    }
  }
  if (best.includes('en-IN') && current !== 'en-IN') {
    const detected = detectLanguage({ text, detected: null, translated: false }, languages, current)
    if (detected?.language === current) return current
  }
  if (best.includes(current)) return current
  return languages.find((tag) => best.includes(tag)) ?? current
}
