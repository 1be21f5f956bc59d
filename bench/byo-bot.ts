import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

/*
 * A bot in a process of its own that says back what it hears, as soon as it hears it: JSON for the
 * native type, binary messages for the others. Told `freeze`, it stands still for that long.
 */

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
server.on('connection', (socket) => {
  socket.on('error', () => {}) // the engine ends its calls as it likes
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      socket.send(data)
      return
    }
    const text = data.toString()
    // The message is as one of the engine's always is: no need to read all of it to find the sound.
    const at = text.indexOf('"payload":"')
    if (at < 0) return
    const payload = text.slice(at + 11, text.indexOf('"', at + 11))
    socket.send(`{"event":"media","media":{"payload":"${payload}"}}`)
  })
})
server.on('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', ({ freezeMs }: { readonly freezeMs: number }) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, freezeMs)
  process.send?.({ thawedAtMs: Number(process.hrtime.bigint()) / 1e6 })
})
process.on('disconnect', () => process.exit(0))
