import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { settle } from '../../fixtures/host/settle.js'
import { EngineError } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import type { Embedded, Embedder } from '../../media/vendors/openai/embeddings.js'
import { openQuestionVectors } from './question-vectors.js'

function setUp() {
  const clock = new VirtualClock()
  const asked: { text: string; resolve(answer: Embedded): void; reject(error: Error): void }[] = []
  const embedder: Embedder = {
    id: 'm',
    deadlineMs: 1000,
    embed: (_kind, [text = ''], signal) =>
      new Promise((resolve, reject) => {
        asked.push({ text, resolve, reject })
        signal.addEventListener('abort', () => reject(new EngineError('closed', 'cancelled')))
      }),
  }
  const vectors = openQuestionVectors(embedder, { clock, log: silentLog })
  return {
    clock,
    asked,
    vectors,
    answer: (at: number) => asked[at]?.resolve({ vectors: [Int8Array.of(at + 1)], tokens: 1 }),
  }
}

t.test('a vector is asked for once, and the beginning of a question is near it', async (t) => {
  const { clock, asked, vectors, answer } = setUp()
  const both = Promise.all([1, 2].map(() => vectors.of({ text: 'What is the late fee' }, 1000)))
  t.equal(vectors.near({ text: 'What is the late fee' }), null)
  answer(0)
  t.same(await both, [Int8Array.of(1), Int8Array.of(1)])
  t.same(await vectors.of({ text: 'what is the LATE fee?' }, 1000), Int8Array.of(1), 'the same words')
  t.equal(asked.length, 1)
  t.same(vectors.near({ text: 'What is the late fee for gold members?' }), Int8Array.of(1))
  t.equal(
    vectors.near({ text: 'What is the late fee for members of the gold plan?' }),
    null,
    'too many new words',
  )
  t.equal(vectors.near({ text: 'Is the late fee high' }), null)
  t.equal(clock.pending, 0)
})

t.test('a short follow-up is asked with the words before it', async (t) => {
  const { asked, vectors, answer } = setUp()
  const found = vectors.of({ text: 'And on Sunday?', context: 'When does the Pune branch open?' }, 1000)
  answer(0)
  await found
  t.equal(asked[0]?.text, 'when does the pune branch open and on sunday')
})

t.test('a vendor that is late or fails is left alone for a while', async (t) => {
  const { clock, asked, vectors, answer } = setUp()
  const impatient = vectors.of({ text: 'one two three four' }, 100)
  clock.advance(100)
  t.equal(await impatient, null, 'the caller does not wait longer')
  answer(0)
  await settle()
  t.same(vectors.near({ text: 'one two three four' }), Int8Array.of(1), 'what came later is kept')
  for (let failures = 0; failures < 2; failures++) {
    const late = vectors.of({ text: `late ${failures} three four` }, 1000)
    clock.advance(1000)
    t.equal(await late, null)
  }
  t.equal(asked.length, 3)
  t.equal(await vectors.of({ text: 'not sent at all' }, 1000), null)
  t.equal(asked.length, 3, 'the circuit is open')
  clock.advance(30_000)
  const probe = vectors.of({ text: 'sent as a probe' }, 1000)
  answer(3)
  t.same(await probe, Int8Array.of(4))
  vectors.close()
  t.equal(await vectors.of({ text: 'after the end of it' }, 1000), null)
  t.equal(clock.pending, 0)
})
