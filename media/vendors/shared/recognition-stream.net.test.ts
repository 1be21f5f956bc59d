import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import { ConformanceTable } from '../../../fixtures/vendors/conformance.js'
import { openFakeGoogleSpeech } from '../../../fixtures/vendors/fake-google-speech.js'
import { type FakeVendorSocket, openFakeVendorSocket } from '../../../fixtures/vendors/fake-vendor-socket.js'
import {
  ASSEMBLYAI,
  AZURE,
  DEEPGRAM_FLUX,
  DEEPGRAM_LISTEN,
  GOOGLE,
  RECOGNITION_PROTOCOLS,
  type RecognitionProtocol,
  SARVAM_LEGACY,
  SARVAM_REALTIME,
  SCRIBE,
  SONIOX,
  VLLM_SOCKET,
} from '../../../fixtures/vendors/recognition-messages.js'
import { serviceAccountKeys } from '../../../fixtures/vendors/service-account.js'
import type { TimedWord } from '../../agent/agent-spec.js'
import type { SpeechToText, SpeechToTextStream } from '../../agent/vendor-ports.js'
import type { EngineError } from '../../base/errors.js'
import { silentLog } from '../../base/log.js'
import { assemblyAiSpeechToText } from '../assemblyai/stt.js'
import { azureSpeechToText } from '../azure/stt.js'
import { deepgramSpeechToText } from '../deepgram/stt.js'
import { elevenLabsSpeechToText } from '../elevenlabs/stt.js'
import { googleSpeechToText } from '../google/stt.js'
import { openAiSpeechToText } from '../openai/stt.js'
import { sarvamSpeechToText } from '../sarvam/stt.js'
import { sonioxSpeechToText } from '../soniox/stt.js'

/* Duties of every recognition over a socket, shown for each vendor against its own literal messages. */

interface Rig {
  readonly wire: RecognitionProtocol
  readonly fake: FakeVendorSocket
  readonly clock: VirtualClock
  readonly stream: SpeechToTextStream
  readonly partials: string[]
  readonly finals: { text: string; words: readonly TimedWord[] | null }[]
  readonly failures: EngineError[]
}

/** Samples of 20 ms. */
const samples = ({ rate }: RecognitionProtocol): number => rate / 50

/** Speech-like numbers: each frame its own, so that order and completeness show. */
const frame = (wire: RecognitionProtocol, n: number): Int16Array =>
  Int16Array.from({ length: samples(wire) }, (_, i) => n * 7 + i)

async function rig(
  t: Test,
  wire: RecognitionProtocol,
  setUp: (fake: FakeVendorSocket) => void = () => {},
  language = 'hi-IN',
): Promise<Rig> {
  const fake = wire === GOOGLE ? await openFakeGoogleSpeech() : await openFakeVendorSocket()
  fake.script = {
    connected: (connection) => {
      for (const message of wire.greeting) connection.send(message)
    },
  }
  setUp(fake)
  const clock = new VirtualClock()
  const deps = { clock, log: silentLog }
  const vendor = vendorOf(wire, fake.baseUrl, deps)
  const partials: string[] = []
  const finals: Rig['finals'] = []
  const failures: EngineError[] = []
  const stream = vendor.open(
    { rate: wire.rate, language, model: wire.model, mode: 'transcribe' },
    {
      partial: (text) => partials.push(text),
      final: (text, words) => finals.push({ text, words }),
      failed: (error) => failures.push(error),
    },
  )
  t.teardown(async () => {
    stream.close()
    await fake.close()
    if (clock.pending > 0) throw new Error(`${clock.pending} timers are left`)
  })
  return { wire, fake, clock, stream, partials, finals, failures }
}

function vendorOf(
  wire: RecognitionProtocol,
  baseUrl: string,
  deps: { clock: VirtualClock; log: typeof silentLog },
): SpeechToText {
  const apiKey = 'secret-key'
  if (wire.name.startsWith('Deepgram')) return deepgramSpeechToText({ baseUrl, apiKey }, deps)
  if (wire.name.startsWith('Sarvam')) {
    return sarvamSpeechToText({ baseUrl, apiKey, languageField: 'target_language_code' }, deps)
  }
  if (wire === SONIOX) return sonioxSpeechToText({ baseUrl, apiKey }, deps)
  if (wire === ASSEMBLYAI) return assemblyAiSpeechToText({ baseUrl, apiKey }, deps)
  if (wire === SCRIBE) return elevenLabsSpeechToText({ baseUrl, apiKey, voices: [] }, deps)
  if (wire === AZURE) return azureSpeechToText({ baseUrl, apiKey }, deps)
  if (wire === GOOGLE) {
    const { privateKey } = serviceAccountKeys()
    const account = { project: 'p1', email: 'parley@p1.test', keyId: 'k1', privateKey }
    return googleSpeechToText({ baseUrl, location: 'asia-southeast1', account }, deps)
  }
  // The address of the settings is that of the REST API.
  const settings = { baseUrl: `${baseUrl.replace(/^ws/, 'http')}/v1`, apiKey, transcriptionModel: wire.model }
  return openAiSpeechToText({ ...settings, transcriptionServer: wire.transcriptionServer ?? null }, deps)
}

/** Sound from frame `from` on, one after the other in session time. */
function speak({ wire, stream }: Rig, from: number, count: number): void {
  for (let n = from; n < from + count; n++) stream.write(frame(wire, n), n * 20)
}

/** The bytes of the frames that the vendor has once nothing follows. */
function bytes(wire: RecognitionProtocol, from: number, count: number): Buffer {
  const { coded = (sample: number) => sample } = wire
  const frames = Array.from({ length: count }, (_, n) => Buffer.from(frame(wire, from + n).map(coded).buffer))
  return Buffer.concat(frames).subarray(0, length(wire, count))
}

/** Their number for that many frames. */
const length = (wire: RecognitionProtocol, count: number): number =>
  (count * samples(wire) - (wire.lag ?? 0)) * 2

const TABLE = new ConformanceTable()

for (const wire of RECOGNITION_PROTOCOLS) {
  const FRAME = samples(wire)
  t.test(wire.name, async (t) => {
    const proves = TABLE.column(t, wire.name)
    proves('requests the format of the session and authenticates', async (t) => {
      const r = await rig(t, wire)
      const { fake } = r
      await fake.until(() => fake.connections.length === 1, 'a connection')
      if (wire.silentUntilSpeech) await opened(r)
      t.equal(fake.last.url.pathname, wire.path)
      t.match(Object.fromEntries(fake.last.url.searchParams), wire.query)
      t.match(fake.last.headers[wire.auth[0]], wire.auth[1])
      t.equal(fake.last.headers['sec-websocket-extensions'], undefined, 'no compression')
    })

    proves('audio is sent completely and in order, texts are returned', async (t) => {
      const r = await rig(t, wire)
      const { fake, stream } = r
      // Written before the connection is open: nothing of it is lost.
      speak(r, 0, 30)
      await fake.until(() => fake.connections.length === 1, 'a connection')
      speak(r, 30, 18)
      stream.utteranceStart(100)
      stream.utteranceEnd(900)
      await fake.until(() => wire.sound(fake.last).length >= length(wire, 48), 'the sound')
      t.ok(wire.sound(fake.last).equals(bytes(wire, 0, 48)))
      if (wire.flushed(fake.last) !== null) {
        await fake.until(() => wire.flushed(fake.last) === true, 'the request for the final text')
      }
      for (const message of wire.partial('नमस्ते') ?? []) fake.last.send(message)
      for (const message of wire.final('नमस्ते जी')) fake.last.send(message)
      await until(() => r.finals.length > 0)
      t.same(
        r.finals.map(({ text }) => text),
        ['नमस्ते जी'],
      )
      if (wire.partial('x') !== null) t.ok(r.partials.includes('नमस्ते'))
      t.same(r.failures, [])
    })

    proves(
      'nothing during silence, all audio at once during speech',
      { skip: !wire.utterancesOnly },
      async (t) => {
        const r = await rig(t, wire)
        await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
        if (!wire.silentUntilSpeech) await opened(r)
        speak(r, 0, 53)
        r.stream.utteranceStart(1040)
        speak(r, 53, 24)
        r.stream.utteranceEnd(1540)
        // From 300 ms before the onset on.
        await r.fake.until(() => wire.flushed(r.fake.last) === true, 'the request for the text')
        t.ok(wire.sound(r.fake.last).equals(bytes(wire, 37, 40)))
        if (wire.transcriptionServer === undefined) return
        const kinds = r.fake.last.texts.map(({ type }) => type)
        t.match(kinds[0], /session/)
        t.equal(kinds.at(-1), 'input_audio_buffer.commit')
      },
    )

    proves(
      'few messages during silence, all audio at once during speech',
      { skip: wire.utterancesOnly },
      async (t) => {
        const r = await rig(t, wire)
        const { fake, stream } = r
        // The first message of Soniox is its configuration.
        const sent = () => fake.last.texts.length + fake.last.binaries.length - (wire === SONIOX ? 1 : 0)
        const arrived = (frames: number) =>
          fake.until(() => wire.sound(fake.last).length === frames * FRAME * 2, `${frames} frames`)
        await fake.until(() => fake.connections.length === 1, 'a connection')
        await until(() => fake.last.open)
        speak(r, 0, 53)
        await arrived(45)
        t.equal(sent(), 5, 'messages of 180 ms')
        stream.utteranceStart(1040)
        await until(() => wire.sound(fake.last).length > 45 * FRAME * 2)
        const before = sent()
        t.ok(wire.sound(fake.last).length >= 48 * FRAME * 2, 'what waited, but for less than a chunk')
        speak(r, 53, 24)
        await until(() => sent() >= before + 6)
        t.ok(sent() <= before + 13, 'and chunks from then on')
        stream.utteranceEnd(1540)
        // A rest that is too short for the vendor waits.
        await arrived(wire.minChunkMs === undefined ? 77 : 75)
        const shortest = Math.min(...fake.last.binaries.map(({ length }) => length))
        t.ok(wire.minChunkMs === undefined || shortest >= (wire.minChunkMs / 20) * FRAME * 2)
      },
    )

    proves('ignores unknown messages', async (t) => {
      const r = await rig(t, wire)
      await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
      if (wire.utterancesOnly) {
        await begun(r)
        r.stream.utteranceEnd(400)
        await r.fake.until(() => wire.flushed(r.fake.last) === true, 'the request for the text')
      }
      const odd = [
        '',
        'not json',
        '[1,2]',
        'null',
        '{"type":"Sunshine","event":"sunshine"}',
        ...wire.oddities,
      ].slice(wire === GOOGLE ? -wire.oddities.length : 0)
      for (const message of odd) r.fake.last.send(message)
      for (const message of wire.final('sab theek')) r.fake.last.send(message)
      await until(() => r.finals.length > 0)
      t.same(
        r.finals.map(({ text }) => text),
        ['sab theek'],
      )
      t.same(r.failures, [])
    })

    const { keepAliveMs } = wire
    proves('keeps a connection open without audio', { skip: keepAliveMs === null }, async (t) => {
      const r = await rig(t, wire)
      await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
      await opened(r)
      r.clock.advance(keepAliveMs ?? 0)
      await r.fake.until(() => wire.keptAlive(r.fake.last), 'a keep-alive')
      t.pass('kept')
    })

    proves('a rejected key is not retried', async (t) => {
      const r = await rig(t, wire, (fake) =>
        fake.refuse({ status: 401, body: '{"error":{"message":"bad key"}}' }),
      )
      speak(r, 0, 20)
      r.stream.utteranceStart(100)
      await until(() => r.failures.length > 0)
      const message = wire.rejection ?? /401.*bad key/
      t.match(r.failures, [{ code: 'vendor_rejected', retryable: false, message }])
      t.equal(r.fake.connections.length, wire.silentUntilSpeech ? 1 : 0)
    })

    proves('a permanent close is not retried, a temporary failure is', async (t) => {
      const r = await rig(t, wire)
      await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
      await opened(r)
      if (wire.failure !== null) r.fake.last.send(wire.failure)
      else r.fake.last.close(1011, 'NET-0000')
      await reconnected(r, 2)
      await opened(r)
      r.fake.last.close(...wire.permanentClose)
      await until(() => r.failures.length > 0)
      t.match(r.failures, [{ code: 'vendor_rejected', retryable: false }])
    })

    proves('three rejections in a row are a failure', async (t) => {
      const busy = { status: 429, body: '{"err_code":"TOO_MANY","err_msg":"slow down"}' }
      const r = await rig(t, wire, (fake) => fake.refuse(busy, busy, busy, busy))
      speak(r, 0, 20)
      r.stream.utteranceStart(100)
      await until(() => {
        r.clock.advance(100)
        return r.failures.length > 0
      })
      t.match(r.failures, [{ code: 'vendor_rate_limited', retryable: true }])
    })

    proves('an utterance interrupted by a lost connection is sent again from its start', async (t) => {
      const r = await rig(t, wire)
      await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
      speak(r, 0, 60)
      r.stream.utteranceStart(60 * 20 - 200)
      await r.fake.until(
        () => wire.sound(first(r)).length >= length(wire, wire.utterancesOnly ? 24 : 59),
        'the sound',
      )
      r.fake.last.break()
      await until(() => !first(r).open)
      // Said while nothing listens.
      speak(r, 60, 12)
      await reconnected(r, 2)
      speak(r, 72, 12)
      r.stream.utteranceEnd(84 * 20)
      // From 300 ms before the onset at frame 50 on.
      const frames = wire.minChunkMs === undefined ? 49 : 48
      await r.fake.until(() => wire.sound(r.fake.last).length >= length(wire, frames), 'the sound again')
      t.ok(wire.sound(r.fake.last).equals(bytes(wire, 35, frames)))
      for (const message of wire.final('poora')) r.fake.last.send(message)
      await until(() => r.finals.length > 0)
      t.same(
        r.finals.map(({ text }) => text),
        ['poora'],
      )
      t.same(r.failures, [])
    })

    proves('a half-open connection is detected', async (t) => {
      const r = await rig(t, wire)
      await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
      await opened(r)
      r.fake.last.freeze()
      await until(() => {
        r.clock.advance(2500)
        return r.fake.connections.length > 1
      })
      t.equal(r.fake.connections.length, 2)
      t.same(r.failures, [])
    })

    proves('closes properly, and no event follows', async (t) => {
      const r = await rig(t, wire)
      await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
      await opened(r)
      r.stream.close()
      for (const message of wire.final('zu spaet')) r.fake.last.send(message)
      await r.fake.until(() => r.fake.last.closeCode !== null, 'the close')
      t.equal(r.fake.last.closeCode, 1000)
      if (wire.goodbye !== null) t.match(r.fake.last.texts.at(-1), wire.goodbye)
      t.same(r.finals, [])
      t.same(r.failures, [])
    })
  })
}

t.test('docs/vendors.md shows the cases', async (t) => TABLE.check(t))

t.test('Deepgram: segments of an utterance are one text, with words in session time', async (t) => {
  const r = await rig(t, DEEPGRAM_LISTEN)
  await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
  // The call is 5 s old when recognition begins.
  for (let n = 0; n < 40; n++) r.stream.write(frame(DEEPGRAM_LISTEN, n), 5000 + n * 20)
  r.stream.utteranceStart(5400)
  r.stream.utteranceEnd(5800)
  await r.fake.until(() => DEEPGRAM_LISTEN.flushed(first(r)) === true, 'Finalize')
  const piece = (text: string, flags: string) => first(r).send(deepgramPiece(text, flags))
  piece('haan', '"is_final":true,"speech_final":false,"from_finalize":false')
  piece('ji', '"is_final":true,"speech_final":false,"from_finalize":true')
  await until(() => r.finals.length > 0)
  t.same(r.finals, [
    {
      text: 'haan ji',
      words: [
        { text: 'haan', startMs: 5500, endMs: 5900 },
        { text: 'ji', startMs: 5500, endMs: 5900 },
      ],
    },
  ])
  // The end of the utterance, told once more: there is nothing left of it.
  first(r).send('{"type":"UtteranceEnd","channel":[0,1],"last_word_end":0.9}')
  piece('kal', '"is_final":true,"speech_final":false,"from_finalize":false')
  first(r).send('{"type":"UtteranceEnd","channel":[0,1],"last_word_end":1.4}')
  await until(() => r.finals.length > 1)
  t.same(
    r.finals.map(({ text }) => text),
    ['haan ji', 'kal'],
  )
})

t.test('Deepgram: Finalize without audio gives an empty final', async (t) => {
  const r = await rig(t, DEEPGRAM_LISTEN)
  await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
  speak(r, 0, 10)
  r.stream.utteranceStart(0)
  r.stream.utteranceEnd(200)
  await r.fake.until(() => DEEPGRAM_LISTEN.flushed(first(r)) === true, 'Finalize')
  first(r).send(deepgramPiece('', '"is_final":true,"speech_final":false,"from_finalize":true'))
  await until(() => r.finals.length > 0)
  t.same(r.finals, [{ text: '', words: [] }])
})

t.test('vLLM: an utterance waits for the text of the one before', async (t) => {
  const r = await rig(t, VLLM_SOCKET)
  await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
  await opened(r)
  const commits = () =>
    first(r)
      .texts.filter(({ type }) => type === 'input_audio_buffer.commit')
      .map(({ final = false }) => final)
  speak(r, 0, 40)
  r.stream.utteranceStart(400)
  speak(r, 40, 20)
  r.stream.utteranceEnd(1200)
  await r.fake.until(() => commits().length === 2, 'the first utterance')
  // The caller speaks again before the text of the first utterance arrives.
  speak(r, 60, 30)
  r.stream.utteranceStart(1500)
  r.stream.utteranceEnd(1800)
  t.same(commits(), [false, true])
  for (const message of VLLM_SOCKET.final('pehla')) first(r).send(message)
  await r.fake.until(() => commits().length === 4, 'the second utterance')
  t.same(commits(), [false, true, false, true])
  t.ok(
    VLLM_SOCKET.sound(first(r)).equals(
      Buffer.concat([bytes(VLLM_SOCKET, 5, 55), bytes(VLLM_SOCKET, 60, 30)]),
    ),
  )
  for (const message of VLLM_SOCKET.final('doosra')) first(r).send(message)
  await until(() => r.finals.length === 2)
  t.same(
    r.finals.map(({ text }) => text),
    ['pehla', 'doosra'],
  )
})

t.test('Sarvam: both tags of Odia are understood', async (t) => {
  for (const [wire, field, tag] of [
    [SARVAM_LEGACY, 'language-code', 'od-IN'],
    [SARVAM_REALTIME, 'language_code', 'or-IN'],
  ] as const) {
    const { fake } = await rig(t, wire, () => {}, 'od-IN')
    await fake.until(() => fake.connections.length === 1, 'a connection')
    t.equal(fake.last.url.searchParams.get(field), tag)
  }
})

t.test('Sarvam: the model decides which socket', async (t) => {
  for (const [model, path] of [
    ['saaras:v3', SARVAM_LEGACY.path],
    ['saaras:v3-realtime', SARVAM_REALTIME.path],
    ['saaras:v4', SARVAM_REALTIME.path],
  ] as const) {
    const { fake } = await rig(t, { ...SARVAM_REALTIME, model })
    await fake.until(() => fake.connections.length === 1, 'a connection')
    t.equal(fake.last.url.pathname, path, model)
  }
})

t.test('a gap in the audio becomes silence, so that times stay correct', async (t) => {
  const r = await rig(t, DEEPGRAM_LISTEN)
  await r.fake.until(() => r.fake.connections.length === 1, 'a connection')
  speak(r, 0, 10)
  r.stream.write(frame(DEEPGRAM_LISTEN, 10), 10 * 20 + 100)
  r.stream.utteranceEnd(400)
  await r.fake.until(() => DEEPGRAM_LISTEN.sound(first(r)).length >= 16 * 320, 'the sound')
  t.ok(
    DEEPGRAM_LISTEN.sound(first(r)).equals(
      Buffer.concat([bytes(DEEPGRAM_LISTEN, 0, 10), Buffer.alloc(5 * 320), bytes(DEEPGRAM_LISTEN, 10, 1)]),
    ),
  )
})

t.test('Flux is told that a number is expected, and again on a new connection', async (t) => {
  const r = await rig(t, DEEPGRAM_FLUX)
  const changes = () => r.fake.last.texts.filter(({ type }) => type === 'Configure')
  const confirm = () => r.fake.last.send('{"type":"ConfigureSuccess","request_id":"r1","sequence_id":1}')
  const number = { type: 'Configure', thresholds: { eot_threshold: 0.8, eot_timeout_ms: 2000 } }
  const usual = { type: 'Configure', thresholds: { eot_threshold: 0.7, eot_timeout_ms: 5000 } }
  r.stream.expectNumber?.(true)
  await r.fake.until(() => r.fake.connections.length === 1 && changes().length === 1, 'a change')
  r.stream.expectNumber?.(false)
  confirm()
  await r.fake.until(() => changes().length === 2, 'the change back')
  r.stream.expectNumber?.(true)
  confirm()
  await r.fake.until(() => changes().length === 3, 'another change')
  t.same(changes(), [number, usual, number])
  confirm()
  // The confirmation was read when the text behind it was.
  for (const message of DEEPGRAM_FLUX.final('nau aath')) r.fake.last.send(message)
  await until(() => r.finals.length > 0)
  r.fake.last.break()
  await until(() => !first(r).open)
  await reconnected(r, 2)
  await r.fake.until(() => changes().length === 1, 'the change on the new connection')
  t.same(changes(), [number])
})

function deepgramPiece(text: string, flags: string): string {
  const words = text === '' ? '' : `{"word":"${text}","start":0.5,"end":0.9,"confidence":0.98}`
  return `{"type":"Results","channel_index":[0,1],"start":0,"duration":0.9,${flags},"channel":{"alternatives":[{"transcript":"${text}","confidence":0.97,"words":[${words}]}]}}`
}

function first(r: Rig) {
  const connection = r.fake.connections[0]
  if (connection === undefined) throw new Error('no connection')
  return connection
}

/** The adapter has seen that its newest connection is open: it answers on it. */
async function opened(r: Rig): Promise<void> {
  if (r.wire.silentUntilSpeech) {
    await begun(r)
    return
  }
  if (r.wire.utterancesOnly) {
    // The message that configures the connection.
    await r.fake.until(() => r.fake.last.texts.length > 0, 'the configuration')
    return
  }
  const before = r.fake.last.texts.length + r.fake.last.binaries.length
  let n = 1000
  await until(() => {
    r.stream.write(frame(r.wire, n), n * 20)
    n++
    return r.fake.last.texts.length + r.fake.last.binaries.length > before
  })
}

/** An utterance has begun, and the vendor has heard of it. */
async function begun(r: Rig): Promise<void> {
  speak(r, 0, 20)
  r.stream.utteranceStart(100)
  await r.fake.until(() => r.wire.sound(r.fake.last).length > 0, 'the utterance')
}

async function reconnected(r: Rig, count: number): Promise<void> {
  await until(() => {
    r.clock.advance(1)
    return r.fake.connections.length >= count
  })
}
