import t from 'tap'
import { begun, saying } from '../../../fixtures/rigs/conversation-starts.js'
import type { EngineError } from '../../base/errors.js'
import { LearntManners, type ModelManner } from '../learnt-manners.js'
import type { GenerateEvents, LanguageModel, ToolCall } from '../vendor-ports.js'
import { generateProse } from './prose.js'

const NATIVE: ToolCall = { id: 'c1', name: 'book', arguments: { day: 'Friday' } }
const TOOLS = [{ name: 'book', description: '', parameters: {} }]

interface Answer {
  /** Events in their order. */
  readonly log: string[]
  words: string
  calls: readonly ToolCall[]
}

/** A model that says each script in one piece per text; a call is native. */
function modelOf(
  manners: LearntManners | null,
  scripts: (string | ToolCall | 'progress')[][],
): LanguageModel {
  return {
    id: 'm',
    firstTokenDeadlineMs: 1000,
    ...(manners === null ? {} : { reasoning: manners.of('m') }),
    generate(_request, events: GenerateEvents) {
      for (const step of scripts.shift() ?? []) {
        if (step === 'progress') events.progress?.()
        else if (typeof step === 'string') events.text(step)
        else events.toolCalls([step])
      }
      events.done(null)
      return { cancel() {} }
    },
  }
}

function ask(model: LanguageModel, name = 'm', tools = TOOLS): Answer {
  const answer: Answer = { log: [], words: '', calls: [] }
  generateProse(
    model,
    { model: name, messages: [], tools },
    {
      text(delta) {
        answer.log.push(delta)
        answer.words += delta
      },
      progress: () => answer.log.push('progress'),
      withdrawn() {
        answer.log.push('withdrawn')
        answer.words = ''
      },
      toolCalls(calls) {
        answer.calls = calls
      },
      done: () => answer.log.push('done'),
      failed: ({ code }: EngineError) => answer.log.push(code),
    },
  )
  return answer
}

t.test(
  'reasoning that begins without a mark is learnt with the first answer, for every thread',
  async (t) => {
    const other = new LearntManners()
    const manners = new LearntManners((learnt) => other.adopt(learnt))
    const reasoned = ['A greeting ', 'fits.', '</think>', 'Hello.']
    const model = modelOf(manners, [reasoned, ['Okay, the user ', 'waits.', '</think>', 'Hello.'], reasoned])
    t.same(ask(model).log, ['A greeting ', 'fits.', 'withdrawn', 'progress', 'Hello.', 'done'])
    t.same(ask(model).log, ['progress', 'progress', 'progress', 'Hello.', 'done'])
    t.same(ask(model).log, ['progress', 'progress', 'progress', 'Hello.', 'done'])
    t.same(ask(modelOf(other, [reasoned])).log, ['progress', 'progress', 'progress', 'Hello.', 'done'])
    t.same(ask(modelOf(other, [['The price ', 'is 5.']]), 'another').log, ['The price ', 'is 5.', 'done'])
  },
)

t.test('no caller makes a model reason first for others', async (t) => {
  const news: ModelManner[] = []
  const manners = new LearntManners((manner) => news.push(manner))
  const asked = ['Your code is 5.', ' </think>', ' Go on', '.']
  const model = modelOf(manners, [['Hello', '.'], asked, ['The price ', 'is 5.']])
  t.equal(ask(model).words, 'Hello.')
  t.same(ask(model).log, ['Your code is 5.', 'withdrawn', 'progress', ' Go on', '.', 'done'])
  t.same(ask(model).log, ['The price ', 'is 5.', 'done'], 'words pass at once')
  t.same(news, [{ key: 'm m', manner: 'plain' }])
})

t.test('what one answer taught wrongly lasts for one answer, on every thread', async (t) => {
  const other = new LearntManners()
  const manners = new LearntManners((learnt) => other.adopt(learnt))
  const first = ['Okay, the user ', 'waits.', '</think>', 'Hello.']
  const said = 'I need to check that for you. One moment please.'
  const model = modelOf(manners, [first, [said, NATIVE], [said], ['The price ', 'is 5.'], ['Hi', '.']])
  ask(model)
  t.equal(other.of('m').get('m'), 'implicit')
  t.same(ask(model), { log: ['progress', said, 'done'], words: said, calls: [NATIVE] })
  t.equal(other.of('m').get('m'), undefined, 'forgotten')
  t.equal(ask(model).words, said)
  t.equal(other.of('m').get('m'), 'plain')
  t.same(ask(model).log, ['The price ', 'is 5.', 'done'])
})

t.test('answers at the same time: the first one teaches, once', async (t) => {
  const news: ModelManner[] = []
  const manners = new LearntManners((manner) => news.push(manner))
  let nested = false
  const model: LanguageModel = {
    id: 'm',
    firstTokenDeadlineMs: 1000,
    reasoning: manners.of('m'),
    generate(_request, events) {
      events.text('Okay, the user ')
      if (!nested) {
        nested = true
        ask(modelOf(manners, [['Hello.']]))
      }
      for (const text of ['waits.', '</think>', 'Hello', '.']) events.text(text)
      events.done(null)
      return { cancel() {} }
    },
  }
  t.equal(ask(model).words, 'Hello.')
  t.same(news, [{ key: 'm m', manner: 'plain' }])
  t.equal(ask(model, 'n').words, 'Hello.')
  t.same(news.slice(1), [{ key: 'm n', manner: 'implicit' }])
})

t.test('names and first words of models that reason', async (t) => {
  const reasoned = ['A greeting fits.', '</think>', 'Hello.']
  for (const name of ['deepseek-r1:8b', 'QwQ-32B', 'qwen3-30b-a3b-thinking-2507', 'deepseek-reasoner']) {
    t.same(
      ask(modelOf(new LearntManners(), [reasoned]), name).log,
      ['progress', 'progress', 'Hello.', 'done'],
      name,
    )
  }
  const manners = new LearntManners()
  const plain = modelOf(manners, [['Hello.'], ['Hello', '.'], ['progress', 'Hello', '.']])
  t.same(ask(plain, 'qwq').log, ['progress', 'Hello.', 'done'])
  t.same(ask(plain, 'qwq').log, ['Hello', '.', 'done'], 'its server separates the reasoning')
  t.same(ask(plain, 'r1').log, ['progress', 'Hello', '.', 'done'], 'seen before its first word')
  const spoken = modelOf(manners, [['Okay, the user ', 'waits.', '</think>', 'Hello.']])
  t.same(ask(spoken).log, ['progress', 'progress', 'progress', 'Hello.', 'done'])
})

t.test('calls in the text are made unless the server made calls itself', async (t) => {
  const text = '<tool_call>{"name":"book","arguments":{"day":"Monday"}}</tool_call>'
  const written = { id: 'call_text_0', name: 'book', arguments: { day: 'Monday' } }
  t.same(ask(modelOf(null, [['One moment.', text]])).calls, [written])
  t.same(ask(modelOf(null, [['One moment.', text, NATIVE]])).calls, [NATIVE])
  t.same(ask(modelOf(null, [[text]]), 'm', []).calls, [], 'no tool is declared')
  t.equal(ask(modelOf(null, [[text]]), 'm', []).words, '')
  t.equal(ask(modelOf(null, [['{"price": 5}']])).words, '{"price": 5}')
})

t.test('calls in the text without a bound fail the answer', async (t) => {
  const list = JSON.stringify(Array.from({ length: 33 }, () => ({ name: 'book', arguments: {} })))
  const { log, calls } = ask(modelOf(null, [['Yes.', `<tool_call>${list}</tool_call>`]]))
  t.same([log, calls], [['Yes.', 'progress', 'vendor_failed'], []])
})

t.test('endless reasoning fails once', async (t) => {
  const manners = new LearntManners()
  manners.of('m').set('m', 'implicit')
  const log = ask(modelOf(manners, [Array.from({ length: 80 }, () => 'reasoning '.repeat(100))])).log
  t.equal(log.at(-1), 'vendor_failed')
  t.same([...new Set(log)], ['progress', 'vendor_failed'])
})

t.test('in a call: reasoning that was not spoken yet is taken back', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 20, text: 'A greeting fits here. The caller asked about hours. ' },
    { after: 20, text: 'I will be brief.</think>We are open.' },
    { after: 20, done: true },
  ])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, 'We are open.')
  t.equal(rig.close(), 0)
})
