import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../base/project-root.js'
import { isBounded, LANGUAGE_TAGS, languageData, parseLanguageData } from './language-data.js'

function file(tag: string): Record<string, unknown> {
  const path = join(projectRoot, 'media', 'agent', 'language', 'data', `${tag}.json`)
  return JSON.parse(readFileSync(path, 'utf8'))
}

t.test('every language has its own data', async (t) => {
  for (const tag of LANGUAGE_TAGS) {
    t.ok(languageData(tag).phrases.goodbye.length > 0, tag)
    t.equal(languageData(tag).spokenForm.months.length, 12, tag)
    t.ok(languageData(tag).languageNames[tag].length > 0, `${tag} names itself`)
  }
  t.equal(languageData('xx-XX'), languageData('en-IN'), 'an unknown language is English')
})

t.test('words may share one string', async (t) => {
  const { fillers } = parseLanguageData({ ...file('en-IN'), fillers: ['um uh', ' er '] })
  t.same(fillers, ['um', 'uh', 'er'])
})

t.test('an invalid file is rejected with the name of the field', async (t) => {
  const wrong: Readonly<Record<string, readonly [Record<string, unknown>, RegExp]>> = {
    missing: [{ fillers: undefined }, /^fillers: an array of strings is required$/],
    unknown: [{ filler: [] }, /^filler: there is no such field$/],
    pattern: [{ asksForMore: ['('] }, /^asksForMore: \( is no regular expression$/],
    repetition: [
      { asksForMore: ['(a |b )*c'] },
      /^asksForMore: \(a \|b \)\*c repeats without a small maximum/,
    ],
    text: [
      { phrases: { ...languageData('en-IN').phrases, wait: ' ' } },
      /^phrases.wait: a text is required$/,
    ],
    object: [{ digits: [] }, /^digits: an object is required$/],
    item: [{ letters: [1] }, /^letters: an array of strings is required$/],
  }
  for (const [name, [change, message]] of Object.entries(wrong)) {
    t.throws(() => parseLanguageData({ ...file('en-IN'), ...change }), { message }, name)
  }
})

t.test('each repetition of a pattern has a small maximum', async (t) => {
  for (const pattern of ['a?b{2}c{0,60}', 'ten\\* [*+]', '(again |ever ){0,4}$', '[^\\]]{1,9}']) {
    t.equal(isBounded(pattern), true, pattern)
  }
  for (const pattern of ['a*', '(a|b)+', 'a{2,}', 'a{61}', 'a{0,999999999999}', '[\\]]+', '\\\\*']) {
    t.equal(isBounded(pattern), false, pattern)
  }
})
