import { SentenceSplitter } from '../language/sentence-splitter.js'
import { speakable } from '../language/speakable.js'
import { spokenForm } from '../language/spoken-form.js'
import { languageOf } from '../language/text-language.js'

/** A sentence to say. */
export interface SentenceToSay {
  /** As a voice speaks it: numbers, dates and addresses in words. */
  readonly text: string
  /** As it was written. Null: the same text. */
  readonly written: string | null
  readonly language: string
}

/** Returns a written sentence with its spoken form. */
export function sentenceToSay(written: string, language: string): SentenceToSay {
  const text = spokenForm(written, language)
  return { text, written: text === written ? null : written, language }
}

/** Returns the sentences of a text as a voice speaks them, each with its language out of `languages`. */
export function spokenSentences(
  text: string,
  languages: readonly string[],
  usual: string,
): readonly SentenceToSay[] {
  const splitter = new SentenceSplitter()
  return [...splitter.push(text), ...splitter.end()]
    .map(speakable)
    .filter((sentence) => sentence !== '')
    .map((sentence) => {
      const said = sentenceToSay(sentence, languageOf(sentence, languages, usual))
      return { ...said, language: languageOf(said.text, languages, usual) }
    })
}
