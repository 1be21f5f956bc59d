import t from 'tap'
import { RtpPacket } from '../packet.js'
import { type QueuedPacket, ReorderBuffer } from './reorder-buffer.js'

function rig() {
  const seen: number[] = []
  const bytes: number[] = []
  const arrivals: number[] = []
  const order = new ReorderBuffer((data, arrival: QueuedPacket) => {
    seen.push(arrival.sequence)
    bytes.push(data[arrival.payloadOffset] ?? -1)
    arrivals.push(arrival.now)
  })
  const packet = new RtpPacket()
  packet.payloadOffset = 12
  packet.payloadLength = 1
  const data = new Uint8Array(13)
  let now = 0
  const put = (...sequences: readonly number[]) => {
    for (const sequence of sequences) {
      // The buffer belongs to the socket: the next packet may reuse it.
      data[12] = sequence
      now += 320
      order.put(data, packet, sequence, now, true)
    }
  }
  return { order, put, seen, bytes, arrivals, packet, data }
}

t.test('loss delays nothing', async (t) => {
  const { put, seen } = rig()
  put(0, 1, 3)
  t.strictSame(seen, [0, 1, 3])
  put(4, 7)
  t.strictSame(seen, [0, 1, 3, 4, 7])
})

t.test('after a swapped pair the next ones are reordered, with their own bytes and times', async (t) => {
  const { put, seen, bytes, arrivals } = rig()
  put(0, 2, 1, 3)
  t.strictSame(seen, [0, 2, 1, 3], 'the first one comes as it comes')
  put(5)
  t.equal(seen.length, 4, 'waits')
  put(4, 6, 8, 7)
  t.strictSame(seen.slice(4), [4, 5, 6, 7, 8])
  t.strictSame(bytes.slice(4), [4, 5, 6, 7, 8])
  t.strictSame(arrivals.slice(4), [6 * 320, 5 * 320, 7 * 320, 9 * 320, 8 * 320])
})

t.test('one more packet, or the tick, ends the wait', async (t) => {
  const { order, put, seen } = rig()
  put(0, 2, 1, 4, 5)
  t.strictSame(seen.slice(3), [4, 5], '3 is lost')
  put(7)
  order.tick(5 * 320)
  t.equal(seen.length, 5)
  order.tick(6 * 320)
  t.strictSame(seen.slice(5), [7])
  put(6, 8)
  t.strictSame(seen.slice(6), [6, 8])
})

t.test('a packet that needs no decoding fills its gap', async (t) => {
  const { order, put, seen } = rig()
  put(0, 2, 1, 4)
  t.equal(seen.length, 3)
  order.skip(3)
  t.strictSame(seen.slice(3), [4])
})

t.test(
  'the suspicion expires, a new stream starts without it, and some decoders need no order',
  async (t) => {
    const { order, put, seen, packet, data } = rig()
    put(0, 2, 1)
    for (let sequence = 3; sequence < 300; sequence++) put(sequence)
    put(301)
    t.equal(seen.at(-1), 301, 'five seconds without a swap')
    put(300, 303)
    t.equal(seen.at(-1), 300)
    order.restart()
    put(5000)
    t.equal(seen.at(-1), 5000, 'what was held is gone')
    put(4999)
    order.put(data, packet, 5005, 1, false)
    t.equal(seen.at(-1), 5005)
  },
)

t.test('a datagram with padding may be longer than what is kept', async (t) => {
  const { order, put, packet, bytes } = rig()
  put(0, 2, 1, 3)
  const padded = new Uint8Array(4000)
  padded[12] = 77
  order.put(padded, packet, 5, 10_000, true)
  order.release()
  t.equal(bytes.at(-1), 77)
  packet.payloadLength = 3000
  order.put(padded, packet, 8, 10_400, true)
  t.equal(bytes.length, 6, 'a payload that does not fit is not held')
})
