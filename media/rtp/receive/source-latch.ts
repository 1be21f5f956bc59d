/** A source that fell silent for this long may be replaced by any other. */
const TAKE_OVER_MS = 1000
/**
 * Sooner, when one half of what tells the source stays: the same address with a new SSRC (a switch
 * behind it changed the sender), or the SSRC from another address (a NAT changed the port).
 */
const HALF_KNOWN_MS = 100
/** The address of the SDP takes the stream back from whoever was first, for this long. */
const PREFER_SDP_MS = 3000
/** Whoever was replaced for being silent takes it back when it speaks again this soon. */
const RETURN_MS = 30_000

interface SocketAddress {
  address: string
  port: number
}

/**
 * Decides whose packets are this leg's. Sends go to the SDP address until the first valid packet, then
 * to where that came from (symmetric RTP, for peers behind NAT). Nobody else gets in while it lives.
 */
export class SourceLatch {
  /** Where to send; the address is empty before the SDP is known. */
  address = ''
  port = 0
  /** How often the place changed, the first time included, and packets of others. */
  latches = 0
  unknownSources = 0
  readonly #sdp: SocketAddress = { address: '', port: 0 }
  readonly #previous: SocketAddress = { address: '', port: 0 }
  #latched = false
  #latchedMs = 0
  #ssrc = 0
  #lastMs = 0

  /** The address in the SDP. A changed one starts over; the same one changes nothing. */
  setSdpAddress(address: string, port: number): void {
    if (address === this.#sdp.address && port === this.#sdp.port) return
    this.#sdp.address = address
    this.#sdp.port = port
    this.address = address
    this.port = port
    this.#previous.address = ''
    this.#latched = false
  }

  /** Whether `accept` would refuse it. For what is dear to check otherwise. */
  wouldRefuse(address: string, port: number, ssrc: number, nowMs: number): boolean {
    if (!this.#latched) return false
    const here = address === this.address && port === this.port
    return !(here && ssrc === this.#ssrc) && !this.#mayReplace(here, address, port, ssrc, nowMs)
  }

  /** A valid packet: `refused`, `same` stream as before, or the first of a `new` one. */
  accept(address: string, port: number, ssrc: number, nowMs: number): 'refused' | 'same' | 'new' {
    if (this.wouldRefuse(address, port, ssrc, nowMs)) {
      this.unknownSources++
      return 'refused'
    }
    const before = this.#latched && ssrc === this.#ssrc
    const here = address === this.address && port === this.port
    if (!this.#latched || !here) this.#latch(address, port, nowMs)
    this.#latched = true
    this.#ssrc = ssrc
    this.#lastMs = nowMs
    return before ? 'same' : 'new'
  }

  #latch(address: string, port: number, nowMs: number): void {
    this.latches++
    // Who lost it for being less like the SDP, or to one that returned, has no claim.
    const claims = this.#latched && nowMs - this.#lastMs >= HALF_KNOWN_MS
    this.#previous.address = claims ? this.address : ''
    this.#previous.port = claims ? this.port : 0
    this.#latchedMs = nowMs
    this.address = address
    this.port = port
  }

  #mayReplace(here: boolean, address: string, port: number, ssrc: number, nowMs: number): boolean {
    const silentMs = nowMs - this.#lastMs
    if ((here || ssrc === this.#ssrc) && silentMs >= HALF_KNOWN_MS) return true
    if (here) return false
    const sinceMs = nowMs - this.#latchedMs
    if (sinceMs < PREFER_SDP_MS && this.#sdpMatch(address, port) > this.#sdpMatch(this.address, this.port)) {
      return true
    }
    const was = this.#previous
    if (sinceMs < RETURN_MS && address === was.address && port === was.port) return true
    return silentMs >= TAKE_OVER_MS
  }

  /** How much a place is like the one of the SDP. */
  #sdpMatch(address: string, port: number): number {
    if (address !== this.#sdp.address) return 0
    return port === this.#sdp.port ? 2 : 1
  }
}
