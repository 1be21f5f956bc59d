import t from 'tap'
import { classifyGreeting } from '../answering-machine/greeting-words.js'
import { awaitsKeys, openness } from './completeness.js'
import { LANGUAGE_TAGS, languageData } from './language-data.js'
import { requestedLanguage } from './language-request.js'
import { asksForNoCalls } from './opt-out-request.js'
import { asksToReturn, personAnswer } from './person-answer.js'
import { asksForPerson } from './person-request.js'
import { speakable } from './speakable.js'
import { spokenForm } from './spoken-form.js'

/*
 * A caller may repeat any words. A judgement whose work doubles with each repetition does not end within this test:
 * forty repetitions are 2 to the power of 40 steps.
 */

const REPETITIONS = 40

/** Everything that judges what a caller or a machine says, or what an agent is about to say. */
const JUDGEMENTS: Readonly<Record<string, (text: string, tag: string) => unknown>> = {
  asksForNoCalls,
  asksForPerson,
  asksToReturn,
  personAnswer,
  requestedLanguage,
  classifyGreeting: (text) => classifyGreeting(text),
  openness: (text, tag) => openness(text, tag, text),
  awaitsKeys: (text) => awaitsKeys('12', text),
  spokenForm,
  speakable: (text) => speakable(text),
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Object.values(value as object).flatMap((inner) => textsOf(inner))
}

/** Returns each word of a language's patterns once, and those that are compared with them. */
function wordsOf(tag: string): string[] {
  const {
    asksForMore,
    numbers,
    email,
    timeOrAmount,
    machines,
    personRequest,
    personAnswer,
    returnRequest,
    optOut,
  } = languageData(tag)
  const patterns = [asksForMore, numbers, email, timeOrAmount, machines, personRequest, personAnswer]
  const words =
    textsOf([patterns, returnRequest, optOut])
      .join(' ')
      .match(/[\p{L}\p{M}\d']+/gu) ?? []
  return [...new Set(words)]
}

for (const tag of LANGUAGE_TAGS) {
  t.test(`${tag}: any word may be said forty times`, async (t) => {
    const words = wordsOf(tag)
    t.ok(words.length > 50)
    for (const word of words) {
      const text = `x ${`${word} `.repeat(REPETITIONS)}no`
      for (const judge of Object.values(JUDGEMENTS)) judge(text, tag)
      const joined = `x${word.repeat(REPETITIONS)} x`
      for (const judge of Object.values(JUDGEMENTS)) judge(joined, tag)
    }
    t.equal(asksForNoCalls(`x ${words.join(' ').repeat(3)} x`), false)
  })
}

t.test('polite words of two scripts in turn, before a word that is none', async (t) => {
  for (const polite of ['bhai', 'ji', 'sir', 'saar', 'anna', 'dada', 'ਜੀ', 'சார்', 'theek hai']) {
    t.equal(asksForNoCalls(`x ${`${polite} `.repeat(REPETITIONS)}no`), false, polite)
    t.equal(asksForNoCalls(`do not call me ${`${polite} `.repeat(REPETITIONS)}`), true, polite)
  }
})
