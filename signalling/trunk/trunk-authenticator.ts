import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { InboundTrunk, TrunkDirectory } from '../call/ports.js'
import { parseAddress } from '../embedded/message/name-addr.js'
import { hostText, parseUri } from '../embedded/message/sip-header.js'
import type { IncomingInvite } from '../sip/incoming-invite.js'
import type { IncomingRegister } from '../sip/incoming-register.js'
import { coveringPrefix } from './cidr.js'
import type { DigestAlgorithm } from './digest.js'
import { type DigestClaim, DigestServer } from './digest-server.js'

export interface TrunkAuthenticatorOptions {
  readonly trunks: TrunkDirectory
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
  /** Realm of challenges while the trunk is unknown; valid for every trunk. */
  readonly realm?: string
  readonly nonceLifeMs?: number
}

/** The origin of an INVITE. */
export type InviteSource =
  | { readonly kind: 'trunk'; readonly trunk: InboundTrunk }
  /** The caller sent no credentials and its address belongs to no trunk. */
  | { readonly kind: 'unauthenticated' }
  /** The caller must send (other) credentials; `challenge` is the `WWW-Authenticate` of the 401. */
  | { readonly kind: 'challenged'; readonly challenge: string }

type Known = InviteSource & { readonly kind: 'trunk' }

export const SERVICE_REALM = 'parley'

/**
 * Identifies the trunk of an INVITE by address list, by digest, or by both, as each trunk requires. No
 * response to an unauthenticated caller reveals which users or numbers exist.
 */
export class TrunkAuthenticator {
  readonly #options: TrunkAuthenticatorOptions
  readonly #digest: DigestServer
  readonly #realm: string

  constructor(options: TrunkAuthenticatorOptions) {
    this.#options = options
    this.#realm = options.realm ?? SERVICE_REALM
    this.#digest = new DigestServer(options)
  }

  /**
   * Identifies the trunk of an INVITE. Valid credentials win over the address. A nonce belongs to the source address,
   * so that credentials also prove the address.
   */
  async identify(invite: IncomingInvite): Promise<InviteSource> {
    const { trunks } = this.#options
    const byAddress = await trunks.byAddress(invite.sourceAddress, invite.to)
    const request = { ...digested(invite), method: 'INVITE', place: invite.sourceAddress }
    const known: Known | null =
      byAddress?.inboundAuth === 'ip_acl' ? { kind: 'trunk', trunk: byAddress } : null
    if (invite.header('Authorization') !== null) return this.#authenticate(request, byAddress, known)
    if (known !== null) return known
    // The address belongs to a trunk that also requires a password: challenge in its own realm.
    return byAddress === null
      ? { kind: 'unauthenticated' }
      : this.#challenged(byAddress, false, request.place)
  }

  /**
   * Identifies the trunk of a REGISTER. An address alone is not enough: what is registered gets the calls. Over UDP
   * the nonce belongs to the source, so that no client can register the address of another.
   */
  async identifyRegister(register: IncomingRegister): Promise<InviteSource> {
    const { sourceAddress, flow } = register
    const place = flow?.transport === 'udp' ? `${sourceAddress}|${flow.port}` : ''
    const request = { ...digested(register), method: 'REGISTER', place }
    const byAddress = await this.#options.trunks.byAddress(sourceAddress, '')
    const known = byAddress?.inboundAuth === 'both' ? byAddress : null
    if (register.header('Authorization') !== null) return this.#authenticate(request, known, null)
    return this.#challenged(known ?? (await this.#realmOf(request)), false, place)
  }

  /** Returns the challenge for an unauthenticated caller that needs credentials to get in. */
  async challenge(invite: IncomingInvite): Promise<string> {
    const { realm, algorithm } = await this.#realmOf(digested(invite))
    return this.#digest.challenge(realm, algorithm, false, invite.sourceAddress)
  }

  /**
   * Checks credentials. `known` is the result for a caller whose address is proof enough. Neither wrong credentials nor
   * old credentials of its own trunk change it. Old credentials of another trunk are challenged again, because valid
   * ones would win over the address.
   */
  async #authenticate(
    request: Asked,
    byAddress: InboundTrunk | null,
    known: Known | null,
  ): Promise<InviteSource> {
    const { place, sourceAddress } = request
    const named = await this.#realmOf(request)
    const challengeRealm = byAddress ?? named
    const claim = this.#digest.claim(request.credentials, (claimed) =>
      [challengeRealm.realm, named.realm, this.#realm].includes(claimed),
    )
    // Credentials for another realm prove nothing here.
    if (claim === null) return known ?? this.#challenged(challengeRealm, false, place)
    if (!this.#digest.isFresh(claim, place)) {
      const owner = known === null ? null : await this.#options.trunks.byUsername(claim.username)
      if (known !== null && owner?.id === known.trunk.id) return known
      return this.#challenged(challengeRealm, true, place)
    }
    const { trunk, verdict } = await this.#verify(claim, request)
    if (verdict.ok && trunk !== null) {
      await this.#options.trunks.proved(trunk, sourceAddress)
      return { kind: 'trunk', trunk }
    }
    const stale = !verdict.ok && verdict.stale
    if (!stale) {
      this.#options.log.warn({ source: sourceAddress, sipCallId: request.callId }, 'trunk.wrong_credentials')
    }
    if (known !== null && (!stale || known.trunk.id === trunk?.id)) return known
    return this.#challenged(challengeRealm, stale, place)
  }

  #challenged({ realm, algorithm }: Realm, stale: boolean, place: string): InviteSource {
    return { kind: 'challenged', challenge: this.#digest.challenge(realm, algorithm, stale, place) }
  }

  async #verify(claim: DigestClaim, { method, uri, body, place, sourceAddress }: Asked) {
    const trunk = await this.#options.trunks.byUsername(claim.username)
    // A trunk that calls in another realm, or from outside of the addresses that it has to name, is treated as
    // unknown.
    const open =
      trunk !== null &&
      // A registered telephone system gets the calls, so a trunk that registers must have a password.
      (method === 'INVITE' || trunk.inboundAuth !== 'ip_acl') &&
      (claim.realm === trunk.realm || claim.realm === this.#realm) &&
      // Naming the weaker algorithm must not bypass the stronger one.
      (claim.algorithm === 'SHA-256' || trunk.algorithm === 'MD5') &&
      (trunk.inboundAuth === 'digest' || coveringPrefix(trunk.ranges, sourceAddress) !== null)
    const password = open ? trunk.password : null
    return { trunk, verdict: this.#digest.verify(claim, password, { method, uri, body, place }) }
  }

  /** Returns the realm named by the host of Request-URI or From, if a trunk has it. */
  async #realmOf({ uri, sender }: Pick<Asked, 'uri' | 'sender'>): Promise<Realm> {
    for (const named of [uri, parseAddress(sender)?.uri ?? '']) {
      const host = parseUri(named)?.host
      if (host === undefined) continue
      const realm = hostText(host.toLowerCase())
      const algorithm = await this.#options.trunks.realm(realm)
      if (algorithm !== null) return { realm, algorithm }
    }
    // The algorithm that every telephone system supports.
    return { realm: this.#realm, algorithm: 'MD5' }
  }
}

/** A request whose credentials are checked. */
interface Asked {
  readonly method: string
  readonly uri: string
  /** From. */
  readonly sender: string
  readonly body: string
  readonly callId: string
  readonly sourceAddress: string
  /** Authorization. */
  readonly credentials: string
  /** The source that the nonce was made for; '' when it is valid from everywhere. */
  readonly place: string
}

function digested(request: IncomingInvite | IncomingRegister): Omit<Asked, 'method' | 'place'> {
  const { uri, body, callId, sourceAddress } = request
  const [sender, credentials] = [request.header('From') ?? '', request.header('Authorization') ?? '']
  return { uri, body, callId, sourceAddress, sender, credentials }
}

interface Realm {
  readonly realm: string
  readonly algorithm: DigestAlgorithm
}
