import { type Digit, type DtmfTiming, FRAME_MS, type SessionRate } from '../base/frame.js'
import type { CodecParameters } from '../codec/codec.js'
import { EncoderPipeline } from '../codec/encoder-pipeline.js'
import { COMFORT_NOISE_PAYLOAD_BYTES, writeComfortNoise } from './comfort-noise.js'
import { idleNoiseFrames } from './idle-noise.js'
import { RTP_HEADER_BYTES, writeRtpHeader } from './packet.js'
import type { SourceLatch } from './receive/source-latch.js'
import type { RtpRemote } from './remote-description.js'
import { DTMF_PAYLOAD_BYTES, DtmfSender } from './telephone-event.js'

/** dgram keeps a packet until the system took it, at worst a few beats on a full socket. */
const RING = 8
const PTIME = 20
const NO_PARAMETERS: CodecParameters = {}
/** In silence comfort noise is described again this often, for NATs and for who missed it. */
const NOISE_EVERY_FRAMES = 10
/** A packet on its way; cut to its length, which seldom changes. */
interface PacketBuffer {
  readonly whole: Buffer
  packet: Buffer
}

/** Takes packets; each stays unchanged for the next few. */
export interface PacketSink {
  send(packet: Uint8Array, port: number, address: string): void
}

/** The speaking half of a network leg: a packet every `ptime`. No clock. */
export class RtpSender {
  packetsSent = 0
  #audio: readonly PacketBuffer[] = []
  readonly #events: Buffer[] = Array.from({ length: RING }, () =>
    Buffer.alloc(RTP_HEADER_BYTES + DTMF_PAYLOAD_BYTES),
  )
  readonly #noises: Buffer[] = Array.from({ length: RING }, () =>
    Buffer.alloc(RTP_HEADER_BYTES + COMFORT_NOISE_PAYLOAD_BYTES),
  )
  readonly #dtmf = new DtmfSender()
  readonly #rate: SessionRate
  readonly #samples: number
  readonly #silence: readonly Int16Array[]
  readonly #frame: Int16Array
  readonly #ssrc: number
  readonly #firstTimestamp: number
  #remote: RtpRemote | null = null
  #encoder: EncoderPipeline | null = null
  /** Ticks of the RTP clock per session sample. */
  #ticks = 1
  #sequence: number
  #ring = 0
  #hasFrame = false
  /** Frames since comfort noise was described; 0 in speech. */
  #silentFrames = 0
  /** The last packet carried sound: the next sound is no start of a talk spurt. */
  #inTalkSpurt = false
  #eventTimestamp = 0

  /** @param random ten bytes: SSRC, first timestamp and first sequence number (RFC 3550, 5.1). */
  constructor(rate: SessionRate, random: Buffer) {
    this.#rate = rate
    this.#samples = (rate / 1000) * FRAME_MS
    this.#silence = idleNoiseFrames(rate)
    this.#frame = new Int16Array(this.#samples)
    this.#ssrc = random.readUInt32BE(0)
    this.#firstTimestamp = random.readUInt32BE(4)
    this.#sequence = random.readUInt16BE(8)
  }

  get ssrc(): number {
    return this.#ssrc
  }

  setRemote(remote: RtpRemote): void {
    this.#remote = remote
    const { codec, ptime = PTIME, parameters = NO_PARAMETERS } = remote
    if (this.#encoder?.matches(codec, ptime, parameters) === true) return
    this.#encoder = new EncoderPipeline(codec, this.#rate, ptime, parameters)
    this.#ticks = this.#encoder.codec.clockRate / this.#rate
    const bytes = RTP_HEADER_BYTES + this.#encoder.codec.maxBytes(ptime)
    this.#audio = Array.from({ length: RING }, () => {
      const whole = Buffer.alloc(bytes)
      return { whole, packet: whole }
    })
  }

  press(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    const remote = this.#remote
    if (remote === null || remote.dtmfPayloadType === null) return false
    return this.#dtmf.press(digits, timing)
  }

  /** The sound of this beat, copied. */
  push(pcm: Int16Array): void {
    if (this.#remote === null) return
    this.#frame.set(pcm)
    this.#hasFrame = true
  }

  /** Sends the packets of this beat; true when the pushed sound is in them, or waits for the next one. */
  flush(at: number, port: PacketSink, to: SourceLatch): boolean {
    const pushed = this.#hasFrame
    this.#hasFrame = false
    const remote = this.#remote
    const line = this.#encoder
    if (remote === null || line === null) return false
    if (!remote.send || to.port === 0) {
      this.#inTalkSpurt = false
      line.clear()
      return false
    }
    if (this.#sendEvent(remote, at, port, to)) {
      line.clear()
      return false
    }
    if (!pushed && line.empty && remote.noisePayloadType !== undefined) {
      this.#sendNoise(remote.noisePayloadType, at, port, to)
      return false
    }
    this.#silentFrames = 0
    const silence = this.#silence[(at / this.#samples) % this.#silence.length] as Int16Array
    line.push(pushed ? this.#frame : silence, at, pushed)
    while (line.ready) this.#sendAudio(line, remote.payloadType, port, to)
    return pushed
  }

  #sendAudio(line: EncoderPipeline, payloadType: number, port: PacketSink, to: SourceLatch): void {
    const slot = this.#audio[this.#ring] as PacketBuffer
    const at = line.at
    const sounding = line.hasAudio
    const bytes = line.take(slot.whole, RTP_HEADER_BYTES)
    if (bytes === 0) {
      this.#inTalkSpurt = false
      return
    }
    const length = RTP_HEADER_BYTES + bytes
    if (slot.packet.length !== length) slot.packet = slot.whole.subarray(0, length)
    const marker = sounding && !this.#inTalkSpurt
    this.#inTalkSpurt = sounding
    this.#send(slot.packet, payloadType, marker, this.#timestamp(at), port, to)
  }

  #sendNoise(payloadType: number, at: number, port: PacketSink, to: SourceLatch): void {
    this.#inTalkSpurt = false
    if (this.#silentFrames++ % NOISE_EVERY_FRAMES !== 0) return
    const buffer = this.#noises[this.#ring] as Buffer
    writeComfortNoise(buffer, RTP_HEADER_BYTES)
    this.#send(buffer, payloadType, false, this.#timestamp(at), port, to)
  }

  #sendEvent(remote: RtpRemote, at: number, port: PacketSink, to: SourceLatch): boolean {
    const event = this.#dtmf.next(remote.dtmfClockRate ?? this.#ticks * this.#rate)
    if (event === null || remote.dtmfPayloadType === null) return false
    // All packets of an event carry the timestamp of its beginning.
    if (event.marker) this.#eventTimestamp = this.#timestamp(at)
    const buffer = this.#events[this.#ring] as Buffer
    buffer.set(event.payload, RTP_HEADER_BYTES)
    this.#send(buffer, remote.dtmfPayloadType, event.marker, this.#eventTimestamp, port, to)
    this.#inTalkSpurt = false
    return true
  }

  #timestamp(at: number): number {
    return this.#firstTimestamp + at * this.#ticks
  }

  #send(
    buffer: Buffer,
    type: number,
    marker: boolean,
    timestamp: number,
    port: PacketSink,
    to: SourceLatch,
  ): void {
    writeRtpHeader(buffer, type, marker, this.#sequence, timestamp, this.#ssrc)
    this.#sequence = (this.#sequence + 1) & 0xffff
    this.#ring = (this.#ring + 1) % RING
    this.packetsSent++
    port.send(buffer, to.port, to.address)
  }
}
