import t from 'tap'
import { enginePhrases } from '../tts/phrases.js'
import { speakable } from './speakable.js'
import { languageOf } from './text-language.js'

t.test('markdown, pictures and addresses are not spoken', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['**Hello** _there_, *friend*!', 'Hello there, friend!'],
    ['# Title\n\n- one\n- two', 'Title one two'],
    ['See [our site](https://example.com/a_b) now.', 'See our site now.'],
    ['Go to https://example.com/x?y=1 please', 'Go to please'],
    ['Great 😀👍🏽 news 🇮🇳!', 'Great news !'],
    ['`code` and ~~old~~ text', 'code and old text'],
    ['```js\nlet x\n```', 'let x'],
    ['> quoted', 'quoted'],
    ['| a | b |', 'a b'],
    ['Press 1, 2 or #.', 'Press 1, 2 or #.'],
    ['5 * 3', '5 3'],
    ['snake_case stays', 'snake_case stays'],
    ['You may go [interrupted by the caller]', 'You may go'],
    ['<b>Yes</b>, we <em class="x">are</em> open.<br/>', 'Yes , we are open.'],
    ['<speak>Hello<break time="300ms"/>there</speak>', 'Hello there'],
    ['a < b and <name> stays', 'a < b and <name> stays'],
    ['---', ''],
    ['…', ''],
    ['😀', ''],
    ['क्‍या हाल है?', 'क्‍या हाल है?'],
    ['അവന്‍ വന്നു.', 'അവന്‍ വന്നു.'],
  ]
  for (const [text, expected] of cases) t.equal(speakable(text), expected, text)
})

t.test('the language by script, among those of the agent', async (t) => {
  const all = ['en-IN', 'hi-IN', 'ta-IN', 'od-IN']
  t.equal(languageOf('Hello', all), 'en-IN')
  t.equal(languageOf('नमस्ते, how are', all), 'hi-IN')
  t.equal(languageOf('வணக்கம்', all), 'ta-IN')
  t.equal(languageOf('ନମସ୍କାର', all), 'od-IN')
  t.equal(languageOf('నమస్కారం', all), 'en-IN', 'a language that the agent does not have')
  t.equal(languageOf('नमस्कार', ['mr-IN', 'hi-IN']), 'mr-IN')
  t.equal(languageOf('haan ji', ['hi-IN']), 'hi-IN', 'romanised')
  t.equal(languageOf('42', ['hi-IN', 'en-IN']), 'hi-IN')
})

t.test('every language has its phrases in its own script', async (t) => {
  const tags = [
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
  ]
  for (const tag of tags) {
    for (const [name, line] of Object.entries(enginePhrases(tag))) {
      t.equal(speakable(line), line, `${tag} ${name}`)
      const script = languageOf(line, [
        'fr-FR',
        ...tags.filter((other) => other !== 'mr-IN' || tag === other),
      ])
      t.ok([tag, 'hi-IN'].includes(script), `${tag} ${name} is written in its script`)
    }
  }
  t.equal(enginePhrases('xx-XX'), enginePhrases('en-IN'))
})
