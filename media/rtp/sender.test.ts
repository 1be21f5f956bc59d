import t from 'tap'
import { SourceLatch } from './receive/source-latch.js'
import type { RtpRemote } from './remote-description.js'
import { RtpSender } from './sender.js'

const REMOTE: RtpRemote = {
  ...{ address: '192.0.2.1', port: 4000, codec: 'PCMA', payloadType: 8 },
  ...{ dtmfPayloadType: null, send: true, receive: true },
}

/** Returns the sequence number of the first packet of a sender that begins with these random bytes. */
function firstSequence(random: Buffer): number {
  const sender = new RtpSender(8000, random)
  const source = new SourceLatch()
  source.setSdpAddress(REMOTE.address, REMOTE.port)
  sender.setRemote(REMOTE)
  const sequences: number[] = []
  sender.flush(0, { send: (packet) => sequences.push(Buffer.from(packet).readUInt16BE(2)) }, source)
  t.equal(sequences.length, 1)
  return sequences[0] ?? Number.NaN
}

t.test(
  'sequence numbers begin in their lower half, so that a receiver of SRTP may miss the first packets',
  async (t) => {
    t.equal(firstSequence(Buffer.alloc(10, 0xff)), 0x7fff)
    t.equal(firstSequence(Buffer.from('00000000000000001234', 'hex')), 0x1234)
    t.equal(firstSequence(Buffer.alloc(10)), 0)
  },
)
