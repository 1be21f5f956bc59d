import { BlockList, isIP } from 'node:net'
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
  readonly #network: BlockList | null

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
    const family = isIP(peer)
    return this.#network !== null && family !== 0 && this.#network.check(peer, family === 6 ? 'ipv6' : 'ipv4')
  }

  /** A loopback peer of a wildcard listener is on this machine, so there is no NAT between. */
  #inside(peer: string): boolean {
    return this.inLocalNetwork(peer) || (this.#candidates.length > 0 && isLoopback(peer))
  }
}

/** Parses `address/bits`. Returns null for anything else. */
export function parseNetwork(text: string): BlockList | null {
  const [address = '', bits = '', more] = text.split('/')
  const family = isIP(address)
  const width = family === 4 ? 32 : 128
  if (family === 0 || more !== undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > width) return null
  const list = new BlockList()
  list.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4')
  return list
}
