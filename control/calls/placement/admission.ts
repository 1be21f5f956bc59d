import { isIP } from 'node:net'
import { newId } from '../../../media/base/ids.js'
import type { Log } from '../../../media/base/log.js'
import type { Cause } from '../../../signalling/call/ending.js'
import type { AdmissionControl, AdmissionDecision, InboundInvite } from '../../../signalling/call/ports.js'
import type { ProviderSettings } from '../../../workers/channel/protocol.js'
import type { BrowserSip, TransferRequests } from '../../api/deps.js'
import { isCallingBlocked } from '../../compliance/facts.js'
import { dialledToE164, isDialable } from '../../compliance/numbering.js'
import { mobilePrefixes } from '../../compliance/policy.js'
import type { NumberRow } from '../../db/tables/calling.js'
import type { SipTrunkRow } from '../../db/tables/trunks.js'
import { findCarrierNumber, findOwnNumber } from '../../numbers/store.js'
import { cachedRead } from '../../trunks/cached-read.js'
import { findInboundTrunk, hasDigestTrunk, listTrunkNumbers } from '../../trunks/store.js'
import { LIST_CACHE_MS } from '../../trunks/trunk-callers.js'
import { codecsOf } from '../../trunks/trunk-route.js'
import { admitTicket } from '../browser/admit-ticket.js'
import { recordingPath } from '../lifecycle/settle.js'
import { forwarding } from './forward-call.js'
import { storeInboundCall } from './inbound-call.js'
import { type OriginationDeps, originate } from './originate.js'
import { botPartySpec, numberAgentSpec, type PartySpec } from './party-spec.js'
import { storeRefusedCall } from './refused-call.js'

export interface AdmissionOptions extends OriginationDeps {
  readonly log: Log
  readonly providers: ProviderSettings
  /** The SIP connections of the dashboard. Without it no ticket is accepted. */
  readonly browserSip?: Pick<BrowserSip, 'userAt'> | null
  /** Decides on takeovers from the dashboard. Without it there are none. */
  readonly takeovers?: Pick<TransferRequests, 'join'>
}

/** Longest caller identity that is stored when it is not a phone number (characters). */
const CALLER_MAX = 64

/**
 * Opens admission control for inbound calls: finds the number, who answers it, and a free slot. An admitted
 * call has its row and its `call.initiated` event.
 */
export function openAdmission(options: AdmissionOptions): AdmissionControl {
  const anyDigest = cachedRead(options.clock, LIST_CACHE_MS, () => hasDigestTrunk(options.db))
  return { admit: (invite) => admit(options, invite, anyDigest) }
}

async function admit(
  options: AdmissionOptions,
  invite: InboundInvite,
  anyDigest: () => Promise<boolean>,
): Promise<AdmissionDecision> {
  const { db, clock } = options
  if (invite.ticket !== null) return admitTicket(options, invite, invite.ticket)
  // A user of the dashboard may not call from there what callers on this machine may call.
  if (options.browserSip?.userAt(invite.sourceAddress, invite.sourcePort)) return NO_TICKET
  const dialled = dialledToE164(invite.to)
  const reached = await findCalledNumber(options, dialled, invite, anyDigest)
  if ('admit' in reached) return reached
  const { number, trunk } = reached
  if (number === null) return originate(options, invite, trunk, reached.to)
  // A call that arrives proves the routing, whatever the carrier said of it.
  if (number.status !== 'active' || number.inbound === 'disabled') {
    return refused(404, 'the number does not accept calls')
  }
  const from = callerOf(invite, trunk)
  const unheard = async (cause: Cause, refusal: Refused): Promise<Refused> => {
    const { e164: to, routingMode } = number
    const ending = { cause, note: refusal.reason }
    const call = { number, direction: 'inbound', from, to, routingMode, ending } as const
    return { ...refusal, callId: await storeRefusedCall(options, call) }
  }
  if (await isCallingBlocked(db, number.organizationId)) return unheard('gate_blocked', BLOCKED)
  if (trunk?.numberId === number.id) return unheard('rejected', LOOP)
  const forward = number.routingMode === 'byo_sip' ? await forwarding(options, number, from) : null
  const party = forward?.party ?? (await resolveParty(options, number, from))
  if ('admit' in party) return party

  const callId = newId('call', clock.wall())
  const busy = await storeInboundCall(options, {
    ...{ callId, number, trunk, from, to: number.e164, party },
    variables: {},
    metadata: {},
  })
  if (busy !== null) return { admit: false, sip: 486, reason: busy.note, cause: busy.cause, callId }
  return {
    admit: true,
    callId,
    party: party.forCall(callId),
    codecs: trunk === null ? null : codecsOf(trunk),
    srtp: trunk?.srtp ?? 'optional',
    recordTo: number.recordCalls === 1 ? recordingPath(options.folder, callId) : null,
    ...(forward === null ? {} : { forward: forward.plan }),
  }
}

type Refused = Extract<AdmissionDecision, { readonly admit: false }>

const NO_TICKET = refused(403, 'a call from the dashboard needs a ticket')

const BLOCKED: Refused = {
  ...refused(403, 'calling is blocked'),
  headers: { 'X-Svc-Code': 'blocked_opt_out' },
}

/** A telephone system that calls the number whose calls it takes would call itself. */
const LOOP: Refused = { admit: false, sip: 482, reason: 'the call would go back to its own telephone system' }

/** The called number and the trunk that the call came over; null for callers on this machine. */
interface CalledNumber {
  readonly number: NumberRow
  readonly trunk: SipTrunkRow | null
}

type NumberDeps = Pick<AdmissionOptions, 'db' | 'policy' | 'clock'>

/** A number that the service does not host, which a trunk may ask it to dial. */
interface Origination {
  readonly number: null
  readonly trunk: SipTrunkRow
  /** E.164. */
  readonly to: string
}

/**
 * Finds the called number. Callers on this machine reach the numbers of the test environment without
 * credentials, also from an address that belongs to a trunk. All other callers must be a trunk; they learn
 * nothing about which numbers exist.
 */
async function findCalledNumber(
  deps: NumberDeps,
  dialled: string | null,
  invite: InboundInvite,
  anyDigest: () => Promise<boolean>,
): Promise<CalledNumber | Origination | Refused> {
  const local = isLoopback(invite.sourceAddress)
  const number = dialled !== null && local ? await findCarrierNumber(deps.db, dialled) : null
  if (number?.environment === 'test') return { number, trunk: null }
  if (invite.trunkId !== null) return findTrunkNumber(deps, dialled, invite)
  const refusal =
    local && number === null ? refused(404, 'no such number') : refused(403, 'not reachable without a trunk')
  // Some trunk uses digest credentials, so the caller is challenged.
  return (await anyDigest()) ? { ...refusal, challenge: true } : refusal
}

/**
 * A trunk reaches the live numbers of its organization. A call to any other number is an origination:
 * the service dials out for the customer's PBX.
 */
async function findTrunkNumber(
  { db, policy, clock }: NumberDeps,
  dialled: string | null,
  { trunkId, to, alternateTo: alsoTo }: InboundInvite,
): Promise<CalledNumber | Origination | Refused> {
  const trunk = trunkId === null ? null : await findInboundTrunk(db, trunkId)
  if (trunk === null || trunk.status !== 'active') return refused(403, 'the trunk is not active')
  if (trunk.carrier !== null) {
    const bought = dialled === null ? null : await findCarrierNumber(db, dialled)
    if (bought?.provider === trunk.carrier && bought.environment === 'live') return { number: bought, trunk }
  }
  const number = dialled === null ? null : await findOwnNumber(db, trunk, dialled, trunk.id)
  if (number !== null) return { number, trunk }
  // A registered account is called by its user name. The called number is then in another header, or the
  // trunk has only one number.
  if (to === trunk.outboundAuthUsername) {
    for (const also of alsoTo) {
      const e164 = dialledToE164(also)
      const named = e164 === null ? null : await findOwnNumber(db, trunk, e164, trunk.id)
      if (named !== null) return { number: named, trunk }
    }
    const [only, another] = await listTrunkNumbers(db, trunk, trunk.id)
    if (only !== undefined && another === undefined) return { number: only, trunk }
  }
  if (
    trunk.allowOrigination !== 1 ||
    dialled === null ||
    !isDialable(dialled, mobilePrefixes(policy.rules, clock.wall()))
  ) {
    return refused(404, 'no such number')
  }
  return { number: null, trunk, to: dialled }
}

export function isLoopback(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '')
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1'
}

/** Returns the bot or the published agent of the number, or a refusal when there is none. */
async function resolveParty(
  options: AdmissionOptions,
  number: NumberRow,
  from: string,
): Promise<PartySpec | Refused> {
  const numbers = { direction: 'inbound', from, to: number.e164 } as const
  if (number.routingMode === 'byo_ws') {
    const bot = await botPartySpec(options, number, numbers, {})
    if (bot === 'secret_host_not_allowed') return refused(503, 'the secret of the bot has another host')
    return typeof bot === 'string' ? refused(404, 'the number has no media endpoint') : bot
  }
  if (number.routingMode !== 'svc_agent') return refused(404, 'the number does not accept calls')
  // A caller cannot wait for a build, nor supply variables: the agent answers with what it has.
  const agent = await numberAgentSpec(options, number, numbers, {})
  switch (agent) {
    case 'no_agent':
      return refused(404, 'no published agent answers the number')
    case 'wrong_environment':
      return refused(503, 'a model of the agent works in the test environment only')
    case 'not_available':
      return refused(503, 'a voice or model of the agent is not available')
    default:
      return agent
  }
}

/**
 * Returns the number of the caller as E.164 if it is one, else the text that was sent, cleaned for storage. The
 * identity that a trunk asserts (RFC 3325) counts before From, where a caller can write anything. It does not count
 * when the caller asks for privacy, or when the call comes over no trunk.
 */
function callerOf(
  { from, assertedIdentity: asserted, isPrivate }: InboundInvite,
  trunk: SipTrunkRow | null,
): string {
  const trusted = trunk === null || isPrivate ? null : asserted
  const number = dialledToE164(trusted ?? '') ?? dialledToE164(from)
  if (number !== null) return number
  const text = from.replace(/[\p{C}\p{Surrogate}]/gu, '').slice(0, CALLER_MAX)
  return text === '' ? 'anonymous' : text
}

function refused(sip: 403 | 404 | 503, reason: string): Refused {
  return { admit: false, sip, reason }
}
