import t from 'tap'
import { LANGUAGE_TAGS, languageData } from '../../media/agent/language/language-data.js'
import { spokenSentences } from '../../media/agent/tts/spoken-sentences.js'
import { rootKeyOf } from '../base/root-key.js'
import { hashCode, newCode, verificationText } from './code.js'

t.test('a code has six digits', async (t) => {
  t.equal(newCode('test'), '000000')
  for (let i = 0; i < 200; i++) t.match(newCode('live'), /^\d{6}$/)
})

t.test('a hash binds the code to the destination and the root key', async (t) => {
  const key = rootKeyOf(Buffer.alloc(32, 1))
  const hash = hashCode(key, 'tdst_1', '123456')
  t.notMatch(hash, '123456')
  t.not(hash, hashCode(key, 'tdst_2', '123456'))
  t.not(hash, hashCode(rootKeyOf(Buffer.alloc(32, 2)), 'tdst_1', '123456'))
})

for (const language of LANGUAGE_TAGS) {
  t.test(`${language}: every digit of the code is spoken twice, one by one`, async (t) => {
    const { spokenDigits } = languageData(language)
    t.equal(new Set(spokenDigits).size, 10)
    const code = '907142'
    const spoken = spokenSentences(verificationText(language, code), [language], language)
    const words = [...code].map((digit) => spokenDigits[Number(digit)])
    const text = spoken.map((sentence) => sentence.text).join(' ')
    t.equal(text.split(words.join(', ')).length, 3, text)
    t.notMatch(text, /\d|\{/, 'as words')
    t.ok(spoken.every((sentence) => sentence.language === language))
  })
}
