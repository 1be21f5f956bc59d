import { SentenceSplitter } from '../language/sentence-splitter.js'
import { speakable } from '../language/speakable.js'
import { spokenForm } from '../language/spoken-form.js'
import { languageOf } from '../language/text-language.js'

/** Returns the sentences of a text as a voice speaks them, each with its language out of `languages`. */
export function spokenSentences(
  text: string,
  languages: readonly string[],
  usual: string,
): readonly { readonly text: string; readonly language: string }[] {
  const splitter = new SentenceSplitter()
  return [...splitter.push(text), ...splitter.end()]
    .map(speakable)
    .filter((sentence) => sentence !== '')
    .map((sentence) => {
      const spoken = spokenForm(sentence, languageOf(sentence, languages, usual))
      return { text: spoken, language: languageOf(spoken, languages, usual) }
    })
}
