import { decodeAlaw, decodeUlaw } from '../codec/g711.js'
import { openResampler, type Resampler } from '../codec/resample.js'
import type { AudioFrame, Digit, SessionRate } from '../frame.js'
import { JitterBuffer } from '../jitter.js'
import { DtmfReceiver } from './dtmf.js'
import { ArrivalEar, MAX_PACKET_SAMPLES } from './ear.js'
import { isRtcp, RtpPacket } from './packet.js'
import type { RtpRemote } from './remote.js'
import { DUPLICATE, RESTART, SequenceTracker, STALE } from './sequence.js'
import type { RtpSource } from './source.js'
import { RtpTimeline } from './timeline.js'

const FRAME = 160
/** A stream this late (samples), for that long, is not delayed: its timestamps stood still. */
const STANDING_DELAY = 1600
const STANDING_FOR = 3200
/** The ear calls it silence when nothing came for the usual jitter and two packets more, at least 60 ms. */
const MIN_BEHIND = 480
const MAX_JITTER_MARGIN = 960
/** RFC 3389 comfort noise: tells that the far side is silent, carries no speech. */
const COMFORT_NOISE = 13

/** The listening half of a network leg: from datagrams to frames and digits. No socket, no clock. */
export class RtpReceiver {
  packetsReceived = 0
  refused = 0
  rtcp = 0
  readonly #source: RtpSource
  readonly #packet = new RtpPacket()
  readonly #sequence = new SequenceTracker()
  readonly #timeline = new RtpTimeline()
  readonly #jitter = new JitterBuffer()
  readonly #ear: ArrivalEar
  readonly #dtmf: DtmfReceiver
  readonly #pcm = new Int16Array(MAX_PACKET_SAMPLES)
  readonly #ratio: number
  readonly #upsampler: Resampler | null
  readonly #narrow = new Int16Array(FRAME)
  #remote: RtpRemote | null = null
  #standingSince = -1
  #staleCount = 0

  constructor(
    rate: SessionRate,
    source: RtpSource,
    onFrame: (frame: AudioFrame) => void,
    onDigit: (digit: Digit, durationMs: number) => void,
  ) {
    this.#source = source
    this.#ratio = rate / 8000
    this.#upsampler = rate === 8000 ? null : openResampler(8000, rate)
    this.#ear = new ArrivalEar(rate, onFrame)
    this.#dtmf = new DtmfReceiver(onDigit)
  }

  get lost(): number {
    return this.#sequence.lost
  }

  get late(): number {
    return this.#jitter.late + this.#staleCount
  }

  get duplicates(): number {
    return this.#sequence.duplicates
  }

  get concealedFrames(): number {
    return this.#jitter.concealed
  }

  get jitterMs(): number {
    return this.#timeline.jitter / 8
  }

  setRemote(remote: RtpRemote): void {
    this.#remote = remote
  }

  /** `now` is the session position in samples of 8 kHz. False when the datagram is not this leg's. */
  datagram(data: Uint8Array, address: string, port: number, nowMs: number, now: number): boolean {
    const remote = this.#remote
    const packet = this.#packet
    if (isRtcp(data)) {
      this.rtcp++
      return false
    }
    if (remote === null || !packet.parse(data) || !accepts(remote, packet)) {
      this.refused++
      return false
    }
    const verdict = this.#source.accept(address, port, packet.ssrc, nowMs)
    if (verdict === 'refused') {
      this.refused++
      return false
    }
    if (verdict === 'new') this.#restart()
    this.packetsReceived++
    const order = this.#sequence.update(packet.sequence)
    if (order === RESTART) this.#restartTime()
    if (order === DUPLICATE) return true
    if (order === STALE) {
      this.#staleCount++
      return true
    }
    if (packet.payloadType === remote.dtmfPayloadType) {
      this.#ear.skip(this.#sequence.extended)
      this.#dtmf.packet(data, packet.payloadOffset, packet.payloadLength, packet.timestamp, nowMs)
    } else if (packet.payloadType === remote.payloadType) {
      this.#audio(data, remote, now)
    } else {
      this.#ear.skip(this.#sequence.extended)
    }
    return true
  }

  /** The next 20 ms after the jitter delay, at the session rate. */
  pull(into: Int16Array, at: number): boolean {
    const nowTs = Math.round(this.#timeline.timestampAt(at / this.#ratio))
    if (this.#upsampler === null) return this.#jitter.pull(into, nowTs)
    const sounding = this.#jitter.pull(this.#narrow, nowTs)
    into.set(this.#upsampler.process(this.#narrow))
    return sounding
  }

  beat(nowMs: number, now: number): void {
    this.#dtmf.beat(nowMs)
    const margin = Math.min(MAX_JITTER_MARGIN, this.#jitter.targetMs * 8)
    this.#ear.beat(now, FRAME + Math.max(MIN_BEHIND, margin + 2 * FRAME))
  }

  #audio(data: Uint8Array, remote: RtpRemote, now: number): void {
    const packet = this.#packet
    const length = Math.min(packet.payloadLength, MAX_PACKET_SAMPLES)
    if (length === 0) return
    let ts = this.#timeline.observe(packet.timestamp, now)
    if (ts === -1 || this.#stands(now)) {
      this.#restartTime()
      ts = this.#timeline.observe(packet.timestamp, now)
    }
    if (remote.codec === 'PCMA') decodeAlaw(data, packet.payloadOffset, length, this.#pcm, 0)
    else decodeUlaw(data, packet.payloadOffset, length, this.#pcm, 0)
    // On hold the stream is followed, so that it goes on smoothly, but nothing of it is heard.
    if (!remote.receive) this.#pcm.fill(0, 0, length)
    this.#jitter.put(ts, this.#pcm, length, Math.round(this.#timeline.timestampAt(now)))
    // A packet leaves when its last sample was spoken: its first one is as old as the packet is long.
    const spoken = this.#timeline.position(ts) - length
    this.#ear.put(this.#sequence.extended, spoken, this.#pcm, length, now)
  }

  #stands(now: number): boolean {
    if (this.#timeline.delay < STANDING_DELAY) {
      this.#standingSince = -1
      return false
    }
    if (this.#standingSince === -1) this.#standingSince = now
    return now - this.#standingSince > STANDING_FOR
  }

  #restart(): void {
    if (this.packetsReceived > 0) this.#sequence.restart()
    this.#dtmf.restart()
    this.#restartTime()
  }

  #restartTime(): void {
    this.#standingSince = -1
    this.#timeline.restart()
    this.#jitter.flush()
    this.#ear.restart()
  }
}

function accepts(remote: RtpRemote, packet: RtpPacket): boolean {
  const type = packet.payloadType
  return type === remote.payloadType || type === remote.dtmfPayloadType || type === COMFORT_NOISE
}
