import fc from 'fast-check'
import t from 'tap'
import { ProseFilter, type ReasoningForm } from './prose-filter.js'
import { reasoningOpener } from './reasoning-opener.js'
import { writtenCalls } from './written-calls.js'

interface Read {
  readonly words: string
  readonly calls: readonly unknown[]
  readonly learnt: string | null
}

/** Reads pieces as a conversation does: what is withdrawn was not said. */
function read(
  pieces: readonly string[],
  form: ReasoningForm = 'plain',
  tools: readonly string[] = ['book'],
  cut = false,
): Read {
  const filter = new ProseFilter(form, tools.length > 0)
  let words = ''
  for (const piece of pieces) {
    const { text, withdrawn } = filter.push(piece)
    words = withdrawn ? text : words + text
  }
  words += filter.end(cut).text
  const calls = writtenCalls(filter.written, tools)
  if (calls.length === 0) words += filter.releaseJson()
  return { words: words.replace(/\s+/g, ' ').trim(), calls, learnt: filter.learnt }
}

const BOOK = [{ id: 'call_text_0', name: 'book', arguments: { day: 'Monday' } }]
const JSON_CALL = '{"name": "book", "arguments": {"day": "Monday"}}'

const ROWS: readonly (readonly [text: string, words: string, calls?: readonly unknown[]])[] = [
  ['Hello. How are you?', 'Hello. How are you?'],
  ['<think>Hmm, <b> who?</think>Hello <there> you.', 'Hello <there> you.'],
  ['<THINK>x</THINK>Hello.', 'Hello.'],
  ['<Thinking lang="en">x</Thinking>Hello.', 'Hello.'],
  ['<thought>x</thought> <answer>Hello.</answer>', 'Hello.'],
  ['<reasoning>x</reasoning>\nHello.', 'Hello.'],
  ['<seed:think>x</seed:think>Hello.', 'Hello.'],
  ['<antThinking>x</antThinking>Hello.', 'Hello.'],
  ['<details type="reasoning" done="true">x</details>Hello.', 'Hello.'],
  ['[THINK]x[/THINK]Hello.', 'Hello.'],
  ['◁think▷x◁/think▷Hello.', 'Hello.'],
  ['<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>', 'Hello.'],
  ['<|begin_of_thought|>x<|end_of_thought|>Hello.', 'Hello.'],
  ['<think>x</thinking>Hello.', 'Hello.'],
  ['<think></think>Hello.', 'Hello.'],
  ['Hello.<think>never closed', 'Hello.'],
  ['<think>a<think>b</think>c</think>Hello.', 'Hello.'],
  ['<think>I may write <think> first.</think>Hello.', 'Hello.'],
  ['<think>a</think>Hello.</think> Bye.', 'Hello. Bye.'],
  ['<think>a</think>One. <think>b</think>Two.', 'One. Two.'],
  ['I should greet. The caller waits.</think>Hello.', 'Hello.'],
  ['I should greet. The caller waits.\n</THINKING>\n\nHello.', 'Hello.'],
  ['I should greet.</think>Hello.</think>', 'Hello.'],
  ['x[/THINK]Hello.', 'Hello.'],
  ['We open at 9.</details> Come in.', 'We open at 9. Come in.'],
  ['Hello.<|im_end|>', 'Hello.'],
  ['Hello.<|im_end|>\n<|im_start|>user\nAnd then?<|im_end|>', 'Hello.'],
  ['<|im_start|>assistant\nHello.<|im_end|>', 'Hello.'],
  ['<|im_end|>Hello.', 'Hello.'],
  ['Hello.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi', 'Hello.'],
  ['<|start_header_id|>assistant<|end_header_id|>\n\nHello.', 'Hello.'],
  ['<start_of_turn>model\nHello.<end_of_turn>\n<start_of_turn>user\nHi', 'Hello.'],
  ['<｜Assistant｜>Hello.<｜end▁of▁sentence｜>', 'Hello.'],
  ['<s>Hello.</s>', 'Hello.'],
  ['<|endoftext|>', ''],
  [
    '<|channel|>analysis<|message|>The caller greets.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>',
    'Hello.',
  ],
  [
    'analysis<|message|>The caller greets.<|end|><|start|>assistant<|channel|>final<|message|>Hello.',
    'Hello.',
  ],
  ['analysisThe caller greets.assistantfinalHello.', 'Hello.'],
  ['analysis of your account is done.', 'analysis of your account is done.'],
  ['<|channel|>analysis<|message|>The caller greets.', ''],
  ['<|channel|>commentary to=functions.book <|constrain|>json<|message|>{"day": "Monday"}<|call|>', '', BOOK],
  [
    '<|start|>assistant to=functions.book<|channel|>commentary json<|message|>{"day":"Monday"}<|call|>',
    '',
    BOOK,
  ],
  [`One moment. <tool_call>\n${JSON_CALL}\n</tool_call>`, 'One moment.', BOOK],
  [`<tool_call>${JSON_CALL}`, '', BOOK],
  [`<tool_call>${JSON_CALL}<tool_call>{"name":"rob","arguments":{}}`, '', BOOK],
  [`<think>x</think>\n<tool_call>${JSON_CALL}</tool_call>Done.`, 'Done.', BOOK],
  ['<function=book>{"day": "Monday"}</function>', '', BOOK],
  ['<function name="book">{"day": "Monday"}</function>', '', BOOK],
  [
    '<tool_call>\n<function=book>\n<parameter=day>\nMonday\n</parameter>\n</function>\n</tool_call>',
    '',
    BOOK,
  ],
  ['<invoke name="book"><parameter name="day">Monday</parameter></invoke>', '', BOOK],
  [`[TOOL_CALLS][${JSON_CALL}]`, '', BOOK],
  ['<|python_tag|>{"name": "book", "parameters": {"day": "Monday"}}<|eom_id|>', '', BOOK],
  [JSON_CALL, '', BOOK],
  [`\`\`\`json\n${JSON_CALL}\n\`\`\``, '', BOOK],
  [`<think>x</think>${JSON_CALL}`, '', BOOK],
  ['{"tool_calls":[{"function":{"name":"book","arguments":"{\\"day\\":\\"Monday\\"}"}}]}', '', BOOK],
  ['<tool_call>{"name":"rob","arguments":{}}</tool_call>Hello.', 'Hello.'],
  ['<tool_call>no JSON</tool_call>Hello.', 'Hello.'],
  [
    '<function=book>{"day": </function>',
    '',
    [{ id: 'call_text_0', name: 'book', arguments: {}, unusable: 'the arguments are not valid JSON' }],
  ],
  ['{"price": 5}', '{"price": 5}'],
  ['[1] is the key.', '[1] is the key.'],
  ['Is 3 < 4 or a <b> [x]?', 'Is 3 < 4 or a <b> [x]?'],
  ['3 <', '3 <'],
  ['Hello.<|im_e', 'Hello.'],
  ['Hello.</thi', 'Hello.'],
]

t.test('only words pass, however the text is cut', async (t) => {
  for (const [text, words, calls = []] of ROWS) {
    for (const form of ['plain', 'unknown', 'guessed', 'implicit'] as const) {
      const label = `${form}: ${text}`
      t.match(read([text], form), { words, calls }, label)
      t.match(read([...text], form), { words, calls }, `${label}, by characters`)
      for (let cut = 1; cut < text.length; cut++) {
        const found = read([text.slice(0, cut), text.slice(cut)], form)
        if (found.words !== words || JSON.stringify(found.calls) !== JSON.stringify(calls)) {
          t.same(found, { words, calls }, `${label}, cut at ${cut}`)
        }
      }
    }
  }
})

t.test('any sequence of texts and marks reads alike, however it is cut', async () => {
  const part = fc.constantFrom(
    '<think>', '</think>', '</THINK>', '<tool_call>', '</tool_call>', '<|im_end|>', '<|im_start|>', '<|channel|>',
    '<|message|>', '<|start|>', 'analysis', 'final', 'assistant', '[THINK]', '[/THINK]', '◁think▷', '<', '[', '{', '\n',
    'Hello. ', 'The caller asks. ', '<b>', JSON_CALL, 'नमस्ते ', '</', '<|',
  ) // biome-ignore format: one mark beside the other
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 12 }),
      fc.constantFrom<ReasoningForm>('plain', 'unknown', 'guessed', 'implicit'),
      fc.array(fc.nat(9), { minLength: 1, maxLength: 10 }),
      (parts, form, cuts) => {
        const text = parts.join('')
        const pieces: string[] = []
        for (let at = 0, n = 0; at < text.length; n++) {
          const next = at + 1 + (cuts[n % cuts.length] ?? 0)
          pieces.push(text.slice(at, next))
          at = next
        }
        const [whole, cut] = [read([text], form), read(pieces, form)]
        return JSON.stringify(whole) === JSON.stringify(cut) && !/think>|\|>/i.test(whole.words)
      },
    ),
    { numRuns: 2000 },
  )
})

t.test('what the first answer teaches', async (t) => {
  const text = 'I should greet the caller.</think>Hello.'
  t.equal(read([text], 'unknown').learnt, 'implicit')
  t.equal(read([text], 'guessed').learnt, 'implicit')
  t.equal(read([text], 'implicit').learnt, null)
  t.equal(read(['Hello.'], 'unknown').learnt, 'plain')
  t.equal(read(['Hello.'], 'guessed').learnt, 'plain')
  t.equal(read(['<think>x</think>Hello.'], 'unknown').learnt, 'plain')
  t.equal(read(['<think>x</think>Hello.'], 'implicit').learnt, null)
  t.equal(read([JSON_CALL], 'unknown').learnt, null, 'no words')
  t.equal(read([JSON_CALL], 'implicit').learnt, null, 'no words')
})

t.test('a mark that a caller has the model write teaches nothing', async (t) => {
  for (const text of [
    'Your code is 5. </think> Anything else?',
    'I should greet.</think>Hello.',
    '</think>Hello.',
  ]) {
    t.equal(read([text], 'plain').learnt, null, text)
    t.equal(read([...text], 'plain').learnt, null, text)
  }
  t.equal(read(['Your code is 5. </think> Anything else?'], 'unknown').learnt, null, 'behind words')
})

t.test('an answer without the mark disproves reasoning that comes first, and is said', async (t) => {
  const text = 'I need to check that for you. One moment please.'
  t.match(read([text], 'implicit'), { words: text, learnt: 'unknown' })
  t.match(read([text], 'guessed'), { words: text, learnt: 'plain' })
  for (const form of ['unknown', 'guessed', 'implicit'] as const) {
    t.match(read([text], form, [], true), { words: '', learnt: null }, `${form}: cut off`)
    t.match(read(['The price is 5'], form, [], true), { words: 'The price is 5', learnt: null }, form)
  }
})

t.test(
  'reasoning without its first mark is not passed on: as learnt, as guessed, or by how it begins',
  async (t) => {
    const passed = (form: ReasoningForm, ...pieces: string[]) => {
      const filter = new ProseFilter(form, false)
      return [...pieces.map((piece) => filter.push(piece).text), filter.end().text]
    }
    const cutOff = (form: ReasoningForm, ...pieces: string[]) => {
      const filter = new ProseFilter(form, false)
      return [...pieces.map((piece) => filter.push(piece).text), filter.end(true).text]
    }
    const rest = ['</think>', 'Hello', '.']
    t.same(passed('implicit', 'The ', 'price', ...rest), ['', '', '', 'Hello', '.', ''])
    t.same(passed('guessed', 'The ', 'price', ...rest), ['', '', '', 'Hello', '.', ''])
    t.same(passed('unknown', 'Okay, so ', 'the user', ' wants', ...rest), ['', '', '', '', 'Hello', '.', ''])
    t.same(
      passed('unknown', 'The ', 'price ', 'is 5.'),
      ['', 'The price ', 'is 5.', ''],
      'words wait for a word',
    )
    t.same(passed('plain', 'The ', 'price'), ['The ', 'price', ''])
    t.same(passed('implicit', 'The ', 'price'), ['', '', 'The price'], 'words after all')
    t.same(cutOff('implicit', 'The user ', 'wants'), ['', '', ''], 'reasoning that was cut off')
    t.same(cutOff('unknown', 'The user ', 'wants'), ['', '', ''], 'reasoning that was cut off')
    t.same(passed('unknown', 'The user ', 'wants'), ['', '', 'The user wants'])
  },
)

t.test('an answer after reasoning that was passed on withdraws it', async (t) => {
  const filter = new ProseFilter('plain', false)
  t.match(filter.push('A greeting fits.'), { text: 'A greeting fits.', withdrawn: false })
  t.match(filter.push('</think>Hello.'), { text: 'Hello.', withdrawn: true, worked: true })
  t.match(filter.push(' Bye.'), { text: ' Bye.', withdrawn: false })
})

t.test('what waits is bounded', async (t) => {
  const filter = new ProseFilter('implicit', false)
  t.throws(
    () => {
      for (let n = 0; n < 100; n++) filter.push('reasoning '.repeat(100))
    },
    { code: 'vendor_failed' },
  )
  const call = new ProseFilter('plain', true)
  call.push('<tool_call>')
  for (let n = 0; n < 2000; n++) call.push('x'.repeat(100))
  call.push('x'.repeat(100_000))
  call.end()
  t.equal(call.written[0]?.text.length, 65_536)
})

t.test('how reasoning begins', async (t) => {
  for (const text of [
    'Okay, the user',
    'Okay, so the user is',
    'Alright, the caller wants',
    'Hmm, this customer ',
    'User asks about',
    'We need to respond',
    'I should greet the',
    'Let me think about',
    "Let's break this down",
    '**Thinking Process:**',
    'First, I need to check',
    '"The user said',
  ]) {
    t.equal(reasoningOpener(`${text} `), true, text)
  }
  for (const text of ['', 'O', 'Okay', 'Okay, ', 'The', 'the us', 'I shou', 'Let me ', 'First, ']) {
    t.equal(reasoningOpener(text), 'part', text)
  }
  for (const text of [
    'Okay, your order',
    'The price',
    'I have booked',
    'Let me check your',
    'First floor',
    'Use the lift',
    'नमस्ते',
    'Hello',
    'Nowhere',
  ]) {
    t.equal(reasoningOpener(text), false, text)
  }
})
