/** Scripts and the contract's tags written in them. Marathi and Hindi share one. */
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
 * The language of a text among those of the agent, by the script most of its letters are written in.
 * The first language when the script fits none (Latin text may be any language, romanised).
 */
export function languageOf(text: string, languages: readonly string[]): string {
  const first = languages[0] ?? 'en-IN'
  let best: readonly string[] = []
  let most = 0
  for (const [script, tags] of SCRIPTS) {
    const letters = text.match(script)?.length ?? 0
    if (letters > most) {
      most = letters
      best = tags
    }
  }
  if (best.includes(first)) return first
  return languages.find((tag) => best.includes(tag)) ?? first
}
