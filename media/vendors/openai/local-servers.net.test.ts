import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { until } from '../../../fixtures/host/until.js'
import { type FakeOpenAi, type FakeReply, openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import {
  KOKORO,
  LLAMA_CPP,
  OLLAMA,
  SPEACHES,
  VLLM,
  WHISPER_CPP,
} from '../../../fixtures/vendors/local-servers.js'
import { pcmBytes } from '../../../fixtures/vendors/openai-frames.js'
import { PROMPT_TOO_LONG } from '../../agent/vendor-ports.js'
import { type Clock, systemClock } from '../../base/clock.js'
import type { EngineError } from '../../base/errors.js'
import { silentLog } from '../../base/log.js'
import { openAiLanguageModel } from './llm.js'
import { openAiSpeechToText } from './stt.js'
import { openAiTextToSpeech } from './tts.js'

/* Servers of docs/local.md on their own wire: what they answer, and what becomes of their errors. */

async function openFake(t: Test): Promise<FakeOpenAi> {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  return fake
}

/** Asks for a reply with a tool; returns its text and usage, or the failure. */
async function chat(
  fake: FakeOpenAi,
  replies: readonly FakeReply[],
  clock: Clock = systemClock,
): Promise<{ text: string; usage: unknown; error: EngineError | null }> {
  fake.enqueue('chat', ...replies)
  const model = openAiLanguageModel({ baseUrl: fake.baseUrl, apiKey: null }, { clock, log: silentLog })
  let text = ''
  let end: { usage: unknown; error: EngineError | null } | null = null
  model.generate(
    {
      model: 'm',
      messages: [{ role: 'user', content: 'Hello.' }],
      tools: [{ name: 'book', description: 'Books.', parameters: { type: 'object', properties: {} } }],
    },
    {
      text: (delta) => {
        text += delta
      },
      toolCalls: () => {},
      done: (usage) => {
        end = { usage, error: null }
      },
      failed: (error) => {
        end = { usage: null, error }
      },
    },
  )
  await until(() => {
    if (clock instanceof VirtualClock) clock.advance(500)
    return end !== null
  })
  return { text, ...(end as unknown as { usage: unknown; error: EngineError | null }) }
}

/** Transcribes an utterance; returns its text, or the failure. */
async function transcribe(fake: FakeOpenAi, reply: FakeReply): Promise<string | EngineError> {
  fake.enqueue('transcriptions', reply)
  const settings = { baseUrl: fake.baseUrl, apiKey: null, transcriptionModel: 'm' }
  let heard: string | EngineError | null = null
  const stream = openAiSpeechToText(settings, { clock: systemClock, log: silentLog }).open(
    { rate: 8000, language: 'hi-IN', model: null, mode: 'transcribe' },
    {
      partial: () => {},
      final: (text) => {
        heard = text
      },
      failed: (error) => {
        heard = error as EngineError
      },
    },
  )
  for (let at = 0; at < 1000; at += 20) {
    if (at === 200) stream.utteranceStart(200)
    stream.write(new Int16Array(160).fill(500), at)
  }
  stream.utteranceEnd(900)
  await until(() => heard !== null)
  stream.close()
  return heard ?? ''
}

/** Speaks a sentence; returns the number of samples, or the failure. */
async function speak(fake: FakeOpenAi, reply: FakeReply): Promise<number | EngineError> {
  fake.enqueue('speech', reply)
  const settings = { baseUrl: fake.baseUrl, apiKey: null, speechModel: 'kokoro', speechRate: 24_000 as const }
  return new Promise((resolve) => {
    let samples = 0
    openAiTextToSpeech(settings, { clock: systemClock, log: silentLog }).speak(
      { text: 'Namaste.', voice: 'nila', model: null, language: 'hi-IN', pace: 1, rate: 8000 },
      {
        audio: (pcm) => {
          samples += pcm.length
        },
        word: () => {},
        done: () => resolve(samples),
        failed: (error) => resolve(error as EngineError),
      },
    )
  })
}

t.test('Ollama: no such model, a model without tools, a model that is being loaded', async (t) => {
  const fake = await openFake(t)
  t.match((await chat(fake, [OLLAMA.modelMissing])).error, {
    code: 'vendor_rejected',
    retryable: false,
    message: 'the vendor answered 404: model "qwen3:8b" not found, try pulling it first',
  })
  t.match((await chat(fake, [OLLAMA.withoutTools])).error, {
    code: 'vendor_rejected',
    retryable: false,
    message: /does not support tools/,
  })
  t.equal(fake.requests.length, 2, 'no other form of the request would help')
  t.match((await chat(fake, [OLLAMA.loading], new VirtualClock())).error, {
    code: 'vendor_stalled',
    retryable: true,
  })
})

t.test('llama.cpp: a model that is being loaded, a prompt that is too long, its answer', async (t) => {
  const fake = await openFake(t)
  t.match((await chat(fake, [LLAMA_CPP.loading, LLAMA_CPP.loading], new VirtualClock())).error, {
    code: 'vendor_failed',
    retryable: true,
    message: 'the vendor answered 503: Loading model',
  })
  t.match((await chat(fake, [LLAMA_CPP.tooLong])).error, {
    code: 'vendor_rejected',
    context: { reason: PROMPT_TOO_LONG },
  })
  t.same(await chat(fake, [LLAMA_CPP.answer]), {
    text: 'Ji.',
    usage: { promptTokens: 21, completionTokens: 3 },
    error: null,
  })
})

t.test('vLLM: tools that it was not started for, its answer', async (t) => {
  const fake = await openFake(t)
  for (const reply of VLLM.withoutToolParser) {
    t.match((await chat(fake, [reply])).error, {
      code: 'vendor_rejected',
      retryable: false,
      message:
        'the vendor answered 400: "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    })
  }
  t.equal(fake.requests.length, 2, 'no other form of the request would help')
  t.match(await chat(fake, [VLLM.answer]), { text: 'Ji.', error: null })
})

t.test('whisper.cpp: its texts, another path, a missing file', async (t) => {
  const fake = await openFake(t)
  t.equal(await transcribe(fake, WHISPER_CPP.answer), 'Namaste, main bol rahi hoon.')
  t.equal(await transcribe(fake, WHISPER_CPP.blank), '')
  t.match(await transcribe(fake, WHISPER_CPP.otherPath), {
    code: 'vendor_rejected',
    message: 'the vendor answered 404: File Not Found (/v1/audio/transcriptions)',
  })
  t.match(await transcribe(fake, WHISPER_CPP.noFile), {
    code: 'vendor_rejected',
    message: "the vendor answered 400: no 'file' field in the request",
  })
})

t.test('speaches: its text, a model that is not installed', async (t) => {
  const fake = await openFake(t)
  t.equal(await transcribe(fake, SPEACHES.answer), 'Namaste, main bol rahi hoon.')
  t.match(await transcribe(fake, SPEACHES.modelMissing), {
    code: 'vendor_rejected',
    message: /^the vendor answered 404: Model 'Systran\/faster-whisper-small' is not installed locally\./,
  })
})

t.test('Kokoro: its sound, a voice and a model that it does not have', async (t) => {
  const fake = await openFake(t)
  const sound = pcmBytes(new Int16Array(2400).fill(300))
  t.equal(await speak(fake, KOKORO.answer([sound.subarray(0, 1001), sound.subarray(1001)])), 2400)
  t.match(await speak(fake, KOKORO.voiceMissing), {
    code: 'vendor_rejected',
    message: /^the vendor answered 400: Voice 'nila' not found\. Available voices: af_bella/,
  })
  t.match(await speak(fake, KOKORO.modelMissing), {
    code: 'vendor_rejected',
    message: 'the vendor answered 400: Unsupported model: gpt-4o-mini-tts',
  })
})
