import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import { watchTcpQueues } from './tcp-queues.js'

const hasIpv6 = networkInterfaces().lo?.some(({ family }) => family === 'IPv6') ?? false
const WAYS = [['127.0.0.1', '127.0.0.1'], ...(hasIpv6 ? [['::', '127.0.0.1'] as const, ['::1', '::1']] : [])]

t.test('what the other side of this host did not read is counted', async (t) => {
  if (process.platform !== 'linux') return
  for (const [listens = '', connects] of WAYS) {
    const server = createServer({ pauseOnConnect: true })
    server.listen(0, listens)
    await once(server, 'listening')
    const accepted = once(server, 'connection')
    const socket = connect((server.address() as AddressInfo).port, connects)
    await once(socket, 'connect')
    const clock = new VirtualClock()
    const counts: number[] = []
    let wanted = true
    const stop = watchTcpQueues(socket, clock, {
      begin: () => wanted,
      end: (bytes) => counts.push(bytes),
    })
    const readUntil = (bytes: number) =>
      until(() => {
        if (clock.pending === 1) clock.advance(100)
        return counts.at(-1) === bytes
      })
    await readUntil(0)
    socket.write(Buffer.alloc(1_000))
    await readUntil(1_000)
    const [there] = await accepted
    there.resume()
    await readUntil(0)
    // A reading that began may still report.
    await until(() => clock.pending === 1)
    wanted = false
    const before = counts.length
    for (let readings = 0; readings < 3; readings++) {
      clock.advance(100)
      await until(() => clock.pending === 1)
    }
    t.equal(counts.length, before, `${listens}: nothing is reported that nobody asked for`)
    stop()
    t.equal(clock.pending, 0)
    socket.destroy()
    server.close()
    await once(server, 'close')
  }
})
