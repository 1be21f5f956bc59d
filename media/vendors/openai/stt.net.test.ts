import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import {
  eventStream,
  type FakeOpenAi,
  type FakeReply,
  type FakeRequest,
  jsonReply,
  openFakeOpenAi,
} from '../../../fixtures/vendors/fake-openai.js'
import { errorBody } from '../../../fixtures/vendors/openai-frames.js'
import type { RecognitionMode } from '../../agent/agent-spec.js'
import type { SpeechToTextStream } from '../../agent/vendor-ports.js'
import { type Clock, systemClock } from '../../base/clock.js'
import { silentLog } from '../../base/log.js'
import { parseWav } from '../shared/wav.js'
import { openAiSpeechToText } from './stt.js'

type Heard = { readonly final: string; readonly language?: string } | { readonly failed: string }

interface Rig {
  readonly fake: FakeOpenAi
  readonly stream: SpeechToTextStream
  readonly heard: Heard[]
  /** Resolves when that many finals and failures came. */
  heardSome(count: number): Promise<readonly Heard[]>
  /** Plays a ramp from session ms `from` to `to`: sample n has the value n / 8. */
  play(fromMs: number, toMs: number): void
}

async function setUp(
  t: Test,
  options: {
    language?: string
    model?: string
    languages?: readonly string[]
    mode?: RecognitionMode
    clock?: Clock
  } = {},
): Promise<Rig> {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  const heard: Heard[] = []
  let wake = (): void => {}
  const add = (what: Heard): void => {
    heard.push(what)
    wake()
  }
  const stream = openAiSpeechToText(
    {
      baseUrl: `${fake.baseUrl}/`,
      apiKey: null,
      transcriptionModel: 'whisper-1',
    },
    { clock: options.clock ?? systemClock, log: silentLog },
  ).open(
    {
      rate: 8000,
      language: options.language ?? 'hi-IN',
      ...(options.languages ? { languages: options.languages } : {}),
      model: options.model ?? null,
      mode: options.mode ?? 'transcribe',
    },
    {
      partial: () => t.fail('whole utterances have no partials'),
      final: (text, words, language = null) => {
        t.equal(words, null)
        add(language === null ? { final: text } : { final: text, language })
      },
      failed: (error) => add({ failed: error.code }),
    },
  )
  t.teardown(() => stream.close())
  return {
    fake,
    stream,
    heard,
    async heardSome(count) {
      const until = performance.now() + 30_000
      while (heard.length < count && performance.now() < until) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 200)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      return heard
    },
    play(fromMs, toMs) {
      for (let at = fromMs; at < toMs; at += 20) {
        stream.write(
          Int16Array.from({ length: 160 }, (_, i) => at + i / 8),
          at,
        )
      }
    },
  }
}

/** One utterance of 800 ms with its marks, as the detector would give them. */
function utter(rig: Rig, fromMs: number): void {
  rig.play(fromMs, fromMs + 160)
  rig.stream.utteranceStart(fromMs + 100)
  rig.play(fromMs + 160, fromMs + 1200)
  rig.stream.utteranceEnd(fromMs + 900)
}

function parts(request: FakeRequest | undefined): Map<string, Buffer> {
  const boundary = /boundary=(.+)$/.exec(String(request?.headers['content-type']))?.[1]
  const body = request?.body.toString('latin1') ?? ''
  const found = new Map<string, Buffer>()
  for (const part of body.split(`--${boundary}`).slice(1, -1)) {
    const split = part.indexOf('\r\n\r\n')
    const name = /name="([^"]+)"(?:; filename="([^"]+)")?/.exec(part.slice(0, split))
    const content = Buffer.from(part.slice(split + 4, -2), 'latin1')
    found.set(name?.[2] === undefined ? String(name?.[1]) : `${name[1]}:${name[2]}`, content)
  }
  return found
}

t.test('an utterance is sent as WAV with its pre-roll, and its text is returned', async (t) => {
  const rig = await setUp(t)
  rig.play(0, 1000)
  utter(rig, 1000)
  t.same(await rig.heardSome(1), [{ final: 'Namaste' }])
  const request = rig.fake.requests[0]
  t.equal(request?.path, '/v1/audio/transcriptions')
  t.equal(request?.headers.authorization, undefined, 'no key, no header')
  const form = parts(request)
  t.equal(String(form.get('model')), 'whisper-1')
  t.equal(String(form.get('language')), 'hi')
  t.equal(String(form.get('response_format')), 'json')
  const file = form.get('file:utterance.wav') ?? Buffer.alloc(0)
  const format = parseWav(file)
  t.match(format, { rate: 8000, channels: 1, dataOffset: 44, dataBytes: file.length - 44 })
  // From 300 ms before the onset at 1100 ms to 300 ms after the last voiced sample at 1900 ms.
  t.equal((file.length - 44) / 2, 8 * 1400)
  t.equal(file.readInt16LE(44), 800, 'the first sample is the one of session ms 800')
  t.equal(file.readInt16LE(file.length - 2), 2199)
})

t.test('language tags become ISO 639-1', async (t) => {
  for (const [tag, iso] of [
    ['od-IN', 'or'],
    ['en-IN', 'en'],
    ['ta-IN', 'ta'],
  ] as const) {
    const rig = await setUp(t, { language: tag })
    utter(rig, 0)
    await rig.heardSome(1)
    t.equal(String(parts(rig.fake.requests[0]).get('language')), iso)
  }
})

t.test('translation has its own endpoint and takes no language', async (t) => {
  const rig = await setUp(t, { mode: 'translate' })
  utter(rig, 0)
  await rig.heardSome(1)
  t.equal(rig.fake.requests[0]?.path, '/v1/audio/translations')
  t.notOk(parts(rig.fake.requests[0]).has('language'))
  t.equal(String(parts(rig.fake.requests[0]).get('model')), 'whisper-1')
})

t.test('short words are sent, and known hallucinations are dropped', async (t) => {
  const rig = await setUp(t)
  rig.fake.enqueue('transcriptions', jsonReply(JSON.stringify({ text: 'जी' })))
  rig.play(0, 500)
  rig.stream.utteranceStart(400)
  rig.play(500, 1000)
  rig.stream.utteranceEnd(560)
  t.same(await rig.heardSome(1), [{ final: 'जी' }])
  const wav = parts(rig.fake.requests[0]).get('file:utterance.wav')
  t.ok((wav?.length ?? 0) >= 44 + 16 * 700, 'with 300 ms before and after, as endpoints want 100 ms at least')
  const silence = [
    'Thank you for watching!',
    ' ... ',
    'Subtitles by the Amara.org community',
    '[Music]',
    '(silence)',
    '',
  ]
  const words = ['Thank you.', 'You.', 'Music', 'Silence!', 'Music (the blue one)']
  const texts = [...silence, ...words]
  for (const [i, text] of texts.entries()) {
    rig.fake.enqueue('transcriptions', jsonReply(JSON.stringify({ text })))
    utter(rig, 2000 + i * 2000)
    await rig.heardSome(i + 2)
  }
  t.same(
    rig.heard.slice(1),
    [...silence.map(() => ''), ...words].map((final) => ({ final })),
  )
})

t.test('finals keep the order of the utterances', async (t) => {
  const rig = await setUp(t)
  const slow: FakeReply = {
    headers: { 'content-type': 'application/json' },
    steps: [{ waitMs: 150 }, { send: '{"text":"first"}' }],
  }
  rig.fake.setDefault('transcriptions', () =>
    rig.fake.requests.length === 1 ? slow : jsonReply('{"text":"second"}'),
  )
  utter(rig, 0)
  await rig.fake.until(() => rig.fake.requests.length === 1)
  utter(rig, 2000)
  t.same(await rig.heardSome(2), [{ final: 'first' }, { final: 'second' }])
})

t.test('other answer shapes: event stream, plain text', async (t) => {
  const rig = await setUp(t)
  rig.fake.enqueue(
    'transcriptions',
    eventStream([
      'data: {"type":"transcript.text.delta","delta":"Nama"}\n\n',
      'data: {"type":"transcript.text.done","text":"Namaste ji"}\n\n',
    ]),
    { headers: { 'content-type': 'text/plain; charset=utf-8' }, steps: [{ send: ' Haan. \n' }] },
  )
  utter(rig, 0)
  await rig.heardSome(1)
  utter(rig, 2000)
  t.same(await rig.heardSome(2), [{ final: 'Namaste ji' }, { final: 'Haan.' }])
})

t.test('what a body holds counts, not its label', async (t) => {
  const rig = await setUp(t)
  const events =
    '\ufeff: proxy\r\n\r\ndata: {"type":"transcript.text.done",\r\ndata: "text":"Namaste ji"}\r\n\r\n'
  const labelled = (type: string, ...sent: string[]) => ({
    headers: { 'content-type': type },
    steps: sent.map((send) => ({ send })),
  })
  const replies = [
    labelled('application/json', events.slice(0, 30), events.slice(30)),
    labelled('text/event-stream', '{"text":"Haan."}'),
    labelled('text/plain', ' {"text":', '"Haan."}'),
    labelled('text/html', '<html>Bad gateway</html>'),
  ]
  rig.fake.enqueue('transcriptions', ...replies)
  for (let n = 0; n < replies.length; n++) {
    utter(rig, n * 2000)
    await rig.heardSome(n + 1)
  }
  t.same(rig.heard, [
    { final: 'Namaste ji' },
    { final: 'Haan.' },
    { final: 'Haan.' },
    { failed: 'vendor_failed' },
  ])
})

t.test('failures are classified and do not end the stream', async (t) => {
  const rig = await setUp(t)
  const quick = { 'retry-after-ms': '1' }
  const refusals = [
    [jsonReply(errorBody('bad'), 400)],
    [jsonReply(errorBody('x'), 429, quick), jsonReply(errorBody('x'), 429, quick)],
    [jsonReply(errorBody('x'), 500, quick), jsonReply(errorBody('x'), 500, quick)],
    [jsonReply('{"nothing":1}')],
    [jsonReply('<html>')],
  ]
  for (const [i, replies] of refusals.entries()) {
    rig.fake.enqueue('transcriptions', ...replies)
    utter(rig, i * 2000)
    await rig.heardSome(i + 1)
  }
  utter(rig, 20_000)
  t.same(await rig.heardSome(6), [
    { failed: 'vendor_rejected' },
    { failed: 'vendor_rate_limited' },
    { failed: 'vendor_failed' },
    { failed: 'vendor_failed' },
    { failed: 'vendor_failed' },
    { final: 'Namaste' },
  ])
})

t.test('a stalled vendor ends at the deadline', async (t) => {
  const clock = new VirtualClock()
  const rig = await setUp(t, { clock })
  rig.fake.enqueue('transcriptions', { steps: [{ stall: true }] })
  utter(rig, 0)
  await rig.fake.until(() => rig.fake.requests.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  clock.advance(8001)
  t.same(await rig.heardSome(1), [{ failed: 'vendor_stalled' }])
})

t.test('closing aborts the request; no event follows', async (t) => {
  const rig = await setUp(t)
  rig.fake.enqueue('transcriptions', { steps: [{ stall: true }] })
  utter(rig, 0)
  await rig.fake.until(() => rig.fake.requests.length === 1)
  rig.stream.close()
  await rig.fake.until(() => rig.fake.requests[0]?.aborted === true)
  rig.stream.utteranceEnd(5000)
  t.same(rig.heard, [])
})

t.test('a long utterance is sent in parts of at most 25 s, without a gap', async (t) => {
  const rig = await setUp(t)
  for (const text of ['one two', 'three', 'four']) {
    rig.fake.enqueue('transcriptions', jsonReply(JSON.stringify({ text })))
  }
  rig.play(0, 200)
  rig.stream.utteranceStart(100)
  rig.play(200, 20_000)
  t.equal(rig.fake.requests.length, 0)
  // Sound up to 26 s with a pause at 23 s.
  const frames = (from: number, to: number, sample: number): void => {
    for (let at = from; at < to; at += 20) rig.stream.write(new Int16Array(160).fill(sample), at)
  }
  frames(20_000, 23_000, 900)
  frames(23_000, 23_100, 0)
  frames(23_100, 27_000, 901)
  await rig.fake.until(() => rig.fake.requests.length === 1)
  t.same(rig.heard, [], 'the utterance goes on')
  frames(27_000, 60_000, 902)
  await rig.fake.until(() => rig.fake.requests.length === 2)
  rig.stream.utteranceEnd(60_000)
  t.same(await rig.heardSome(1), [{ final: 'one two three four' }])
  const sound = rig.fake.requests.map((request) => {
    const wav = parts(request).get('file:utterance.wav') ?? Buffer.alloc(0)
    return Int16Array.from({ length: (wav.length - 44) / 2 }, (_, i) => wav.readInt16LE(44 + i * 2))
  })
  t.equal(sound.length, 3)
  t.equal(sound[0]?.length, 8 * 23_075, 'the cut is in the pause')
  for (const part of sound) t.ok(part.length <= 8 * 25_000)
  t.equal(
    sound.map(({ length }) => length).reduce((a, b) => a + b),
    8 * 60_000,
    'nothing is lost or doubled',
  )
  t.equal(sound[1]?.[0], 0)
  t.equal(sound[2]?.at(-1), 902)
})

t.test('a part that fails fails its utterance, once', async (t) => {
  const rig = await setUp(t)
  rig.fake.enqueue('transcriptions', jsonReply(errorBody('bad'), 400))
  rig.play(0, 200)
  rig.stream.utteranceStart(100)
  rig.play(200, 26_000)
  await rig.fake.until(() => rig.fake.requests.length === 1)
  rig.play(26_000, 27_000)
  rig.stream.utteranceEnd(27_000)
  t.same(await rig.heardSome(1), [{ failed: 'vendor_rejected' }])
  utter(rig, 30_000)
  t.same(await rig.heardSome(2), [{ failed: 'vendor_rejected' }, { final: 'Namaste' }])
})

t.test('with several languages the language is detected and reported', async (t) => {
  const rig = await setUp(t, { languages: ['en-IN', 'hi-IN'] })
  rig.fake.enqueue(
    'transcriptions',
    jsonReply('{"task":"transcribe","language":"hindi","duration":0.8,"text":"नमस्ते"}'),
  )
  rig.play(0, 1000)
  utter(rig, 1000)
  t.same(await rig.heardSome(1), [{ final: 'नमस्ते', language: 'hi-IN' }])
  const form = parts(rig.fake.requests[0])
  t.equal(form.get('language'), undefined)
  t.equal(String(form.get('response_format')), 'verbose_json')
})

t.test('gpt-transcribe takes several languages and reports the one it heard', async (t) => {
  const rig = await setUp(t, { model: 'gpt-transcribe', language: 'hi-IN', languages: ['hi-IN', 'en-IN'] })
  rig.fake.enqueue('transcriptions', jsonReply(JSON.stringify({ text: 'yes', languages: ['en'] })))
  utter(rig, 0)
  t.same(await rig.heardSome(1), [{ final: 'yes', language: 'en-IN' }])
  const body = String(rig.fake.requests[0]?.body)
  t.equal(body.match(/name="languages\[\]"/g)?.length, 2)
  t.notMatch(body, /name="language"|verbose_json/)
})
