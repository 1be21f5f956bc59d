import type { Clock } from '../../base/clock.js'
import { IceLiteAgent } from '../ice/lite-agent.js'
import type { SocketAddress } from '../port.js'
import type { DtlsRemote } from '../remote-description.js'
import type { SrtpKeys } from '../srtp/keying.js'
import type { DtlsIdentity } from './identity.js'
import { type DtlsEnd, DtlsServer } from './server.js'

export interface DtlsSrtpOptions {
  readonly clock: Clock
  readonly identity: DtlsIdentity
  readonly remote: DtlsRemote
  readonly send: (datagram: Buffer, port: number, address: string) => void
  /** Takes the keys, once. From now on media may flow. */
  readonly onKeys: (keys: SrtpKeys) => void
  /** Takes the end of the association, once. No media follows it. */
  readonly onEnd: (end: DtlsEnd, reason: string) => void
}

/**
 * The way of a leg's SRTP by ICE and DTLS (RFC 8827), on a socket that it shares with the media (RFC 7983). It decides
 * which addresses belong to the peer, where media may go, and when. There is one association for each leg: a peer that
 * wants another certificate needs another call.
 */
export class DtlsSrtp {
  readonly #options: DtlsSrtpOptions
  #remote: DtlsRemote
  #ice: IceLiteAgent
  /** The agent from before a restart, until the peer selects an address with the new one (RFC 8445 section 9). */
  #oldIce: IceLiteAgent | null = null
  #server: DtlsServer | null = null
  #hasKeys = false
  #ended = false

  constructor(options: DtlsSrtpOptions) {
    this.#options = options
    this.#remote = options.remote
    this.#ice = this.#openIce(options.remote)
  }

  /** Takes the peer's later descriptions. Other credentials restart ICE, and the association goes on. */
  setRemote(remote: DtlsRemote): void {
    const before = this.#remote
    this.#remote = remote
    if (before.iceUfrag === remote.iceUfrag && before.ice.ufrag === remote.ice.ufrag) return
    this.#oldIce = this.#ice
    this.#ice = this.#openIce(remote)
  }

  /** Takes a datagram whose first byte is that of STUN. Returns false when it was dropped. */
  takeStun(datagram: Uint8Array, from: SocketAddress, nowMs: number): boolean {
    if (this.#oldIce === null) return takes(this.#ice, datagram, from, nowMs)
    if (!takes(this.#ice, datagram, from, nowMs)) return takes(this.#oldIce, datagram, from, nowMs)
    if (this.#ice.selected !== null) this.#oldIce = null
    return true
  }

  /** Takes a datagram whose first byte is that of DTLS. Returns false when ICE does not know its sender. */
  takeDtls(datagram: Uint8Array, { address, port }: SocketAddress, nowMs: number): boolean {
    if (this.#ended || !this.#isValid(address, port, nowMs)) return false
    this.#server ??= this.#openServer()
    this.#server.receive(datagram, `${port} ${address}`)
    return true
  }

  /** Returns true when packets of this address may be media of the peer. Allocates nothing. */
  mayReceive(address: string, port: number, nowMs: number): boolean {
    return this.#hasKeys && !this.#ended && this.#isValid(address, port, nowMs)
  }

  /** Returns where media goes now; null before the handshake, after it ended, and without consent (RFC 7675). */
  destination(nowMs: number): SocketAddress | null {
    if (!this.#hasKeys || this.#ended) return null
    const ice = this.#ice.selected === null ? (this.#oldIce ?? this.#ice) : this.#ice
    return ice.hasConsent(nowMs) ? ice.selected : null
  }

  /** Ends the association. Idempotent. */
  close(): void {
    this.#ended = true
    this.#server?.close()
  }

  #isValid(address: string, port: number, nowMs: number): boolean {
    return this.#ice.isValid(address, port, nowMs) || this.#oldIce?.isValid(address, port, nowMs) === true
  }

  #openIce({ ice, iceUfrag }: DtlsRemote): IceLiteAgent {
    const { send } = this.#options
    return new IceLiteAgent({
      local: ice,
      remoteUfrag: iceUfrag,
      send: (datagram, { address, port }) => send(datagram, port, address),
    })
  }

  /** Opened by the first datagram, because the time for the handshake begins then. */
  #openServer(): DtlsServer {
    const { clock, identity, send, onKeys, onEnd } = this.#options
    return new DtlsServer({
      clock,
      identity,
      fingerprints: [this.#remote.fingerprint],
      send: (datagram, to) => {
        const space = to.indexOf(' ')
        send(datagram, Number(to.slice(0, space)), to.slice(space + 1))
      },
      onKeys: (keys) => {
        this.#hasKeys = true
        onKeys(keys)
      },
      onEnd: (end, reason) => {
        if (this.#ended) return
        this.#ended = true
        onEnd(end, reason)
      },
    })
  }
}

function takes(agent: IceLiteAgent, datagram: Uint8Array, from: SocketAddress, nowMs: number): boolean {
  const before = agent.dropped
  agent.receive(datagram, from, nowMs)
  return agent.dropped === before
}
