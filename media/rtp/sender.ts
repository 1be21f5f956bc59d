import { encodeAlaw, encodeUlaw } from '../codec/g711.js'
import { openResampler, type Resampler } from '../codec/resample.js'
import type { Digit, SessionRate } from '../frame.js'
import { writeComfort } from './comfort.js'
import { DTMF_PAYLOAD_BYTES, DtmfSender } from './dtmf.js'
import { RTP_HEADER_BYTES, writeRtpHeader } from './packet.js'
import type { RtpPort } from './port.js'
import type { RtpRemote } from './remote.js'
import type { RtpSource } from './source.js'

const FRAME = 160
/** dgram keeps a packet until the system took it, at worst a few beats on a full socket. */
const RING = 8

/** The speaking half of a network leg: exactly one packet a beat. No clock. */
export class RtpSender {
  packetsSent = 0
  readonly #audio: Buffer[] = Array.from({ length: RING }, () => Buffer.alloc(RTP_HEADER_BYTES + FRAME))
  readonly #events: Buffer[] = Array.from({ length: RING }, () =>
    Buffer.alloc(RTP_HEADER_BYTES + DTMF_PAYLOAD_BYTES),
  )
  readonly #dtmf = new DtmfSender()
  readonly #ratio: number
  readonly #downsampler: Resampler | null
  readonly #ssrc: number
  readonly #firstTimestamp: number
  #remote: RtpRemote | null = null
  #sequence: number
  #ring = 0
  #pushed = false
  /** The last packet carried sound: the next sound is no start of a talk spurt. */
  #talking = false
  #eventTimestamp = 0

  /** @param random ten bytes: SSRC, first timestamp and first sequence number (RFC 3550, 5.1). */
  constructor(rate: SessionRate, random: Buffer) {
    this.#ratio = rate / 8000
    this.#downsampler = rate === 8000 ? null : openResampler(rate, 8000)
    this.#ssrc = random.readUInt32BE(0)
    this.#firstTimestamp = random.readUInt32BE(4)
    this.#sequence = random.readUInt16BE(8)
  }

  setRemote(remote: RtpRemote): void {
    this.#remote = remote
  }

  press(digits: readonly Digit[]): boolean {
    const remote = this.#remote
    if (remote === null || remote.dtmfPayloadType === null) return false
    return this.#dtmf.press(digits)
  }

  /** The sound of this beat, encoded at once. */
  push(pcm: Int16Array): void {
    if (this.#remote === null) return
    const narrow = this.#downsampler === null ? pcm : this.#downsampler.process(pcm)
    const buffer = this.#audio[this.#ring] as Buffer
    if (this.#remote.codec === 'PCMA') encodeAlaw(narrow, 0, FRAME, buffer, RTP_HEADER_BYTES)
    else encodeUlaw(narrow, 0, FRAME, buffer, RTP_HEADER_BYTES)
    this.#pushed = true
  }

  /** Sends the packet of this beat; true when it carried the pushed sound. */
  flush(at: number, port: RtpPort, to: RtpSource): boolean {
    const pushed = this.#pushed
    this.#pushed = false
    const remote = this.#remote
    if (remote === null) return false
    if (!remote.send || to.port === 0) {
      this.#talking = false
      return false
    }
    const timestamp = this.#firstTimestamp + at / this.#ratio
    if (this.#sendEvent(remote, timestamp, port, to)) return false
    const buffer = this.#audio[this.#ring] as Buffer
    if (!pushed) writeComfort(remote.codec, Math.floor(at / this.#ratio / FRAME), buffer, RTP_HEADER_BYTES)
    const marker = pushed && !this.#talking
    this.#talking = pushed
    this.#send(buffer, remote.payloadType, marker, timestamp, port, to)
    return pushed
  }

  #sendEvent(remote: RtpRemote, timestamp: number, port: RtpPort, to: RtpSource): boolean {
    const event = this.#dtmf.next()
    if (event === null || remote.dtmfPayloadType === null) return false
    // All packets of an event carry the timestamp of its beginning.
    if (event.marker) this.#eventTimestamp = timestamp
    const buffer = this.#events[this.#ring] as Buffer
    buffer.set(event.payload, RTP_HEADER_BYTES)
    this.#send(buffer, remote.dtmfPayloadType, event.marker, this.#eventTimestamp, port, to)
    this.#talking = false
    return true
  }

  #send(
    buffer: Buffer,
    type: number,
    marker: boolean,
    timestamp: number,
    port: RtpPort,
    to: RtpSource,
  ): void {
    writeRtpHeader(buffer, type, marker, this.#sequence, timestamp, this.#ssrc)
    this.#sequence = (this.#sequence + 1) & 0xffff
    this.#ring = (this.#ring + 1) % RING
    this.packetsSent++
    port.send(buffer, to.port, to.address)
  }
}
