import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import type { FromByoBot, ToByoBot } from './job.js'

/*
 * An echo bot in a process of its own: JSON for the native type, binary messages for the others. `freeze`
 * makes it stand still for the given time.
 */

const PAYLOAD = Buffer.from('"payload":"')
const HEAD = Buffer.from('{"event":"media","media":{"payload":"')
const TAIL = Buffer.from('"}}')
const QUOTE = 0x22

const tell = (message: FromByoBot): void => {
  process.send?.(message)
}

const server = new WebSocketServer({
  port: 0,
  host: '127.0.0.1',
  perMessageDeflate: false,
  skipUTF8Validation: true,
})
server.on('connection', (socket) => {
  socket.on('error', () => {}) // the engine may end its calls abruptly
  const answer = { binary: false }
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      socket.send(data)
      return
    }
    // The engine's messages have a fixed layout: the payload is found without parsing.
    const at = data.indexOf(PAYLOAD)
    if (at < 0) return
    const from = at + PAYLOAD.length
    socket.send(Buffer.concat([HEAD, data.subarray(from, data.indexOf(QUOTE, from)), TAIL]), answer)
  })
})
server.on('listening', () => tell({ kind: 'ready', port: (server.address() as AddressInfo).port }))
process.on('message', (message: ToByoBot) => {
  switch (message.type) {
    case 'freeze':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message.ms)
      tell({ kind: 'thawed', atMs: Number(process.hrtime.bigint()) / 1e6 })
      return
    case 'usage':
      tell({ kind: 'usage', cpuMs: ownCpuMs() })
      return
    default:
      message satisfies never
  }
})
process.on('disconnect', () => process.exit(0))
// The parent may have ended while this process was loading.
if (!process.connected) process.exit(0)
