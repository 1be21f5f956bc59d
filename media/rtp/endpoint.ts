import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import type { AudioFrame, Digit, DtmfTiming, SessionRate } from '../base/frame.js'
import type { Log } from '../base/log.js'
import { codecOf } from '../codec/registry.js'
import type { ArrivalListener, CloseReason, EndpointId, NetworkEndpoint } from '../session/endpoint.js'
import type { DatagramListener, PortRange, RtpPortPair, RtpPorts } from './port.js'
import { RtpReceiver } from './receive/receiver.js'
import { SourceLatch } from './receive/source-latch.js'
import type { RtpRemote } from './remote-description.js'
import { callQuality } from './rtcp/call-quality.js'
import { RtpSender } from './sender.js'
import type { RtpStats } from './stats.js'
import { RtpTransport } from './transport.js'

export interface RtpEndpointOptions {
  readonly id: EndpointId
  /** Local address to bind. */
  readonly address: string
  /** Allocates the sockets: one allocator per thread, because it remembers the ports in quarantine. */
  readonly ports: RtpPorts
  /** Even ports of this range; null takes any free port. */
  readonly portRange: PortRange | null
  /** Of the session. The wire has the codec's. */
  readonly rate: SessionRate
  readonly clock: Clock
  readonly log: Log
  /**
   * An observer's copy of each digit heard. The session already hands digits to the ends this one is
   * routed to (`End.dtmf`): do not hand them on from here.
   */
  readonly onDigit: ((digit: Digit, durationMs: number) => void) | null
  /** Once for each silence: nothing valid came for `mediaTimeoutMs` although it should. */
  readonly onTimeout: (silentMs: number) => void
  readonly mediaTimeoutMs: number
  /**
   * Once: a listener, or what it calls, threw at a packet; nothing is heard from then on. Without it
   * the error is the thread's.
   */
  readonly onFault?: (error: unknown) => void
}

export interface RtpEndpointStats extends RtpStats {
  readonly sendErrors: number
  /** RTCP packets taken, and sent. */
  readonly rtcp: number
  readonly rtcpSent: number
  /** Among the refused: of other places or streams, not genuine (SRTP), other protocols (RFC 7983). */
  readonly unknownSources: number
  readonly authFailures: number
  readonly otherProtocols: number
  /** More of the stream's own place than can be; and floods of others that the system keeps away. */
  readonly floodDropped: number
  readonly filterActivations: number
  /** How often the place to send to was set by packets, the first time included. */
  readonly latches: number
}

export interface RtpEndpoint extends NetworkEndpoint {
  readonly address: string
  readonly port: number
  /** For RTCP that does not come on `port`. */
  readonly rtcpPort: number
  /** What SDP says, at first and after every re-INVITE. */
  setRemote(remote: RtpRemote): void
  /** Sends digits as RFC 4733 events; false when not negotiated, not live, or too many are waiting. */
  press(digits: readonly Digit[], timing?: DtmfTiming): boolean
  stats(): RtpEndpointStats
}

/**
 * Opens a network leg: symmetric RTP on one socket, one packet per tick from `start` to `close`. Rejects
 * with EngineError `port_unavailable` when no port is free.
 */
export async function openRtpEndpoint(options: RtpEndpointOptions): Promise<RtpEndpoint> {
  const endpoint = new UdpRtpEndpoint(options)
  const { ports, address, portRange } = options
  endpoint.bind(await ports.open(address, portRange, endpoint, endpoint.rtcpListener))
  return endpoint
}

class UdpRtpEndpoint implements RtpEndpoint {
  readonly id: EndpointId
  readonly kind = 'rtp'
  readonly delivery = 'tick'
  readonly #clock: Clock
  readonly #log: Log
  readonly #onTimeout: (silentMs: number) => void
  readonly #mediaTimeoutMs: number
  readonly #perMs: number
  readonly #onDigit: ((digit: Digit, durationMs: number) => void) | null
  readonly #transport: RtpTransport
  readonly #receiver: RtpReceiver
  readonly #sender: RtpSender
  #ports: RtpPortPair | null = null
  #remote: RtpRemote | null = null
  #listener: ArrivalListener | null = null
  #originMs = 0
  #lastHeardMs = 0
  #timedOut = false
  #failed = false
  #closed = false
  readonly #onFault: ((error: unknown) => void) | undefined

  constructor(options: RtpEndpointOptions) {
    this.id = options.id
    this.#clock = options.clock
    this.#log = options.log
    this.#onTimeout = options.onTimeout
    this.#mediaTimeoutMs = options.mediaTimeoutMs
    this.#perMs = options.rate / 1000
    this.#onDigit = options.onDigit
    this.#onFault = options.onFault
    this.#sender = new RtpSender(options.rate, randomBytes(10))
    const latch = new SourceLatch()
    this.#receiver = new RtpReceiver(options.rate, latch, (digit, durationMs) => {
      this.#listener?.onDigit(digit, durationMs)
      this.#onDigit?.(digit, durationMs)
    })
    this.#transport = new RtpTransport({
      clock: options.clock,
      latch,
      reception: this.#receiver.reception,
      ssrc: this.#sender.ssrc,
      // RFC 7022 section 4.2: random, for this call only.
      cname: Buffer.from(randomBytes(12).toString('base64')),
      random: Math.random,
    })
  }

  get address(): string {
    return this.#ports?.rtp.address ?? ''
  }

  get port(): number {
    return this.#ports?.rtp.port ?? 0
  }

  get rtcpPort(): number {
    return this.#ports?.rtcp.port ?? 0
  }

  /** What listens on the RTCP port. */
  readonly rtcpListener: DatagramListener = {
    onDatagram: (data, from) => {
      if (this.#listener === null || this.#closed || this.#failed) return
      this.#transport.receiveRtcp(data, from, this.#clock.now())
    },
  }

  /** The sockets that feed `datagram` and `control`; once. */
  bind(ports: RtpPortPair): void {
    this.#ports = ports
    this.#transport.bind(ports)
  }

  setRemote(remote: RtpRemote): void {
    this.#remote = remote
    this.#transport.setRemote(remote, codecOf(remote.codec).clockRate)
    this.#receiver.setRemote(remote)
    this.#sender.setRemote(remote)
    this.#restartTimeout()
  }

  start(originMs: number, listener: ArrivalListener): void {
    if (this.#closed || this.#listener !== null) return
    this.#originMs = originMs
    this.#listener = listener
    this.#receiver.start(listener)
    this.#restartTimeout()
  }

  onDatagram(data: Uint8Array, from: { readonly address: string; readonly port: number }): void {
    if (this.#listener === null || this.#closed || this.#failed) return
    const nowMs = this.#clock.now()
    const packet = this.#transport.receive(data, from, nowMs)
    if (packet === null) return
    try {
      const now = (nowMs - this.#originMs) * this.#perMs
      if (!this.#receiver.receive(packet, from.address, from.port, nowMs, now)) return
      this.#transport.accepted(nowMs)
    } catch (error) {
      if (this.#onFault === undefined) throw error
      // The socket's callback belongs to the thread: other calls must not pay for this one.
      this.#failed = true
      this.#onFault(error)
      return
    }
    this.#lastHeardMs = nowMs
    this.#timedOut = false
  }

  pull(into: Int16Array, at: number): boolean {
    return this.#receiver.pull(into, at)
  }

  push(frame: AudioFrame): void {
    if (this.#listener !== null && !this.#closed) this.#sender.push(frame.pcm)
  }

  press(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    if (this.#closed || this.#listener === null) return false
    return this.#sender.press(digits, timing)
  }

  flush(at: number): boolean {
    if (this.#closed || this.#listener === null || this.#remote === null) return false
    const nowMs = this.#clock.now()
    this.#receiver.tick(nowMs, (nowMs - this.#originMs) * this.#perMs)
    this.#checkTimeout(nowMs)
    this.#transport.tick(nowMs)
    return this.#sender.flush(at, this.#transport, this.#transport.latch)
  }

  stats(): RtpEndpointStats {
    const receiver = this.#receiver
    const wire = this.#transport
    return {
      packetsSent: this.#sender.packetsSent,
      packetsReceived: receiver.packetsReceived,
      lost: receiver.lost,
      late: receiver.late,
      duplicates: receiver.duplicates,
      refused: receiver.refused + wire.refused,
      concealedFrames: receiver.concealedFrames,
      jitterMs: receiver.jitterMs,
      rtcp: wire.rtcp.received,
      rtcpSent: wire.rtcp.sent,
      sendErrors: (this.#ports?.rtp.sendErrors ?? 0) + (this.#ports?.rtcp.sendErrors ?? 0),
      unknownSources: wire.unknownSources + wire.latch.unknownSources,
      authFailures: wire.authFailures,
      otherProtocols: wire.stun + wire.dtls + wire.otherProtocols,
      floodDropped: wire.floodDropped,
      filterActivations: wire.filterActivations,
      latches: wire.latch.latches,
      quality: callQuality(receiver.reception, wire.rtcp, receiver.jitterMs, receiver.playoutMs),
      playout: receiver.playout(),
    }
  }

  close(why: CloseReason): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#listener !== null) this.#transport.close(this.#clock.now())
    this.#ports?.rtp.close()
    this.#ports?.rtcp.close()
    this.#log.debug({ endpoint: this.id, why, stats: this.stats() }, 'rtp.closed')
  }

  #restartTimeout(): void {
    this.#lastHeardMs = this.#clock.now()
    this.#timedOut = false
  }

  #checkTimeout(nowMs: number): void {
    if (this.#timedOut || this.#remote?.receive !== true) return
    // A peer that is muted or suppresses silence still reports (RFC 3550 section 6).
    const silentMs = nowMs - Math.max(this.#lastHeardMs, this.#transport.lastRtcpMs)
    if (silentMs < this.#mediaTimeoutMs) return
    this.#timedOut = true
    this.#onTimeout(silentMs)
  }
}
