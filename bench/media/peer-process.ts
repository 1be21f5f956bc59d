import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { codecOf } from '../../media/codec/registry.js'
import { RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/packet.js'
import type { SrtpKeys } from '../../media/rtp/srtp/keying.js'
import { SrtpReceiver, SrtpSender } from '../../media/rtp/srtp/srtp.js'
import { MAX_SRTP_OVERHEAD } from '../../media/rtp/srtp/transform.js'
import { isJudged, type LateWindows } from '../lib/judged-time.js'
import { gapsOf, latenessOf, PacketRecord } from '../lib/packet-times.js'
import { raiseCallerPriority } from '../lib/priority.js'
import { percentile } from '../lib/statistics.js'
import type { FromPeers, Ports, ReceivedQuality, ToPeers, Variant } from './job.js'
import { PAYLOAD_TYPES } from './job.js'

/*
 * The telephones of the media bench in one process. Each sends a packet every 20 ms (soft noise with a loud
 * mark twice a second), at all phases of the period like real callers, and records what it receives.
 */

const PHASES = 20
const PHASE_MS = 20 / PHASES
/** After a longer stall of this process (ms) the telephones skip what they should have sent, like one that is muted. */
const STALL_MS = 10
const MARK_EVERY = 25
/** A-law codes from 2,112 on, which the noise does not reach; each fifth sample shows the 1 kHz of a mark at all phases. */
const MARK_CODE = 0x40
const MARK_STEP = 5
/** Marked samples, of 32, that tell a mark from its edge. */
const MARK_SAMPLES = 4
/** More packets than a leg receives while it is measured. */
const MAX_PACKETS = 1024

/** One second of packets per codec, made once: noise, with the mark as the first packet. */
class Sounds {
  readonly payloads: readonly Uint8Array[]
  readonly step: number
  readonly payloadType: number

  constructor(name: Variant['codecs'][number], session: Variant['rate']) {
    const codec = codecOf(name)
    const encoder = codec.openEncoder({ session: codec.wideband ? session : 8000, ptime: 20, parameters: {} })
    const samples = encoder.rate / 50
    let seed = 1
    const into = new Uint8Array(codec.maxBytes(20))
    this.payloads = Array.from({ length: MARK_EVERY }, (_, frame) => {
      const pcm = Int16Array.from({ length: samples }, (_sample, i) => {
        seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
        const noise = (seed / 2 ** 31 - 1) * 300
        return Math.round(
          noise + (frame === 0 ? 16_000 * Math.sin((2 * Math.PI * 1000 * i) / encoder.rate) : 0),
        )
      })
      return into.slice(0, encoder.encode(pcm, into, 0))
    })
    this.step = codec.clockRate / 50
    this.payloadType = PAYLOAD_TYPES[name]
  }
}

class Leg {
  other: Leg | null = null
  markedMs = 0
  lost = 0
  readonly #socket: Socket
  readonly #sounds: Sounds
  readonly #ssrc = Math.floor(Math.random() * 2 ** 32)
  readonly #out: SrtpSender | null
  readonly #in: SrtpReceiver | null
  readonly #buffer: Buffer
  readonly #marksHeard: boolean
  #port = 0
  #sequence = Math.floor(Math.random() * 2 ** 15)
  #timestamp = 0
  readonly #packets = new PacketRecord(MAX_PACKETS)
  #transit: { readonly fromMs: number; readonly toMs: number }[] = []
  #last = -1

  constructor(socket: Socket, sounds: Sounds, keys: SrtpKeys | null) {
    this.#socket = socket
    this.#sounds = sounds
    this.#out = keys === null ? null : new SrtpSender(keys.suite, keys.receive)
    this.#in = keys === null ? null : new SrtpReceiver(keys.suite, keys.send)
    this.#buffer = Buffer.alloc(2048 + MAX_SRTP_OVERHEAD)
    this.#marksHeard = sounds.payloadType === PAYLOAD_TYPES.PCMA
    socket.on('message', (bytes) => this.#hear(bytes))
    socket.on('error', () => {}) // the engine closes its socket when the bench ends
  }

  get port(): number {
    return this.#socket.address().port
  }

  talkTo(port: number): void {
    this.#port = port
  }

  forget(): void {
    this.#packets.clear()
    this.#transit = []
    this.lost = 0
  }

  collect(into: { lateness: number[]; gaps: number[]; transit: number[] }, hostLate: LateWindows): number {
    const packets = this.#packets.list()
    for (const late of latenessOf(packets, hostLate)) into.lateness.push(late)
    for (const gap of gapsOf(packets, hostLate)) into.gaps.push(gap)
    for (const { fromMs, toMs } of this.#transit) {
      if (isJudged(hostLate, fromMs, toMs)) into.transit.push(toMs - fromMs)
    }
    return packets.length
  }

  skip(frames: number): void {
    this.#timestamp += frames * this.#sounds.step
  }

  send(): void {
    if (this.#port === 0) return
    const { payloads, step, payloadType } = this.#sounds
    const index = this.#sequence % payloads.length
    const payload = payloads[index] as Uint8Array
    const packet = this.#buffer
    writeRtpHeader(packet, payloadType, false, this.#sequence & 0xffff, this.#timestamp >>> 0, this.#ssrc)
    packet.set(payload, RTP_HEADER_BYTES)
    const plain = RTP_HEADER_BYTES + payload.length
    const length = this.#out === null ? plain : this.#out.protectRtp(packet, plain)
    if (index === 0) this.markedMs = systemClock.now()
    this.#socket.send(Uint8Array.prototype.slice.call(packet, 0, length), this.#port, '127.0.0.1')
    this.#sequence++
    this.#timestamp += step
  }

  #hear(bytes: Buffer): void {
    const atMs = systemClock.now()
    const length = this.#in === null ? bytes.length : this.#in.unprotectRtp(bytes, bytes.length)
    if (length < RTP_HEADER_BYTES) return
    const sequence = bytes.readUInt16BE(2)
    const timestamp = bytes.readUInt32BE(4)
    if (this.#last !== -1) this.lost += Math.max(0, ((sequence - this.#last) & 0xffff) - 1)
    this.#last = sequence
    // Lateness is counted in eighths of a millisecond; Opus has a clock of 48 kHz.
    const scale = this.#sounds.step / 160
    this.#packets.add(atMs, timestamp / scale)
    const { other } = this
    if (!this.#marksHeard || other === null || other.markedMs === 0) return
    if (!isMarked(bytes, length)) return
    this.#transit.push({ fromMs: other.markedMs, toMs: atMs })
    other.markedMs = 0
  }
}

/** Returns true if an A-law packet holds a mark. Allocates nothing: a collection here would look like a late packet. */
function isMarked(bytes: Buffer, length: number): boolean {
  let loud = 0
  for (let i = RTP_HEADER_BYTES; i < length; i += MARK_STEP) {
    if ((((bytes[i] as number) ^ 0x55) & 0x7f) >= MARK_CODE) loud++
  }
  return loud >= MARK_SAMPLES
}

const legs: Leg[] = []
let made: [Leg, Leg][] = []
let setting: Extract<ToPeers, { type: 'open' }> | null = null
let sounds: readonly Sounds[] = []
let phase = 0
let dueMs = 0

function beat(): void {
  const now = systemClock.now()
  if (now - dueMs > STALL_MS) {
    const frames = Math.ceil((now - dueMs) / 20)
    for (const leg of legs) leg.skip(frames)
    dueMs += frames * 20
  }
  while (dueMs <= now) {
    for (let i = phase; i < legs.length; i += PHASES) legs[i]?.send()
    phase = (phase + 1) % PHASES
    dueMs += PHASE_MS
  }
  setTimeout(beat, Math.max(0, dueMs - systemClock.now()))
}

async function open(sound: Sounds, keys: SrtpKeys | null): Promise<Leg> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 18 })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return new Leg(socket, sound, keys)
}

function heard(hostLate: LateWindows): ReceivedQuality {
  const all = { lateness: [] as number[], gaps: [] as number[], transit: [] as number[] }
  let packets = 0
  let lost = 0
  for (const leg of legs) {
    packets += leg.collect(all, hostLate)
    lost += leg.lost
  }
  return {
    packets,
    lost,
    lateOver5: all.lateness.filter((ms) => ms > 5).length,
    lateOver20: all.lateness.filter((ms) => ms > 20).length,
    latenessP99: percentile(all.lateness, 0.99),
    gapP99: percentile(all.gaps, 0.99),
    transitMs: all.transit,
  }
}

async function handle(message: ToPeers): Promise<FromPeers | null> {
  switch (message.type) {
    case 'open': {
      setting = message
      const { codecs, rate } = message.variant
      sounds = codecs.map((codec) => new Sounds(codec, rate))
      dueMs = systemClock.now()
      beat()
      return { kind: 'ready' }
    }
    case 'make': {
      made = []
      for (let i = 0; i < message.calls; i++) {
        const [first, second] = sounds
        if (setting === null || first === undefined || second === undefined) throw new Error('not opened')
        const a = await open(first, setting.keys)
        const b = await open(second, setting.keys)
        a.other = b
        b.other = a
        made.push([a, b])
      }
      return { kind: 'made', ports: made.map(([a, b]): Ports => [a.port, b.port]) }
    }
    case 'talk':
      made.forEach(([a, b], i) => {
        const [portA, portB] = message.ports[i] ?? [0, 0]
        a.talkTo(portA)
        b.talkTo(portB)
        legs.push(a, b)
      })
      return { kind: 'ready' }
    case 'begin':
      for (const leg of legs) leg.forget()
      return { kind: 'ready' }
    case 'end':
      return { kind: 'heard', heard: heard(new Set(message.hostLate)) }
  }
}

raiseCallerPriority()
let last = Promise.resolve()
process.on('message', (message: ToPeers) => {
  last = last.then(async () => {
    const answer = await handle(message).catch(
      (error: unknown): FromPeers => ({ kind: 'failed', message: errorText(error) }),
    )
    if (answer !== null) process.send?.(answer)
  })
})
process.on('disconnect', () => process.exit(0))
