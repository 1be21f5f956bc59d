import { tmpdir } from 'node:os'
import t from 'tap'
import { voices } from '../../media/vendors/catalogue.js'
import { readSettings } from '../config/settings.js'
import { AgentConfig } from './config.js'
import { catalogueProblem } from './rules.js'

const EMBEDDED = AgentConfig.parse({
  llmModel: 'parley-rules-1',
  voice: { sttModel: 'parley-sandbox', ttsModel: 'espeak-ng', ttsVoice: 'asha' },
})

t.test('without the package of the embedded voices such an agent is rejected', async (t) => {
  const { providers } = readSettings({}, tmpdir(), () => false)
  t.same(catalogueProblem(EMBEDDED, providers), {
    path: 'voice.ttsModel',
    message:
      'The voices of espeak-ng need an optional package: npm install @echogarden/espeak-ng-emscripten.',
  })
  t.same(voices(providers), [], 'and its voices are not listed')
})

t.test('a catch-all of another vendor does not claim the embedded model', async (t) => {
  const local = { PARLEY_OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }
  const { providers } = readSettings(local, tmpdir(), () => false)
  t.match(catalogueProblem(EMBEDDED, providers), { path: 'voice.ttsModel', message: /npm install/ })
})

t.test('with the package it is accepted', async (t) => {
  const { providers } = readSettings({}, tmpdir(), () => true)
  t.equal(catalogueProblem(EMBEDDED, providers), null)
  t.ok(voices(providers).length > 0)
})
