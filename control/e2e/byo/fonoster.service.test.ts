import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { encodeFor } from '../../../fixtures/bots/bot-messages.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { call } from '../../../fixtures/service/caller.js'
import { uuidOf } from '../../../media/base/ids.js'

/*
 * @fonoster/streams, an AudioSocket server from the registry.
 */

/** The part of the package that is used. The package is CommonJS. */
interface Streams {
  readonly AudioSocket: new () => {
    readonly server: Server
    listen(port: number, bind: string, listening: () => void): void
    onConnection(handler: (request: { readonly ref: string }, stream: AudioStream) => void): void
    close(): void
  }
}

interface AudioStream {
  write(sound: Buffer): void
  play(file: string): Promise<void>
  hangup(): void
  onData(heard: (sound: Buffer) => void): AudioStream
  onClose(closed: () => void): AudioStream
  onError(failed: (error: Error) => void): AudioStream
}

// The package logs every DTMF message, which it does not know, on stdout.
process.env.LOGS_LEVEL = 'error'
const { AudioSocket }: Streams = createRequire(import.meta.url)('@fonoster/streams')

const service = await openByoService(t)
/** Times that the caller speaks at most. */
const TRIES = 20

t.test('it echoes, plays a file and hangs up; and detects that the caller hung up', async (t) => {
  const file = join(t.testdir({}), 'tone.sln')
  await writeFile(file, encodeFor('linear16', tone(600, 500)))
  const calls: { readonly ref: string; readonly stream: AudioStream; heard: number }[] = []
  let gone = (): void => {}
  const closed = new Promise<void>((resolve) => {
    gone = resolve
  })
  const problems: Error[] = []
  let echo = true
  const bot = new AudioSocket()
  bot.onConnection(({ ref }, stream) => {
    const own = { ref, stream, heard: 0 }
    calls.push(own)
    stream
      .onData((sound) => {
        own.heard += sound.length
        if (echo) stream.write(sound)
      })
      .onClose(() => {
        if (calls.length === 2) gone()
      })
      .onError((error) => problems.push(error))
  })
  await new Promise<void>((resolve) => bot.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    bot.close()
    await once(bot.server, 'close')
  })
  const { port } = bot.server.address() as AddressInfo
  const { e164 } = await service.routed({ type: 'audiosocket', url: `tcp://127.0.0.1:${port}` })

  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const callId = await caller.callId()
  // A bot hears nothing of what was said before it was connected.
  await caller.until('the bot', () => calls.length === 1)
  // A busy host loses some of it.
  for (let tries = 0; tries < TRIES && caller.rtp.holding(440).length < 15; tries++) {
    await caller.rtp.say(tone(440, 600)).done
  }
  await caller.until('its own voice', () => caller.rtp.holding(440).length >= 15)
  const [first] = calls
  if (first === undefined) throw new Error('the bot was never called')
  t.equal(first.ref, uuidOf(callId), 'the call by its id')
  t.equal(first.heard % 320, 0, 'every frame came by itself')

  echo = false
  caller.rtp.press('7')
  await first.stream.play(file)
  await caller.until('the file', () => caller.rtp.holding(600).length >= 12)
  first.stream.hangup()
  await caller.dialog.ended()
  t.match(await service.ended(callId), { endedReason: 'agent_hangup' })

  const second = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await second.answered()
  const secondId = await second.callId()
  await second.until('sound at the bot', () => (calls[1]?.heard ?? 0) > 3_200)
  await second.hangUp()
  t.match(await service.ended(secondId), { endedReason: 'caller_hangup' })
  await closed
  t.strictSame(problems, [])
})
