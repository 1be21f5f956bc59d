import type { Clock } from '../base/clock.js'
import { EngineError } from '../base/errors.js'
import { DtlsSrtp } from './dtls/dtls-srtp.js'
import type { DtlsIdentity } from './dtls/identity.js'
import type { DtlsEnd } from './dtls/server.js'
import { isRtcp, RTP_HEADER_BYTES } from './packet.js'
import type { RtpPortPair, SocketAddress } from './port.js'
import type { ReceptionStatistics } from './receive/reception.js'
import type { SourceLatch } from './receive/source-latch.js'
import type { DtlsRemote, RtpRemote } from './remote-description.js'
import { RtcpSession } from './rtcp/session.js'
import type { SrtpKey, SrtpKeys } from './srtp/keying.js'
import { SrtpReceiver, SrtpSender } from './srtp/srtp.js'
import { MAX_SRTP_OVERHEAD } from './srtp/transform.js'
import { readUint32 } from './uint32.js'

/**
 * Buffers in rotation. dgram keeps a packet until the system took it, at worst a few ticks on a full socket.
 */
const RING = 8

/**
 * More datagrams than a peer sends in one tick, even after a stall of a second. Further ones are dropped
 * unread.
 */
const MAX_BURST = 64
/** This many datagrams from other addresses in one tick are a flood, which the system is asked to drop. */
const FLOOD = 50
/**
 * The filter keeps a legitimate new source out, so it is removed when the peer is silent for this long (ms).
 */
const REOPEN_MS = 500
/**
 * A source that cannot be replaced while it sends gets a connected socket after this time (ms): the system then
 * neither routes nor checks each packet. A shorter silence than any replacement needs (ms) ends the connection.
 */
const SETTLED_MS = 1000
const SILENT_MS = 80

export interface RtpTransportOptions {
  readonly clock: Clock
  readonly latch: SourceLatch
  readonly reception: ReceptionStatistics
  /** SSRC of the sent stream. */
  readonly ssrc: number
  readonly cname: Uint8Array
  /** Returns random numbers in [0, 1), which spread the reports of many legs. */
  readonly random: () => number
  /** Certificate for peers that make their SRTP keys by DTLS; null when none may. */
  readonly identity: DtlsIdentity | null
  /** Called once when the DTLS association of the peer ended, or could not be made. No media follows. */
  readonly onDtlsEnd: (end: DtlsEnd, reason: string) => void
}

/**
 * Connects a leg with its two sockets: separates STUN, DTLS and RTP (RFC 7983), encrypts and decrypts SRTP with keys
 * of SDP or of DTLS, and exchanges RTCP. Allocates nothing per unencrypted packet; SRTP allocates what `node:crypto` does.
 */
export class RtpTransport {
  readonly latch: SourceLatch
  readonly rtcp: RtcpSession
  /** Datagrams of other protocols, and unexpected ones of STUN and DTLS. */
  stun = 0
  dtls = 0
  otherProtocols = 0
  /** SRTP packets that failed authentication, or that are replays. */
  authFailures = 0
  /** RTCP packets that do not come from the address of the stream. */
  unknownSources = 0
  /** Datagrams from the address of the stream beyond the possible packet rate. */
  floodDropped = 0
  /** Number of times the system was asked to drop datagrams from other addresses. */
  filterActivations = 0
  /** The sum of the counters above. */
  refused = 0
  /** Clock time of the last valid RTCP packet (ms). */
  lastRtcpMs = Number.NEGATIVE_INFINITY
  readonly #clock: Clock
  readonly #rtcpRemote: { address: string; port: number } = { address: '', port: 0 }
  #ports: RtpPortPair | null = null
  #remote: RtpRemote | null = null
  #keys: SrtpKeys | null = null
  #out: SrtpSender | null = null
  #in: SrtpReceiver | null = null
  readonly #identity: DtlsIdentity | null
  readonly #onDtlsEnd: RtpTransportOptions['onDtlsEnd']
  /** Null for a peer whose keys are in SDP, or that has none. */
  #dtls: DtlsSrtp | null = null
  readonly #ring: Buffer[] = Array.from({ length: RING }, () => Buffer.alloc(0))
  #next = 0
  /** Datagrams in this tick: from the address of the stream, and from others on each port. */
  #streamDatagrams = 0
  #otherDatagrams = 0
  #otherRtcp = 0
  #isConnected = false
  /** Clock time since which the source sends without a break (ms). */
  #steadySinceMs = Number.POSITIVE_INFINITY
  #isFiltered = false
  #isRtcpFiltered = false
  #lastReceivedMs = Number.NEGATIVE_INFINITY

  constructor(options: RtpTransportOptions) {
    const { clock, latch, reception, ssrc, cname, random } = options
    this.#clock = clock
    this.#identity = options.identity
    this.#onDtlsEnd = options.onDtlsEnd
    this.latch = latch
    this.rtcp = new RtcpSession(clock, ssrc, reception, cname, random)
  }

  bind(ports: RtpPortPair): void {
    this.#ports = ports
  }

  /** Applies the peer's SDP. `clockRate` is that of the codec. */
  setRemote(remote: RtpRemote, clockRate: number): void {
    this.#remote = remote
    this.rtcp.setClockRate(clockRate)
    this.#disconnect()
    if (remote.dtls !== undefined) {
      this.#secure(remote.dtls)
      return
    }
    this.latch.setSdpAddress(remote.address, remote.port)
    if (remote.rtcp !== undefined && !remote.rtcp.mux) {
      this.#rtcpRemote.address = remote.rtcp.address
      this.#rtcpRemote.port = remote.rtcp.port
    }
    this.#rekey(remote.srtp ?? null)
  }

  /** Sends an RTP packet of the stream. Its bytes must stay unchanged for the next few packets. */
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
   * Takes a datagram of the RTP port. Returns the decrypted RTP packet, valid until the socket callback
   * returns, or null when the datagram was refused or was not RTP.
   */
  receive(data: Uint8Array, from: SocketAddress, nowMs: number): Uint8Array | null {
    if (from.port === 0) {
      this.#refuseSource()
      return null
    }
    if (from.port !== this.latch.port || from.address !== this.latch.address) this.#otherDatagrams++
    else if (++this.#streamDatagrams > MAX_BURST) {
      this.floodDropped++
      this.refused++
      return null
    }
    const first = data.length === 0 ? -1 : (data[0] as number)
    if (first < 128 || first > 191) {
      this.#takeOther(data, first, from, nowMs)
      return null
    }
    if (this.#dtls !== null && !this.#dtls.mayReceive(from.address, from.port, nowMs)) {
      this.#refuseSource()
      return null
    }
    if (isRtcp(data)) {
      this.#takeRtcp(data, from, nowMs, true)
      return null
    }
    if (this.#in === null || data.length < RTP_HEADER_BYTES) return data
    // A cheap check of the source comes before the HMAC.
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
    this.#lastReceivedMs = nowMs
  }

  /** Takes a datagram of the RTCP port. */
  receiveRtcp(data: Uint8Array, from: SocketAddress, nowMs: number): void {
    if (from.port === 0) {
      this.#refuseSource()
      return
    }
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

  /** Sends the RTCP reports that are due. Call it on every tick. */
  tick(nowMs: number): void {
    this.#connectSettled(nowMs)
    this.#limitFlood(nowMs)
    if (this.#dtls !== null) this.#direct(this.#dtls.destination(nowMs))
    const reports = this.#remote?.rtcp === undefined ? null : this.rtcp.tick(nowMs)
    if (reports !== null) this.#sendRtcp(reports)
  }

  /** Sends an RTCP BYE. The caller closes the ports. */
  close(nowMs: number): void {
    const reports = this.#remote?.rtcp === undefined ? null : this.rtcp.bye(nowMs)
    if (reports !== null) this.#sendRtcp(reports)
    this.#dtls?.close()
  }

  /** Begins with a peer that proves its addresses by ICE and makes its keys by DTLS. Nothing is sent before. */
  #secure(remote: DtlsRemote): void {
    if (this.#dtls !== null) {
      this.#dtls.setRemote(remote)
      return
    }
    const ports = this.#ports
    const identity = this.#identity
    if (ports === null || identity === null) throw new EngineError('internal', 'the leg has no DTLS identity')
    this.#rekey(null)
    this.#direct(null)
    this.#dtls = new DtlsSrtp({
      clock: this.#clock,
      identity,
      remote,
      send: (datagram, port, address) => ports.rtp.send(datagram, port, address),
      onKeys: (keys) => this.#rekey(keys),
      onEnd: (end, reason) => {
        this.#direct(null)
        this.#onDtlsEnd(end, reason)
      },
    })
  }

  #direct(to: SocketAddress | null): void {
    this.latch.direct(to?.address ?? '', to?.port ?? 0)
  }

  /** Takes a datagram that is not RTP. */
  #takeOther(data: Uint8Array, first: number, from: SocketAddress, nowMs: number): void {
    if (first >= 0 && first <= 3) {
      if (this.#dtls?.takeStun(data, from, nowMs) === true) return
      this.stun++
    } else if (first >= 20 && first <= 63) {
      if (this.#dtls?.takeDtls(data, from, nowMs) === true) return
      this.dtls++
    } else this.otherProtocols++
    this.refused++
  }

  /**
   * Makes the system drop a flood while the stream is alive, and removes the filter when another source may
   * take over.
   */
  #limitFlood(nowMs: number): void {
    const ports = this.#ports
    const { address, port } = this.latch
    if (ports !== null && nowMs - this.#lastReceivedMs < REOPEN_MS) {
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

  /** Connects the socket to a settled source, and disconnects it before another one may follow. */
  #connectSettled(nowMs: number): void {
    const ports = this.#ports
    if (ports === null) return
    const sends = nowMs - this.#lastReceivedMs < SILENT_MS
    if (this.#steadySinceMs > nowMs) this.#steadySinceMs = nowMs
    // A peer of ICE may use any of its addresses, and another source that sends may be a successor.
    const alone = this.#otherDatagrams === 0 && this.#dtls === null
    if (!sends || !alone || !this.latch.isFinal) {
      this.#steadySinceMs = nowMs
      if (this.#isConnected && !this.#isFiltered) ports.rtp.disconnect()
      this.#isConnected = false
    } else if (!this.#isConnected && nowMs - this.#steadySinceMs >= SETTLED_MS) {
      this.#isConnected = true
      ports.rtp.connect(this.latch.port, this.latch.address)
    }
  }

  #disconnect(): void {
    if (this.#isConnected) this.#ports?.rtp.disconnect()
    this.#isConnected = false
    this.#steadySinceMs = Number.POSITIVE_INFINITY
    this.#removeFilters()
  }

  #removeFilters(): void {
    if (this.#isFiltered && !this.#isConnected) this.#ports?.rtp.disconnect()
    if (this.#isRtcpFiltered) this.#ports?.rtcp.disconnect()
    this.#isFiltered = false
    this.#isRtcpFiltered = false
  }

  #takeRtcp(data: Uint8Array, from: SocketAddress, nowMs: number, onRtpPort: boolean): void {
    if (!this.#isRtcpSource(from, onRtpPort)) {
      this.#refuseSource()
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
    // Symmetric like RTP, because a NAT may have mapped the port.
    this.#rtcpRemote.address = from.address
    this.#rtcpRemote.port = from.port
  }

  /** Also for UDP source port 0, to which nothing can be sent: a raw socket can forge it. */
  #refuseSource(): void {
    this.unknownSources++
    this.refused++
  }

  /**
   * On the RTP port RTCP must come from the address of the stream. On its own port it must come from the same
   * host.
   */
  #isRtcpSource({ address, port }: SocketAddress, onRtpPort: boolean): boolean {
    if (this.#remote === null) return false
    // Its address was checked, and its keys prove the rest.
    if (this.#dtls !== null) return onRtpPort
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

  /** Keeps roll-over counters and replay windows as long as their key is unchanged. */
  #rekey(keys: SrtpKeys | null): void {
    const before = this.#keys
    this.#keys = keys
    this.latch.setAuthenticated(keys !== null)
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
