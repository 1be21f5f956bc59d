import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import { openFakeVendorSocket, type VendorConnection } from '../../../fixtures/vendors/fake-vendor-socket.js'
import { pcmBytes } from '../../../fixtures/vendors/openai-frames.js'
import { GEMINI_ODDITIES } from '../../../fixtures/vendors/spoken-vendors.js'
import type { TokenCount } from '../../agent/conversation/usage-meter.js'
import type {
  ChatMessage,
  SpeechToSpeechStream,
  SpokenReplyEvents,
  ToolCall,
} from '../../agent/vendor-ports.js'
import type { EngineError } from '../../base/errors.js'
import { silentLog } from '../../base/log.js'
import { geminiSpeechToSpeech } from './live.js'

/* Gemini's Live API by the messages of its reference, https://ai.google.dev/api/live. */

const SETUP_COMPLETE = '{"setupComplete":{}}'
const sound = (samples: number[]) =>
  `{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"mimeType":"audio/pcm;rate=24000","data":"${Buffer.from(pcmBytes(samples)).toString('base64')}"}}]}}}`
const said = (text: string) => JSON.stringify({ serverContent: { outputTranscription: { text } } })
const heard = (text: string) => JSON.stringify({ serverContent: { inputTranscription: { text } } })
const GENERATED = '{"serverContent":{"generationComplete":true}}'
const TURN_COMPLETE =
  '{"serverContent":{"turnComplete":true},"usageMetadata":{"promptTokenCount":120,"responseTokenCount":45,"totalTokenCount":165,"promptTokensDetails":[{"modality":"TEXT","tokenCount":20},{"modality":"AUDIO","tokenCount":100}],"responseTokensDetails":[{"modality":"AUDIO","tokenCount":45}]}}'
const INTERRUPTED = '{"serverContent":{"interrupted":true}}'
const TOOL_CALL =
  '{"toolCall":{"functionCalls":[{"id":"function-call-7","name":"book","args":{"day":"tomorrow"}}]}}'

class Reply {
  readonly pcm: number[] = []
  words = ''
  calls: readonly ToolCall[] | null = null
  usage: TokenCount | null = null
  failure: EngineError | null = null
  item = ''
  readonly events: SpokenReplyEvents = {
    audio: (item, pcm, rate) => {
      if (rate !== 24_000) throw new Error(`audio at ${rate} Hz`)
      this.item = item
      this.pcm.push(...pcm)
    },
    words: (_item, piece) => {
      this.words += piece
    },
    progress: () => {},
    done: (calls, usage) => {
      this.calls = calls
      this.usage = usage
    },
    failed: (error) => {
      this.failure = error
    },
  }
}

async function rig(t: Test, history: readonly ChatMessage[] = [], setupComplete = true) {
  const fake = await openFakeVendorSocket()
  t.teardown(() => fake.close())
  const clock = new VirtualClock()
  const committed: string[] = []
  const transcripts: [string, string | null][] = []
  const failures: EngineError[] = []
  const model = geminiSpeechToSpeech(
    { baseUrl: fake.baseUrl, apiKey: 'secret key', models: ['gemini-3.8-live'] },
    { clock, log: silentLog },
  )
  t.same(model.capabilities, { turnEnd: false, firstAudioDeadlineMs: 2500, maxConnectionMs: 600_000 })
  const stream = model.open(
    {
      rate: 8000,
      model: 'gemini-3.8-live',
      voice: 'Kore',
      pace: 1,
      language: 'hi-IN',
      instructions: 'You are Asha.',
      tools: [{ name: 'book', description: 'Books a day.', parameters: { type: 'object', properties: {} } }],
      history,
    },
    {
      callerStarted: () => {},
      callerStopped: () => {},
      committed: (item) => committed.push(item),
      transcript: (item, text) => transcripts.push([item, text]),
      failed: (error) => failures.push(error),
    },
  )
  await fake.until(() => fake.connections.length === 1 && fake.last.texts.length === 1, 'the setup')
  const vendor = fake.last
  // The vendor sends its JSON in binary messages.
  const send = (...messages: string[]) => {
    for (const message of messages) vendor.send(message, 'bytes')
  }
  if (setupComplete) send(SETUP_COMPLETE)
  return { fake, vendor, clock, stream, committed, transcripts, failures, send }
}

/** Forty milliseconds of sound, as often as told. */
function speak(stream: SpeechToSpeechStream, chunks: number): void {
  for (let n = 0; n < chunks * 2; n++) stream.write(new Int16Array(160).fill(n + 1))
}

/** The caller's activity as the vendor sees it. */
function activity({ texts }: VendorConnection): readonly string[] {
  return texts.flatMap(({ realtimeInput }) => Object.keys(realtimeInput ?? {}))
}

const sent = ({ texts }: VendorConnection, field: string): readonly unknown[] =>
  texts.flatMap((message) => (field in message ? [message[field]] : []))

t.test('the session is set up as documented', async (t) => {
  const { vendor, stream, send, fake } = await rig(
    t,
    [
      { role: 'assistant', content: 'Hello.', toolCalls: [{ id: 'c1', name: 'book', arguments: {} }] },
      { role: 'tool', toolCallId: 'c1', content: 'booked' },
      { role: 'user', content: 'Thanks.' },
    ],
    false,
  )
  t.equal(
    vendor.url.pathname,
    '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
  )
  t.equal(vendor.url.searchParams.get('key'), 'secret key')
  t.same(vendor.texts[0], {
    setup: {
      model: 'models/gemini-3.8-live',
      generationConfig: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
      },
      systemInstruction: { parts: [{ text: 'You are Asha.' }] },
      tools: [
        {
          functionDeclarations: [
            {
              name: 'book',
              description: 'Books a day.',
              parametersJsonSchema: { type: 'object', properties: {} },
              behavior: 'BLOCKING',
            },
          ],
        },
      ],
      realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
      inputAudioTranscription: {},
      outputAudioTranscription: {},
      contextWindowCompression: { slidingWindow: {} },
    },
  })
  speak(stream, 2)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(vendor.texts.length, 1, 'audio waits for the session')
  send(SETUP_COMPLETE)
  await fake.until(() => activity(vendor).length === 3, 'the audio')
  t.match(sent(vendor, 'clientContent'), [
    {
      turnComplete: false,
      turns: [
        { role: 'model', parts: [{ text: 'Hello.' }] },
        { role: 'user', parts: [{ text: /the result of book is: booked/ }] },
        { role: 'user', parts: [{ text: 'Thanks.' }] },
      ],
    },
  ])
  t.same(activity(vendor), ['activityStart', 'audio', 'audio'])
  t.match(sent(vendor, 'realtimeInput')[1], { audio: { mimeType: 'audio/pcm;rate=8000', data: /^AQAB/ } })
})

t.test('a turn: the caller speaks, the model answers when a reply is asked for', async (t) => {
  const { fake, vendor, clock, stream, committed, transcripts, send } = await rig(t)
  speak(stream, 3)
  stream.commit()
  await until(() => committed.length === 1)
  await fake.until(() => activity(vendor).length === 4, 'the audio')
  t.same(activity(vendor), ['activityStart', 'audio', 'audio', 'audio'], 'nothing ends the turn yet')
  send(heard('Are you '), heard('open?'))
  const reply = new Reply()
  stream.respond({ mayUseTools: true }, reply.events)
  await fake.until(() => activity(vendor).at(-1) === 'activityEnd', 'the end of the turn')
  send(...GEMINI_ODDITIES, sound([1, 2, 3]), said('Yes, '), sound([4]), said('we are.'), GENERATED)
  await until(() => reply.calls !== null)
  t.same(reply.pcm, [1, 2, 3, 4])
  t.equal(reply.words, 'Yes, we are.')
  t.same(reply.calls, [])
  t.same(transcripts, [[committed[0], 'Are you open?']])
  send(TURN_COMPLETE)
  const next = new Reply()
  stream.addMessage('user', 'Keys pressed on the telephone: 1')
  stream.respond({ mayUseTools: true }, next.events)
  await fake.until(() => sent(vendor, 'clientContent').length === 1, 'the message')
  t.match(sent(vendor, 'clientContent'), [
    { turns: [{ role: 'user', parts: [{ text: 'Keys pressed on the telephone: 1' }] }], turnComplete: true },
  ])
  send(sound([5]), GENERATED)
  await until(() => next.calls !== null)
  t.match(next.usage, {
    promptTokens: 120,
    completionTokens: 45,
    sound: { promptTokens: 100, completionTokens: 45 },
  })
  stream.close()
  t.equal(clock.pending, 0)
})

t.test('words without a reply: late words are reported once they are complete', async (t) => {
  const { clock, stream, committed, transcripts, send, fake, vendor } = await rig(t)
  speak(stream, 1)
  stream.commit()
  await until(() => committed.length === 1)
  await fake.until(() => activity(vendor).length === 2, 'the audio')
  send(heard('haan'), heard(' ji'), '{"serverContent":{"waitingForInput":true}}', sound([9]))
  for (let n = 0; n < 200; n++) await new Promise((resolve) => setImmediate(resolve))
  t.same(transcripts, [])
  clock.advance(400)
  t.same(transcripts, [[committed[0], 'haan ji']])
})

t.test('a tool: its result continues the answer', async (t) => {
  const { fake, vendor, stream, send } = await rig(t)
  speak(stream, 1)
  stream.commit()
  const first = new Reply()
  stream.respond({ mayUseTools: true }, first.events)
  await fake.until(() => activity(vendor).at(-1) === 'activityEnd', 'the end of the turn')
  send(TOOL_CALL)
  await until(() => first.calls !== null)
  t.same(first.calls, [{ id: 'function-call-7', name: 'book', arguments: { day: 'tomorrow' } }])
  stream.toolResult('function-call-7', 'booked')
  stream.toolResult('unknown', 'ignored')
  const second = new Reply()
  stream.respond({ mayUseTools: true }, second.events)
  await fake.until(() => sent(vendor, 'toolResponse').length === 1, 'the result')
  t.same(sent(vendor, 'toolResponse'), [
    { functionResponses: [{ id: 'function-call-7', name: 'book', response: { output: 'booked' } }] },
  ])
  send(sound([1]), GENERATED)
  await until(() => second.calls !== null)
  t.same(second.pcm, [1])
})

t.test('an interruption: the voice of the caller waits until the reply is stopped', async (t) => {
  const { fake, vendor, stream, send } = await rig(t)
  const reply = new Reply()
  const job = stream.respond({ mayUseTools: true }, reply.events)
  await fake.until(() => sent(vendor, 'clientContent').length === 1, 'the request')
  send(sound(Array.from({ length: 24_000 }, () => 1)), said('one two three four five six'))
  await until(() => reply.words !== '')
  speak(stream, 2)
  for (let n = 0; n < 200; n++) await new Promise((resolve) => setImmediate(resolve))
  t.same(activity(vendor), [], 'a cough does not stop the model')
  job.cancel()
  await fake.until(() => activity(vendor).length === 3, 'the voice')
  t.same(activity(vendor), ['activityStart', 'audio', 'audio'])
  stream.truncate(reply.item, 500)
  send(sound([7, 7]), INTERRUPTED, TURN_COMPLETE)
  stream.commit()
  const next = new Reply()
  stream.respond({ mayUseTools: true }, next.events)
  await fake.until(() => activity(vendor).at(-1) === 'activityEnd', 'the end of the turn')
  t.match(sent(vendor, 'clientContent').at(-1), {
    turnComplete: false,
    turns: [{ role: 'user', parts: [{ text: /heard only: "one two"/ }] }],
  })
  send(sound([8]), GENERATED)
  await until(() => next.calls !== null)
  t.same(next.pcm, [8])
  t.equal(reply.pcm.length, 24_000, 'nothing of the stopped reply follows')
  t.equal(reply.calls, null)
})

t.test('a phrase is read aloud; replies wait for one another', async (t) => {
  const { fake, vendor, stream, send } = await rig(t)
  const phrase = new Reply()
  stream.say('One moment please.', phrase.events)
  const after = new Reply()
  stream.respond({ mayUseTools: false }, after.events)
  await fake.until(() => sent(vendor, 'clientContent').length === 1, 'the phrase')
  t.match(sent(vendor, 'clientContent'), [
    { turns: [{ parts: [{ text: /word for word.*<<<One moment please\.>>>/ }] }], turnComplete: true },
  ])
  send(sound([1]), said('One moment please.'), GENERATED)
  await until(() => phrase.calls !== null)
  await fake.until(() => sent(vendor, 'clientContent').length === 2, 'the reply')
  send(sound([2]), GENERATED)
  await until(() => after.calls !== null)
  t.same([phrase.pcm, after.pcm], [[1], [2]])
})

t.test('an answer without sound is an empty one', async (t) => {
  const { fake, vendor, stream, send } = await rig(t)
  const reply = new Reply()
  stream.respond({ mayUseTools: true }, reply.events)
  await fake.until(() => sent(vendor, 'clientContent').length === 1, 'the request')
  send(TURN_COMPLETE)
  await until(() => reply.calls !== null)
  t.same([reply.pcm, reply.calls], [[], []])
})

t.test('failures', async (t) => {
  for (const [code, reason, want] of [
    [1007, 'API key not valid. Please pass a valid API key.', { code: 'vendor_rejected', retryable: false }],
    [1008, 'models/x is not found', { code: 'vendor_rejected', retryable: false }],
    [1011, 'You exceeded your current quota', { code: 'vendor_rate_limited' }],
    [1011, 'Internal error encountered.', { code: 'vendor_failed', retryable: true }],
  ] as const) {
    const { vendor, stream, failures, clock } = await rig(t)
    const reply = new Reply()
    stream.respond({ mayUseTools: true }, reply.events)
    vendor.close(code, reason)
    await until(() => failures.length === 1 && reply.failure !== null)
    t.match(failures[0], want, reason)
    t.match(reply.failure, want)
    t.equal(clock.pending, 0)
    const late = new Reply()
    stream.respond({ mayUseTools: true }, late.events)
    await until(() => late.failure !== null)
    t.match(late.failure, { code: 'closed' })
  }
  const silent = await rig(t, [], false)
  await new Promise((resolve) => setImmediate(resolve))
  silent.clock.advance(4000)
  t.match(silent.failures, [{ code: 'vendor_stalled' }])
})
