import type { Clock } from '../base/clock.js'
import { isRtcp, RTP_HEADER_BYTES } from './packet.js'
import type { RtpPortPair } from './port.js'
import { RtpSource } from './receive/source-latch.js'
import type { RtpRemote } from './remote-description.js'
import { Reception } from './rtcp/reception.js'
import { RtcpSession } from './rtcp/session.js'
import type { SrtpKey, SrtpKeys } from './srtp/keying.js'
import { SrtpIn, SrtpOut } from './srtp/srtp.js'
import { MAX_SRTP_OVERHEAD, takeUint32 } from './srtp/transform.js'

/** dgram keeps a packet until the system took it, at worst a few beats on a full socket. */
const RING = 8

/** More than a peer sends in a beat, also after a second of standstill: the rest is dropped unread. */
const MAX_BURST = 64
/** So many datagrams of others in one beat are a flood: the system shall drop them. */
const FLOOD = 50
/** Behind a closed door nobody could take the stream over: it opens when the peer is this silent. */
const REOPEN_MS = 500

/** Where a datagram came from. */
export interface Origin {
  readonly address: string
  readonly port: number
}

export interface WireOptions {
  readonly clock: Clock
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
export class RtpWire {
  readonly source = new RtpSource()
  readonly reception = new Reception()
  readonly rtcp: RtcpSession
  /** Datagrams for which there is nobody here. */
  stun = 0
  dtls = 0
  alien = 0
  /** SRTP that is not genuine, or came before. */
  forged = 0
  /** RTCP from elsewhere than the stream. */
  strangers = 0
  /** Of the stream's own place, more than can be. */
  flooded = 0
  /** How often the system was asked to drop what comes from elsewhere. */
  shut = 0
  /** All of these together. */
  refused = 0
  /** When RTCP last proved that the far side is there. */
  lastControlMs = Number.NEGATIVE_INFINITY
  readonly #clock: Clock
  readonly #control: { address: string; port: number } = { address: '', port: 0 }
  #ports: RtpPortPair | null = null
  #remote: RtpRemote | null = null
  #keys: SrtpKeys | null = null
  #out: SrtpOut | null = null
  #in: SrtpIn | null = null
  readonly #ring: Buffer[] = Array.from({ length: RING }, () => Buffer.alloc(0))
  #next = 0
  /** Datagrams in this beat: of the stream's place, and of others on each port. */
  #own = 0
  #others = 0
  #otherControl = 0
  #isShut = false
  #isControlShut = false
  #lastHeardMs = Number.NEGATIVE_INFINITY
  #clockRate = 8000

  constructor({ clock, ssrc, cname, random }: WireOptions) {
    this.#clock = clock
    this.rtcp = new RtcpSession(clock, ssrc, this.reception, cname, random)
  }

  bind(ports: RtpPortPair): void {
    this.#ports = ports
  }

  /** What SDP says; `clockRate` of the codec in use. */
  setRemote(remote: RtpRemote, clockRate: number): void {
    this.#remote = remote
    this.#clockRate = clockRate
    this.rtcp.setClockRate(clockRate)
    this.#reopen()
    this.source.expect(remote.address, remote.port)
    if (remote.rtcp !== undefined && !remote.rtcp.mux) {
      this.#control.address = remote.rtcp.address
      this.#control.port = remote.rtcp.port
    }
    this.#rekey(remote.srtp ?? null)
  }

  /** Sends an RTP packet of the stream; it must stay unchanged for the next few. */
  send(packet: Uint8Array, port: number, address: string): void {
    this.rtcp.sending(packet, packet.length - RTP_HEADER_BYTES, this.#clock.now())
    const ports = this.#ports
    if (ports === null) return
    if (this.#out === null) {
      ports.rtp.send(packet, port, address)
      return
    }
    const slot = this.#slot(packet.length + MAX_SRTP_OVERHEAD)
    slot.set(packet)
    ports.rtp.send(slot.subarray(0, this.#out.rtp(slot, packet.length)), port, address)
  }

  /**
   * A datagram of the RTP port: the RTP packet in the clear, which is valid until this returns to the
   * socket, or null when it was something else and is dealt with.
   */
  open(data: Uint8Array, from: Origin, nowMs: number): Uint8Array | null {
    if (from.port !== this.source.port || from.address !== this.source.address) this.#others++
    else if (++this.#own > MAX_BURST) {
      this.flooded++
      this.refused++
      return null
    }
    const first = data.length === 0 ? -1 : (data[0] as number)
    if (first < 128 || first > 191) {
      if (first >= 0 && first <= 3) this.stun++
      else if (first >= 20 && first <= 63) this.dtls++
      else this.alien++
      this.refused++
      return null
    }
    if (isRtcp(data)) {
      this.#takeControl(data, from, nowMs, true)
      return null
    }
    if (this.#in === null || data.length < RTP_HEADER_BYTES) return data
    // Who is not let in is not worth an HMAC.
    if (this.source.refuses(from.address, from.port, takeUint32(data, 8), nowMs)) {
      this.source.strangers++
      this.refused++
      return null
    }
    const length = this.#in.rtp(data, data.length)
    if (length >= 0) return data.subarray(0, length)
    this.forged++
    this.refused++
    return null
  }

  /** That packet belongs to the stream; `discarded` when it came too late to be heard. */
  heard(packet: Uint8Array, discarded: boolean, nowMs: number): void {
    this.#lastHeardMs = nowMs
    const sequence = ((packet[2] as number) << 8) | (packet[3] as number)
    const arrival = Math.round((nowMs * this.#clockRate) / 1000)
    this.reception.packet(takeUint32(packet, 8), sequence, takeUint32(packet, 4), arrival, discarded)
  }

  /** A datagram of the RTCP port. */
  control(data: Uint8Array, from: Origin, nowMs: number): void {
    if (from.port !== this.#control.port || from.address !== this.#control.address) this.#otherControl++
    else if (++this.#own > MAX_BURST) {
      this.flooded++
      this.refused++
      return
    }
    if (isRtcp(data)) {
      this.#takeControl(data, from, nowMs, false)
      return
    }
    this.alien++
    this.refused++
  }

  /** Once a beat: sends the reports that are due. */
  beat(nowMs: number): void {
    this.#guard(nowMs)
    const reports = this.#remote?.rtcp === undefined ? null : this.rtcp.beat(nowMs)
    if (reports !== null) this.#sendControl(reports)
  }

  /** Says goodbye; the ports are the caller's to close. */
  close(nowMs: number): void {
    const reports = this.#remote?.rtcp === undefined ? null : this.rtcp.bye(nowMs)
    if (reports !== null) this.#sendControl(reports)
  }

  /** Lets the system keep a flood away while the stream lives; opens again for whoever may replace it. */
  #guard(nowMs: number): void {
    const ports = this.#ports
    const { address, port } = this.source
    if (ports !== null && nowMs - this.#lastHeardMs < REOPEN_MS) {
      if (this.#others > FLOOD && !this.#isShut) {
        this.#isShut = true
        this.shut++
        ports.rtp.only(port, address)
      }
      if (this.#otherControl > FLOOD && !this.#isControlShut && this.#control.address !== '') {
        this.#isControlShut = true
        this.shut++
        ports.rtcp.only(this.#control.port, this.#control.address)
      }
    } else this.#reopen()
    this.#own = 0
    this.#others = 0
    this.#otherControl = 0
  }

  #reopen(): void {
    if (this.#isShut) this.#ports?.rtp.anyone()
    if (this.#isControlShut) this.#ports?.rtcp.anyone()
    this.#isShut = false
    this.#isControlShut = false
  }

  #takeControl(data: Uint8Array, from: Origin, nowMs: number, onRtpPort: boolean): void {
    if (!this.#mayControl(from, onRtpPort)) {
      this.strangers++
      this.refused++
      return
    }
    let plain = data
    if (this.#in !== null) {
      const length = this.#in.rtcp(data, data.length)
      if (length < 0) {
        this.forged++
        this.refused++
        return
      }
      plain = data.subarray(0, length)
    }
    if (!this.rtcp.take(plain, nowMs)) {
      this.refused++
      return
    }
    this.lastControlMs = nowMs
    if (onRtpPort) return
    // Symmetric, as for RTP: a NAT may have mapped its port.
    this.#control.address = from.address
    this.#control.port = from.port
  }

  /** RTCP counts from where the stream comes from; on a port of its own that is the same machine. */
  #mayControl({ address, port }: Origin, onRtpPort: boolean): boolean {
    if (this.#remote === null) return false
    if (onRtpPort) return address === this.source.address && port === this.source.port
    return address === this.source.address || address === this.#remote.rtcp?.address
  }

  #sendControl(reports: Buffer): void {
    const ports = this.#ports
    const rtcp = this.#remote?.rtcp
    if (ports === null || rtcp === undefined) return
    const to = rtcp.mux ? this.source : this.#control
    if (to.port === 0 || to.address === '' || to.address === '0.0.0.0' || to.address === '::') return
    const slot = Buffer.alloc(reports.length + MAX_SRTP_OVERHEAD)
    slot.set(reports)
    const length = this.#out === null ? reports.length : this.#out.rtcp(slot, reports.length)
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
    if (!suite || !sameKey(before.send, keys.send)) this.#out = new SrtpOut(keys.suite, keys.send)
    if (!suite || !sameKey(before.receive, keys.receive)) this.#in = new SrtpIn(keys.suite, keys.receive)
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
