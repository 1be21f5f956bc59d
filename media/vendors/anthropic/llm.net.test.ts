import t, { type Test } from 'tap'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import {
  errorFrame,
  errorResponse,
  MESSAGE_START,
  MESSAGE_STOP,
  messageDelta,
  messageFrames,
  THINKING_FRAMES,
  TOOL_USE_FRAMES,
  textBlockFrames,
} from '../../../fixtures/vendors/anthropic-frames.js'
import {
  eventStream,
  type FakeOpenAi,
  type FakeReply,
  jsonReply,
  openFakeOpenAi,
} from '../../../fixtures/vendors/fake-openai.js'
import type { GenerateRequest, LanguageModel, ToolCall } from '../../agent/vendor-ports.js'
import { PROMPT_TOO_LONG } from '../../agent/vendor-ports.js'
import { systemClock } from '../../base/clock.js'
import type { EngineError } from '../../base/errors.js'
import { silentLog } from '../../base/log.js'
import { anthropicLanguageModel } from './llm.js'

const REQUEST: GenerateRequest = {
  model: 'claude-haiku-5-5',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'नमस्ते' },
  ],
  tools: [],
}

interface Answer {
  text: string
  progress: number
  calls: readonly ToolCall[]
  usage: unknown
  error: EngineError | null
}

async function setUp(t: Test, ...replies: FakeReply[]): Promise<{ fake: FakeOpenAi; model: LanguageModel }> {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  fake.setDefault('messages', eventStream(messageFrames(['Namaste', ' ji.'])))
  fake.enqueue('messages', ...replies)
  const model = anthropicLanguageModel(
    {
      baseUrl: fake.baseUrl.replace(/\/v1$/, ''),
      apiKey: 'sk-ant-test',
      maxTokens: 1024,
      firstTokenMs: 2500,
      extra: { metadata: { user_id: 'u' } },
    },
    { clock: systemClock, log: silentLog },
  )
  return { fake, model }
}

function ask(model: LanguageModel, request: GenerateRequest = REQUEST): Promise<Answer> {
  return new Promise((resolve) => {
    const answer: Answer = { text: '', progress: 0, calls: [], usage: null, error: null }
    model.generate(request, {
      text: (delta) => {
        answer.text += delta
      },
      progress: () => {
        answer.progress++
      },
      toolCalls: (calls) => {
        answer.calls = calls
      },
      done: (usage) => resolve({ ...answer, usage }),
      failed: (error) => resolve({ ...answer, error }),
    })
  })
}

/** Asks and resolves with `cut` of the end of the answer. */
function askCut(model: LanguageModel): Promise<boolean | undefined> {
  return new Promise((resolve, reject) => {
    const done = (_usage: unknown, cut?: boolean) => resolve(cut)
    model.generate(REQUEST, { text: () => {}, toolCalls: () => {}, done, failed: reject })
  })
}

const bodies = (fake: FakeOpenAi) => fake.requests.map(({ body }) => JSON.parse(String(body)))

t.test('a plain reply: text, usage with the cached part of the prompt, and the request', async (t) => {
  const { fake, model } = await setUp(t)
  t.equal(model.id, 'anthropic')
  t.equal(model.firstTokenDeadlineMs, 2500)
  t.match(await ask(model), {
    text: 'Namaste ji.',
    calls: [],
    usage: { promptTokens: 1029, completionTokens: 15 },
    error: null,
  })
  const [request] = fake.requests
  t.equal(request?.path, '/v1/messages')
  t.match(request?.headers, {
    'x-api-key': 'sk-ant-test',
    'anthropic-version': '2023-06-01',
    'content-type': 'application/json',
  })
  t.equal(request?.headers.authorization, undefined)
  t.same(bodies(fake), [
    {
      model: 'claude-haiku-5-5',
      max_tokens: 1024,
      stream: true,
      system: 'Be brief.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'नमस्ते' }] }],
      thinking: { type: 'disabled' },
      cache_control: { type: 'ephemeral' },
      metadata: { user_id: 'u' },
    },
  ])
})

t.test('a tool call after thoughts and words, and its result in the next request', async (t) => {
  const { fake, model } = await setUp(
    t,
    eventStream([
      MESSAGE_START,
      ...THINKING_FRAMES,
      ...textBlockFrames(['Let me see.'], 0),
      ...TOOL_USE_FRAMES,
      messageDelta('tool_use'),
      MESSAGE_STOP,
    ]),
  )
  const tools = [{ name: 'book', description: 'Books.', parameters: { type: 'object', properties: {} } }]
  const first = await ask(model, { ...REQUEST, tools })
  t.match(first, {
    text: 'Let me see.',
    calls: [{ id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'book', arguments: { day: 'Monday' } }],
    error: null,
  })
  t.ok(first.progress >= 5, 'thoughts and pieces of the call are progress')
  t.same(bodies(fake)[0].tools, [
    { name: 'book', description: 'Books.', input_schema: { type: 'object', properties: {} } },
  ])
  await ask(model, {
    ...REQUEST,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'A table.' },
      { role: 'assistant', content: null, toolCalls: first.calls },
      { role: 'tool', toolCallId: first.calls[0]?.id ?? '', content: 'done' },
      { role: 'system', content: 'The caller is in a hurry.' },
      { role: 'assistant', content: ' ' },
    ],
    tools,
  })
  t.same(bodies(fake)[1].messages, [
    { role: 'user', content: [{ type: 'text', text: '(The call begins.)' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
    { role: 'user', content: [{ type: 'text', text: 'A table.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'book', input: { day: 'Monday' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', content: 'done' },
        { type: 'text', text: '(Note: The caller is in a hurry.)' },
      ],
    },
  ])
})

t.test('input of a tool that is whole at the start of its block', async (t) => {
  const [start = '', ...rest] = TOOL_USE_FRAMES
  const stop = rest.at(-1) ?? ''
  const whole = start.replace('"input":{}', '"input":{"day":"Monday"}')
  const pieces = rest.slice(0, -1)
  const ends = [messageDelta('tool_use'), MESSAGE_STOP]
  const { model } = await setUp(
    t,
    eventStream([MESSAGE_START, whole, stop, ...ends]),
    eventStream([MESSAGE_START, whole, ...pieces, stop, ...ends]),
    eventStream([
      MESSAGE_START,
      start.replace('"input":{}', '"input":"{\\"day\\":\\"Monday\\"}"'),
      stop,
      ...ends,
    ]),
    eventStream(
      [MESSAGE_START, start, ...pieces, stop, ...ends].map((frame) => frame.replace('"index":1,', '')),
    ),
    eventStream([MESSAGE_START, whole, stop, messageDelta('tool_use'), 'data: [DONE]\n\n']),
  )
  for (const what of ['at the start', 'and once more in pieces', 'as text', 'without an index', '[DONE]']) {
    const { calls, error } = await ask(model)
    t.same(error, null, what)
    t.match(calls, [{ name: 'book', arguments: { day: 'Monday' } }], what)
    t.equal(calls.length, 1, what)
  }
})

t.test('which way not to think a model takes is learnt from its refusals', async (t) => {
  const refused = (message: string) => jsonReply(errorResponse('invalid_request_error', message), 400)
  const { fake, model } = await setUp(
    t,
    refused('cache_control: Extra inputs are not permitted'),
    refused('"thinking.type.disabled" is not supported for this model.'),
    refused("thinking: Input tag 'between_tools' found using 'type' does not match any of the expected tags"),
    refused('This model does not support the effort parameter.'),
  )
  const request = { ...REQUEST, model: 'claude-new' }
  t.equal((await ask(model, request)).text, 'Namaste ji.')
  t.same(
    bodies(fake).map((body) => [body.thinking?.type, body.output_config?.effort, body.cache_control?.type]),
    [
      ['disabled', undefined, 'ephemeral'],
      ['disabled', undefined, undefined],
      ['between_tools', undefined, undefined],
      [undefined, 'low', undefined],
      [undefined, undefined, undefined],
    ],
  )
  await ask(model, request)
  t.equal(fake.requests.length, 6, 'once per thread')
  await ask(model, { ...REQUEST, model: 'claude-sonnet-5-5' })
  t.same(bodies(fake)[6].thinking, { type: 'between_tools' })
})

t.test('failures before the first word', async (t) => {
  for (const [status, type, code, requests] of [
    [529, 'overloaded_error', 'vendor_failed', 2],
    [429, 'rate_limit_error', 'vendor_rate_limited', 2],
    [500, 'api_error', 'vendor_failed', 2],
    [401, 'authentication_error', 'vendor_rejected', 1],
    [402, 'billing_error', 'vendor_rejected', 1],
  ] as const) {
    const reply = jsonReply(errorResponse(type, 'Overloaded'), status, { 'retry-after': '0' })
    const { fake, model } = await setUp(t, reply, reply)
    const { error } = await ask(model)
    t.match(error, { code, message: new RegExp(`${status}.*Overloaded`) }, type)
    t.equal(fake.requests.length, requests, type)
  }
  const { model } = await setUp(
    t,
    jsonReply(
      errorResponse('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      400,
    ),
  )
  t.match((await ask(model)).error, { code: 'vendor_rejected', context: { reason: PROMPT_TOO_LONG } })
})

t.test('an overload that passes is not noticed', async (t) => {
  const { model } = await setUp(
    t,
    jsonReply(errorResponse('overloaded_error', 'Overloaded'), 529, { 'retry-after': '0' }),
  )
  t.match(await ask(model), { text: 'Namaste ji.', error: null })
})

t.test('failures in the stream', async (t) => {
  const begun = [MESSAGE_START, ...textBlockFrames(['Na'])]
  for (const [frames, error] of [
    [[...begun, errorFrame('overloaded_error', 'Overloaded')], { code: 'vendor_failed', retryable: true }],
    [[errorFrame('rate_limit_error', 'Slow')], { code: 'vendor_rate_limited', retryable: true }],
    [[errorFrame('permission_error', 'No')], { code: 'vendor_rejected', retryable: false }],
    [begun, { code: 'vendor_failed', retryable: true, message: /before it had finished/ }],
    [['data: {"type":\n\n'], { code: 'vendor_failed', message: /invalid JSON/ }],
    [[MESSAGE_START, messageDelta('refusal'), MESSAGE_STOP], { code: 'vendor_failed', message: /declined/ }],
  ] as const) {
    const { model } = await setUp(t, eventStream([...frames]))
    t.match((await ask(model)).error, error)
  }
})

t.test('a server that does not stream', async (t) => {
  const { model } = await setUp(
    t,
    jsonReply(
      '{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Ji."},{"type":"tool_use","id":"toolu_1","name":"book","input":{"day":"Monday"}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":5}}',
    ),
  )
  t.match(await ask(model), {
    text: 'Ji.',
    calls: [{ id: 'toolu_1', name: 'book', arguments: { day: 'Monday' } }],
    usage: { promptTokens: 9, completionTokens: 5 },
    error: null,
  })
})

t.test('nothing follows a cancellation, and the request is closed', async (t) => {
  const { fake, model } = await setUp(t, {
    headers: { 'content-type': 'text/event-stream' },
    steps: [{ send: MESSAGE_START }, ...textBlockFrames(['Na']).map((send) => ({ send })), { stall: true }],
  })
  const seen: string[] = []
  await new Promise<void>((resolve) => {
    const handle = model.generate(REQUEST, {
      text: (delta) => {
        seen.push(delta)
        handle.cancel()
        resolve()
      },
      toolCalls: () => seen.push('calls'),
      done: () => seen.push('done'),
      failed: () => seen.push('failed'),
    })
  })
  await fake.until(() => fake.requests[0]?.aborted === true)
  t.same(seen, ['Na'])
})

t.test('an answer that the model did not finish says so', async (t) => {
  const { fake, model } = await setUp(t)
  const ends = ['max_tokens', 'model_context_window_exceeded', 'refusal', 'end_turn'] as const
  for (const reason of ends) {
    const frames = [MESSAGE_START, ...textBlockFrames(['The user wants']), messageDelta(reason), MESSAGE_STOP]
    fake.enqueue('messages', eventStream(frames))
  }
  const cuts = [await askCut(model), await askCut(model), await askCut(model), await askCut(model)]
  t.same(cuts, [true, true, true, false])
})
