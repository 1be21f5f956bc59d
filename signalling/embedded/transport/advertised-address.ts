import { type NetworkSet, parseNetwork } from '../guard/network-set.js'
import { bestAddress, interfaceAddresses, isLoopback, isWildcard } from './local-address.js'
import type { SocketAddress } from './transport.js'

export interface AddressSettings {
  /** The bound address; may be a wildcard. */
  readonly address: string
  readonly family: 4 | 6
  /** The address shown to peers outside a NAT; null for the bound one. */
  readonly advertise: string | null
  /** A network such as `10.0.0.0/8` whose peers see the bound address in spite of `advertise`. */
  readonly localNetwork: string | null
}

/** The address that a listener shows to peers, which depends on the peer. */
export class AdvertisedAddress {
  readonly #settings: AddressSettings
  readonly #port: number
  readonly #candidates: readonly string[]
  readonly #network: NetworkSet | null

  constructor(settings: AddressSettings, port: number) {
    this.#settings = settings
    this.#port = port
    this.#candidates = isWildcard(settings.address) ? interfaceAddresses(settings.family) : []
    this.#network = settings.localNetwork === null ? null : parseNetwork(settings.localNetwork)
  }

  /** Returns the address for Via and Contact towards a peer; `''` asks for the public one. */
  forPeer(peer: string): SocketAddress {
    const { advertise } = this.#settings
    const real = bestAddress(this.#candidates, peer) ?? this.#settings.address
    const shown = advertise === null || this.#inside(peer) ? real : advertise
    return { address: shown, port: this.#port }
  }

  /** Returns whether the peer is in the local network of the listener. */
  inLocalNetwork(peer: string): boolean {
    return this.#network?.has(peer) ?? false
  }

  /** A loopback peer of a wildcard listener is on this machine, so there is no NAT between. */
  #inside(peer: string): boolean {
    return this.inLocalNetwork(peer) || (this.#candidates.length > 0 && isLoopback(peer))
  }
}
