import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { wordVectorReply } from '../../fixtures/vendors/embedding-frames.js'
import { openFakeOpenAi } from '../../fixtures/vendors/fake-openai.js'
import { systemClock } from '../../media/base/clock.js'
import { openEmbedder } from '../../media/vendors/openai/embeddings.js'
import { tryKnowledge } from './knowledge-try.js'

t.test('the best passage of a file comes first, with its score and heading', async (t) => {
  const file = join(t.testdir(), 'fees.md')
  writeFileSync(
    file,
    '# Branches\n\nThe Pune branch opens at ten.\n\n# Charges\n\nThe late fee is 450 rupees.',
  )
  const text = await tryKnowledge([file, 'how much is the late fee'])
  t.match(text, /^2 passages, \d found\n1\.00 {2}Charges \(words, sounds\)\n {6}The late fee is 450 rupees\./)
})

t.test('with embeddings a passage is found by its meaning', async (t) => {
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  fake.setDefault(
    'embeddings',
    wordVectorReply(
      new Map([
        ['जुर्माना', 'fee'],
        ['देर', 'late'],
      ]),
    ),
  )
  const server = { baseUrl: fake.baseUrl, apiKey: null, model: 'fake', dimensions: null }
  const embedder = openEmbedder(
    { ...server, questionPrefix: '', passagePrefix: '', deadlineMs: 1000 },
    { clock: systemClock },
  )
  const file = join(t.testdir(), 'fees.md')
  writeFileSync(
    file,
    '# Branches\n\nThe Pune branch opens at ten.\n\n# Charges\n\nThe late fee is 450 rupees.',
  )
  t.match(
    await tryKnowledge([file, 'देर जुर्माना'], embedder),
    /^2 passages, 1 found\n0\.\d\d {2}Charges \(vectors\)/,
  )
})

t.test('wrong use is explained', async (t) => {
  await t.rejects(tryKnowledge(['a.md']), /takes a file and a question/)
  await t.rejects(tryKnowledge(['a.png', 'why']), /must end in one of/)
  await t.rejects(tryKnowledge(['/nowhere/a.md', 'why']), /ENOENT/)
  const file = join(t.testdir({ 'a.pdf': '%PDF-1.7 nothing' }), 'a.pdf')
  await t.rejects(tryKnowledge([file, 'why']), /damaged/)
})
