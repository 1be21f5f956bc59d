import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import {
  eventStream,
  type FakeOpenAi,
  jsonReply,
  openFakeOpenAi,
} from '../../../fixtures/vendors/fake-openai.js'
import {
  chatFrames,
  DONE_FRAME,
  deltaFrame,
  errorBody,
  finishFrame,
  ROLE_FRAME,
  TOOL_CALL_FRAMES,
  textFrame,
} from '../../../fixtures/vendors/openai-frames.js'
import { LearntManners } from '../../agent/learnt-manners.js'
import {
  type Cancellable,
  type GenerateRequest,
  type LanguageModel,
  PROMPT_TOO_LONG,
  type ToolCall,
} from '../../agent/vendor-ports.js'
import { type Clock, systemClock } from '../../base/clock.js'
import type { EngineError } from '../../base/errors.js'
import { silentLog } from '../../base/log.js'
import { openAiLanguageModel } from './llm.js'

const REQUEST: GenerateRequest = {
  model: 'm',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'नमस्ते' },
  ],
  tools: [],
}

interface Answer {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly usage: unknown
  readonly error: EngineError | null
}

async function setUp(
  t: Test,
  clock: Clock = systemClock,
): Promise<{ fake: FakeOpenAi; model: LanguageModel }> {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  return { fake, model: modelOf(fake.baseUrl, clock) }
}

function modelOf(
  baseUrl: string,
  clock: Clock = systemClock,
  chatExtra: Readonly<Record<string, unknown>> = {},
  manners = new LearntManners(),
): LanguageModel {
  return openAiLanguageModel(
    {
      baseUrl,
      apiKey: 'sk-test',
      chatModel: 'm',
      chatExtra,
      transcriptionModel: 'w',
      speechModel: 's',
      speechVoice: 'v',
      speechRate: 24_000,
    },
    { clock, log: silentLog, manners },
  )
}

/** Runs one request to its end. `onText` may cancel. */
function ask(
  model: LanguageModel,
  request: GenerateRequest = REQUEST,
  onText: (handle: Cancellable) => void = () => {},
): Promise<Answer> {
  return new Promise((resolve) => {
    let text = ''
    let calls: readonly ToolCall[] = []
    const handle = model.generate(request, {
      text: (delta) => {
        text += delta
        onText(handle)
      },
      toolCalls: (all) => {
        calls = all
      },
      done: (usage) => resolve({ text, calls, usage, error: null }),
      failed: (error) => resolve({ text, calls, usage: null, error }),
    })
  })
}

t.test('a plain reply: text, usage and the request body', async (t) => {
  const { fake, model } = await setUp(t)
  const answer = await ask(model, {
    model: 'big',
    messages: [
      ...REQUEST.messages,
      { role: 'assistant', content: null, toolCalls: [{ id: 'c1', name: 'look', arguments: { x: 1 } }] },
      { role: 'tool', toolCallId: 'c1', content: 'nothing' },
      { role: 'assistant', content: 'So.' },
    ],
    tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }],
  })
  t.same(answer, {
    text: 'Namaste. How can I help you?',
    calls: [],
    usage: { promptTokens: 9, completionTokens: 5 },
    error: null,
  })
  const request = fake.requests[0]
  t.equal(request?.path, '/v1/chat/completions')
  t.equal(request?.headers.authorization, 'Bearer sk-test')
  t.equal(request?.headers['content-type'], 'application/json')
  t.same(JSON.parse(String(request?.body)), {
    model: 'big',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'नमस्ते' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"x":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'nothing' },
      { role: 'assistant', content: 'So.' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
      },
    ],
    tool_choice: 'auto',
  })
})

t.test('bytes split anywhere, comments, CRLF', async (t) => {
  const { fake, model } = await setUp(t)
  const frames = [': keep-alive\n\n', ...chatFrames(['नमस्ते', ' 👍 जी'])]
  const bytes = Buffer.from(frames.join('').replaceAll('\n', '\r\n'))
  // Prime-sized pieces fall into characters, line ends and keywords alike.
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) =>
    bytes.subarray(i * 7, i * 7 + 7),
  )
  fake.enqueue('chat', eventStream(pieces))
  t.match(await ask(model), { text: 'नमस्ते 👍 जी', error: null })
})

t.test('tool calls from fragments, also when the finish reason says stop', async (t) => {
  const { fake, model } = await setUp(t)
  fake.enqueue('chat', eventStream([textFrame('Bye.'), ...TOOL_CALL_FRAMES]))
  fake.enqueue(
    'chat',
    eventStream(TOOL_CALL_FRAMES.map((frame) => frame.replace('"tool_calls"}', '"stop"}'))),
  )
  const calls = [{ id: 'call_9', name: 'end_call', arguments: { reason: 'done' } }]
  t.match(await ask(model), { text: 'Bye.', calls, error: null })
  t.match(await ask(model), { text: '', calls, error: null })
})

t.test('missing and additional fields of compatible servers', async (t) => {
  const { fake, model } = await setUp(t)
  fake.enqueue(
    'chat',
    eventStream([
      'data:\n\n',
      deltaFrame('{"content":null,"reasoning_content":"The caller greets."}'),
      deltaFrame('{"content":"Ji","obfuscation":"xx"}'),
      'data: {"choices":[{"delta":{"content":"."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n',
    ]),
    jsonReply(
      '{"choices":[{"index":0,"message":{"role":"assistant","content":"Whole."},"finish_reason":"stop"}]}',
    ),
    eventStream([deltaFrame('{"refusal":"I cannot."}'), finishFrame('content_filter'), DONE_FRAME]),
  )
  t.same(
    await ask(model),
    { text: 'Ji.', calls: [], usage: { promptTokens: 1, completionTokens: 2 }, error: null },
    'no [DONE], usage in the last chunk, reasoning is not spoken',
  )
  t.match(await ask(model), { text: 'Whole.', error: null }, 'an answer that is no stream')
  t.match(await ask(model), { text: 'I cannot.', error: null }, 'a refusal is what the model says')
})

/** Asks and resolves with `cut` of the end of the answer. */
function askCut(model: LanguageModel): Promise<boolean | undefined> {
  return new Promise((resolve, reject) => {
    const done = (_usage: unknown, cut?: boolean) => resolve(cut)
    model.generate(REQUEST, { text: () => {}, toolCalls: () => {}, done, failed: reject })
  })
}

t.test('an answer that the model did not finish says so', async (t) => {
  const { fake, model } = await setUp(t)
  const ends = ['length', 'stop', 'content_filter'] as const
  fake.enqueue(
    'chat',
    ...ends.map((reason) => eventStream([textFrame('The user wants'), finishFrame(reason), DONE_FRAME])),
    jsonReply('{"choices":[{"message":{"content":"Ji."},"finish_reason":"length"}]}'),
  )
  const cuts = [await askCut(model), await askCut(model), await askCut(model), await askCut(model)]
  t.same(cuts, [true, false, true, true])
})

t.test('contents in parts, a message that is repeated, the older field of calls', async (t) => {
  const { fake, model } = await setUp(t)
  const parts =
    '{"content":[{"type":"thinking","thinking":[{"type":"text","text":"The caller greets."}]},{"type":"text","text":"Ji."}]}'
  fake.enqueue(
    'chat',
    eventStream([deltaFrame(parts), finishFrame('stop')]),
    eventStream([
      textFrame('Ji.'),
      'data: {"choices":[{"message":{"role":"assistant","content":"Ji."},"finish_reason":"stop"}]}\n\n',
    ]),
    eventStream([
      deltaFrame('{"function_call":{"name":"end_call","arguments":"{\\"reason\\":"}}'),
      deltaFrame('{"function_call":{"arguments":"\\"done\\"}"}}'),
      finishFrame('stop'),
    ]),
    jsonReply('{"choices":[{"message":{"content":"Ji."}}]}\n'),
  )
  t.match(await ask(model), { text: 'Ji.', error: null }, 'thoughts are no words')
  t.match(await ask(model), { text: 'Ji.', error: null }, 'once')
  t.match(await ask(model), { calls: [{ name: 'end_call', arguments: { reason: 'done' } }], error: null })
  t.match(await ask(model), { text: 'Ji.', error: null }, 'a body without a reason of its end')
})

t.test('an error within a stream, in its many shapes', async (t) => {
  const { fake, model } = await setUp(t)
  const shapes = [
    '{"error":"no slot"}',
    '{"error":{"message":"no slot","code":500}}',
    '{"object":"error","message":"no slot","type":"BadRequestError","code":400}',
    '{"choices":[{"delta":{},"finish_reason":"error"}],"message":"no slot"}',
  ]
  for (const shape of shapes) {
    fake.enqueue('chat', eventStream([textFrame('Na'), `data: ${shape}\n\n`, DONE_FRAME]))
    t.match(await ask(model), { text: 'Na', error: { code: 'vendor_failed', message: /no slot/ } }, shape)
    fake.enqueue('chat', jsonReply(shape))
    t.match(await ask(model), { text: '', error: { code: 'vendor_failed', message: /no slot/ } }, shape)
  }
  fake.enqueue('chat', eventStream(['event: error\ndata: no slot\n\n']))
  t.match(await ask(model), { error: { code: 'vendor_failed', message: /no slot/ } })
  fake.enqueue('chat', eventStream(['data: {"error":{"message":"busy","code":429}}\n\n']))
  t.match(await ask(model), { error: { code: 'vendor_rate_limited' } })
})

t.test('stream_options rejected: repeated without, and remembered', async (t) => {
  const { fake, model } = await setUp(t)
  fake.enqueue('chat', jsonReply(errorBody('Unknown parameter: stream_options'), 400))
  t.match(await ask(model), { text: 'Namaste. How can I help you?', error: null })
  t.match(await ask(model), { error: null })
  const sent = fake.requests.map(({ body }) => 'stream_options' in JSON.parse(String(body)))
  t.same(sent, [true, false, false])
})

t.test('errors are classified, with the vendor’s text', async (t) => {
  const { fake, model } = await setUp(t)
  for (const [status, code, retryable] of [
    [400, 'vendor_rejected', false],
    [401, 'vendor_rejected', false],
    [403, 'vendor_rejected', false],
    [404, 'vendor_rejected', false],
    [302, 'vendor_rejected', false],
    [408, 'vendor_failed', true],
    [409, 'vendor_failed', true],
    [429, 'vendor_rate_limited', true],
    [500, 'vendor_failed', true],
    [503, 'vendor_failed', true],
  ] as const) {
    const before = fake.requests.length
    const refused = jsonReply(errorBody('Because.'), status, { 'retry-after-ms': '1' })
    const tries = retryable || status === 400 ? 2 : 1
    fake.enqueue('chat', ...Array.from({ length: tries }, () => refused))
    const { error } = await ask(model)
    t.match(error, { code, retryable, message: `the vendor answered ${status}: Because.` }, `${status}`)
    t.equal(fake.requests.length - before, tries, `${status}: tries`)
  }
})

t.test('a prompt that is too long is distinguished from other errors', async (t) => {
  const { fake, model } = await setUp(t)
  const body = (message: string, code: string | null = null) =>
    JSON.stringify({ error: { message, type: 'invalid_request_error', param: 'messages', code } })
  for (const said of [
    body('Please shorten it.', 'context_length_exceeded'),
    body("This model's maximum context length is 8192 tokens."),
    body('the request exceeds the available context size, try increasing it'),
    body('prompt is too long: 210000 tokens > 200000 maximum'),
  ]) {
    const before = fake.requests.length
    fake.enqueue('chat', jsonReply(said, 400))
    t.match((await ask(model)).error, { code: 'vendor_rejected', context: { reason: PROMPT_TOO_LONG } }, said)
    t.equal(fake.requests.length - before, 1, 'the options are not to blame')
  }
  fake.enqueue('chat', jsonReply(body('Bad tools.'), 400), jsonReply(body('Bad tools.'), 400))
  t.equal((await ask(model)).error?.context.reason, undefined)
})

t.test('429 with a short Retry-After is retried once, a long one fails at once', async (t) => {
  const { fake, model } = await setUp(t)
  fake.enqueue('chat', jsonReply(errorBody('Slow down.'), 429, { 'retry-after': '0' }))
  t.match(await ask(model), { text: 'Namaste. How can I help you?', error: null })
  fake.enqueue('chat', jsonReply(errorBody('Slow down.'), 429, { 'retry-after': '30' }))
  t.match(await ask(model), { error: { code: 'vendor_rate_limited' } })
  fake.enqueue('chat', jsonReply(errorBody('No.'), 429, { 'retry-after': 'Wed, 21 Oct 2037 07:28:00 GMT' }))
  t.match(await ask(model), { error: { code: 'vendor_rate_limited' } })
  t.equal(fake.requests.length, 4)
})

t.test('errors in the middle of the stream', async (t) => {
  const { fake, model } = await setUp(t)
  fake.enqueue(
    'chat',
    eventStream([ROLE_FRAME, textFrame('Na'), `data: ${errorBody('Overloaded', 'server_error')}\n\n`]),
    eventStream([`event: error\ndata: ${errorBody('Slow down', 'rate_limit_exceeded')}\n\n`]),
    { headers: { 'content-type': 'text/event-stream' }, steps: [{ send: textFrame('Na') }, { cut: true }] },
    eventStream([ROLE_FRAME, textFrame('Na')]),
    eventStream(['data: {"choices":\n\n']),
    eventStream([
      deltaFrame('{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"{"}}]}'),
      finishFrame('length'),
    ]),
  )
  t.match(await ask(model), { text: 'Na', error: { code: 'vendor_failed', message: /Overloaded/ } })
  t.match(await ask(model), { error: { code: 'vendor_rate_limited' } })
  t.match(await ask(model), { text: 'Na', error: { code: 'vendor_failed', retryable: true } }, 'cut')
  t.match(await ask(model), { text: 'Na', error: { code: 'vendor_failed' } }, 'ended before it was finished')
  t.match(await ask(model), { error: { code: 'vendor_failed' } }, 'not JSON')
  t.match(await ask(model), { calls: [{ name: 'x', unusable: /JSON/ }], error: null }, 'arguments cut short')
  t.equal(fake.requests.length, 6, 'nothing is repeated once an answer had begun')
})

t.test('a vendor that opens and stalls fails at the deadline', async (t) => {
  const clock = new VirtualClock()
  const { fake, model } = await setUp(t, clock)
  for (const steps of [[{ stall: true }], [{ send: textFrame('Na') }, { stall: true }]] as const) {
    fake.enqueue('chat', { headers: { 'content-type': 'text/event-stream' }, steps })
    let heard = 0
    const answer = ask(model, REQUEST, () => heard++)
    await fake.until(() => fake.requests.length > 0)
    // The stall begins when the fake has sent what it sends; `heard` follows over the socket.
    while (heard < steps.length - 1) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setTimeout(resolve, 50))
    clock.advance(8001)
    t.match(await answer, { error: { code: 'vendor_stalled', retryable: true } })
    await fake.until(() => fake.requests.every(({ aborted }) => aborted))
  }
  t.equal(clock.pending, 0)
})

t.test('cancelling stops the vendor and all callbacks', async (t) => {
  const { fake, model } = await setUp(t)
  fake.enqueue('chat', eventStream(chatFrames(Array.from({ length: 100 }, (_, i) => ` w${i}`)), 5))
  let texts = 0
  let ended = false
  const handle = model.generate(REQUEST, {
    text: () => {
      texts++
      if (texts === 3) handle.cancel()
    },
    toolCalls: () => {},
    done: () => {
      ended = true
    },
    failed: () => {
      ended = true
    },
  })
  await fake.until(() => fake.requests[0]?.aborted === true)
  handle.cancel()
  t.equal(texts, 3)
  t.notOk(ended)
})

t.test('an unreachable vendor', async (t) => {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  await fake.close()
  t.match(await ask(modelOf(fake.baseUrl)), { error: { code: 'vendor_unreachable', retryable: true } })
})

t.test('connections are kept for later replies', async (t) => {
  const { fake, model } = await setUp(t)
  fake.setDefault('chat', eventStream([...chatFrames(['A'])], 1))
  for (let i = 0; i < 5; i++) await ask(model)
  // The tail of one answer may still be on its way when the next question is asked.
  t.ok(fake.connections <= 2, `${fake.connections} connections for 5 answers`)
})

const TOOLS = [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }]
const bodies = (fake: FakeOpenAi) => fake.requests.map(({ body }) => JSON.parse(String(body)))

t.test(
  'models that reason by default are asked not to, and the settings add or replace fields',
  async (t) => {
    const { fake } = await setUp(t)
    const model = modelOf(fake.baseUrl, systemClock, { temperature: 0.3 })
    for (const name of ['gpt-6-luna', 'gpt-5.6-sol', 'gpt-4o-mini', 'gpt-5.1', 'qwen3']) {
      await ask(model, { ...REQUEST, model: name, tools: TOOLS })
    }
    t.strictSame(
      bodies(fake).map((body) => body.reasoning_effort ?? null),
      ['none', 'none', null, null, null],
    )
    t.ok(bodies(fake).every((body) => body.temperature === 0.3))
    const high = modelOf(fake.baseUrl, systemClock, { reasoning_effort: 'high' })
    await ask(high, { ...REQUEST, model: 'gpt-6-luna' })
    t.equal(bodies(fake).at(-1).reasoning_effort, 'high')
  },
)

t.test('a rejected parameter is left out or mended, for that model from then on', async (t) => {
  const { fake } = await setUp(t)
  const model = modelOf(fake.baseUrl, systemClock, { temperature: 0.3, top_p: 0.9 })
  const refuse = (message: string, param: string | null = null) =>
    fake.enqueue(
      'chat',
      jsonReply(JSON.stringify({ error: { message, param, type: 'invalid_request_error' } }), 400),
    )
  refuse(
    "Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions. To use function tools, set reasoning_effort to 'none'.",
    'reasoning_effort',
  )
  refuse("Unsupported value: 'temperature' does not support 0.3 with this model.", 'temperature')
  const first = await ask(model, { ...REQUEST, model: 'gpt-x', tools: TOOLS })
  t.equal(first.error, null)
  await ask(model, { ...REQUEST, model: 'gpt-x', tools: TOOLS })
  await ask(model, { ...REQUEST, model: 'other', tools: TOOLS })
  t.strictSame(
    bodies(fake).map(({ reasoning_effort, temperature, top_p }) => [
      reasoning_effort ?? null,
      temperature ?? null,
      top_p,
    ]),
    [
      [null, 0.3, 0.9],
      ['none', 0.3, 0.9],
      ['none', null, 0.9],
      ['none', null, 0.9],
      [null, 0.3, 0.9],
    ],
  )
})

t.test('other threads know what one thread learnt from a refusal', async (t) => {
  const { fake } = await setUp(t)
  const other = new LearntManners()
  const one = modelOf(fake.baseUrl, systemClock, {}, new LearntManners((learnt) => other.adopt(learnt)))
  fake.enqueue('chat', jsonReply(errorBody('Unrecognized request argument supplied: stream_options'), 400))
  t.equal((await ask(one)).error, null)
  t.equal((await ask(modelOf(fake.baseUrl, systemClock, {}, other))).error, null)
  t.strictSame(
    bodies(fake).map((body) => 'stream_options' in body),
    [true, false, false],
  )
})

t.test('a server that does not know reasoning_effort is asked without it', async (t) => {
  const { fake, model } = await setUp(t)
  fake.enqueue('chat', jsonReply(errorBody('Unrecognized request argument supplied: reasoning_effort'), 400))
  const answer = await ask(model, { ...REQUEST, model: 'gpt-6-local' })
  t.equal(answer.error, null)
  t.strictSame(
    bodies(fake).map((body) => 'reasoning_effort' in body),
    [true, false],
  )
})

t.test('a rejection of the messages or of the model is final', async (t) => {
  for (const param of ['messages.[1].role', 'model', 'tools']) {
    const { fake, model } = await setUp(t)
    fake.enqueue('chat', jsonReply(JSON.stringify({ error: { message: 'Invalid value.', param } }), 400))
    t.equal((await ask(model)).error?.code, 'vendor_rejected', param)
    t.equal(fake.requests.length, 1, param)
  }
})

t.test('a server that cuts prompts without an error is reported once for each model', async (t) => {
  const { fake } = await setUp(t)
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (fields: object, event?: string) => warnings.push({ ...fields, event }) }
  const model = openAiLanguageModel({ baseUrl: fake.baseUrl, apiKey: null }, { clock: systemClock, log })
  const usage = (tokens: number) =>
    `data: {"choices":[],"usage":{"prompt_tokens":${tokens},"completion_tokens":1,"total_tokens":${tokens + 1}}}\n\n`
  const reply = (tokens: number) =>
    eventStream([textFrame('Yes.'), finishFrame('stop'), usage(tokens), DONE_FRAME])
  const long = {
    ...REQUEST,
    messages: [{ role: 'user' as const, content: 'We are open till six. '.repeat(1000) }],
  }
  // 5,000 words are at least as many tokens. A server that reports 0 did not count.
  fake.enqueue('chat', reply(5000), reply(0), reply(4096), reply(4096), reply(4096))
  for (const request of [long, long, long, long, { ...long, model: 'other' }]) {
    t.equal((await ask(model, request)).text, 'Yes.')
  }
  t.same(warnings, [
    { vendor: 'openai', model: 'm', promptTokens: 4096, leastTokens: 5000, event: 'llm.prompt_truncated' },
    {
      vendor: 'openai',
      model: 'other',
      promptTokens: 4096,
      leastTokens: 5000,
      event: 'llm.prompt_truncated',
    },
  ])
})

t.test('parts of a tool call and reasoning are progress', async (t) => {
  const { fake, model } = await setUp(t)
  const delta = (value: object) => `data: ${JSON.stringify({ choices: [{ delta: value }] })}\n\n`
  const piece = (text: string) => ({
    tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: text } }],
  })
  fake.enqueue('chat', {
    headers: { 'content-type': 'text/event-stream' },
    steps: [
      delta({ reasoning_content: 'Hm' }),
      delta({ reasoning: 'so' }),
      delta({ content: '' }),
      ...['{"x"', ':', '1}'].map((text) => delta(piece(text))),
      'data: [DONE]\n\n',
    ].map((send) => ({ send })),
  })
  let progress = 0
  const calls = await new Promise<unknown>((resolve) => {
    let made: unknown = null
    model.generate(REQUEST, {
      text: () => {},
      progress: () => progress++,
      toolCalls: (all) => {
        made = all
      },
      done: () => resolve(made),
      failed: resolve,
    })
  })
  t.equal(progress, 5)
  t.strictSame(calls, [{ id: 'c', name: 'look', arguments: { x: 1 } }])
})

t.test('a template that demands an order of roles gets it, for that model from then on', async (t) => {
  const { fake, model } = await setUp(t)
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'assistant', content: 'Hello.' },
    { role: 'user', content: 'Hi.' },
    { role: 'system', content: 'A machine answered.' },
  ] as const
  // llama.cpp answers 500, and a 5xx is repeated once as it is.
  for (let n = 0; n < 2; n++) {
    fake.enqueue(
      'chat',
      jsonReply(errorBody('System message must be at the beginning.', 'server_error'), 500),
    )
  }
  t.equal((await ask(model, { ...REQUEST, messages })).error, null)
  t.equal((await ask(model, { ...REQUEST, messages })).error, null)
  t.strictSame(
    bodies(fake).map((body) => body.messages.map(({ role }: { role: string }) => role).join(' ')),
    [
      'system assistant user system',
      'system assistant user system',
      'system user assistant user',
      'system user assistant user',
    ],
  )
  t.equal(bodies(fake).at(-1).messages.at(-1).content, 'Hi.\n(Note: A machine answered.)')
  // A server that refuses this order too is not asked again.
  fake.enqueue('chat', jsonReply(errorBody('Conversation roles must alternate'), 400))
  t.equal((await ask(model, { ...REQUEST, messages })).error?.code, 'vendor_rejected')
  t.equal(fake.requests.length, 5)
})
