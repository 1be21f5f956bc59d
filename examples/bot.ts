import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

/*
 * A bot for a number in `byo_ws`, type `static`, format `mulaw`, 8000 Hz: the whole protocol it needs.
 *
 *   node bot.js             says back what the caller says
 *   node bot.js barge-in    hums until the caller speaks, listens, and hums again
 *
 * The caller's sound comes as messages of 20 ms; what is sent back may have any length and come as fast
 * as one likes: it is queued and played in order.
 */

const mode = process.argv[2] ?? 'echo'
const port = Number(process.env.PORT ?? 8090)

/** Five seconds of a soft 400 Hz hum as µ-law: 20 samples per period, 0x9f and 0x1f for its half-waves. */
const hum = Buffer.from(Array.from({ length: 40_000 }, (_, i) => (i % 20 < 10 ? 0x9f : 0x1f)))

/** µ-law values decrease with loudness from silence (0xff, 0x7f). */
function isLoud(sound: Buffer): boolean {
  return sound.reduce((count, code) => count + ((code & 0x7f) < 0x50 ? 1 : 0), 0) > sound.length / 4
}

const server = new WebSocketServer({ port, perMessageDeflate: false })
server.on('listening', () => {
  const { port } = server.address() as AddressInfo
  console.log(`listening on ws://127.0.0.1:${port}/ (${mode})`)
})
server.on('connection', (call) => {
  const send = (message: object) => call.send(JSON.stringify(message))
  const say = (sound: Buffer) => send({ event: 'media', media: { payload: sound.toString('base64') } })
  const sing = () => {
    say(hum)
    // Returned when everything before it was played, or with status `cleared`.
    send({ event: 'mark', mark: { name: 'hum' } })
  }
  let singing = false

  call.on('message', (data, isBinary) => {
    if (isBinary) return // the protocol has no binary message
    const message = JSON.parse(String(data))
    switch (message.event) {
      case 'start':
        console.log(`call from ${message.start.from} to ${message.start.to}`)
        if (mode === 'barge-in') {
          singing = true
          sing()
        }
        break
      case 'media': {
        const sound = Buffer.from(message.media.payload, 'base64')
        if (mode === 'echo') say(sound)
        else if (singing && isLoud(sound)) {
          singing = false
          send({ event: 'clear' })
        }
        break
      }
      case 'mark':
        if (mode === 'barge-in') {
          singing = true
          sing()
        }
        break
      case 'dtmf':
        console.log(`key ${message.dtmf.digit}`)
        // Everything queued is played, then the call ends.
        if (message.dtmf.digit === '#') send({ event: 'hangup' })
        break
      case 'stop':
        console.log(`over: ${message.stop.reason}`)
        break
    }
  })
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const call of server.clients) call.terminate()
    server.close()
  })
}
