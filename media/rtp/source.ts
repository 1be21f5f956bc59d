/** A source that fell silent for this long may be replaced by one from another address. */
const TAKE_OVER_MS = 1000
/** The same address may begin a new SSRC sooner: a switch behind it changed the sender. */
const NEW_SSRC_MS = 100
/** The address of the SDP takes the stream back from whoever was first, for this long. */
const PREFER_SDP_MS = 3000

/**
 * Decides whose packets are this leg's. Sends go to the SDP address until the first valid packet, then
 * to where that came from (symmetric RTP, for peers behind NAT). Nobody else gets in while it lives.
 */
export class RtpSource {
  /** Where to send; the address is empty before the SDP is known. */
  address = ''
  port = 0
  readonly #sdp = { address: '', port: 0 }
  #latched = false
  #latchedMs = 0
  #ssrc = 0
  #lastMs = 0

  /** The address in the SDP. A changed one starts over; the same one changes nothing. */
  expect(address: string, port: number): void {
    if (address === this.#sdp.address && port === this.#sdp.port) return
    this.#sdp.address = address
    this.#sdp.port = port
    this.address = address
    this.port = port
    this.#latched = false
  }

  /** A valid packet: `refused`, `same` stream as before, or the first of a `new` one. */
  accept(address: string, port: number, ssrc: number, nowMs: number): 'refused' | 'same' | 'new' {
    const here = this.#latched && address === this.address && port === this.port
    if (here && ssrc === this.#ssrc) {
      this.#lastMs = nowMs
      return 'same'
    }
    if (this.#latched && !this.#mayReplace(here, address, port, nowMs)) return 'refused'
    if (!this.#latched) this.#latchedMs = nowMs
    this.#latched = true
    this.address = address
    this.port = port
    this.#ssrc = ssrc
    this.#lastMs = nowMs
    return 'new'
  }

  #mayReplace(here: boolean, address: string, port: number, nowMs: number): boolean {
    const silentMs = nowMs - this.#lastMs
    if (here) return silentMs >= NEW_SSRC_MS
    const isSdp = address === this.#sdp.address && port === this.#sdp.port
    if (isSdp && nowMs - this.#latchedMs < PREFER_SDP_MS) return true
    return silentMs >= TAKE_OVER_MS
  }
}
