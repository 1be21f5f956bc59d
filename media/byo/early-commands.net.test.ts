import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocketServer } from 'ws'
import { systemClock } from '../base/clock.js'
import { silentLog } from '../base/log.js'
import { openSafeResolver } from '../base/public-address.js'
import { BotEndpoint } from './bot-endpoint.js'
import type { BotEvent } from './bot-event.js'

/** A bot whose first words are in the same packet as its answer to the opening request. */
async function openHastyBot(t: Teardown, words: readonly object[]) {
  const http = createServer()
  const server = new WebSocketServer({ noServer: true })
  const heard: string[] = []
  let told = (): void => {}
  http.on('upgrade', (request, socket, head) => {
    socket.cork()
    server.handleUpgrade(request, socket, head, (ws) => {
      for (const word of words) ws.send(JSON.stringify(word))
      ws.on('message', (message) => {
        heard.push(String(message))
        told()
      })
      socket.uncork()
    })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.teardown(async () => {
    for (const socket of server.clients) socket.terminate()
    server.close()
    http.close()
    await once(http, 'close')
  })
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`,
    heard,
    /** Resolves when a message holds the text. */
    async hears(text: string) {
      while (!heard.some((message) => message.includes(text))) {
        await new Promise<void>((resolve) => {
          told = resolve
        })
      }
    },
  }
}

interface Teardown {
  teardown(run: () => Promise<void>): unknown
}

t.test('commands in the first packet of a bot count', { timeout: 60_000 }, async (t) => {
  const payload = Buffer.alloc(1_600, 0x20).toString('base64')
  const bot = await openHastyBot(t, [
    { event: 'mark', mark: { name: 'early' } },
    { event: 'dtmf', dtmf: { digits: '5' } },
    { event: 'media', media: { payload } },
  ])
  const events: BotEvent[] = []
  const pressed: string[] = []
  const end = new BotEndpoint({
    id: 'bot',
    spec: {
      type: 'static',
      url: bot.url,
      format: 'mulaw',
      sampleRate: 8000,
      secret: null,
      customParameters: {},
      callId: 'c',
      accountId: 'a',
      direction: 'inbound',
      from: '+91',
      to: '+91',
      maxCallSeconds: 60,
    },
    rate: 8000,
    clock: systemClock,
    log: silentLog,
    lookup: openSafeResolver(true).lookupOf(''),
    allowPrivate: true,
    emit: (event) => events.push(event),
    sendDigits: (digits) => pressed.push(...digits) > 0,
    advancePhase: () => false,
    audioReady: () => {},
    onFault: (error) => {
      throw error
    },
  })
  t.teardown(() => end.close('hangup'))
  t.equal(await end.connect(), true)
  end.start(null)
  await bot.hears('"start"')
  t.strictSame(pressed, [], 'the line takes keys from the first beat on, not before')
  const pcm = new Int16Array(160)
  t.equal(end.pull(pcm), false)
  await bot.hears('"early"')
  t.strictSame(pressed, ['5'])
  const order = bot.heard.map((message) => (JSON.parse(message) as { event: string }).event)
  t.strictSame(order, ['connected', 'start', 'mark'], 'answered when the stream has begun, not before')
  let frames = 0
  for (let beat = 1; beat < 60; beat++) if (end.pull(pcm)) frames++
  t.equal(frames, 10, 'and its sound is played')
  t.strictSame(events, [])
})
