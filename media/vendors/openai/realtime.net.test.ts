import t, { type Test } from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { FakeRealtime } from '../../../fixtures/vendors/fake-realtime.js'
import { errorOf, ODDITIES, rateLimits, USAGE } from '../../../fixtures/vendors/realtime-messages.js'
import type { TokenCount } from '../../agent/conversation/usage-meter.js'
import { LearntManners, type ModelManner } from '../../agent/learnt-manners.js'
import type {
  ChatMessage,
  SpeechToSpeechStream,
  SpokenReplyEvents,
  ToolCall,
} from '../../agent/vendor-ports.js'
import type { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { Log } from '../../base/log.js'
import { silentLog } from '../../base/log.js'
import { openAiSpeechToSpeech } from './realtime.js'
import type { RealtimeSettings } from './settings.js'

/* The realtime adapter against a server that keeps the rules of the protocol and its traps. */

interface Heard {
  started: number
  stopped: number
  readonly committed: string[]
  readonly transcripts: [string, string | null][]
  readonly failures: EngineError[]
}

/** One reply as it came. */
class Reply {
  readonly samples = new Map<string, number>()
  readonly rates = new Set<number>()
  words = ''
  progressed = 0
  calls: readonly ToolCall[] | null = null
  usage: TokenCount | null = null
  failure: EngineError | null = null
  readonly events: SpokenReplyEvents = {
    audio: (item, pcm, rate) => {
      this.samples.set(item, (this.samples.get(item) ?? 0) + pcm.length)
      this.rates.add(rate)
    },
    words: (_item, piece) => {
      this.words += piece
    },
    progress: () => {
      this.progressed++
    },
    done: (calls, usage) => {
      this.calls = calls
      this.usage = usage
    },
    failed: (error) => {
      this.failure = error
    },
  }

  get over(): boolean {
    return this.calls !== null || this.failure !== null
  }

  get item(): string {
    return [...this.samples.keys()][0] ?? ''
  }
}

interface Rig {
  readonly fake: FakeRealtime
  readonly clock: VirtualClock
  readonly stream: SpeechToSpeechStream
  /** Opens another connection to the same vendor. */
  openStream(): SpeechToSpeechStream
  readonly heard: Heard
  until(done: () => boolean, what: string): Promise<void>
}

interface RigOptions {
  readonly language?: string | null
  readonly rate?: SessionRate
  readonly turns?: RealtimeSettings['turns']
  readonly effort?: RealtimeSettings['effort']
  readonly history?: readonly ChatMessage[]
  readonly log?: Log
  readonly manners?: LearntManners
  setUp?(fake: FakeRealtime): void
}

async function rig(t: Test, options: RigOptions = {}): Promise<Rig> {
  const { rate = 8000, turns = 'semantic', history = [], log = silentLog, language = 'hi-IN' } = options
  const { effort = null } = options
  const fake = await FakeRealtime.open()
  options.setUp?.(fake)
  const clock = new VirtualClock()
  const realtime = { models: ['gpt-realtime'], transcriptionModel: 'gpt-4o-mini-transcribe', turns, effort }
  const vendor = openAiSpeechToSpeech(
    {
      baseUrl: fake.socket.baseUrl.replace('ws:', 'http:').concat('/v1'),
      apiKey: 'secret-key',
      chatModel: 'c',
      transcriptionModel: 't',
      speechModel: 's',
      speechVoice: 'v',
      speechRate: 24_000,
      realtime,
    },
    realtime,
    { clock, log, manners: options.manners },
  )
  const heard: Heard = { started: 0, stopped: 0, committed: [], transcripts: [], failures: [] }
  const openStream = () =>
    vendor.open(
      {
        rate,
        model: 'gpt-realtime',
        voice: 'marin',
        pace: 1.2,
        language,
        instructions: 'You are Asha.',
        tools: [
          { name: 'end_call', description: 'Ends it.', parameters: { type: 'object', properties: {} } },
        ],
        history,
      },
      {
        callerStarted: () => heard.started++,
        callerStopped: () => heard.stopped++,
        committed: (item) => heard.committed.push(item),
        transcript: (item, text) => heard.transcripts.push([item, text]),
        failed: (error) => heard.failures.push(error),
      },
    )
  const stream = openStream()
  t.teardown(async () => {
    stream.close()
    await fake.close()
    if (clock.pending > 0) throw new Error(`${clock.pending} timers are left`)
  })
  const until = async (done: () => boolean, what: string) => {
    for (let i = 0; i < 15_000; i++) {
      if (done()) return
      await new Promise((resolve) => setImmediate(resolve))
      if (i > 200) await new Promise((resolve) => setTimeout(resolve, 2))
    }
    throw new Error(`not seen: ${what}`)
  }
  return { fake, clock, stream, openStream, heard, until }
}

/** Waits until the session has its settings. */
async function ready({ fake, until }: Rig): Promise<void> {
  await until(
    () => fake.socket.connections.length > 0 && fake.sent('session.update').length > 0,
    'the set-up',
  )
}

function speak(stream: SpeechToSpeechStream, ms: number, rate = 8000): void {
  const sound = tone(400, ms, rate)
  const frame = (rate * 20) / 1000
  for (let at = 0; at < sound.length; at += frame) stream.write(sound.subarray(at, at + frame))
}

function respond({ stream }: Rig, mayUseTools = true) {
  const reply = new Reply()
  return { reply, ...stream.respond({ mayUseTools }, reply.events) }
}

t.test('the session is set up in the current format only', async (t) => {
  const r = await rig(t)
  await ready(r)
  const { last } = r.fake.socket
  t.equal(last.url.pathname, '/v1/realtime')
  t.equal(last.url.searchParams.get('model'), 'gpt-realtime')
  t.equal(last.headers.authorization, 'Bearer secret-key')
  t.equal(last.headers['openai-beta'], undefined)
  t.strictSame(r.fake.sent('session.update')[0]?.session, {
    type: 'realtime',
    instructions: 'You are Asha.',
    output_modalities: ['audio'],
    audio: {
      input: {
        format: { type: 'audio/pcmu' },
        transcription: { model: 'gpt-4o-mini-transcribe', language: 'hi' },
        turn_detection: {
          type: 'semantic_vad',
          eagerness: 'auto',
          create_response: false,
          interrupt_response: false,
        },
      },
      output: { format: { type: 'audio/pcmu' }, voice: 'marin', speed: 1.2 },
    },
    tools: [
      {
        type: 'function',
        name: 'end_call',
        description: 'Ends it.',
        parameters: { type: 'object', properties: {} },
      },
    ],
    tool_choice: 'auto',
  })
})

for (const [language, expected] of [
  ['od-IN', { model: 'gpt-4o-mini-transcribe', language: 'or' }],
  [null, { model: 'gpt-4o-mini-transcribe' }],
] as const) {
  t.test(`the transcription is set to ${language}`, async (t) => {
    const r = await rig(t, { language })
    await ready(r)
    const [update] = r.fake.sent('session.update')
    const { session } = update as { session: { audio: { input: { transcription: unknown } } } }
    t.strictSame(session.audio.input.transcription, expected)
  })
}

for (const [turns, expected] of [
  ['server', { type: 'server_vad', silence_duration_ms: 500, create_response: false }],
  ['ours', null],
] as const) {
  t.test(`turns ended by ${turns}`, async (t) => {
    const r = await rig(t, { turns })
    await ready(r)
    t.match(r.fake.sent('session.update')[0], { session: { audio: { input: { turn_detection: expected } } } })
  })
}

t.test('audio before the session is configured is sent in order; a turn is transcribed', async (t) => {
  const r = await rig(t)
  r.fake.transcripts.push({ text: 'मेरा नाम अनीता है' })
  speak(r.stream, 1000)
  await ready(r)
  for (let i = 0; i < 15; i++) speak(r.stream, 40)
  for (let i = 0; i < 40; i++) r.stream.write(new Int16Array(160))
  await r.until(() => r.heard.transcripts.length > 0, 'the transcript')
  t.equal(r.heard.started, 1)
  t.equal(r.heard.stopped, 1)
  t.same(r.heard.transcripts, [[r.heard.committed[0], 'मेरा नाम अनीता है']])
  const appended = r.fake.sent('input_audio_buffer.append')
  t.equal(r.fake.socket.last.texts[0]?.type, 'session.update', 'nothing before the settings')
  t.ok(
    appended.every(({ audio }) => Buffer.from(String(audio), 'base64').length === 320),
    '40 ms each',
  )
})

t.test('a failed transcription is reported as such', async (t) => {
  const r = await rig(t, { turns: 'ours' })
  r.fake.transcripts.push({ text: null })
  speak(r.stream, 510)
  r.stream.commit()
  await r.until(() => r.heard.transcripts.length > 0, 'the transcript')
  t.same(r.heard.transcripts, [[r.heard.committed[0], null]])
  const sound = r.fake.sent('input_audio_buffer.append').map(({ audio }) => String(audio))
  t.equal(
    sound.map((text) => Buffer.from(text, 'base64').length).reduce((a, b) => a + b),
    4080,
    'to the last frame',
  )
})

t.test('a reply: audio, words, usage; two items are kept apart', async (t) => {
  const r = await rig(t)
  r.fake.replies.push({
    items: [
      { words: 'Namaste, ', ms: 450 },
      { words: 'how can I help?', ms: 730 },
    ],
  })
  const { reply } = respond(r)
  await r.until(() => reply.over, 'the reply')
  t.same([...reply.samples.values()], [450 * 8, 730 * 8])
  t.same([...reply.rates], [8000])
  t.equal(reply.words, 'Namaste, how can I help?')
  t.same(reply.calls, [])
  t.same(reply.usage, {
    promptTokens: USAGE.input_tokens,
    completionTokens: USAGE.output_tokens,
    sound: { promptTokens: 120, completionTokens: 80, cachedTokens: 64 },
  })
})

t.test(
  'a wideband session: linear audio at 24 kHz in both directions, complete samples from split bytes',
  async (t) => {
    const r = await rig(t, { rate: 16_000, turns: 'ours' })
    r.fake.replies.push({ items: [{ words: 'Yes.', ms: 500 }] })
    speak(r.stream, 400, 16_000)
    r.stream.commit()
    const { reply } = respond(r)
    await r.until(() => reply.over, 'the reply')
    t.same([...reply.samples.values()], [12_000])
    t.same([...reply.rates], [24_000])
    const bytes = r.fake
      .sent('input_audio_buffer.append')
      .map(({ audio }) => Buffer.from(String(audio), 'base64'))
    t.equal(
      bytes.reduce((sum, { length }) => sum + length, 0),
      400 * 24 * 2,
    )
  },
)

t.test('event names of the beta version are understood', async (t) => {
  const r = await rig(t, {
    setUp: (fake) => {
      fake.oldNames = true
      fake.echoesMetadata = false
    },
  })
  const { reply } = respond(r)
  await r.until(() => reply.over, 'the reply')
  t.equal(reply.words, 'Yes.')
  t.same([...reply.samples.values()], [2400])
})

t.test('tools are called with the arguments of the model, and get their results', async (t) => {
  const r = await rig(t)
  r.fake.replies.push({
    items: [{ words: 'Let me look.', ms: 300 }],
    calls: [
      { id: 'call_1', name: 'look', arguments: '{"day":"Monday"}' },
      { id: 'call_2', name: 'end_call', arguments: '' },
    ],
  })
  const { reply } = respond(r)
  await r.until(() => reply.over, 'the reply')
  t.same(reply.calls, [
    { id: 'call_1', name: 'look', arguments: { day: 'Monday' } },
    { id: 'call_2', name: 'end_call', arguments: {} },
  ])
  t.ok(reply.progressed > 0, 'a call in the making is a sign of life')
  r.stream.toolResult('call_1', 'Free at nine.')
  const next = respond(r, false)
  await r.until(() => next.reply.over, 'the next reply')
  t.same(
    r.fake.sent('conversation.item.create').map(({ item }) => item),
    [{ type: 'function_call_output', call_id: 'call_1', output: 'Free at nine.' }],
  )
  const creates = r.fake.sent('response.create').map(({ response }) => response as Record<string, unknown>)
  t.same(
    creates.map(({ tool_choice }) => tool_choice),
    [undefined, 'none'],
  )
})

t.test('arguments that cannot be read make the call unusable, which the model learns', async (t) => {
  const r = await rig(t)
  r.fake.replies.push({ calls: [{ id: 'call_1', name: 'look', arguments: '{"day":' }] })
  const { reply } = respond(r)
  await r.until(() => reply.over, 'the reply')
  t.match(reply.calls, [{ id: 'call_1', name: 'look', arguments: {}, unusable: /JSON/ }])
  t.same([reply.failure, r.heard.failures], [null, []])
})

t.test('one reply at a time: the next is requested when the cancelled one is over', async (t) => {
  const r = await rig(t)
  r.fake.replies.push(
    { items: [{ words: 'One two three.', ms: 900 }], endless: true },
    { items: [{ words: 'Two.', ms: 300 }] },
  )
  const first = respond(r)
  await r.until(() => first.reply.samples.size > 0, 'its sound')
  const item = first.reply.item
  first.cancel()
  r.stream.truncate(item, 412.9)
  const second = respond(r)
  await r.until(() => second.reply.over, 'the second reply')
  t.equal(second.reply.words, 'Two.')
  t.equal(first.reply.over, false, 'who cancels is told nothing')
  t.same(r.fake.truncated, [{ item, ms: 412 }])
  t.same(r.fake.errors, [])
  const order = r.fake.socket.last.texts
    .map(({ type }) => String(type))
    .filter((type) => /^response|trunc/.test(type))
  t.same(order, ['response.create', 'response.cancel', 'conversation.item.truncate', 'response.create'])
})

t.test('a reply cancelled before it has an id is cancelled once it gets one', async (t) => {
  const r = await rig(t)
  await ready(r)
  r.fake.replies.push({ items: [{ words: 'Never heard.', ms: 900 }], endless: true })
  const first = respond(r)
  await Promise.resolve()
  first.cancel()
  const second = respond(r)
  await r.until(() => second.reply.over, 'the second reply')
  t.equal(first.reply.samples.size, 0)
  t.equal(second.reply.words, 'Yes.')
  t.same(r.fake.errors, [])
})

t.test('a late cancel has no effect', async (t) => {
  const r = await rig(t)
  const first = respond(r)
  await r.until(() => first.reply.over, 'the reply')
  first.cancel()
  r.fake.session.send(errorOf('response_cancel_not_active', 'no active response'))
  r.stream.truncate('item_unknown', 100)
  const second = respond(r)
  await r.until(() => second.reply.over, 'the second reply')
  t.equal(second.reply.failure, null)
  t.same(r.heard.failures, [])
})

t.test('a response that was not requested is cancelled, and the requested one follows', async (t) => {
  const r = await rig(t)
  await ready(r)
  r.fake.session.volunteer({ items: [{ words: 'I speak by myself.', ms: 500 }], endless: true })
  const { reply } = respond(r)
  await r.until(() => r.fake.errors.length > 0 || reply.over, 'a collision')
  // No time has to pass: the end of the stranger is what is waited for.
  await r.until(() => reply.over, 'the reply')
  t.equal(reply.words, 'Yes.')
  t.equal(reply.failure, null)
})

t.test('a response is requested again if the vendor is busy with an unnamed one', async (t) => {
  const r = await rig(t)
  await ready(r)
  r.fake.busy = 1
  const { reply } = respond(r)
  await r.until(() => {
    r.clock.advance(100)
    return reply.over
  }, 'the reply')
  t.equal(reply.words, 'Yes.')
  t.equal(r.fake.sent('response.create').length, 2)
})

t.test('a phrase is spoken outside the conversation, also during a reply', async (t) => {
  const r = await rig(t)
  r.fake.replies.push({ items: [{ words: 'A long answer.', ms: 900 }], endless: true })
  const answer = respond(r)
  await r.until(() => answer.reply.samples.size > 0, 'its sound')
  const line = new Reply()
  r.stream.say('Please hold <on>.', line.events)
  await r.until(() => line.over, 'the line')
  t.same(r.fake.phrases, ['Please hold <on>.'])
  const { response } = r.fake.sent('response.create')[1] ?? {}
  t.match(response, { conversation: 'none', input: [], tool_choice: 'none', output_modalities: ['audio'] })
  t.equal([...line.samples.values()][0], 'Please hold <on>.'.length * 60 * 8)
  t.equal(answer.reply.over, false)
  answer.cancel()
})

t.test('failures of a reply are reported with their class', async (t) => {
  const r = await rig(t)
  const failed = (type: string, code: string) => ({ failed: { type, code, message: 'no' } })
  r.fake.replies.push(
    failed('insufficient_quota', 'insufficient_quota'),
    failed('rate_limit_error', 'rate_limit_exceeded'),
    failed('server_error', 'server_error'),
  )
  const codes: (string | undefined)[] = []
  for (let i = 0; i < 3; i++) {
    const { reply } = respond(r)
    await r.until(() => reply.over, 'the failure')
    codes.push(reply.failure?.code)
  }
  t.same(codes, ['vendor_rejected', 'vendor_rate_limited', 'vendor_failed'])
  t.same(r.heard.failures, [])
})

t.test('errors of single messages and unknown types do not end the session', async (t) => {
  const warned: object[] = []
  const r = await rig(t, { log: { ...silentLog, warn: (fields) => warned.push(fields) } })
  await ready(r)
  r.stream.commit()
  for (const oddity of ODDITIES) r.fake.session.send(oddity)
  r.fake.session.send(errorOf('', 'something happened', null, 'server_error'))
  r.fake.session.send(rateLimits(0))
  const { reply } = respond(r)
  await r.until(() => reply.over, 'the reply')
  t.equal(reply.words, 'Yes.')
  t.same(r.fake.errors, ['input_audio_buffer_commit_empty'])
  t.same(r.heard.failures, [])
  t.match(warned, [{ limit: 'requests' }])
})

t.test('a new connection receives the history', async (t) => {
  const r = await rig(t, {
    history: [
      { role: 'user', content: 'Is Monday free?' },
      {
        role: 'assistant',
        content: null,
        toolCalls: [{ id: 'call_1', name: 'look', arguments: { day: 'Monday' } }],
      },
      { role: 'tool', toolCallId: 'call_1', content: 'Free.' },
      { role: 'assistant', content: 'Monday is free.' },
      { role: 'system', content: 'A note.' },
    ],
  })
  const { reply } = respond(r)
  await r.until(() => reply.over, 'the reply')
  t.same(
    r.fake.sent('conversation.item.create').map(({ item }) => item),
    [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Is Monday free?' }] },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"day":"Monday"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Free.' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Monday is free.' }] },
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'A note.' }] },
    ],
  )
})

t.test('the end of the session and a lost connection fail pending replies', async (t) => {
  for (const [name, end, code] of [
    [
      'expired',
      (fake: FakeRealtime) => fake.session.send(errorOf('session_expired', 'after 60 minutes')),
      'vendor_failed',
    ],
    ['broken', (fake: FakeRealtime) => fake.socket.last.break(), 'vendor_failed'],
    ['closed', (fake: FakeRealtime) => fake.socket.last.close(1011, 'internal'), 'vendor_failed'],
  ] as const) {
    const r = await rig(t)
    r.fake.replies.push({ stall: true })
    const { reply } = respond(r)
    await ready(r)
    await r.until(() => r.fake.sent('response.create').length > 0, 'the request')
    end(r.fake)
    await r.until(() => r.heard.failures.length > 0, name)
    t.equal(r.heard.failures.length, 1, name)
    t.match(r.heard.failures[0], { code, retryable: true }, name)
    t.equal(reply.failure, r.heard.failures[0])
  }
})

t.test('rejected handshakes and settings are permanent or temporary', async (t) => {
  const body = '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}'
  for (const [status, code, retryable] of [
    [401, 'vendor_rejected', false],
    [404, 'vendor_rejected', false],
    [429, 'vendor_rate_limited', true],
    [503, 'vendor_failed', true],
  ] as const) {
    const r = await rig(t, { setUp: (fake) => fake.socket.refuse({ status, body }) })
    await r.until(() => r.heard.failures.length > 0, 'the refusal')
    t.match(r.heard.failures, [{ code, retryable }], String(status))
    t.match(r.heard.failures[0]?.message, /Incorrect API key/)
    t.notMatch(r.heard.failures[0]?.message, /secret-key/)
  }
  const r = await rig(t, {
    setUp: ({ socket }) => {
      socket.script = {
        connected: (connection) => connection.send('{"type":"session.created","session":{}}'),
        text: ({ type, event_id }, connection) => {
          if (type === 'session.update') connection.send(errorOf('invalid_value', 'no such voice', event_id))
        },
      }
    },
  })
  await r.until(() => r.heard.failures.length > 0, 'the refusal')
  t.match(r.heard.failures, [{ code: 'vendor_rejected', retryable: false }])
})

t.test('a model that refuses the effort is asked without it, also by later connections', async (t) => {
  const learnt: ModelManner[] = []
  const r = await rig(t, {
    effort: 'low',
    manners: new LearntManners((manner) => learnt.push(manner)),
    setUp: ({ socket }) => {
      socket.script = {
        connected: (connection) => connection.send('{"type":"session.created","session":{}}'),
        text: ({ type, event_id, session }, connection) => {
          if (type !== 'session.update') return
          const refused = JSON.stringify(session).includes('reasoning')
          connection.send(
            refused
              ? errorOf('unknown_parameter', "Unknown parameter: 'session.reasoning'.", event_id)
              : '{"type":"session.updated","session":{}}',
          )
        },
      }
    },
  })
  const efforts = () =>
    r.fake.socket.connections.map(({ texts }) =>
      texts
        .filter(({ type }) => type === 'session.update')
        .map(({ session }) => (session as { reasoning?: { effort: string } }).reasoning?.effort ?? null),
    )
  r.stream.addMessage('user', 'Hello.')
  await r.until(() => r.fake.socket.connections[0]?.texts.length === 3, 'the session without effort')
  t.match(r.fake.socket.last.texts[2], { type: 'conversation.item.create' })
  const second = r.openStream()
  t.teardown(() => second.close())
  second.addMessage('user', 'Hello.')
  await r.until(
    () => r.fake.socket.connections.length === 2 && r.fake.socket.last.texts.length === 2,
    'the second session',
  )
  t.same(efforts(), [['low', null], [null]])
  t.same(learnt, [{ key: 'openai-realtime gpt-realtime', manner: 'without effort' }], 'told to other threads')
  t.same(r.heard.failures, [])
})

t.test('a vendor that never opens a session is abandoned', async (t) => {
  const r = await rig(t, {
    setUp: ({ socket }) => {
      socket.script = {}
    },
  })
  await r.until(() => r.fake.socket.connections.length > 0, 'the connection')
  const { reply } = respond(r)
  // The client learns of the open socket a moment after the server does.
  await r.until(() => {
    r.clock.advance(1000)
    return r.heard.failures.length > 0
  }, 'the end of patience')
  t.match(r.heard.failures, [{ code: /vendor_stalled|vendor_unreachable/ }])
  await r.until(() => reply.over, 'the failed reply')
})

t.test('a cancelled reply without a reported end does not block the next one', async (t) => {
  const r = await rig(t)
  await ready(r)
  r.fake.losesCancelled = true
  r.fake.replies.push({ items: [{ words: 'One two.', ms: 500 }], endless: true })
  const first = respond(r)
  await r.until(() => first.reply.samples.size > 0, 'its sound')
  first.cancel()
  const second = respond(r)
  await r.until(() => r.fake.sent('response.cancel').length > 0, 'the cancel')
  t.equal(r.fake.sent('response.create').length, 1)
  r.clock.advance(1500)
  await r.until(() => second.reply.over, 'the second reply')
  t.equal(second.reply.words, 'Yes.')
})

t.test('a vendor that does not read is abandoned before memory runs out', async (t) => {
  const r = await rig(t, { rate: 16_000 })
  const { reply } = respond(r)
  await r.until(() => reply.over, 'a reply')
  r.fake.socket.last.freeze()
  const second = new Int16Array(16_000)
  for (let i = 0; i < 1000 && r.heard.failures.length === 0; i++) {
    r.stream.write(second)
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.match(r.heard.failures, [{ code: 'vendor_stalled', retryable: true }])
})
