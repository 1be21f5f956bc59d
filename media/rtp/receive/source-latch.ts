/** Any other source may replace one that is silent for this long (ms). */
const TAKE_OVER_MS = 1000
/**
 * This silence (ms) is enough when half of the identity stays: the same address with a new SSRC (a switch
 * behind it changed the sender), or the same SSRC from another address (a NAT changed the port).
 */
const HALF_KNOWN_MS = 100
/** For this long (ms) a source that is closer to the SDP address replaces the first one. */
const PREFER_SDP_MS = 3000
/** A source that was replaced because of its silence may return within this time (ms). */
const RETURN_MS = 30_000

interface SocketAddress {
  address: string
  port: number
}

/**
 * Decides which source's packets belong to this leg. Parley sends to the SDP address until the first valid
 * packet, and then to the address of that packet (symmetric RTP, for peers behind NAT). No other source is
 * accepted while the current one is alive.
 */
export class SourceLatch {
  /** The address to send to; empty before the SDP is known. */
  address = ''
  port = 0
  /** Number of address changes, including the first one, and number of packets from other sources. */
  latches = 0
  unknownSources = 0
  readonly #sdp: SocketAddress = { address: '', port: 0 }
  readonly #previous: SocketAddress = { address: '', port: 0 }
  #latched = false
  #latchedMs = 0
  #ssrc = 0
  #lastMs = 0

  /** Sets the address of the SDP. A changed address starts over, the same one changes nothing. */
  setSdpAddress(address: string, port: number): void {
    if (address === this.#sdp.address && port === this.#sdp.port) return
    this.#sdp.address = address
    this.#sdp.port = port
    this.address = address
    this.port = port
    this.#previous.address = ''
    this.#latched = false
  }

  /** Returns true when `accept` would refuse the packet. It is a cheap check before SRTP authentication. */
  wouldRefuse(address: string, port: number, ssrc: number, nowMs: number): boolean {
    if (!this.#latched) return false
    const sameAddress = address === this.address && port === this.port
    return !(sameAddress && ssrc === this.#ssrc) && !this.#mayReplace(sameAddress, address, port, ssrc, nowMs)
  }

  /**
   * Takes a valid packet. Returns `same` for the current stream, `new` for the first packet of another
   * stream, or `refused`.
   */
  accept(address: string, port: number, ssrc: number, nowMs: number): 'refused' | 'same' | 'new' {
    if (this.wouldRefuse(address, port, ssrc, nowMs)) {
      this.unknownSources++
      return 'refused'
    }
    const before = this.#latched && ssrc === this.#ssrc
    const sameAddress = address === this.address && port === this.port
    if (!this.#latched || !sameAddress) this.#latch(address, port, nowMs)
    this.#latched = true
    this.#ssrc = ssrc
    this.#lastMs = nowMs
    return before ? 'same' : 'new'
  }

  #latch(address: string, port: number, nowMs: number): void {
    this.latches++
    // A source that was replaced by one closer to the SDP, or by a returning one, may not return.
    const claims = this.#latched && nowMs - this.#lastMs >= HALF_KNOWN_MS
    this.#previous.address = claims ? this.address : ''
    this.#previous.port = claims ? this.port : 0
    this.#latchedMs = nowMs
    this.address = address
    this.port = port
  }

  #mayReplace(sameAddress: boolean, address: string, port: number, ssrc: number, nowMs: number): boolean {
    const silentMs = nowMs - this.#lastMs
    if ((sameAddress || ssrc === this.#ssrc) && silentMs >= HALF_KNOWN_MS) return true
    if (sameAddress) return false
    const sinceMs = nowMs - this.#latchedMs
    if (sinceMs < PREFER_SDP_MS && this.#sdpMatch(address, port) > this.#sdpMatch(this.address, this.port)) {
      return true
    }
    const was = this.#previous
    if (sinceMs < RETURN_MS && address === was.address && port === was.port) return true
    return silentMs >= TAKE_OVER_MS
  }

  /** Returns how closely an address matches the SDP. */
  #sdpMatch(address: string, port: number): number {
    if (address !== this.#sdp.address) return 0
    return port === this.#sdp.port ? 2 : 1
  }
}
