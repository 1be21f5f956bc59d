import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import type { AudioFrame, Digit, DtmfTiming, SessionRate } from '../base/frame.js'
import type { Log } from '../base/log.js'
import { codecOf } from '../codec/registry.js'
import type { ArrivalListener, CloseReason, EndpointId, NetworkEndpoint } from '../session/endpoint.js'
import type { DtlsIdentity } from './dtls/identity.js'
import type { DatagramListener, PortRange, RtpPortPair, RtpPorts, SocketAddress } from './port.js'
import { RtpReceiver } from './receive/receiver.js'
import { SourceLatch } from './receive/source-latch.js'
import type { RtpRemote } from './remote-description.js'
import { callQuality } from './rtcp/call-quality.js'
import { RtpSender } from './sender.js'
import type { RtpStats } from './stats.js'
import { relayTiming } from './telephone-event.js'
import { RtpTransport } from './transport.js'

export interface RtpEndpointOptions {
  readonly id: EndpointId
  /** Local address to bind. */
  readonly address: string
  /** Allocates the sockets: one allocator per thread, because it remembers the ports in quarantine. */
  readonly ports: RtpPorts
  /** Even ports of this range; null takes any free port. */
  readonly portRange: PortRange | null
  /** Sample rate of the session (Hz). The codec determines the rate in the packets. */
  readonly rate: SessionRate
  readonly clock: Clock
  readonly log: Log
  /**
   * Observes each received digit before the session delivers it to the endpoints that this one is routed to
   * (`Endpoint.dtmf`). Returns true to keep the digit from them.
   */
  readonly onDigit: ((digit: Digit, durationMs: number) => boolean) | null
  /**
   * Called each time that no valid packet arrived for another `mediaTimeoutMs` although the peer should send. `again` is
   * false for the first time of a silence.
   */
  readonly onTimeout: (silentMs: number, again: boolean) => void
  /** Infinity never reports a silence. */
  readonly mediaTimeoutMs: number
  /** Called once when no packet can arrive any more, because the DTLS handshake failed. */
  readonly onFailed?: () => void
  /** Called once when the peer said that it left: it closed its DTLS association. No media follows. */
  readonly onLeft?: () => void
  /** Certificate for peers that make their SRTP keys by DTLS. Without it such a peer is refused by `setRemote`. */
  readonly identity?: DtlsIdentity
  /**
   * Called once when a listener throws at a packet. Nothing is received afterwards. Without this callback the
   * error is thrown in the socket's callback.
   */
  readonly onFault?: (error: unknown) => void
}

export interface RtpEndpointStats extends RtpStats {
  readonly sendErrors: number
  /** RTCP packets received and sent. */
  readonly rtcp: number
  readonly rtcpSent: number
  /**
   * Parts of `refused`: from other addresses or streams, failed SRTP authentication, other protocols (RFC
   * 7983).
   */
  readonly unknownSources: number
  readonly authFailures: number
  readonly otherProtocols: number
  /**
   * Datagrams of the stream's own address beyond the possible packet rate, and floods from other addresses
   * that the system was asked to drop.
   */
  readonly floodDropped: number
  readonly filterActivations: number
  /** Number of times the address to send to was set by received packets, including the first time. */
  readonly latches: number
}

/**
 * Opens a network leg: symmetric RTP on one socket, one packet per tick from `start` to `close`. Rejects
 * with EngineError `port_unavailable` when no port is free.
 */
export async function openRtpEndpoint(options: RtpEndpointOptions): Promise<RtpEndpoint> {
  const endpoint = new RtpEndpoint(options)
  const { ports, address, portRange } = options
  endpoint.bind(await ports.open(address, portRange, endpoint, endpoint.rtcpListener))
  return endpoint
}

/** A network leg: RTP and RTCP on their sockets, until `close`. Opened by `openRtpEndpoint`. */
export class RtpEndpoint implements NetworkEndpoint {
  readonly id: EndpointId
  readonly kind = 'rtp'
  readonly delivery = 'tick'
  /** Names the sent stream in RTCP. */
  readonly cname: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #onTimeout: RtpEndpointOptions['onTimeout']
  readonly #onFailed: (() => void) | undefined
  readonly #mediaTimeoutMs: number
  readonly #perMs: number
  readonly #onDigit: RtpEndpointOptions['onDigit']
  readonly #transport: RtpTransport
  readonly #receiver: RtpReceiver
  readonly #sender: RtpSender
  #ports: RtpPortPair | null = null
  #remote: RtpRemote | null = null
  #listener: ArrivalListener | null = null
  #originMs = 0
  #lastReceivedMs = 0
  /** When the peer was heard last, and how often its silence since then was reported. */
  #silentSinceMs = 0
  #silenceReports = 0
  /** The DTLS handshake failed, which is still to be reported. */
  #dtlsFailed = false
  #failed = false
  #closed = false
  readonly #onFault: ((error: unknown) => void) | undefined

  constructor(options: RtpEndpointOptions) {
    this.id = options.id
    this.#clock = options.clock
    this.#log = options.log
    this.#onTimeout = options.onTimeout
    this.#onFailed = options.onFailed
    this.#mediaTimeoutMs = options.mediaTimeoutMs
    this.#perMs = options.rate / 1000
    this.#onDigit = options.onDigit
    this.#onFault = options.onFault
    this.#sender = new RtpSender(options.rate, randomBytes(10))
    const latch = new SourceLatch()
    this.#receiver = new RtpReceiver(options.rate, latch, (digit, durationMs) => {
      if (this.#onDigit?.(digit, durationMs) !== true) this.#listener?.onDigit(digit, durationMs)
    })
    // RFC 7022 section 4.2: random for each call.
    this.cname = randomBytes(12).toString('base64')
    this.#transport = new RtpTransport({
      clock: options.clock,
      latch,
      reception: this.#receiver.reception,
      ssrc: this.#sender.ssrc,
      cname: Buffer.from(this.cname),
      random: Math.random,
      identity: options.identity ?? null,
      onDtlsEnd: (end, reason) => {
        this.#log.info({ endpoint: this.id, end, reason }, 'rtp.dtls_ended')
        if (end === 'closed' && options.onLeft !== undefined) options.onLeft()
        else this.#dtlsFailed = true
      },
    })
  }

  get address(): string {
    return this.#ports?.rtp.address ?? ''
  }

  get port(): number {
    return this.#ports?.rtp.port ?? 0
  }

  /** SSRC of the sent stream. */
  get ssrc(): number {
    return this.#sender.ssrc
  }

  /** Port for RTCP that is not multiplexed on `port`. */
  get rtcpPort(): number {
    return this.#ports?.rtcp.port ?? 0
  }

  /** Handles datagrams of the RTCP port. */
  readonly rtcpListener: DatagramListener = {
    onDatagram: (data, from) => {
      if (this.#listener === null || this.#closed || this.#failed) return
      this.#transport.receiveRtcp(data, from, this.#clock.now())
    },
  }

  /** Sets the sockets. Call it once. */
  bind(ports: RtpPortPair): void {
    this.#ports = ports
    this.#transport.bind(ports)
  }

  /** Applies the peer's SDP, initially and after every re-INVITE. */
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

  onDatagram(data: Uint8Array, from: SocketAddress): void {
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
      // All calls of the thread share the socket callbacks, so one failed leg must not throw there.
      this.#failed = true
      this.#onFault(error)
      return
    }
    this.#lastReceivedMs = nowMs
  }

  setPlayout(on: boolean): void {
    this.#receiver.setPlayout(on)
  }

  pull(into: Int16Array, at: number): boolean {
    return this.#receiver.pull(into, at)
  }

  push(frame: AudioFrame): void {
    if (this.#listener !== null && !this.#closed) this.#sender.push(frame.pcm)
  }

  /**
   * Sends digits as RFC 4733 events. Returns false when events were not negotiated, the leg is not live, or
   * the queue is full.
   */
  press(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    if (this.#closed || this.#listener === null) return false
    return this.#sender.press(digits, timing)
  }

  /**
   * Passes on a digit of another leg as RFC 4733 event, as long as it was held. A peer without telephone-event does not
   * get it, nor one that more digits wait for than the queue holds.
   */
  dtmf(digit: Digit, durationMs: number): void {
    this.press([digit], relayTiming(durationMs))
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
    const transport = this.#transport
    return {
      packetsSent: this.#sender.packetsSent,
      packetsReceived: receiver.packetsReceived,
      lost: receiver.lost,
      late: receiver.late,
      duplicates: receiver.duplicates,
      refused: receiver.refused + transport.refused,
      concealedFrames: receiver.concealedFrames,
      jitterMs: receiver.jitterMs,
      rtcp: transport.rtcp.received,
      rtcpSent: transport.rtcp.sent,
      sendErrors: (this.#ports?.rtp.sendErrors ?? 0) + (this.#ports?.rtcp.sendErrors ?? 0),
      unknownSources: transport.unknownSources + transport.latch.unknownSources,
      authFailures: transport.authFailures,
      otherProtocols: transport.stun + transport.dtls + transport.otherProtocols,
      floodDropped: transport.floodDropped,
      filterActivations: transport.filterActivations,
      latches: transport.latch.latches,
      quality: callQuality(receiver.reception, transport.rtcp, receiver.jitterMs, receiver.playoutMs),
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
    this.#lastReceivedMs = this.#clock.now()
  }

  /** A browser that only listens still sends RTCP. */
  get #expectsPackets(): boolean {
    const remote = this.#remote
    return remote !== null && (remote.receive || (remote.send && remote.dtls !== undefined))
  }

  #checkTimeout(nowMs: number): void {
    if (this.#dtlsFailed) {
      this.#dtlsFailed = false
      this.#onFailed?.()
    }
    if (!this.#expectsPackets) return
    // A muted peer, or one with silence suppression, still sends RTCP (RFC 3550 section 6).
    const heardMs = Math.max(this.#lastReceivedMs, this.#transport.lastRtcpMs)
    if (heardMs !== this.#silentSinceMs) {
      this.#silentSinceMs = heardMs
      this.#silenceReports = 0
    }
    const silentMs = nowMs - heardMs
    if (silentMs < this.#mediaTimeoutMs * (this.#silenceReports + 1)) return
    this.#onTimeout(silentMs, this.#silenceReports++ > 0)
  }
}
