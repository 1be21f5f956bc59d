import type { Clock } from '../base/clock.js'
import { isRtcp, RTP_HEADER_BYTES } from './packet.js'
import type { RtpPortPair } from './port.js'
import type { ReceptionStatistics } from './receive/reception.js'
import type { SourceLatch } from './receive/source-latch.js'
import type { RtpRemote } from './remote-description.js'
import { RtcpSession } from './rtcp/session.js'
import type { SrtpKey, SrtpKeys } from './srtp/keying.js'
import { SrtpReceiver, SrtpSender } from './srtp/srtp.js'
import { MAX_SRTP_OVERHEAD, readUint32 } from './srtp/transform.js'

/** dgram keeps a packet until the system took it, at worst a few beats on a full socket. */
const RING = 8

/** More than a peer sends in a beat, also after a second of standstill: the rest is dropped unread. */
const MAX_BURST = 64
/** So many datagrams of others in one beat are a flood: the system shall drop them. */
const FLOOD = 50
/** Behind a closed door nobody could take the stream over: it opens when the peer is this silent. */
const REOPEN_MS = 500

/** Where a datagram came from. */
export interface SourceAddress {
  readonly address: string
  readonly port: number
}

export interface RtpTransportOptions {
  readonly clock: Clock
  readonly latch: SourceLatch
  readonly reception: ReceptionStatistics
  /** Of the stream we send. */
  readonly ssrc: number
  readonly cname: Uint8Array
  /** In [0, 1): spreads the reports of many legs. */
  readonly random: () => number
}

/**
 * What lies between a leg and its two sockets: tells RTP from everything else that comes (RFC 7983),
 * protects and opens it, exchanges RTCP. Allocates nothing per packet in the clear; SRTP has what
 * `node:crypto` allocates.
 */
export class RtpTransport {
  readonly latch: SourceLatch
  readonly rtcp: RtcpSession
  /** Datagrams for which there is nobody here. */
  stun = 0
  dtls = 0
  otherProtocols = 0
  /** SRTP that is not genuine, or came before. */
  authFailures = 0
  /** RTCP from elsewhere than the stream. */
  unknownSources = 0
  /** Of the stream's own place, more than can be. */
  floodDropped = 0
  /** How often the system was asked to drop what comes from elsewhere. */
  filterActivations = 0
  /** All of these together. */
  refused = 0
  /** When RTCP last proved that the far side is there. */
  lastRtcpMs = Number.NEGATIVE_INFINITY
  readonly #clock: Clock
  readonly #rtcpRemote: { address: string; port: number } = { address: '', port: 0 }
  #ports: RtpPortPair | null = null
  #remote: RtpRemote | null = null
  #keys: SrtpKeys | null = null
  #out: SrtpSender | null = null
  #in: SrtpReceiver | null = null
  readonly #ring: Buffer[] = Array.from({ length: RING }, () => Buffer.alloc(0))
  #next = 0
  /** Datagrams in this beat: of the stream's place, and of others on each port. */
  #streamDatagrams = 0
  #otherDatagrams = 0
  #otherRtcp = 0
  #isFiltered = false
  #isRtcpFiltered = false
  #lastHeardMs = Number.NEGATIVE_INFINITY

  constructor({ clock, latch, reception, ssrc, cname, random }: RtpTransportOptions) {
    this.#clock = clock
    this.latch = latch
    this.rtcp = new RtcpSession(clock, ssrc, reception, cname, random)
  }

  bind(ports: RtpPortPair): void {
    this.#ports = ports
  }

  /** What SDP says; `clockRate` of the codec in use. */
  setRemote(remote: RtpRemote, clockRate: number): void {
    this.#remote = remote
    this.rtcp.setClockRate(clockRate)
    this.#removeFilters()
    this.latch.setSdpAddress(remote.address, remote.port)
    if (remote.rtcp !== undefined && !remote.rtcp.mux) {
      this.#rtcpRemote.address = remote.rtcp.address
      this.#rtcpRemote.port = remote.rtcp.port
    }
    this.#rekey(remote.srtp ?? null)
  }

  /** Sends an RTP packet of the stream; it must stay unchanged for the next few. */
  send(packet: Uint8Array, port: number, address: string): void {
    this.rtcp.packetSent(packet, packet.length - RTP_HEADER_BYTES, this.#clock.now())
    const ports = this.#ports
    if (ports === null) return
    if (this.#out === null) {
      ports.rtp.send(packet, port, address)
      return
    }
    const slot = this.#slot(packet.length + MAX_SRTP_OVERHEAD)
    slot.set(packet)
    ports.rtp.send(slot.subarray(0, this.#out.protectRtp(slot, packet.length)), port, address)
  }

  /**
   * A datagram of the RTP port: the RTP packet in the clear, which is valid until this returns to the
   * socket, or null when it was something else and is dealt with.
   */
  receive(data: Uint8Array, from: SourceAddress, nowMs: number): Uint8Array | null {
    if (from.port !== this.latch.port || from.address !== this.latch.address) this.#otherDatagrams++
    else if (++this.#streamDatagrams > MAX_BURST) {
      this.floodDropped++
      this.refused++
      return null
    }
    const first = data.length === 0 ? -1 : (data[0] as number)
    if (first < 128 || first > 191) {
      if (first >= 0 && first <= 3) this.stun++
      else if (first >= 20 && first <= 63) this.dtls++
      else this.otherProtocols++
      this.refused++
      return null
    }
    if (isRtcp(data)) {
      this.#takeRtcp(data, from, nowMs, true)
      return null
    }
    if (this.#in === null || data.length < RTP_HEADER_BYTES) return data
    // Who is not let in is not worth an HMAC.
    if (this.latch.wouldRefuse(from.address, from.port, readUint32(data, 8), nowMs)) {
      this.latch.unknownSources++
      this.refused++
      return null
    }
    const length = this.#in.unprotectRtp(data, data.length)
    if (length >= 0) return data.subarray(0, length)
    this.authFailures++
    this.refused++
    return null
  }

  /** Confirms that the last RTP packet belongs to the stream. */
  accepted(nowMs: number): void {
    this.#lastHeardMs = nowMs
  }

  /** A datagram of the RTCP port. */
  receiveRtcp(data: Uint8Array, from: SourceAddress, nowMs: number): void {
    if (from.port !== this.#rtcpRemote.port || from.address !== this.#rtcpRemote.address) this.#otherRtcp++
    else if (++this.#streamDatagrams > MAX_BURST) {
      this.floodDropped++
      this.refused++
      return
    }
    if (isRtcp(data)) {
      this.#takeRtcp(data, from, nowMs, false)
      return
    }
    this.otherProtocols++
    this.refused++
  }

  /** Once a beat: sends the reports that are due. */
  tick(nowMs: number): void {
    this.#limitFlood(nowMs)
    const reports = this.#remote?.rtcp === undefined ? null : this.rtcp.tick(nowMs)
    if (reports !== null) this.#sendRtcp(reports)
  }

  /** Says goodbye; the ports are the caller's to close. */
  close(nowMs: number): void {
    const reports = this.#remote?.rtcp === undefined ? null : this.rtcp.bye(nowMs)
    if (reports !== null) this.#sendRtcp(reports)
  }

  /** Lets the system keep a flood away while the stream lives; opens again for whoever may replace it. */
  #limitFlood(nowMs: number): void {
    const ports = this.#ports
    const { address, port } = this.latch
    if (ports !== null && nowMs - this.#lastHeardMs < REOPEN_MS) {
      if (this.#otherDatagrams > FLOOD && !this.#isFiltered) {
        this.#isFiltered = true
        this.filterActivations++
        ports.rtp.connect(port, address)
      }
      if (this.#otherRtcp > FLOOD && !this.#isRtcpFiltered && this.#rtcpRemote.address !== '') {
        this.#isRtcpFiltered = true
        this.filterActivations++
        ports.rtcp.connect(this.#rtcpRemote.port, this.#rtcpRemote.address)
      }
    } else this.#removeFilters()
    this.#streamDatagrams = 0
    this.#otherDatagrams = 0
    this.#otherRtcp = 0
  }

  #removeFilters(): void {
    if (this.#isFiltered) this.#ports?.rtp.disconnect()
    if (this.#isRtcpFiltered) this.#ports?.rtcp.disconnect()
    this.#isFiltered = false
    this.#isRtcpFiltered = false
  }

  #takeRtcp(data: Uint8Array, from: SourceAddress, nowMs: number, onRtpPort: boolean): void {
    if (!this.#isRtcpSource(from, onRtpPort)) {
      this.unknownSources++
      this.refused++
      return
    }
    let plain = data
    if (this.#in !== null) {
      const length = this.#in.unprotectRtcp(data, data.length)
      if (length < 0) {
        this.authFailures++
        this.refused++
        return
      }
      plain = data.subarray(0, length)
    }
    if (!this.rtcp.receive(plain, nowMs)) {
      this.refused++
      return
    }
    this.lastRtcpMs = nowMs
    if (onRtpPort) return
    // Symmetric, as for RTP: a NAT may have mapped its port.
    this.#rtcpRemote.address = from.address
    this.#rtcpRemote.port = from.port
  }

  /** RTCP counts from where the stream comes from; on a port of its own that is the same machine. */
  #isRtcpSource({ address, port }: SourceAddress, onRtpPort: boolean): boolean {
    if (this.#remote === null) return false
    if (onRtpPort) return address === this.latch.address && port === this.latch.port
    return address === this.latch.address || address === this.#remote.rtcp?.address
  }

  #sendRtcp(reports: Buffer): void {
    const ports = this.#ports
    const rtcp = this.#remote?.rtcp
    if (ports === null || rtcp === undefined) return
    const to = rtcp.mux ? this.latch : this.#rtcpRemote
    if (to.port === 0 || to.address === '' || to.address === '0.0.0.0' || to.address === '::') return
    const slot = Buffer.alloc(reports.length + MAX_SRTP_OVERHEAD)
    slot.set(reports)
    const length = this.#out === null ? reports.length : this.#out.protectRtcp(slot, reports.length)
    const socket = rtcp.mux ? ports.rtp : ports.rtcp
    socket.send(slot.subarray(0, length), to.port, to.address)
  }

  /** Roll-over counters and windows live as long as their key. */
  #rekey(keys: SrtpKeys | null): void {
    const before = this.#keys
    this.#keys = keys
    if (keys === null) {
      this.#out = null
      this.#in = null
      return
    }
    const suite = before?.suite === keys.suite
    if (!suite || !sameKey(before.send, keys.send)) this.#out = new SrtpSender(keys.suite, keys.send)
    if (!suite || !sameKey(before.receive, keys.receive))
      this.#in = new SrtpReceiver(keys.suite, keys.receive)
  }

  #slot(bytes: number): Buffer {
    this.#next = (this.#next + 1) % RING
    const slot = this.#ring[this.#next] as Buffer
    if (slot.length >= bytes) return slot
    const grown = Buffer.alloc(bytes)
    this.#ring[this.#next] = grown
    return grown
  }
}

function sameKey(a: SrtpKey, b: SrtpKey): boolean {
  return (
    Buffer.compare(a.keyAndSalt, b.keyAndSalt) === 0 &&
    Buffer.compare(a.mki ?? new Uint8Array(0), b.mki ?? new Uint8Array(0)) === 0
  )
}
