/** Another port of the same host, or any authenticated source, may replace one that is silent this long (ms). */
const TAKE_OVER_MS = 1000
/**
 * This silence (ms) is enough when half of the identity stays: the same address with a new SSRC (a switch
 * behind it changed the sender), or the same SSRC from another address (a NAT changed the port).
 */
const HALF_KNOWN_MS = 100
/** For this long (ms) a single packet from the host of the SDP replaces a source elsewhere. */
const PREFER_SDP_MS = 1000
/** A source that was replaced because of its silence may return within this time (ms). */
const RETURN_MS = 30_000
/** Packets in sequence with one SSRC that another port or address must send before it becomes the source. */
const PROOF_PACKETS = 10

interface SocketAddress {
  address: string
  port: number
}

/**
 * Decides which source belongs to this leg. Parley sends to the SDP address until a valid packet of that host
 * arrives, and then to the source of that packet (symmetric RTP, for peers behind NAT). A source at another host is
 * heard at once. It gets media only after it has sent several packets in sequence while the host of the SDP was
 * silent, and the host of the SDP wins the stream back. A stranger cannot take over an unencrypted stream with a
 * proven source, even a silent one: a new source must have the SSRC of the stream, the host of its source or the host
 * of the SDP, and send several packets in sequence.
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
  /** The source that is heard while none is proven; the address is empty when none is heard. */
  readonly #heard: SocketAddress = { address: '', port: 0 }
  #heardSequence = 0
  #heardProofs = 0
  #ssrc = 0
  /** True if the stream has had telephone events only. */
  #isEventsOnly = false
  #lastMs = 0
  #authenticated = false
  #directed = false
  /** The source that is proving itself, its last sequence number, and its packets in sequence. */
  readonly #candidate: SocketAddress = { address: '', port: 0 }
  #candidateSsrc = 0
  #candidateSequence = 0
  #proofs = 0

  /** Sets whether packets are authenticated (SRTP) before `accept`. Such a source needs no other proof. */
  setAuthenticated(authenticated: boolean): void {
    this.#authenticated = authenticated
  }

  /** Sets the address of the SDP. A changed address starts over, the same one changes nothing. */
  setSdpAddress(address: string, port: number): void {
    if (address === this.#sdp.address && port === this.#sdp.port) return
    this.#sdp.address = address
    this.#sdp.port = port
    this.address = address
    this.port = port
    this.#previous.address = ''
    this.#latched = false
    this.#heard.address = ''
    this.#proofs = 0
  }

  /**
   * Sets the address to send to, or none with port 0. From now on the owner decides which packets belong to the peer, and
   * none is refused here.
   */
  direct(address: string, port: number): void {
    this.#directed = true
    this.address = address
    this.port = port
  }

  /** Tells whether the source is locked to the SDP address while it sends: no former source may return. */
  get isFinal(): boolean {
    return this.#latched && this.#previous.address === '' && this.#sdpMatch(this.address, this.port) === 2
  }

  /**
   * Returns true when `accept` would refuse an authenticated packet. It is a cheap check before SRTP
   * authentication.
   */
  wouldRefuse(address: string, port: number, ssrc: number, nowMs: number): boolean {
    if (this.#directed || (address === this.address && port === this.port)) return false
    return !this.#isCurrent(address, port, ssrc) && !this.#mayReplace(address, port, ssrc, nowMs)
  }

  /**
   * Takes a valid packet. Returns `same` for the current stream, `new` for the first packet of another
   * stream, `beside` for a telephone event that the source of the current stream sends with another SSRC, or `refused`.
   */
  accept(
    address: string,
    port: number,
    ssrc: number,
    sequence: number,
    nowMs: number,
    isEvent = false,
  ): 'refused' | 'same' | 'new' | 'beside' {
    if (!this.#directed && !this.#latched && !this.#authenticated && this.#sdpMatch(address, port) === 0)
      return this.#hear(address, port, ssrc, sequence, nowMs, isEvent)
    if (isEvent && this.#isBeside(address, port, ssrc)) return 'beside'
    if (
      !this.#directed &&
      !this.#isCurrent(address, port, ssrc) &&
      !this.#mayReplace(address, port, ssrc, nowMs) &&
      !this.#isProven(address, port, ssrc, sequence, nowMs)
    ) {
      this.unknownSources++
      return 'refused'
    }
    const known = this.#latched || (this.#heard.address === address && this.#heard.port === port)
    const before = known && ssrc === this.#ssrc
    const sameAddress = address === this.address && port === this.port
    if (!this.#directed && (!this.#latched || !sameAddress)) this.#latch(address, port, nowMs)
    this.#latched = true
    this.#isEventsOnly = isEvent && (!before || this.#isEventsOnly)
    this.#ssrc = ssrc
    this.#lastMs = nowMs
    return before ? 'same' : 'new'
  }

  /**
   * Takes a packet of a source at another host than the SDP while no source is proven. The first source is heard
   * until it is silent, or until another one has sent enough packets in sequence.
   */
  #hear(
    address: string,
    port: number,
    ssrc: number,
    sequence: number,
    nowMs: number,
    isEvent: boolean,
  ): 'refused' | 'same' | 'new' {
    const heard = this.#heard
    if (heard.address === address && heard.port === port && ssrc === this.#ssrc) {
      const continues = sequence === ((this.#heardSequence + 1) & 0xffff)
      this.#heardProofs = continues ? this.#heardProofs + 1 : 1
      this.#heardSequence = sequence
      this.#lastMs = nowMs
      this.#isEventsOnly &&= isEvent
      if (this.#heardProofs >= PROOF_PACKETS) {
        this.#latch(address, port, nowMs)
        this.#latched = true
      }
      return 'same'
    }
    const isFirst = heard.address === ''
    if (!isFirst && nowMs - this.#lastMs < HALF_KNOWN_MS && !this.#counts(address, port, ssrc, sequence)) {
      this.unknownSources++
      return 'refused'
    }
    heard.address = address
    heard.port = port
    this.#heardSequence = sequence
    this.#heardProofs = this.#proofs >= PROOF_PACKETS ? PROOF_PACKETS : 1
    this.#proofs = 0
    this.#ssrc = ssrc
    this.#isEventsOnly = isEvent
    this.#lastMs = nowMs
    if (this.#heardProofs >= PROOF_PACKETS) {
      this.#latch(address, port, nowMs)
      this.#latched = true
    }
    return 'new'
  }

  /** Tells whether the proven source sends with another SSRC, as some do for telephone events. */
  #isBeside(address: string, port: number, ssrc: number): boolean {
    const here = this.#directed || (address === this.address && port === this.port)
    return this.#latched && here && ssrc !== this.#ssrc
  }

  #isCurrent(address: string, port: number, ssrc: number): boolean {
    return !this.#latched || (ssrc === this.#ssrc && port === this.port && address === this.address)
  }

  #latch(address: string, port: number, nowMs: number): void {
    this.latches++
    // A source that was replaced by one closer to the SDP, or by a returning one, may not return.
    const claims = this.#latched && nowMs - this.#lastMs >= HALF_KNOWN_MS
    this.#previous.address = claims ? this.address : ''
    this.#previous.port = claims ? this.port : 0
    this.#latchedMs = nowMs
    this.#proofs = 0
    this.address = address
    this.port = port
  }

  /** Returns true when a single packet is enough to replace the source. */
  #mayReplace(address: string, port: number, ssrc: number, nowMs: number): boolean {
    const silentMs = nowMs - this.#lastMs
    if (address === this.address && port === this.port) return silentMs >= HALF_KNOWN_MS || this.#isEventsOnly
    const match = this.#sdpMatch(address, port)
    // The SDP names this very address, so it replaces a source elsewhere at any time, even one that is still alive.
    if (match === 2) return true
    const sinceMs = nowMs - this.#latchedMs
    if (sinceMs < PREFER_SDP_MS && match > this.#sdpMatch(this.address, this.port)) return true
    const was = this.#previous
    if (sinceMs < RETURN_MS && address === was.address && port === was.port) return true
    if (!this.#authenticated) return false
    return silentMs >= (ssrc === this.#ssrc ? HALF_KNOWN_MS : TAKE_OVER_MS)
  }

  /** Counts the packets in sequence of a possible successor. Returns true when it may replace the source. */
  #isProven(address: string, port: number, ssrc: number, sequence: number, nowMs: number): boolean {
    const match = this.#sdpMatch(address, port)
    const sameSsrc = ssrc === this.#ssrc
    // An off-path stranger knows neither the SSRC nor an address that can receive what Parley sends.
    if (match === 0 && !sameSsrc && address !== this.address) return false
    if (!this.#counts(address, port, ssrc, sequence)) return false
    // The host of the SDP wins back a stream that another source had before.
    if (match > this.#sdpMatch(this.address, this.port)) return true
    return nowMs - this.#lastMs >= (sameSsrc ? HALF_KNOWN_MS : TAKE_OVER_MS)
  }

  /** Counts a packet of a possible successor. Returns true when it has sent enough in sequence. */
  #counts(address: string, port: number, ssrc: number, sequence: number): boolean {
    const candidate = this.#candidate
    const continues =
      this.#proofs > 0 &&
      ssrc === this.#candidateSsrc &&
      sequence === ((this.#candidateSequence + 1) & 0xffff) &&
      port === candidate.port &&
      address === candidate.address
    candidate.address = address
    candidate.port = port
    this.#candidateSsrc = ssrc
    this.#candidateSequence = sequence
    this.#proofs = continues ? this.#proofs + 1 : 1
    return this.#proofs >= PROOF_PACKETS
  }

  /** Returns how closely an address matches the SDP. */
  #sdpMatch(address: string, port: number): number {
    if (address !== this.#sdp.address) return 0
    return port === this.#sdp.port ? 2 : 1
  }
}
