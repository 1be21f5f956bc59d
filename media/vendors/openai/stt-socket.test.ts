import t from 'tap'
import type { TextBytes } from '../shared/audio-messages.js'
import type { RecognitionReader } from '../shared/recognition-stream.js'
import type { TranscriptionServer } from './settings.js'
import { OpenAiTranscriptionDialect } from './stt-socket.js'

function open(
  server: TranscriptionServer,
  options: Partial<ConstructorParameters<typeof OpenAiTranscriptionDialect>[2]> = {},
  baseUrl = 'https://speech.example/v1/',
) {
  const dialect = new OpenAiTranscriptionDialect(
    server,
    { baseUrl, apiKey: null },
    { rate: 8000, model: 'whisper', language: 'od-IN', languages: ['od-IN'], ...options },
  )
  const events: unknown[][] = []
  const reader: RecognitionReader = {
    partial: (...args) => events.push(['partial', ...args]),
    final: (...args) => events.push(['final', ...args]),
    failed: ({ code, retryable, message }) => events.push(['failed', code, retryable, message]),
  }
  const read = (json: string) => dialect.read(JSON.parse(json), reader)
  return { dialect, events, read }
}

const audioOf = ({ text }: TextBytes): Buffer =>
  Buffer.from(JSON.parse(Buffer.from(text).toString()).audio, 'base64')

t.test('speaches gets the model and the language in the address, and 24 kHz', async (t) => {
  const { dialect, events, read } = open('speaches')
  t.equal(dialect.url, 'wss://speech.example/v1/realtime?intent=transcription&model=whisper&language=or')
  t.same(dialect.headers, {})
  t.same(JSON.parse(dialect.openMessage()), { type: 'session.update', session: { turn_detection: null } })
  t.equal(dialect.capabilities.partials, false)
  let bytes = 0
  for (let n = 0; n < 50; n++) bytes += audioOf(dialect.encode(new Int16Array(160))).length
  // One second, less the delay of the filter.
  t.ok(bytes > 47_000 && bytes <= 48_000, `${bytes} bytes`)
  read('{"type":"conversation.item.input_audio_transcription.completed","transcript":" ji "}')
  t.same(events, [['final', 'ji', null, null]])
})

t.test('several languages are named or detected, by model', async (t) => {
  const languages = ['en-IN', 'hi-IN']
  const transcription = (model: string) =>
    JSON.parse(open('openai', { model, language: 'en-IN', languages }).dialect.openMessage()).session.audio
      .input.transcription
  t.same(transcription('gpt-live-transcribe'), { model: 'gpt-live-transcribe', languages: ['en', 'hi'] })
  t.same(transcription('gpt-realtime-whisper'), { model: 'gpt-realtime-whisper' })
  const { events, read } = open('openai', { model: 'gpt-live-transcribe', language: 'en-IN', languages })
  read(
    '{"type":"conversation.item.input_audio_transcription.completed","item_id":"i","transcript":"haan","languages":["hi"]}',
  )
  t.same(events, [['final', 'haan', null, 'hi-IN']])
})

t.test('wideband calls send 24 kHz to OpenAI', async (t) => {
  const { dialect } = open('openai', { rate: 16_000 })
  t.same(JSON.parse(dialect.openMessage()).session.audio.input.format, { type: 'audio/pcm', rate: 24_000 })
})

t.test('too little audio and invented subtitles are empty texts', async (t) => {
  const { dialect, events, read } = open('openai')
  dialect.flush()
  read(
    '{"type":"error","error":{"type":"invalid_request_error","code":"input_audio_buffer_commit_empty","message":"Error committing input audio buffer: buffer too small. Expected at least 100ms of audio, but buffer only has 80.00ms of audio."}}',
  )
  read(
    '{"type":"conversation.item.input_audio_transcription.completed","item_id":"i","transcript":"Thanks for watching!"}',
  )
  t.same(events, [
    ['final', '', null, null],
    ['final', '', null, null],
  ])
})

t.test('parts of the next utterance do not join those of the last one', async (t) => {
  const { events, read } = open('openai')
  const delta = (item: string, text: string) =>
    read(
      JSON.stringify({
        type: 'conversation.item.input_audio_transcription.delta',
        item_id: item,
        delta: text,
      }),
    )
  delta('a', 'haan')
  delta('a', ' ji')
  delta('b', 'nahin')
  t.same(events, [
    ['partial', 'haan'],
    ['partial', 'haan ji'],
    ['partial', 'nahin'],
  ])
})

t.test('errors are classified, also the flat ones of vLLM', async (t) => {
  for (const [server, message, code, retryable] of [
    [
      'openai',
      '{"type":"error","error":{"type":"invalid_request_error","code":"model_not_found","message":"no model"}}',
      'vendor_rejected',
      false,
    ],
    [
      'openai',
      '{"type":"error","error":{"type":"invalid_request_error","code":"session_expired","message":"60 minutes"}}',
      'vendor_failed',
      true,
    ],
    ['vllm', '{"type":"error","error":"Invalid audio data","code":"invalid_audio"}', 'vendor_failed', true],
    ['vllm', '{"type":"error"}', 'vendor_failed', true],
  ] as const) {
    const { events, read } = open(server)
    read(message)
    t.match(events, [['failed', code, retryable]], message)
  }
})

t.test('vLLM is busy between a commit and its text', async (t) => {
  const { dialect, read } = open('vllm')
  t.same(JSON.parse(dialect.utteranceMessages().join()), { type: 'input_audio_buffer.commit' })
  t.equal(dialect.busy, false)
  t.same(JSON.parse(dialect.flush()), { type: 'input_audio_buffer.commit', final: true })
  t.equal(dialect.busy, true)
  read('{"type":"transcription.done","text":"ji","usage":null}')
  t.equal(dialect.busy, false)
})

t.test('a vocabulary is sent as the model takes it', async (t) => {
  const vocabulary = ['Meera Nair', 'Ayushman']
  const transcription = (model: string) =>
    JSON.parse(
      open('openai', { model, vocabulary, language: 'en-IN', languages: ['en-IN'] }).dialect.openMessage(),
    ).session.audio.input.transcription
  t.same(transcription('gpt-live-transcribe').keywords, vocabulary)
  t.equal(transcription('whisper-1').prompt, 'Meera Nair, Ayushman')
  t.equal(transcription('gpt-4o-transcribe').prompt, 'The speaker may say: Meera Nair, Ayushman.')
  t.same(transcription('gpt-realtime-whisper'), { model: 'gpt-realtime-whisper', language: 'en' })
})
