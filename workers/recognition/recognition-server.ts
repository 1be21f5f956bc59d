import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type InputRate, resample } from '../../media/codec/resampler.js'
import { parseWav } from '../../media/vendors/shared/wav.js'
import { RECOGNISER_RATE, type Recogniser, type Utterance } from './recogniser.js'

/** Uploads that wait or are recognised; more are refused with 503. */
const MAX_UPLOADS = 16
/** One utterance of 30 s at 48 kHz. */
const MAX_BODY_BYTES = 4 * 1024 * 1024
/** A larger body is not read to its end: the connection breaks. */
const MAX_READ_BYTES = 8 * MAX_BODY_BYTES
const BODY_MS = 10_000
const MAX_SOCKETS = 64
/** A caller's longest utterance; audio after it is refused. */
const MAX_UTTERANCE_SECONDS = 60
/** Rates of uploads (Hz). */
const RATES: readonly number[] = [8000, 16_000, 24_000, 44_100, 48_000] satisfies InputRate[]
const MAX_MESSAGE_BYTES = 256 * 1024

export interface RecognitionServer {
  /** Address of the API, which ends in `/v1`. */
  readonly url: string
  close(): Promise<void>
}

/**
 * Serves a recogniser on the wires that Parley's OpenAI vendor speaks: `POST /v1/audio/transcriptions`
 * (https://developers.openai.com/api/reference/resources/audio) and, for streaming models, the realtime socket
 * `/v1/realtime` as Together documents it (https://docs.together.ai/reference/audio-transcriptions-realtime).
 */
export async function serveRecogniser(
  recogniser: Recogniser,
  { host = '127.0.0.1', port, log }: { readonly host?: string; readonly port: number; readonly log: Log },
): Promise<RecognitionServer> {
  let uploads = 0
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      log.error({ error: errorText(error) }, 'recognition.request_failed')
      refuse(response, 500, 'server_error', 'the recogniser failed')
    })
  })
  server.requestTimeout = BODY_MS
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = pathOf(request)
    // Programs send no Origin, but web pages do. A page must not use the recogniser of the machine that shows it.
    if (request.headers.origin !== undefined) {
      return refuse(response, 403, 'invalid_request_error', 'web pages have no access')
    }
    if (request.method === 'GET' && path === '/v1/models') {
      return reply(response, 200, { object: 'list', data: [{ id: recogniser.model, object: 'model' }] })
    }
    if (path !== '/v1/audio/transcriptions') {
      return refuse(response, 404, 'invalid_request_error', `there is no ${path} here`)
    }
    if (request.method !== 'POST') return refuse(response, 405, 'invalid_request_error', 'use POST')
    if (uploads >= MAX_UPLOADS) {
      return refuse(response, 503, 'server_error', `${MAX_UPLOADS} utterances wait already`)
    }
    uploads++
    try {
      await transcribe(request, response, recogniser)
    } finally {
      uploads--
    }
  }
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES })
  server.on('upgrade', (request, socket, head) => {
    // Node's HTTP server no longer listens for errors of this socket, and an error without a listener ends the
    // process.
    socket.on('error', () => socket.destroy())
    const path = pathOf(request)
    const status =
      request.headers.origin !== undefined
        ? '403 Forbidden'
        : path !== '/v1/realtime' || !recogniser.streaming
          ? '404 Not Found'
          : sockets.clients.size >= MAX_SOCKETS
            ? '503 Service Unavailable'
            : null
    if (status !== null) {
      // Sockets of an HTTP server stay half open, so that a peer could keep one for ever.
      socket.once('finish', () => socket.destroy())
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    sockets.handleUpgrade(request, socket, head, (client) => converse(client, recogniser, log))
  })
  await listening(server, host, port)
  const { address, port: open } = server.address() as AddressInfo
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${open}/v1`,
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Returns the path of a request. Does not use a URL parser, which throws for some paths that a peer may send (`//`).
 */
function pathOf({ url }: IncomingMessage): string {
  return (url ?? '').split('?', 1)[0] ?? ''
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
}

async function transcribe(
  request: IncomingMessage,
  response: ServerResponse,
  recogniser: Recogniser,
): Promise<void> {
  const body = await bodyOf(request)
  if (body === null) return refuse(response, 413, 'invalid_request_error', 'the file is larger than 4 MiB')
  let form: FormData
  try {
    form = await new Response(body, {
      headers: { 'content-type': request.headers['content-type'] ?? '' },
    }).formData()
  } catch (error) {
    return refuse(response, 400, 'invalid_request_error', `the body is no form: ${errorText(error)}`)
  }
  const file = form.get('file')
  if (!(file instanceof Blob))
    return refuse(response, 400, 'invalid_request_error', 'the field file is missing', 'file')
  let audio: Float32Array
  try {
    audio = samplesOf(new Uint8Array(await file.arrayBuffer()))
  } catch (error) {
    return refuse(response, 400, 'invalid_request_error', `file: ${errorText(error)}`, 'file')
  }
  const utterance = recogniser.begin()
  utterance.write(audio)
  reply(response, 200, { text: await utterance.end() })
}

/** Returns the audio of a WAV file at the recogniser's rate. Throws Error with the reason. */
function samplesOf(bytes: Uint8Array): Float32Array {
  const format = parseWav(bytes)
  if (format === null) throw new Error('the WAV header is not complete')
  const { rate, channels, dataOffset, dataBytes } = format
  if (channels !== 1) throw new Error(`${channels} channels: it must be mono`)
  if (!RATES.includes(rate)) throw new Error(`${rate} Hz: known are ${RATES.join(', ')}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset + dataOffset)
  const samples = Math.min(view.byteLength, dataBytes ?? view.byteLength) >> 1
  const pcm = Int16Array.from({ length: samples }, (_, i) => view.getInt16(2 * i, true))
  const wide = resample(pcm, rate as InputRate, RECOGNISER_RATE)
  return Float32Array.from(wide, (sample) => sample / 32768)
}

/** Returns null for a body that is too large. It is read to its end, so that the client reads the answer. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request) {
    bytes += piece.length
    if (bytes > MAX_READ_BYTES) break
    if (bytes <= MAX_BODY_BYTES) pieces.push(piece)
  }
  return bytes > MAX_BODY_BYTES ? null : Buffer.concat(pieces)
}

/** One caller's stream of utterances. */
function converse(client: WebSocket, recogniser: Recogniser, log: Log): void {
  let utterance: Utterance | null = null
  let samples = 0
  let said = ''
  /** Texts go out in the order of the utterances. */
  let last: Promise<void> = Promise.resolve()
  const send = (message: object): void => client.send(JSON.stringify(message))
  const fail = (code: string, message: string): void => send({ type: 'error', error: { code, message } })
  /** Refuses audio with a RangeError. */
  const append = (audio: unknown): void => {
    if (typeof audio !== 'string') throw new RangeError('audio must be base64 of PCM with 16 bits at 16 kHz')
    const bytes = Buffer.from(audio, 'base64')
    if (bytes.length % 2 !== 0) throw new RangeError('audio must have whole samples of 16 bits')
    samples += bytes.length / 2
    if (samples > MAX_UTTERANCE_SECONDS * RECOGNISER_RATE) {
      throw new RangeError(`an utterance has at most ${MAX_UTTERANCE_SECONDS} s`)
    }
    utterance ??= recogniser.begin()
    const pcm = new Float32Array(bytes.length / 2)
    for (let i = 0; i < pcm.length; i++) pcm[i] = bytes.readInt16LE(2 * i) / 32768
    utterance.write(pcm)
    const text = utterance.partial() ?? ''
    if (text === said) return
    said = text
    send({ type: 'conversation.item.input_audio_transcription.delta', delta: text })
  }
  const commit = (): void => {
    const ended = utterance
    utterance = null
    samples = 0
    said = ''
    last = last
      .then(async () => {
        const transcript = ended === null ? '' : await ended.end()
        send({ type: 'conversation.item.input_audio_transcription.completed', transcript })
      })
      .catch((error: unknown) => {
        log.error({ error: errorText(error) }, 'recognition.utterance_failed')
        fail('server_error', 'the recogniser failed')
      })
  }
  const receive = (data: Buffer): void => {
    const message: { readonly type?: unknown; readonly audio?: unknown } | null = JSON.parse(
      data.toString('utf8'),
    )
    if (message?.type === 'input_audio_buffer.append') append(message.audio)
    else if (message?.type === 'input_audio_buffer.commit') commit()
    else if (message?.type !== 'transcription_session.updated') {
      throw new RangeError('known are input_audio_buffer.append and input_audio_buffer.commit')
    }
  }
  client.on('message', (data: Buffer) => {
    try {
      receive(data)
    } catch (error) {
      const own = error instanceof RangeError || error instanceof SyntaxError
      if (!own) log.error({ error: errorText(error) }, 'recognition.utterance_failed')
      fail(own ? 'invalid_request_error' : 'server_error', own ? error.message : 'the recogniser failed')
    }
  })
  client.on('error', (error) => log.info({ error: errorText(error) }, 'recognition.socket_failed'))
  send({ type: 'session.created', session: { model: recogniser.model } })
}

function reply(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Answers with an error in OpenAI's shape. */
function refuse(
  response: ServerResponse,
  status: number,
  type: string,
  message: string,
  param: string | null = null,
): void {
  reply(response, status, { error: { message, type, param, code: null } })
}
