import { type Digit, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { DecoderPipeline } from '../../codec/decoder-pipeline.js'
import { codecOf } from '../../codec/registry.js'
import { JitterBuffer } from '../../jitter/jitter-buffer.js'
import { ComfortNoiseGenerator } from '../comfort-noise.js'
import { RtpPacket } from '../packet.js'
import type { ReceiveFormat, RtpRemote } from '../remote-description.js'
import type { PlayoutStats } from '../stats.js'
import { DtmfReceiver } from '../telephone-event.js'
import { ArrivalFramer, type FrameListener } from './arrival-framer.js'
import { DUPLICATE, RESTART, ReceptionStatistics, STALE } from './reception.js'
import { type QueuedPacket, ReorderBuffer } from './reorder-buffer.js'
import type { SourceLatch } from './source-latch.js'
import { RtpTimeline } from './timeline.js'

/** A stream this late for this long is not delayed: the sender's timestamps stood still. */
const STANDING_DELAY_MS = 200
const STANDING_FOR_MS = 400
/**
 * Silence is delivered when no packet arrived for the usual jitter and two more packets, at least this long
 * (ms).
 */
const MIN_BEHIND_MS = 60
const MAX_JITTER_MARGIN_MS = 120
/** Longest wait of a packet in the reorder buffer (ms). */
const HELD_MS = 40
/**
 * RFC 3389 comfort noise: the peer is silent. Its static payload type is accepted even if it was not
 * negotiated.
 */
const COMFORT_NOISE = 13
const NOISE: ReceiveFormat = { payloadType: COMFORT_NOISE, kind: 'noise' }

/**
 * The receiving half of a network leg: turns datagrams into frames and digits. It has no socket and no clock.
 */
export class RtpReceiver {
  packetsReceived = 0
  refused = 0
  readonly reception = new ReceptionStatistics()
  readonly #latch: SourceLatch
  readonly #packet = new RtpPacket()
  readonly #timeline: RtpTimeline
  readonly #jitter: JitterBuffer
  readonly #framer: ArrivalFramer
  readonly #dtmf: DtmfReceiver
  readonly #reorder: ReorderBuffer
  readonly #rate: SessionRate
  readonly #perMs: number
  /** Formats by payload type; null refuses a packet. */
  readonly #formats: (ReceiveFormat | null)[] = new Array(128).fill(null)
  /** Decoders by payload type. */
  readonly #decoders: (DecoderPipeline | null)[] = new Array(128).fill(null)
  #comfortNoise: ComfortNoiseGenerator
  /** The last packet was comfort noise. */
  #silent = false
  #remote: RtpRemote | null = null
  #standingSince = -1
  #staleCount = 0
  /** The jitter buffer is in use. */
  #playout = true

  constructor(rate: SessionRate, latch: SourceLatch, onDigit: (digit: Digit, durationMs: number) => void) {
    this.#latch = latch
    this.#rate = rate
    this.#perMs = rate / 1000
    this.#timeline = new RtpTimeline(rate)
    this.#jitter = new JitterBuffer(rate)
    this.#framer = new ArrivalFramer(rate)
    this.#framer.counts = false
    this.#dtmf = new DtmfReceiver(onDigit)
    this.#reorder = new ReorderBuffer((data, arrival) => this.#receiveAudio(data, arrival))
    this.#comfortNoise = new ComfortNoiseGenerator(rate, 8000)
  }

  /** Delivers frames to `listener` from now on. */
  start(listener: FrameListener): void {
    this.#framer.start(listener)
  }

  get lost(): number {
    return this.reception.lost
  }

  get late(): number {
    return this.#jitter.late + this.#framer.late + this.#staleCount
  }

  get duplicates(): number {
    return this.reception.duplicates
  }

  get concealedFrames(): number {
    return this.#jitter.concealed + this.#framer.concealed
  }

  get jitterMs(): number {
    return this.#timeline.jitter / this.#perMs
  }

  /** Playout delay of the jitter buffer (ms). */
  get playoutMs(): number {
    return this.#jitter.targetMs
  }

  playout(): PlayoutStats {
    const { targetMs, delayMs, insertedMs, discardedMs } = this.#jitter
    return { targetMs, delayMs, insertedMs, discardedMs, driftPpm: this.#timeline.driftPpm }
  }

  setRemote(remote: RtpRemote): void {
    this.#remote = remote
    const noiseRate = codecOf(remote.codec).wideband ? 16000 : 8000
    if (this.#comfortNoise.rate !== noiseRate)
      this.#comfortNoise = new ComfortNoiseGenerator(this.#rate, noiseRate)
    const before = [...this.#decoders]
    this.#formats.fill(null)
    this.#decoders.fill(null)
    this.#formats[COMFORT_NOISE] = NOISE
    for (const format of remote.receiveFormats ?? formatsOf(remote)) {
      this.#formats[format.payloadType] = format
      if (format.kind !== 'audio') continue
      // A decoder that is still in use keeps its state.
      const kept = before.find((decoder) => decoder?.codec === format.codec)
      this.#decoders[format.payloadType] = kept ?? new DecoderPipeline(format.codec, this.#rate)
    }
  }

  /**
   * Takes a datagram. `now` is the session position (samples). Returns false when the datagram does not
   * belong to this leg.
   */
  receive(data: Uint8Array, address: string, port: number, nowMs: number, now: number): boolean {
    const remote = this.#remote
    const packet = this.#packet
    const format = packet.parse(data) ? (this.#formats[packet.payloadType] as ReceiveFormat | null) : null
    if (remote === null || format === null) {
      this.refused++
      return false
    }
    const isEvent = format.kind === 'event'
    const verdict = this.#latch.accept(address, port, packet.ssrc, packet.sequence, nowMs, isEvent)
    if (verdict === 'refused') {
      this.refused++
      return false
    }
    this.packetsReceived++
    if (isEvent && verdict === 'beside') {
      this.#dtmf.packet(data, packet, nowMs, format.clockRate)
      return true
    }
    if (verdict === 'new') this.#restart()
    const order = this.reception.packet(packet.ssrc, packet.sequence)
    if (order === RESTART) {
      this.#dtmf.restart()
      this.#reorder.restart()
      this.#restartTime()
    }
    if (order === DUPLICATE) return true
    if (order === STALE) {
      this.#staleCount++
      return true
    }
    const sequence = this.reception.extended
    if (format.kind === 'audio') {
      this.#reorder.put(data, packet, sequence, now, codecOf(format.codec).statefulDecoder)
      return true
    }
    this.#reorder.skip(sequence)
    this.#framer.skip(sequence, now)
    if (isEvent) this.#dtmf.packet(data, packet, nowMs, format.clockRate)
    else if (remote.receive) {
      this.#silent = true
      this.#comfortNoise.update(data, packet.payloadOffset, packet.payloadLength)
    }
    return true
  }

  /** Sets whether `pull` is called. Without playout the framer counts what was late or lost. */
  setPlayout(on: boolean): void {
    if (on === this.#playout) return
    this.#playout = on
    this.#framer.counts = !on
    if (!on) this.#jitter.suspend()
  }

  /**
   * Writes the next 20 ms after the jitter delay, at the session rate: audio, or the comfort noise of the
   * peer.
   */
  pull(into: Int16Array, at: number): boolean {
    const noise = this.#comfortNoise
    if (this.#jitter.pull(into, Math.round(this.#timeline.timestampAt(at)))) {
      if (!this.#silent) noise.stop()
      return true
    }
    if (noise.active) noise.pull(into)
    return noise.active
  }

  tick(nowMs: number, now: number): void {
    this.#dtmf.tick(nowMs)
    this.#reorder.tick(now - HELD_MS * this.#perMs)
    const marginMs = Math.min(MAX_JITTER_MARGIN_MS, this.#jitter.targetMs)
    const behindMs = FRAME_MS + Math.max(MIN_BEHIND_MS, marginMs + 2 * FRAME_MS)
    this.#framer.tick(now, behindMs * this.#perMs)
  }

  #receiveAudio(data: Uint8Array, packet: QueuedPacket): void {
    const { now, sequence } = packet
    const decoder = this.#decoders[packet.payloadType]
    // The packet was held while a re-INVITE removed its format.
    if (decoder === null || decoder === undefined) return
    if (this.#timeline.setClock(codecOf(decoder.codec).clockRate)) this.#restartTime()
    const length = decoder.decode(data, packet.payloadOffset, packet.payloadLength)
    if (length === 0) {
      // The packet has no audio, but is not lost: keep-alives are empty (RFC 6263 section 4.6).
      this.#framer.skip(sequence, now)
      return
    }
    let ts = this.#timeline.observe(packet.timestamp, now)
    if (ts === -1 || this.#isStalled(now)) {
      this.#restartTime()
      ts = this.#timeline.observe(packet.timestamp, now)
    }
    this.reception.jitter = this.#timeline.jitterTicks
    this.#silent = false
    const { pcm } = decoder
    // On hold the stream is tracked, so that it resumes smoothly, but it is silenced.
    if (this.#remote?.receive !== true) pcm.fill(0, 0, length)
    const played = this.#jitter.put(ts, pcm, length, Math.round(this.#timeline.timestampAt(now)))
    // A packet leaves after its last sample was spoken, so its first sample is as old as the packet is long.
    const firstSample = this.#timeline.position(ts) - length
    const delivered = this.#framer.put(sequence, firstSample, pcm, length, now)
    if (!(this.#playout ? played : delivered)) this.reception.discard(sequence)
  }

  #isStalled(now: number): boolean {
    if (this.#timeline.delay < STANDING_DELAY_MS * this.#perMs) {
      this.#standingSince = -1
      return false
    }
    if (this.#standingSince === -1) this.#standingSince = now
    return now - this.#standingSince > STANDING_FOR_MS * this.#perMs
  }

  #restart(): void {
    this.#silent = false
    this.#comfortNoise.stop()
    this.reception.restart()
    this.#reorder.restart()
    this.#restartTime()
  }

  #restartTime(): void {
    this.#standingSince = -1
    this.#timeline.restart()
    this.#jitter.flush()
    this.#framer.restart()
  }
}

/** Without a list the peer sends what it wants to receive, under the same payload types. */
function formatsOf(remote: RtpRemote): readonly ReceiveFormat[] {
  const { codec, payloadType, dtmfPayloadType, dtmfClockRate = codecOf(codec).clockRate } = remote
  const audio: ReceiveFormat = { payloadType, kind: 'audio', codec }
  if (dtmfPayloadType === null) return [audio]
  return [audio, { payloadType: dtmfPayloadType, kind: 'event', clockRate: dtmfClockRate }]
}
