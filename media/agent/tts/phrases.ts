import type { AgentSpec } from '../agent-spec.js'
import { type LanguageData, languageData } from '../language/language-data.js'
import { languageOf } from '../language/text-language.js'
import type { Phrase } from '../turn/turn-types.js'

/** Phrases that the agent speaks without the model. */
export type EnginePhrases = LanguageData['phrases']

export function enginePhrases(language: string): EnginePhrases {
  return languageData(language).phrases
}

/** Returns the text of a phrase, empty when the agent has none. */
export function phraseText(spec: AgentSpec, phrase: Phrase, language: string): string {
  if (typeof phrase === 'object') {
    if ('say' in phrase) return phrase.say
    const text = spec.nudges.steps[phrase.nudge]?.text ?? ''
    // Nudges are written in one language. After a switch of language the built-in phrase replaces them.
    const switched =
      language !== spec.languages[0] && languageOf(text, spec.languages, spec.languages[0]) !== language
    return switched ? enginePhrases(language).stillThere : text
  }
  if (phrase === 'opening') return spec.openingLine ?? ''
  if (phrase === 'hangup') return spec.hangupLine ?? ''
  return enginePhrases(language)[phrase]
}
