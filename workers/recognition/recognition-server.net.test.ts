import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { ctcNetwork, transducerNetworks } from '../../fixtures/vendors/onnx-models.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { resample } from '../../media/codec/resampler.js'
import { openAiSpeechToText } from '../../media/vendors/openai/stt.js'
import { wavFile } from '../../media/vendors/shared/wav.js'
import { probeModel } from './probe.js'
import type { Recogniser } from './recogniser.js'
import { type RecognitionServer, serveRecogniser } from './recognition-server.js'
import { openSherpa } from './sherpa.js'

const folder = mkdtempSync(join(tmpdir(), 'parley-models-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

function installed(): boolean {
  try {
    import.meta.resolve('sherpa-onnx-node')
    return true
  } catch {
    return false
  }
}

const skip = installed() ? false : 'sherpa-onnx-node, an optional dependency, is not installed'

/** Mean log-mel energy between that of silence and that of speech. */
const LOUD = -10

function write(name: string, files: Readonly<Record<string, Uint8Array | string>>): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content)
  return path
}

const ctc = (): string =>
  write('nemo-ctc', { 'model.onnx': ctcNetwork(LOUD), 'tokens.txt': '▁sound 0\n<blk> 1\n' })

function streaming(): string {
  const { encoder, decoder, joiner } = transducerNetworks(LOUD)
  return write('streaming-lstm', {
    'encoder.onnx': encoder,
    'decoder.onnx': decoder,
    'joiner.onnx': joiner,
    'tokens.txt': '<blk> 0\n▁begins 1\n▁ends 2\n',
  })
}

/** Two bursts of noise with silence around them. */
const twoBursts = (): Int16Array =>
  Int16Array.from({ length: 16_000 * 2 }, (_, i) => {
    const ms = i / 16
    const loud = (ms > 300 && ms < 800) || (ms > 1200 && ms < 1600)
    return loud ? (((Math.imul(i, 1_664_525) + 1_013_904_223) >>> 8) % 20_000) - 10_000 : 0
  })

async function recognised(recogniser: Recogniser, audio: Int16Array): Promise<string> {
  const utterance = recogniser.begin()
  utterance.write(Float32Array.from(audio, (sample) => sample / 32768))
  return utterance.end()
}

async function served(t: Test, recogniser: Recogniser): Promise<RecognitionServer> {
  const server = await serveRecogniser(recogniser, { port: 0, log: silentLog })
  t.teardown(() => server.close())
  return server
}

t.test('a model of each wire is loaded and used', { skip }, async (t) => {
  const offline = await openSherpa(ctc(), 1)
  t.match(offline, { model: 'nemo-ctc', kind: 'NeMo CTC', streaming: false })
  t.equal(await recognised(offline, twoBursts()), 'sound sound')
  t.equal(await recognised(offline, new Int16Array(16_000)), '')
  const online = await openSherpa(streaming(), 2)
  t.match(online, { kind: 'streaming transducer', streaming: true })
  t.equal(await recognised(online, twoBursts()), 'begins ends begins ends')
})

t.test('a folder is tried in a process of its own', { skip }, async (t) => {
  const audio = resample(readClip(findClip('book-tomorrow')), 8000, 16_000)
  const report = await probeModel({ folder: ctc(), threads: 1, audio }, systemClock)
  t.match(report, { model: 'nemo-ctc', what: 'NeMo CTC', streaming: false, text: /^sound/ })
  t.ok(report.memory > report.memoryBefore)
  t.ok(report.realTimeFactor > 0)
  const refused = async (path: string, message: RegExp) =>
    t.rejects(probeModel({ folder: path, threads: 1, audio }, systemClock), {
      code: 'config_invalid',
      message,
    })
  await refused(join(folder, 'nothing'), /cannot be read: ENOENT/)
  const text = { 'model.onnx': 'no network', 'tokens.txt': 'a 0\n' }
  // The runtime ends the process: its own words are passed on.
  await refused(write('broken-nemo-ctc', text), /broken-nemo-ctc cannot be used: .+/s)
})

t.test("the service's own adapter gets texts by upload", { skip }, async (t) => {
  const { url } = await served(t, await openSherpa(ctc(), 1))
  const finals: string[] = []
  const stream = openAiSpeechToText(
    { baseUrl: url, apiKey: null, transcriptionModel: 'nemo-ctc' },
    { clock: systemClock, log: silentLog },
  ).open(
    { rate: 8000, language: 'en-IN', model: null, mode: 'transcribe' },
    { partial() {}, final: (text) => finals.push(text), failed: (error) => t.fail(error.message) },
  )
  const audio = resample(twoBursts(), 16_000, 8000)
  for (let at = 0; at < audio.length; at += 160) {
    if (at === 160 * 20) stream.utteranceStart(320)
    stream.write(audio.slice(at, at + 160), at / 8)
  }
  stream.utteranceEnd(1600)
  while (finals.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  t.same(finals, ['sound sound'])
  stream.close()
})

t.test('the realtime socket gives texts while somebody speaks', { skip }, async (t) => {
  const { url } = await served(t, await openSherpa(streaming(), 1))
  const told: string[] = []
  const stream = openAiSpeechToText(
    { baseUrl: url, apiKey: null, transcriptionModel: 'streaming-lstm', transcriptionServer: 'together' },
    { clock: systemClock, log: silentLog },
  ).open(
    { rate: 8000, language: 'en-IN', model: null, mode: 'transcribe' },
    {
      partial: (text) => told.push(`partial ${text}`),
      final: (text) => told.push(`final ${text}`),
      failed: (error) => t.fail(error.message),
    },
  )
  t.equal(stream.capabilities.partials, true)
  const audio = resample(twoBursts(), 16_000, 8000)
  for (let at = 0; at < audio.length; at += 160) {
    if (at === 160 * 20) stream.utteranceStart(320)
    stream.write(audio.slice(at, at + 160), at / 8)
  }
  stream.utteranceEnd(1600)
  while (!told.some((text) => text.startsWith('final')))
    await new Promise((resolve) => setTimeout(resolve, 10))
  t.ok(told.includes('partial begins'))
  t.match(told.at(-1), /^final begins ends begins/)
  stream.close()
})

t.test('bad messages on the socket are answered, and the next utterance is recognised', async (t) => {
  const words: Recogniser = {
    model: 'words',
    kind: 'words',
    streaming: true,
    begin() {
      let samples = 0
      return {
        write: (audio) => {
          samples += audio.length
        },
        partial: () => `${samples}`,
        end: async () => `${samples} samples`,
      }
    },
  }
  const { url } = await served(t, words)
  const client = new WebSocket(`${url.replace('http', 'ws')}/realtime`)
  const told: unknown[] = []
  client.on('message', (data: Buffer) => told.push(JSON.parse(data.toString('utf8'))))
  await new Promise((resolve) => client.once('open', resolve))
  const send = (...messages: readonly (object | string)[]) => {
    for (const message of messages)
      client.send(typeof message === 'string' ? message : JSON.stringify(message))
  }
  const append = (bytes: number) => ({
    type: 'input_audio_buffer.append',
    audio: Buffer.alloc(bytes).toString('base64'),
  })
  send('{', { type: 'response.create' }, { type: 'input_audio_buffer.append' }, append(3))
  send(append(320), append(320), { type: 'input_audio_buffer.commit' })
  while (told.length < 8) await new Promise((resolve) => setTimeout(resolve, 5))
  const error = (message: RegExp) => ({ type: 'error', error: { code: 'invalid_request_error', message } })
  t.match(told, [
    { type: 'session.created' },
    error(/JSON/),
    error(/known are input_audio_buffer.append/),
    error(/base64 of PCM/),
    error(/whole samples/),
    { type: /delta$/, delta: '160' },
    { type: /delta$/, delta: '320' },
    { type: /completed$/, transcript: '320 samples' },
  ])
  client.close()
})

t.test('strangers of the network neither end the server nor use it', async (t) => {
  const none: Recogniser = {
    model: 'none',
    kind: 'none',
    streaming: true,
    begin: () => ({ write() {}, partial: () => null, end: async () => '' }),
  }
  const { url } = await served(t, none)
  const { port } = new URL(url)
  /** Sends a request as it is, and returns the status line of the answer. */
  const raw = async (path: string, ...headers: readonly string[]) => {
    const socket = connect(Number(port), '127.0.0.1')
    const lines = [`GET ${path} HTTP/1.1`, 'Host: x', ...headers]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return answer.toString('latin1').split(' ', 2)[1]
  }
  const upgrade = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ]
  const page = 'Origin: https://attacker.example'
  for (const path of ['//', '/\\', 'http://[', '/v1/realtime/..//', '/%']) {
    t.equal(await raw(path, ...upgrade), '404', path)
    t.equal(await raw(path), '404', path)
  }
  t.equal(await raw('/v1/realtime', ...upgrade, page), '403', 'a web page')
  t.equal(await raw('/v1/models', page), '403')
  t.equal(await raw('/v1/realtime', ...upgrade), '101')
  // A peer that resets its connection in the middle of a refused handshake.
  const reset = connect(Number(port), '127.0.0.1')
  await once(reset, 'connect')
  reset.write(['GET // HTTP/1.1', 'Host: x', ...upgrade, '', ''].join('\r\n'))
  reset.resetAndDestroy()
  t.equal(await raw('/v1/models'), '200', 'and it serves programs')
})

t.test('bad requests get an error that names the field', async (t) => {
  let waiting: (() => void)[] = []
  const slow: Recogniser = {
    model: 'slow',
    kind: 'slow',
    streaming: false,
    begin: () => ({
      write() {},
      partial: () => null,
      end: () => new Promise((resolve) => waiting.push(() => resolve('done'))),
    }),
  }
  const { url } = await served(t, slow)
  const post = async (form: FormData | string) => {
    const response = await fetch(`${url}/audio/transcriptions`, { method: 'POST', body: form })
    return { status: response.status, body: await response.json() }
  }
  const wav = (rate: number) => {
    const form = new FormData()
    form.set('file', new Blob([wavFile(new Int16Array(160), rate)]), 'a.wav')
    return form
  }
  t.match(await (await fetch(`${url}/models`)).json(), { data: [{ id: 'slow' }] })
  t.equal((await fetch(`${url}/chat/completions`, { method: 'POST' })).status, 404)
  t.equal((await fetch(`${url}/audio/transcriptions`)).status, 405)
  t.match(await post('text'), { status: 400, body: { error: { message: /the body is no form/ } } })
  t.match(await post(new FormData()), {
    status: 400,
    body: { error: { param: 'file', message: /file is missing/ } },
  })
  const text = new FormData()
  text.set('file', new Blob(['no audio at all']), 'a.wav')
  t.match(await post(text), { status: 400, body: { error: { param: 'file', message: /not a WAV file/ } } })
  t.match(await post(wav(11_025)), { status: 400, body: { error: { message: /11025 Hz: known are 8000/ } } })
  const large = new FormData()
  large.set('file', new Blob([new Uint8Array(5 * 1024 * 1024)]), 'a.wav')
  t.match(await post(large), { status: 413, body: { error: { message: /larger than 4 MiB/ } } })
  // Sixteen wait; the next one is refused at once.
  const accepted = Array.from({ length: 16 }, () => post(wav(8000)))
  while (waiting.length < 16) await new Promise((resolve) => setTimeout(resolve, 5))
  t.match(await post(wav(8000)), { status: 503, body: { error: { message: /16 utterances wait/ } } })
  for (const resolve of waiting) resolve()
  waiting = []
  for (const answer of await Promise.all(accepted)) t.match(answer, { status: 200, body: { text: 'done' } })
  // No socket for a model without partial texts.
  const refused = await fetch(`${url}/realtime`, { headers: { connection: 'close' } })
  t.equal(refused.status, 404)
})
