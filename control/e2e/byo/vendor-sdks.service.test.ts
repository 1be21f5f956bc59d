import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createEndpoint } from '@jambonz/sdk'
import { TwilioRealtimeTransportLayer } from '@openai/agents-extensions'
import t from 'tap'
import { WebSocketServer } from 'ws'
import { encodeG711 } from '../../../fixtures/audio/g711.js'
import { tone, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { openBot } from '../../../fixtures/bots/bot.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { call } from '../../../fixtures/service/caller.js'
import type { Json } from '../../../fixtures/service/service.js'

/*
 * Bots built with other vendors' SDKs from the registry, in calls of the whole service.
 */

const service = await openByoService(t)

t.test('@openai/agents: the Twilio transport with a fake Realtime service', async (t) => {
  const heard: Json[] = []
  const said = Buffer.from(encodeG711('PCMU', tone(600, 3_000))).toString('base64')
  const realtime = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(realtime, 'listening')
  t.teardown(() => {
    for (const socket of realtime.clients) socket.terminate()
    realtime.close()
  })
  let events = 0
  realtime.on('connection', (socket) => {
    const send = (event: object) => socket.send(JSON.stringify({ event_id: `e${++events}`, ...event }))
    const part = { response_id: 'r1', item_id: 'i1', output_index: 0, content_index: 0 }
    send({ type: 'session.created', session: {} })
    let appended = 0
    socket.on('message', (data) => {
      const event = JSON.parse(String(data)) as Json
      heard.push(event)
      if (event.type === 'session.update') send({ type: 'session.updated', session: event.session })
      if (event.type !== 'input_audio_buffer.append') return
      appended++
      if (appended === 10) send({ type: 'response.output_audio.delta', ...part, delta: said })
      // The caller interrupts.
      if (appended === 50)
        send({ type: 'input_audio_buffer.speech_started', audio_start_ms: 1, item_id: 'i2' })
    })
  })
  const { port } = realtime.address() as AddressInfo
  const problems: unknown[] = []
  const bot = await openBot(t, {
    onCall: ({ socket }) => {
      const transport = new TwilioRealtimeTransportLayer({ twilioWebSocket: socket })
      transport.on('error', (error) => problems.push(error))
      transport
        .connect({
          apiKey: 'ek_of_no_use',
          url: `ws://127.0.0.1:${port}/`,
          initialSessionConfig: {
            audio: { input: { format: 'g711_ulaw' }, output: { format: 'g711_ulaw' } },
          },
        })
        .catch((error: unknown) => problems.push(error))
      socket.on('close', () => transport.close())
    },
  })
  const { e164 } = await service.routed({ type: 'twilio', url: bot.url })
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  await caller.until('its voice', () => caller.rtp.loud().length >= 15)
  t.ok(usualToneLevel(caller.rtp.heard().pcm.subarray(-1_600), 600) > 0.2, 'as it was sent')
  const callId = await caller.callId()
  const truncated = () => heard.find(({ type }) => type === 'conversation.item.truncate')
  await caller.until('the interruption', () => truncated() !== undefined)
  const last = caller.rtp.audio().at(-1)?.timestamp ?? 0
  const sinceLoud = () =>
    ((caller.rtp.audio().at(-1)?.timestamp ?? last) - (caller.rtp.loud().at(-1)?.timestamp ?? last)) | 0
  await caller.until('half a second of silence', () => sinceLoud() >= 4_000)
  t.ok(caller.rtp.loud().length < 120, 'it fell silent before its three seconds were over')
  await caller.hangUp()
  t.match(await service.ended(callId), { endedReason: 'caller_hangup' })
  t.strictSame(problems, [])
})

t.test('@jambonz/sdk: an audio endpoint', async (t) => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const marks: string[] = []
  const keys: string[] = []
  const done: unknown[] = []
  let metadata: Json = {}
  let sounds = 0
  const endpoint = createEndpoint({ server })
  endpoint.audio({ path: '/audio' }).on('connection', (stream) => {
    metadata = stream.metadata
    const pcm = Buffer.from(tone(600, 400).buffer)
    stream.sendAudio(pcm)
    stream.sendMark('first')
    stream.on('audio', () => sounds++)
    stream.on('mark', ({ name, event }) => {
      marks.push(`${name} ${event}`)
      if (name === 'first') stream.playAudio(pcm.toString('base64'), { id: 'p1', queuePlay: true })
    })
    stream.on('playDone', ({ id }) => done.push(id))
    stream.on('dtmf', ({ digit }) => {
      keys.push(digit)
      stream.disconnect()
    })
  })
  const { port } = server.address() as AddressInfo
  const { e164 } = await service.routed({ type: 'jambonz', url: `ws://127.0.0.1:${port}/audio` }, 'user:pass')
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const callId = await caller.callId()
  await caller.until('both sounds', () => caller.rtp.loud().length >= 38 && done.length === 1)
  t.match(metadata, {
    from: caller.from,
    to: e164,
    sampleRate: 8000,
    mixType: 'mono',
    callId: caller.dialog.callId,
  })
  t.strictSame(marks, ['first playout'])
  t.strictSame(done, ['p1'])
  t.ok(sounds > 20, 'it hears the caller')
  caller.rtp.press('7')
  await caller.dialog.ended()
  t.strictSame(keys, ['7'])
  t.match(await service.ended(callId), { endedReason: 'agent_hangup' })
})
