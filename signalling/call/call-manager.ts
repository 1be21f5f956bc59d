import { randomUUID } from 'node:crypto'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { MediaPool } from '../../workers/channel/protocol.js'
import type { SpeakerScripts } from '../sandbox/speaker-scripts.js'
import { ALL_CODECS, checkOffer, G711_CODECS, sessionRateOf } from '../sdp/sdp-session.js'
import type { DialGate, Permit } from '../sip/dial-gate.js'
import type { IncomingInvite } from '../sip/incoming-invite.js'
import type { SipServer } from '../sip/sip-port.js'
import { onlyUserIn, usersIn } from '../sip/sip-uri.js'
import { warning } from '../sip/warning.js'
import type { InviteSource, TrunkAuthenticator } from '../trunk/trunk-authenticator.js'
import { TrunkLimiter } from '../trunk/trunk-limiter.js'
import { Call } from './call.js'
import { type CallId, callNeverBegan } from './call-events.js'
import { type CallDeps, callTimers } from './call-options.js'
import { type Ending, endingOfHangUp, endingOfTrunk, SHUTDOWN } from './ending.js'
import type { DialledLeg, MakeLeg } from './further-leg.js'
import { InboundLeg } from './inbound-leg.js'
import type { LegEvents } from './leg.js'
import { endingOfRefusal } from './leg-media.js'
import { OutboundLeg } from './outbound-leg.js'
import type {
  AdmissionControl,
  AdmissionDecision,
  AgentTools,
  CallControl,
  CallListener,
  CallParty,
  EventSink,
  InboundInvite,
  InboundTrunk,
  LegClearance,
  LiveAudio,
  OutboundCallSpec,
  TakeoverPlan,
  TakeoverRefusal,
  TransferHandler,
  TransferPlan,
} from './ports.js'
import type { TransferRefusal } from './transfer-machine.js'

export interface CallManagerOptions {
  readonly sip: SipServer
  readonly pool: MediaPool
  readonly admissionControl: AdmissionControl
  /** The SIP server spends what is claimed here. */
  readonly gate: Pick<DialGate, 'claim'>
  readonly events: EventSink
  /** Runs the agents' tools. Without it every tool call fails with a message to the model. */
  readonly tools?: AgentTools
  readonly clock: Clock
  readonly log: Log
  readonly scripts: SpeakerScripts
  /** Transfers calls; without it every transfer is rejected as not supported. */
  readonly transfers?: TransferHandler
  /** Identifies the trunk of an INVITE; without it every caller counts as unauthenticated. */
  readonly trunkAuthenticator?: TrunkAuthenticator
  /** Runs before each leg of a call begins, with its SIP Call-ID. */
  readonly onCall?: (callId: CallId, sipCallId: string, trunkId: string | null) => void
}

/** Seconds after which a caller may try again (RFC 3261 21.5.4). */
const RETRY_AFTER = { 'Retry-After': '10' }

/** A telephone number with visual separators (RFC 3966). */
const TELEPHONE_NUMBER = /^\+?[\d().-]{3,40}$/

type Joining = Extract<AdmissionDecision, { readonly admit: 'joins' }>
type Admitted = Extract<AdmissionDecision, { readonly admit: true }>

/** Routes INVITEs to calls, places calls under permits and keeps every live call. */
export class CallManager implements CallControl {
  readonly #options: CallManagerOptions
  readonly #callDeps: CallDeps
  readonly #calls = new Map<CallId, Call>()
  readonly #limiter: TrunkLimiter
  /** Number of INVITEs waiting for their admission decision. */
  #admitting = 0
  #draining = false
  #closed: Promise<void> | null = null
  /** Callbacks that run after each end of a call. */
  readonly #idle = new Set<() => void>()

  constructor(options: CallManagerOptions) {
    this.#options = options
    this.#callDeps = { ...options, dialLeg: (...leg) => this.#dialLeg(...leg) }
    this.#limiter = new TrunkLimiter(options.clock)
    options.sip.onInvite((invite) => {
      this.#invited(invite).catch((error: unknown) => {
        options.log.error({ error: errorText(error) }, 'invite.handling_failed')
        invite.refuse(500)
      })
    })
    options.pool.onLost((session) => this.#calls.get(session)?.mediaLost())
  }

  get live(): number {
    return this.#calls.size
  }

  liveCalls(): Iterable<CallId> {
    return this.#calls.keys()
  }

  get draining(): boolean {
    return this.#draining
  }

  get connected(): boolean {
    return this.#options.sip.connected
  }

  dial(permit: Permit, plan: OutboundCallSpec): void {
    const { gate, sip, log, scripts } = this.#options
    if (this.#draining)
      throw new EngineError('closed', 'new calls are refused: the service is shutting down', {
        retryable: true,
      })
    if (!gate.claim(permit)) throw new EngineError('permit_invalid', 'dialling requires an unspent permit')
    const { trunk } = plan.gateway
    if (trunk !== undefined) {
      const refusal = this.#limiter.admitOutbound(trunk.trunkId, trunk.limits, permit.callId, permit.to)
      if (refusal !== null) {
        log.warn({ callId: permit.callId, trunkId: trunk.trunkId, refusal }, 'call.refused_by_trunk')
        this.#neverBegan(permit.callId, endingOfTrunk(refusal))
        return
      }
    }
    // A carrier that gets the INVITE of one attempt twice can recognise it (RFC 3261, section 8.2.2.2).
    const sipCallId: string = permit.callId
    scripts.announce(sipCallId)
    const target = { gateway: plan.gateway, permit, sipCallId }
    const call = new Call(
      this.#callDeps,
      {
        callId: permit.callId,
        direction: 'outbound',
        party: plan.party,
        recordTo: plan.recordTo,
        rate: sessionRateOf(plan.gateway.codecs, ''),
        timers: callTimers(plan.ringTimeoutMs, maxSecondsOf(plan.party)),
        onEnded: () => {
          scripts.forget(sipCallId)
          this.#ended(permit.callId, trunk?.trunkId ?? null)
        },
      },
      (events) => new OutboundLeg(sip, target, events, log),
    )
    this.#calls.set(permit.callId, call)
    const { callId, recordId } = permit
    log.info({ callId, recordId, sipCallId, trunkId: trunk?.trunkId ?? null }, 'call.placed')
    this.#options.onCall?.(permit.callId, sipCallId, trunk?.trunkId ?? null)
    call.begin()
  }

  finish(callId: CallId, line: string | null, ending: Ending): boolean {
    const call = this.#calls.get(callId)
    call?.finishWithLine(line, ending)
    return call !== undefined
  }

  lastWordsMs(callId: CallId): number {
    return this.#calls.get(callId)?.lastWordsMs ?? 0
  }

  async say(callId: CallId, text: string, now: boolean): Promise<SayResult | null> {
    return (await this.#calls.get(callId)?.say(text, now)) ?? null
  }

  async note(callId: CallId, text: string): Promise<boolean> {
    return (await this.#calls.get(callId)?.note(text)) ?? false
  }

  async listen(callId: CallId, listener: CallListener): Promise<LiveAudio | null> {
    return (await this.#calls.get(callId)?.listen(listener)) ?? null
  }

  transfer(callId: CallId, plan: TransferPlan): TransferRefusal | null {
    const call = this.#calls.get(callId)
    return call === undefined ? 'call_ending' : call.transfer(plan)
  }

  takeOver(callId: CallId, plan: TakeoverPlan): TakeoverRefusal | null {
    const call = this.#calls.get(callId)
    return call === undefined ? 'call_ending' : call.takeOver(plan)
  }

  giveBack(callId: CallId, message: string | null): boolean {
    return this.#calls.get(callId)?.giveBack(message) ?? false
  }

  /** Dials a further leg of a call: no permit, no dial. */
  #dialLeg(callId: CallId, { permit, gateway }: LegClearance, events: LegEvents): DialledLeg {
    const { gate, sip, log, scripts } = this.#options
    if (permit.callId !== callId || !gate.claim(permit))
      throw new EngineError('permit_invalid', 'dialling requires an unspent permit of this call')
    const { trunk } = gateway
    const sipCallId = randomUUID()
    if (trunk !== undefined) {
      const refusal = this.#limiter.admitOutbound(trunk.trunkId, trunk.limits, sipCallId, permit.to)
      if (refusal !== null) throw new EngineError('overloaded', `the trunk refuses the leg: ${refusal}`)
    }
    scripts.announce(sipCallId)
    const { recordId } = permit
    log.info({ callId, recordId, sipCallId, trunkId: trunk?.trunkId ?? null }, 'call.leg_placed')
    this.#options.onCall?.(callId, sipCallId, trunk?.trunkId ?? null)
    const target = { gateway, permit, sipCallId }
    return {
      leg: new OutboundLeg(sip, target, events, log),
      release: () => {
        scripts.forget(sipCallId)
        if (trunk !== undefined) this.#limiter.release(trunk.trunkId, sipCallId)
      },
    }
  }

  hangUp(callId: CallId, by: 'operator' | 'engine'): boolean {
    const call = this.#calls.get(callId)
    if (!call) return false
    call.finish(endingOfHangUp(by))
    return true
  }

  async drain(ms: number): Promise<void> {
    this.#draining = true
    if (await this.#whenIdle(ms)) return
    for (const call of this.#calls.values()) call.finish(SHUTDOWN)
    // Every call has its own watchdog, so this resolves.
    await this.#whenIdle(null)
  }

  /** Refuses new calls, ends the live ones and detaches from the SIP server. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.drain(0).then(() => this.#options.sip.onInvite(null))
    return this.#closed
  }

  async #invited(invite: IncomingInvite): Promise<void> {
    const { admissionControl, log, trunkAuthenticator } = this.#options
    if (this.#draining) {
      invite.refuse(503, RETRY_AFTER)
      return
    }
    // An INVITE that we could not serve anyway must not use up any limit.
    const wrong = checkOffer(invite.body, invite.sourceAddress)
    if (wrong) {
      invite.refuse(wrong.sip, { Warning: warning(wrong.reason) })
      return
    }
    let withdrawn: Ending | null = null
    invite.onWithdrawn((why) => {
      withdrawn =
        why === 'cancelled'
          ? { by: 'caller', cause: 'caller_hangup', fault: 'none', sip: 487 }
          : { by: 'engine', cause: 'internal', fault: 'ours', note: 'connection to the SIP server lost' }
    })
    this.#admitting++
    let admission: AdmissionDecision
    let trunk: InboundTrunk | null = null
    try {
      const ticket = bearerToken(invite)
      const caller: InviteSource = (ticket === null ? await trunkAuthenticator?.identify(invite) : null) ?? {
        kind: 'unauthenticated',
      }
      if (caller.kind === 'challenged') {
        invite.refuse(401, { 'WWW-Authenticate': caller.challenge })
        return
      }
      trunk = caller.kind === 'trunk' ? caller.trunk : null
      admission = await admissionControl.admit({
        sipCallId: invite.callId,
        to: invite.to,
        from: invite.from,
        sourceAddress: invite.sourceAddress,
        sourcePort: invite.sourcePort,
        transport: invite.transport,
        ticket,
        trunkId: trunk?.id ?? null,
        ...furtherParties(invite),
      })
      if (
        !admission.admit &&
        admission.challenge &&
        trunkAuthenticator &&
        trunk === null &&
        ticket === null
      ) {
        invite.refuse(401, { 'WWW-Authenticate': await trunkAuthenticator.challenge(invite) })
        return
      }
    } catch (error) {
      log.error({ error: errorText(error) }, 'invite.admission_failed')
      // Another server may reach a database, or this one a little later.
      if (error instanceof EngineError && error.retryable) invite.refuse(503, RETRY_AFTER)
      else invite.refuse(500)
      return
    } finally {
      this.#admitting--
      this.#resolveIdle()
    }
    if (!admission.admit) {
      const { sip, reason, headers = {} } = admission
      log.info({ sip, reason, sipCallId: invite.callId, trunkId: trunk?.id ?? null }, 'invite.refused')
      // The limit is reached now, but may be free again soon.
      invite.refuse(sip, sip === 503 || sip === 486 ? { ...RETRY_AFTER, ...headers } : headers)
      return
    }
    if (admission.admit === 'joins') {
      this.#join(invite, admission, withdrawn !== null)
      return
    }
    if (withdrawn || this.#draining) {
      // The call is stored already, so it needs its end.
      invite.refuse(503, RETRY_AFTER)
      this.#neverBegan(admission.callId, withdrawn ?? SHUTDOWN)
      return
    }
    const refusal =
      trunk === null ? null : this.#limiter.admitInbound(trunk.id, trunk.limits, admission.callId)
    if (refusal !== null) {
      log.info({ callId: admission.callId, trunkId: trunk?.id ?? null, refusal }, 'invite.refused')
      invite.refuse(486, RETRY_AFTER)
      this.#neverBegan(admission.callId, endingOfTrunk(refusal))
      return
    }
    if (trunk?.credentials) invite.identify(trunk.credentials)
    this.#admitted(invite, admission, trunk?.id ?? null)
  }

  /** Makes an INVITE a further leg of a running call. */
  #join(invite: IncomingInvite, { callId, joins, codecs, srtp }: Joining, isWithdrawn: boolean): void {
    const { log } = this.#options
    const call = this.#calls.get(callId)
    if (isWithdrawn) {
      call?.notJoined(joins)
      return
    }
    const make: MakeLeg = (events) => new InboundLeg(invite, { codecs, srtp }, events, log)
    const refusal = call === undefined ? 'call_ending' : call.join(joins, make)
    const what = { callId, sipCallId: invite.callId, kind: joins.kind }
    if (refusal === null) {
      log.info(what, 'call.joined')
      this.#options.onCall?.(callId, invite.callId, null)
      return
    }
    log.info({ ...what, refusal }, 'invite.refused')
    invite.refuse(486, { 'X-Svc-Code': refusal })
  }

  #admitted(invite: IncomingInvite, admission: Admitted, trunkId: string | null): void {
    const { log } = this.#options
    const { callId, party, recordTo, forward } = admission
    // We offer what telephones support (G.711), and answer with what the caller supports.
    const codecs = admission.codecs ?? (invite.body === '' ? G711_CODECS : ALL_CODECS)
    // The trunk may allow less than we can serve. Such a call is refused before it rings.
    const wrong = checkOffer(invite.body, invite.sourceAddress, codecs, admission.srtp)
    if (wrong !== null) {
      invite.refuse(wrong.sip, { Warning: warning(wrong.reason) })
      this.#neverBegan(callId, endingOfRefusal(wrong))
      this.#ended(callId, trunkId)
      return
    }
    const call = new Call(
      this.#callDeps,
      {
        callId,
        direction: 'inbound',
        party,
        recordTo,
        rate: sessionRateOf(codecs, invite.body),
        timers: callTimers(forward?.ringTimeoutMs ?? 0, maxSecondsOf(party)),
        ...(forward === undefined ? {} : { forward }),
        onEnded: () => this.#ended(callId, trunkId),
      },
      (events) => new InboundLeg(invite, { ...admission, codecs }, events, log),
    )
    this.#calls.set(callId, call)
    log.info({ callId, sipCallId: invite.callId, trunkId }, 'call.admitted')
    this.#options.onCall?.(callId, invite.callId, trunkId)
    call.begin()
  }

  #neverBegan(callId: CallId, ending: Ending): void {
    this.#options.events.publish(callNeverBegan(callId, ending, this.#options.clock.wall()))
  }

  #ended(callId: CallId, trunkId: string | null): void {
    this.#calls.delete(callId)
    if (trunkId !== null) this.#limiter.release(trunkId, callId)
    this.#resolveIdle()
  }

  #resolveIdle(): void {
    if (this.#calls.size > 0 || this.#admitting > 0) return
    for (const resolve of this.#idle) resolve()
  }

  /** Resolves with true when no call is left, with false after `ms`; null waits without limit. */
  #whenIdle(ms: number | null): Promise<boolean> {
    if (this.#calls.size === 0 && this.#admitting === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const done = (empty: boolean) => {
        this.#idle.delete(idle)
        timer?.cancel()
        resolve(empty)
      }
      const idle = () => done(true)
      const timer = ms === null ? null : this.#options.clock.after(ms, () => done(false))
      this.#idle.add(idle)
    })
  }
}

function maxSecondsOf(party: CallParty): number {
  switch (party.kind) {
    case 'agent':
      return party.agent.maxCallSeconds
    case 'bot':
      return party.bot.maxCallSeconds
    default:
      return party.maxCallSeconds
  }
}

function bearerToken(invite: IncomingInvite): string | null {
  return /^Bearer +([\w~+/.-]+=*) *$/i.exec(invite.header('Authorization') ?? '')?.[1] ?? null
}

/** Reads called and calling party from the headers beside Request-URI and From. */
function furtherParties(
  invite: IncomingInvite,
): Pick<InboundInvite, 'alternateTo' | 'assertedIdentity' | 'isPrivate'> {
  const called = [onlyUserIn(invite.header('P-Called-Party-ID')), onlyUserIn(invite.header('To'))]
  const asserted = usersIn(invite.header('P-Asserted-Identity'))
  return {
    alternateTo: called.filter((user) => user !== '' && user !== invite.to),
    // RFC 3325 9.1: a SIP URI and a tel URI may stand side by side.
    assertedIdentity: asserted.find((user) => TELEPHONE_NUMBER.test(user)) ?? asserted[0] ?? null,
    isPrivate: /\b(id|user|header)\b/i.test(invite.header('Privacy') ?? ''),
  }
}
