import { type Digit, type DtmfTiming, FRAME_MS, type SessionRate } from '../base/frame.js'
import type { CodecParameters } from '../codec/codec.js'
import { EncoderPipeline } from '../codec/encoder-pipeline.js'
import { COMFORT_NOISE_PAYLOAD_BYTES, writeComfortNoise } from './comfort-noise.js'
import { idleNoiseFrames } from './idle-noise.js'
import { RTP_HEADER_BYTES, writeRtpHeader } from './packet.js'
import type { SourceLatch } from './receive/source-latch.js'
import type { RtpRemote } from './remote-description.js'
import { DTMF_PAYLOAD_BYTES, DtmfSender } from './telephone-event.js'

/**
 * Buffers in rotation. dgram keeps a packet until the system took it, at worst a few ticks on a full socket.
 */
const RING = 8
const PTIME = 20
const NO_PARAMETERS: CodecParameters = {}
/** During silence comfort noise is repeated at this interval, for NATs and for lost packets. */
const NOISE_EVERY_FRAMES = 10
/** A packet buffer, and its view with the length of the packet, which rarely changes. */
interface PacketBuffer {
  readonly whole: Buffer
  packet: Buffer
}

/** Sends packets. The bytes of each packet stay unchanged for the next few packets. */
export interface PacketSink {
  send(packet: Uint8Array, port: number, address: string): void
}

/** The sending half of a network leg: one packet per `ptime`. It has no clock. */
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
  /** RTP timestamp ticks per session sample. */
  #ticks = 1
  #sequence: number
  #ring = 0
  #hasFrame = false
  /** Silent frames since comfort noise was sent; 0 during speech. */
  #silentFrames = 0
  /** The last packet carried audio, so the next one does not start a talk spurt. */
  #inTalkSpurt = false
  #eventTimestamp = 0

  /**
   * @param random ten random bytes: SSRC, first timestamp and first sequence number (RFC 3550 section 5.1)
   */
  constructor(rate: SessionRate, random: Buffer) {
    this.#rate = rate
    this.#samples = (rate / 1000) * FRAME_MS
    this.#silence = idleNoiseFrames(rate)
    this.#frame = new Int16Array(this.#samples)
    this.#ssrc = random.readUInt32BE(0)
    this.#firstTimestamp = random.readUInt32BE(4)
    // In the lower half: a receiver of SRTP that misses the packets before the number wraps could decrypt none after them
    // (RFC 4771 section 1).
    this.#sequence = random.readUInt16BE(8) & 0x7fff
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

  /** Takes a copy of the audio of this tick. */
  push(pcm: Int16Array): void {
    if (this.#remote === null) return
    this.#frame.set(pcm)
    this.#hasFrame = true
  }

  /**
   * Sends the packets of this tick. Returns true when the pushed audio is in them, or is pending for the next
   * one.
   */
  flush(at: number, port: PacketSink, to: SourceLatch): boolean {
    const pushed = this.#hasFrame
    this.#hasFrame = false
    const remote = this.#remote
    const encoder = this.#encoder
    if (remote === null || encoder === null) return false
    if (!remote.send || to.port === 0) {
      this.#inTalkSpurt = false
      encoder.clear()
      return false
    }
    if (this.#sendEvent(remote, at, port, to)) {
      encoder.clear()
      return false
    }
    if (!pushed && encoder.empty && remote.noisePayloadType !== undefined) {
      this.#sendNoise(remote.noisePayloadType, at, port, to)
      return false
    }
    this.#silentFrames = 0
    const silence = this.#silence[(at / this.#samples) % this.#silence.length] as Int16Array
    encoder.push(pushed ? this.#frame : silence, at, pushed)
    while (encoder.ready) this.#sendAudio(encoder, remote.payloadType, port, to)
    return pushed
  }

  #sendAudio(encoder: EncoderPipeline, payloadType: number, port: PacketSink, to: SourceLatch): void {
    const slot = this.#audio[this.#ring] as PacketBuffer
    const at = encoder.at
    const hasAudio = encoder.hasAudio
    const bytes = encoder.take(slot.whole, RTP_HEADER_BYTES)
    if (bytes === 0) {
      this.#inTalkSpurt = false
      return
    }
    const length = RTP_HEADER_BYTES + bytes
    if (slot.packet.length !== length) slot.packet = slot.whole.subarray(0, length)
    const marker = hasAudio && !this.#inTalkSpurt
    this.#inTalkSpurt = hasAudio
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
    // All packets of an event carry the timestamp of its start (RFC 4733).
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
