import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { MemoryNetwork } from '../../fixtures/rtp/memory-network.js'
import { RtpPorts } from './port.js'

const ADDRESS = '192.0.2.1'
const RANGE = { first: 4000, last: 4003 }

t.test('ports on a network in memory exchange datagrams on a virtual clock', async (t) => {
  const clock = new VirtualClock({ nowMs: 0 })
  const network = new MemoryNetwork(clock, 10)
  const ports = new RtpPorts(clock, network.bind)
  const received: string[] = []
  const listener = (name: string) => ({
    onDatagram: (data: Uint8Array, from: { readonly port: number }) =>
      received.push(`${name} ${Buffer.from(data)} from ${from.port}`),
  })
  const one = await ports.open(ADDRESS, RANGE, listener('one'), listener('one rtcp'))
  const two = await ports.open(ADDRESS, RANGE, listener('two'), listener('two rtcp'))
  await t.rejects(ports.open(ADDRESS, RANGE, listener('none'), listener('none')), {
    code: 'port_unavailable',
  })
  one.rtp.send(Buffer.from('hello'), two.rtp.port, ADDRESS)
  one.rtcp.send(Buffer.from('report'), two.rtcp.port, ADDRESS)
  t.strictSame(received, [])
  clock.advance(10)
  t.strictSame(received, [`two hello from ${one.rtp.port}`, `two rtcp report from ${one.rtcp.port}`])
  two.rtp.connect(one.rtp.port, ADDRESS)
  one.rtcp.send(Buffer.from('filtered'), two.rtp.port, ADDRESS)
  clock.advance(10)
  t.equal(received.length, 2)
  one.rtp.close()
  one.rtcp.close()
  await t.rejects(ports.open(ADDRESS, RANGE, listener('none'), listener('none')), 'in quarantine')
  clock.advance(30_000)
  const three = await ports.open(ADDRESS, RANGE, listener('three'), listener('three rtcp'))
  t.equal(three.rtp.port, one.rtp.port)
  for (const pair of [two, three]) for (const port of [pair.rtp, pair.rtcp]) port.close()
  t.equal(network.size, 0)
})

t.test('ports are chosen at random, and the next free pair replaces one in use', async (t) => {
  const clock = new VirtualClock({ nowMs: 0 })
  const network = new MemoryNetwork(clock)
  const picks = [3, 1, 3, 4]
  const counts: number[] = []
  const ports = new RtpPorts(clock, network.bind, (count) => {
    counts.push(count)
    return picks.shift() ?? 0
  })
  const nobody = { onDatagram: () => {} }
  const opened: number[] = []
  for (let i = 0; i < 4; i++) {
    opened.push((await ports.open(ADDRESS, { first: 4000, last: 4009 }, nobody, nobody)).rtp.port)
  }
  t.strictSame(opened, [4006, 4002, 4008, 4000])
  t.strictSame(counts, [5, 5, 5, 5])
})
