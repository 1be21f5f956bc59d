import { randomBytes } from 'node:crypto'
import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import { RTP_HEADER_BYTES, RtpPacket, writeRtpHeader } from '../../media/rtp/packet.js'
import { readRtcp } from '../../media/rtp/rtcp/parser.js'
import { writeCname, writeReport } from '../../media/rtp/rtcp/writer.js'
import { SRTP_SUITES } from '../../media/rtp/srtp/key-derivation.js'
import type { SrtpKey, SrtpSuiteName } from '../../media/rtp/srtp/keying.js'
import { SrtpReceiver, SrtpSender } from '../../media/rtp/srtp/srtp.js'
import { MAX_SRTP_OVERHEAD } from '../../media/rtp/srtp/transform.js'
import { figure, type Measured } from '../lib/figures.js'
import { percentile, rounded } from '../lib/statistics.js'

const ROUNDS = 12
const WARM = 4
const PACKETS = 20_000
const BYTES = RTP_HEADER_BYTES + 160

/** One operation on a packet: `prepare` is not measured, `run` handles packet number `i` of the round. */
interface Work {
  readonly name: string
  prepare(round: number): void
  run(i: number): boolean
}

/**
 * M_packet: measures nanoseconds and bytes of garbage per 20 ms G.711 packet, for reading and writing headers
 * and for each SRTP suite.
 */
export async function measurePackets(): Promise<Measured[]> {
  const names = Object.keys(SRTP_SUITES) as SrtpSuiteName[]
  const works = [
    parsing,
    writing,
    reports,
    ...names.flatMap((name) => [() => protecting(name), () => opening(name)]),
  ]
  // One at a time: the collector would traverse what another one retains.
  return works.map((open) => {
    const work = open()
    const times: number[] = []
    const garbage: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      work.prepare(round)
      const heap = allocated()
      // CPU time instead of wall time: other processes use this host too.
      const beganMs = ownCpuMs()
      for (let i = 0; i < PACKETS; i++) if (!work.run(i)) throw new Error(`${work.name} failed`)
      times.push(((ownCpuMs() - beganMs) * 1e6) / PACKETS)
      garbage.push((allocated() - heap) / PACKETS)
    }
    const values = { n: (ROUNDS - WARM) * PACKETS, value: Math.round(percentile(times.slice(WARM), 0.5)) }
    // A collection within a round makes the value negative; the median of the others counts.
    const bytes = garbage.slice(WARM).filter((each) => each >= 0)
    const context = {
      bytes: BYTES,
      garbageBytes: bytes.length === 0 ? null : rounded(percentile(bytes, 0.5)),
    }
    return figure(`M_packet@${work.name}`, values, context)
  })
}

function allocated(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function packetOf(sequence: number): Buffer {
  const packet = Buffer.alloc(BYTES, sequence)
  writeRtpHeader(packet, 8, false, sequence & 0xffff, sequence * 160, 0x5eed)
  return packet
}

function parsing(): Work {
  const packet = new RtpPacket()
  const bytes = packetOf(1)
  return { name: 'parse', prepare: () => {}, run: () => packet.parse(bytes) }
}

function writing(): Work {
  const bytes = packetOf(1)
  return {
    name: 'write',
    prepare: () => {},
    run: (i) => {
      writeRtpHeader(bytes, 8, false, i & 0xffff, i * 160, 0x5eed)
      return true
    },
  }
}

function reports(): Work {
  const into = Buffer.alloc(128)
  const sent = { ntpSeconds: 1, ntpFraction: 2, timestamp: 3, packets: 4, octets: 5 }
  const heard = {
    ssrc: 1,
    fractionLost: 2,
    lost: 3,
    highestSequence: 4,
    jitter: 5,
    lastReport: 6,
    delaySinceLastReport: 7,
  }
  const cname = Buffer.from('0123456789abcdef')
  const listener = { onSenderReport: () => {}, onReceptionReport: () => {}, onBye: () => {} }
  return {
    name: 'rtcp',
    prepare: () => {},
    run: (i) => {
      const end = writeCname(into, writeReport(into, 0, i, sent, heard), i, cname)
      return readRtcp(into.subarray(0, end), listener)
    },
  }
}

function keyOf(name: SrtpSuiteName): SrtpKey {
  const { keyBytes, saltBytes } = SRTP_SUITES[name]
  return { keyAndSalt: randomBytes(keyBytes + saltBytes), mki: null }
}

function protecting(name: SrtpSuiteName): Work {
  const out = new SrtpSender(name, keyOf(name))
  const packet = Buffer.alloc(BYTES + MAX_SRTP_OVERHEAD)
  let sequence = 0
  return {
    name: `protect_${name}`,
    prepare: () => {},
    run: () => {
      writeRtpHeader(packet, 8, false, sequence++ & 0xffff, 0, 0x5eed)
      return out.protectRtp(packet, BYTES) > BYTES
    },
  }
}

function opening(name: SrtpSuiteName): Work {
  const key = keyOf(name)
  const out = new SrtpSender(name, key)
  const into = new SrtpReceiver(name, key)
  // One buffer for all: twenty thousand buffers would measure the collector instead of the cipher.
  const slot = BYTES + MAX_SRTP_OVERHEAD
  const sealed = Buffer.alloc(PACKETS * slot)
  const lengths = new Uint16Array(PACKETS)
  return {
    name: `open_${name}`,
    prepare: (round) => {
      for (let i = 0; i < PACKETS; i++) {
        const packet = sealed.subarray(i * slot, (i + 1) * slot)
        packet.set(packetOf(round * PACKETS + i))
        lengths[i] = out.protectRtp(packet, BYTES)
      }
    },
    run: (i) => {
      const length = lengths[i] as number
      return into.unprotectRtp(sealed.subarray(i * slot, i * slot + length), length) === BYTES
    },
  }
}
