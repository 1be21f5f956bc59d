import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { InboundTrunk, TrunkDirectory } from '../ports.js'
import type { IncomingInvite } from '../sip-port.js'
import { coveringPrefix } from './cidr.js'
import { type DigestClaim, DigestServer } from './digest-server.js'

export interface TrunkEdgeOptions {
  readonly trunks: TrunkDirectory
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
  /** Offered to callers whose trunk is not known yet; valid for every trunk. */
  readonly realm?: string
  /** Credentials were wrong: whoever bans sources counts them. */
  readonly onFailure?: (source: { readonly address: string; readonly username: string }) => void
  readonly nonceLifeMs?: number
}

/** Who an INVITE comes from. */
export type Caller =
  | { readonly as: 'trunk'; readonly trunk: InboundTrunk }
  /** Proved nothing and claimed nothing. */
  | { readonly as: 'stranger' }
  /** Has to send (other) credentials: values of `WWW-Authenticate` for a 401. */
  | { readonly as: 'challenged'; readonly challenges: string[] }

export const SERVICE_REALM = 'parley'

/**
 * Tells trunks from strangers: by address list, by digest, or by both, as each trunk asks. Nothing an
 * unauthenticated caller sees depends on which users or numbers exist.
 */
export class TrunkEdge {
  readonly #options: TrunkEdgeOptions
  readonly #digest: DigestServer
  readonly #realm: string

  constructor(options: TrunkEdgeOptions) {
    this.#options = options
    this.#realm = options.realm ?? SERVICE_REALM
    this.#digest = new DigestServer(options)
  }

  async identify(invite: IncomingInvite): Promise<Caller> {
    const { trunks } = this.#options
    const near = await trunks.byAddress(invite.sourceAddress, invite.to)
    if (near?.inboundAuth === 'ip_acl') return { as: 'trunk', trunk: near }
    const header = invite.header('Authorization')
    if (header !== null) return this.#authenticate(invite, header, near)
    // In the list of a trunk that wants a password as well: it is asked in its own realm.
    return near === null
      ? { as: 'stranger' }
      : { as: 'challenged', challenges: this.#digest.challenges(near.realm, false) }
  }

  /** For a stranger who gets in only with credentials. */
  async challenge(invite: IncomingInvite): Promise<string[]> {
    return this.#digest.challenges(await this.#realmOf(invite), false)
  }

  async #authenticate(invite: IncomingInvite, header: string, near: InboundTrunk | null): Promise<Caller> {
    const realm = near?.realm ?? (await this.#realmOf(invite))
    const claim = this.#digest.claim(header, (claimed) => claimed === realm || claimed === this.#realm)
    // Credentials for somebody else's realm prove nothing here.
    if (claim === null) return { as: 'challenged', challenges: this.#digest.challenges(realm, false) }
    const { trunk, verdict } = await this.#verify(claim, invite)
    if (verdict.ok && trunk !== null) return { as: 'trunk', trunk }
    const stale = !verdict.ok && verdict.stale
    if (!stale) {
      this.#options.log.warn(
        { source: invite.sourceAddress, sipCallId: invite.callId },
        'wrong SIP credentials',
      )
      this.#options.onFailure?.({ address: invite.sourceAddress, username: claim.username })
    }
    return { as: 'challenged', challenges: this.#digest.challenges(claim.realm, stale) }
  }

  async #verify(claim: DigestClaim, { uri, body, sourceAddress }: IncomingInvite) {
    const trunk = await this.#options.trunks.byUsername(claim.username)
    // A trunk that is reached by address only, or from elsewhere, or in another realm: as if there were none.
    const open =
      trunk !== null &&
      trunk.inboundAuth !== 'ip_acl' &&
      (claim.realm === trunk.realm || claim.realm === this.#realm) &&
      (trunk.inboundAuth === 'digest' || coveringPrefix(trunk.ranges, sourceAddress) !== null)
    const password = open ? trunk.password : null
    return { trunk, verdict: this.#digest.verify(claim, password, { method: 'INVITE', uri, body }) }
  }

  /** The realm the caller names as the host it calls or calls from, if a trunk has it. */
  async #realmOf(invite: IncomingInvite): Promise<string> {
    for (const value of [invite.uri, invite.header('From') ?? '']) {
      const host = /sips?:(?:[^@>]*@)?(\[[^\]]+\]|[^:;>?\s]+)/i.exec(value)?.[1]?.toLowerCase()
      if (host !== undefined && (await this.#options.trunks.hasRealm(host))) return host
    }
    return this.#realm
  }
}
