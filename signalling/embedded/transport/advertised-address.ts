import { BlockList, isIP } from 'node:net'
import { bestAddress, interfaceAddresses, isLoopback, isWildcard } from './local-address.js'
import type { SocketAddress } from './transport.js'

export interface AddressSettings {
  /** As bound; may be a wildcard. */
  readonly address: string
  readonly family: 4 | 6
  /** The address peers outside see, when it is not the bound one: behind a NAT. */
  readonly advertise: string | null
  /** `10.0.0.0/8`: peers in it see the bound address all the same. */
  readonly localNetwork: string | null
}

/** What one listener says its address is, which depends on who asks. */
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

  /** For Via and Contact towards that peer; `''` asks for what the outside sees. */
  forPeer(peer: string): SocketAddress {
    const { advertise } = this.#settings
    const real = bestAddress(this.#candidates, peer) ?? this.#settings.address
    const shown = advertise === null || this.#inside(peer) ? real : advertise
    return { address: shown, port: this.#port }
  }

  /** Whether the peer is in the listener's own network. */
  inLocalNetwork(peer: string): boolean {
    const family = isIP(peer)
    return this.#network !== null && family !== 0 && this.#network.check(peer, family === 6 ? 'ipv6' : 'ipv4')
  }

  /** A loopback peer of a listener on every address is on this machine, on this side of any NAT. */
  #inside(peer: string): boolean {
    return this.inLocalNetwork(peer) || (this.#candidates.length > 0 && isLoopback(peer))
  }
}

/** Null when the text is no network. */
export function parseNetwork(text: string): BlockList | null {
  const [address = '', bits = '', more] = text.split('/')
  const family = isIP(address)
  const width = family === 4 ? 32 : 128
  if (family === 0 || more !== undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > width) return null
  const list = new BlockList()
  list.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4')
  return list
}
