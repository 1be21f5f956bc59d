import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { RtpPorts } from './port.js'

assertNothingLeft(t)

const ADDRESS = '127.0.0.1'
const nobody = { onDatagram: () => {} }

/** Returns an even port that is free, like the next few. */
async function quiet(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0, ADDRESS)
  await once(socket, 'listening')
  const { port } = socket.address()
  const closed = once(socket, 'close')
  socket.close()
  await closed
  return port + (port % 2)
}

t.test('pairs: RTP on even ports, RTCP on the next, unused for 30 s after release', async (t) => {
  const clock = new VirtualClock({ nowMs: 1000 })
  const ports = new RtpPorts(clock)
  const first = await quiet()
  const range = { first, last: first + 5 }
  const open = () => ports.open(ADDRESS, range, nobody, nobody)
  const pairs = [await open(), await open(), await open()]
  t.teardown(() => {
    for (const { rtp, rtcp } of pairs) for (const port of [rtp, rtcp]) port.close()
  })
  t.strictSame(
    pairs.map(({ rtp, rtcp }) => [rtp.port, rtcp.port]).sort(),
    [0, 2, 4].map((step) => [first + step, first + step + 1]),
  )
  await t.rejects(open(), { code: 'port_unavailable', retryable: true })
  pairs[1]?.rtp.close()
  pairs[1]?.rtcp.close()
  clock.advance(29_999)
  await t.rejects(open(), { code: 'port_unavailable' }, 'its old peer may still be sending')
  clock.advance(1)
  const again = await open()
  pairs.push(again)
  t.equal(again.rtp.port, pairs[1]?.rtp.port)
})

t.test('a pair whose odd port is in use is skipped', async (t) => {
  const ports = new RtpPorts(new VirtualClock())
  const first = await quiet()
  const other = createSocket('udp4')
  other.bind(first + 1, ADDRESS)
  await once(other, 'listening')
  const range = { first, last: first + 3 }
  const pair = await ports.open(ADDRESS, range, nobody, nobody)
  t.equal(pair.rtp.port, first + 2)
  const closed = once(other, 'close')
  other.close()
  await closed
  const freed = await ports.open(ADDRESS, range, nobody, nobody)
  t.equal(freed.rtp.port, first, 'it did not have to rest: nobody used it')
  for (const port of [pair.rtp, pair.rtcp, freed.rtp, freed.rtcp]) port.close()
})

t.test('an odd range contains complete pairs only', async (t) => {
  const ports = new RtpPorts(new VirtualClock())
  const first = await quiet()
  await t.rejects(ports.open(ADDRESS, { first: first + 1, last: first + 2 }, nobody, nobody), {
    code: 'port_unavailable',
  })
})
