import t from 'tap'
import { readSettings } from './settings.js'

const read = (environment: Record<string, string>) =>
  readSettings({ PARLEY_DATA: '/tmp/parley-settings', ...environment }, '/tmp', () => false).knowledge

t.test('models of knowledge bases are off by default', (t) => {
  t.same(read({}), { embeddings: null, questions: null })
  t.same(read({ PARLEY_OPENAI_API_KEY: 'sk-1' }), { embeddings: null, questions: null })
  t.end()
})

t.test('a key is never sent to another server', (t) => {
  const model = { PARLEY_EMBEDDINGS_MODEL: 'm', PARLEY_OPENAI_API_KEY: 'sk-1' }
  t.match(read(model).embeddings, { baseUrl: 'https://api.openai.com/v1', apiKey: 'sk-1', deadlineMs: 1000 })
  t.match(read({ ...model, PARLEY_OPENAI_BASE_URL: 'http://a/v1' }).embeddings, { baseUrl: 'http://a/v1' })
  const own = { ...model, PARLEY_EMBEDDINGS_BASE_URL: 'http://b/v1', PARLEY_EMBEDDINGS_DIMENSIONS: '512' }
  t.match(read(own).embeddings, { baseUrl: 'http://b/v1', apiKey: null, dimensions: 512 })
  t.match(read({ ...own, PARLEY_EMBEDDINGS_API_KEY: 'sk-2' }).embeddings, { apiKey: 'sk-2' })
  t.end()
})

t.test('wrong settings name the fix', (t) => {
  for (const [environment, message] of [
    [{ PARLEY_EMBEDDINGS_MODEL: 'm' }, /also set PARLEY_EMBEDDINGS_BASE_URL or PARLEY_EMBEDDINGS_API_KEY/],
    [
      { PARLEY_EMBEDDINGS_DIMENSIONS: '512' },
      /PARLEY_EMBEDDINGS_DIMENSIONS.*also set PARLEY_EMBEDDINGS_MODEL/,
    ],
    [{ PARLEY_KNOWLEDGE_QUESTIONS_LIMIT: '5' }, /also set PARLEY_KNOWLEDGE_QUESTIONS_MODEL/],
    [{ PARLEY_KNOWLEDGE_QUESTIONS_MODEL: 'x' }, /name a language model of a configured vendor/],
    [
      {
        PARLEY_OPENAI_API_KEY: 'k',
        PARLEY_KNOWLEDGE_QUESTIONS_MODEL: 'gpt-6-luna',
        PARLEY_KNOWLEDGE_QUESTIONS_LANGUAGES: 'Hindi',
      },
      /use at most 6 language codes/,
    ],
  ] as const) {
    t.throws(() => read(environment), { code: 'config_invalid', message })
  }
  t.match(read({ PARLEY_OPENAI_API_KEY: 'k', PARLEY_KNOWLEDGE_QUESTIONS_MODEL: 'gpt-6-luna' }).questions, {
    model: 'gpt-6-luna',
    languages: ['en', 'hi'],
    limit: 2000,
  })
  t.end()
})
