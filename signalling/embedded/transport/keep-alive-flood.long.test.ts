import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/*
 * 4,096 connections send keep-alives and never read the answers. The server runs in its own process; loopback is exempt
 * from the limits of a source, so only the rule about unread answers protects it.
 */

const CONNECTIONS = 4096
const AT_ONCE = 64
const MAX_GROWTH_MB = 64
/** Bytes that each TCP connection sends, and keep-alives that each WebSocket sends. */
const TCP_BYTES = 64 * 1024
const WS_KEEP_ALIVES = 1024
const CHILD = fileURLToPath(new URL('../../../fixtures/rigs/sip-server-process.js', import.meta.url))

/** A masked text frame with CRLFCRLF and the mask 0 (RFC 6455 5.2). */
const FRAME = Buffer.from([0x81, 0x84, 0, 0, 0, 0, 0x0d, 0x0a, 0x0d, 0x0a])
const FLOODS = {
  tcp: Buffer.from('\r\n\r\n'.repeat(TCP_BYTES / 4)),
  ws: Buffer.concat(new Array<Buffer>(WS_KEEP_ALIVES).fill(FRAME)),
}
const UPGRADE = [
  'GET / HTTP/1.1',
  'Host: 127.0.0.1',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Protocol: sip',
  '\r\n',
].join('\r\n')

async function openConnection(port: number, protocol: 'tcp' | 'ws'): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => {})
  await once(socket, 'connect')
  if (protocol === 'ws') {
    socket.write(UPGRADE)
    await once(socket, 'readable')
    socket.read()
  }
  return socket
}

t.test('4,096 connections of keep-alives cost at most 64 MB', { timeout: 600_000 }, async (t) => {
  const child = fork(CHILD, { execArgv: ['--expose-gc'] })
  const sockets: Socket[] = []
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    child.disconnect()
    await once(child, 'exit')
  })
  const [{ ports }] = (await once(child, 'message')) as [{ readonly ports: readonly [number, number] }]
  const memory = async () => {
    child.send('memory')
    const [usage] = (await once(child, 'message')) as [{ rssMb: number; connections: number }]
    return usage
  }
  const empty = await memory()
  while (sockets.length < CONNECTIONS) {
    const opened = Array.from({ length: AT_ONCE }, (_, n) =>
      n % 2 === 0 ? openConnection(ports[0], 'tcp') : openConnection(ports[1], 'ws'),
    )
    sockets.push(...(await Promise.all(opened)))
  }
  const idle = await memory()
  t.equal(idle.connections, CONNECTIONS)
  await Promise.all(
    sockets.map((socket, n) => {
      const flushed = once(socket, 'drain')
      return socket.write(n % 2 === 0 ? FLOODS.tcp : FLOODS.ws) ? null : flushed
    }),
  )
  // The kernel still holds a part; the answer to `memory` comes after what the server has read.
  await sleep(5_000)
  const flooded = await memory()
  const rounded = ({ rssMb }: { rssMb: number }) => Math.round(rssMb)
  t.comment(`RSS: ${rounded(empty)} MB empty, ${rounded(idle)} MB idle, ${rounded(flooded)} MB flooded`)
  t.ok(flooded.rssMb - idle.rssMb <= MAX_GROWTH_MB, `${rounded(flooded) - rounded(idle)} MB more`)
})
