import { randomBytes } from 'node:crypto'
import { uint } from '../dtls/bytes.js'
import type { SocketAddress } from '../port.js'
import {
  ATTRIBUTE,
  errorCode,
  hasIntegrity,
  readStun,
  STUN,
  type StunMessage,
  writeStun,
  xorMappedAddress,
} from './stun.js'

/** The peer repeats its request every 5 s; after this silence (ms) it no longer wants media (RFC 7675 section 5.1). */
export const CONSENT_MS = 30_000
/** Addresses of the peer that are remembered. A browser has a few candidates. */
const MAX_ADDRESSES = 8

/** `a=ice-ufrag` and `a=ice-pwd` of one side. The password is a secret and must not be logged. */
export interface IceCredentials {
  readonly ufrag: string
  readonly password: string
}

/** Makes credentials with 48 and 144 random bits (RFC 8839 section 5.4 asks for 24 and 128). */
export function createIceCredentials(): IceCredentials {
  // Base64 of a multiple of three bytes consists of ice-char only.
  return { ufrag: randomBytes(6).toString('base64'), password: randomBytes(18).toString('base64') }
}

export interface IceLiteOptions {
  readonly local: IceCredentials
  /** The peer's `a=ice-ufrag`. */
  readonly remoteUfrag: string
  readonly send: (datagram: Buffer, to: SocketAddress) => void
}

interface ValidAddress extends SocketAddress {
  lastMs: number
}

/**
 * The lite side of ICE (RFC 8445 section 2.5) on one socket: it answers connectivity checks and sends none. A request
 * with our password proves that its sender read our SDP and receives what is sent to the address, so only such
 * addresses may go on to DTLS and SRTP (`isValid`). The peer is controlling and selects the address that media goes to;
 * it may select another one at any time. Requests without proof are dropped without an answer.
 */
export class IceLiteAgent {
  /** Datagrams that were dropped. */
  dropped = 0
  readonly #local: IceCredentials
  readonly #send: IceLiteOptions['send']
  readonly #username: string
  readonly #addresses: ValidAddress[] = []
  #selected: ValidAddress | null = null

  constructor({ local, remoteUfrag, send }: IceLiteOptions) {
    this.#local = local
    this.#send = send
    this.#username = `${local.ufrag}:${remoteUfrag}`
  }

  /** Destination of media; null until the peer has selected an address. */
  get selected(): SocketAddress | null {
    return this.#selected
  }

  /** Returns true when the peer proved at most 30 s ago that it owns this address. Allocates nothing. */
  isValid(address: string, port: number, nowMs: number): boolean {
    const found = this.#find(address, port)
    return found !== null && nowMs - found.lastMs <= CONSENT_MS
  }

  /** Returns true while the peer agrees to receive media at the selected address (RFC 7675). */
  hasConsent(nowMs: number): boolean {
    return this.#selected !== null && nowMs - this.#selected.lastMs <= CONSENT_MS
  }

  /** Takes a STUN datagram. `from` is copied. */
  receive(datagram: Uint8Array, from: SocketAddress, nowMs: number): void {
    const message = readStun(datagram)
    if (message === null || !this.#isOurs(message) || from.port === 0) {
      this.dropped++
      return
    }
    const { transaction, attributes } = message
    const unknown = [...attributes.keys()].filter((type) => type < 0x8000 && !UNDERSTOOD.has(type))
    if (unknown.length > 0) {
      const types = Buffer.concat(unknown.map((type) => uint(type, 2)))
      this.#refuse(message, from, 420, 'Unknown Attribute', [[ATTRIBUTE.unknownAttributes, types]])
      return
    }
    if (!attributes.has(ATTRIBUTE.priority)) {
      this.#refuse(message, from, 400, 'Bad Request')
      return
    }
    // A lite side is never controlling, so two controlled sides would wait for each other (section 7.3.1.1).
    if (attributes.has(ATTRIBUTE.iceControlled)) {
      this.#refuse(message, from, 487, 'Role Conflict')
      return
    }
    const found = this.#remember(from, nowMs)
    if (attributes.has(ATTRIBUTE.useCandidate)) this.#selected = found
    const mapped = xorMappedAddress(from, transaction)
    this.#reply(STUN.success, message, from, [[ATTRIBUTE.xorMappedAddress, mapped]])
  }

  /** Cheap checks come before the HMAC. */
  #isOurs(message: StunMessage): boolean {
    const username = message.attributes.get(ATTRIBUTE.username)
    if (message.type !== STUN.request || username?.toString('latin1') !== this.#username) return false
    return hasIntegrity(message, this.#local.password)
  }

  #refuse(
    message: StunMessage,
    to: SocketAddress,
    code: number,
    reason: string,
    more: readonly (readonly [number, Uint8Array])[] = [],
  ): void {
    this.#reply(STUN.error, message, to, [[ATTRIBUTE.errorCode, errorCode(code, reason)], ...more])
  }

  #reply(
    type: number,
    { transaction }: StunMessage,
    to: SocketAddress,
    attributes: readonly (readonly [number, Uint8Array])[],
  ): void {
    this.#send(writeStun(type, transaction, attributes, this.#local.password), to)
  }

  #find(address: string, port: number): ValidAddress | null {
    for (let i = 0; i < this.#addresses.length; i++) {
      const known = this.#addresses[i] as ValidAddress
      if (known.port === port && known.address === address) return known
    }
    return null
  }

  #remember({ address, port }: SocketAddress, nowMs: number): ValidAddress {
    const known = this.#find(address, port)
    if (known !== null) {
      known.lastMs = nowMs
      return known
    }
    if (this.#addresses.length >= MAX_ADDRESSES) this.#forgetOldest()
    const added = { address, port, lastMs: nowMs }
    this.#addresses.push(added)
    return added
  }

  /** The selected address stays: new ones must not push the call aside. */
  #forgetOldest(): void {
    const others = this.#addresses.filter((known) => known !== this.#selected)
    const oldest = others.reduce((found, known) => (known.lastMs < found.lastMs ? known : found))
    this.#addresses.splice(this.#addresses.indexOf(oldest), 1)
  }
}

/** Attributes below 0x8000 that a request may have (RFC 8489 section 14). */
const UNDERSTOOD: ReadonlySet<number> = new Set([
  ATTRIBUTE.username,
  ATTRIBUTE.priority,
  ATTRIBUTE.useCandidate,
])
