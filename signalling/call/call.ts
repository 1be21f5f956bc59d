import type { AgentSpec } from '../../media/agent/agent-spec.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import { lineMs } from '../../media/agent/turn/turn-policy.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import {
  CALLER_LEG,
  type ClosedSession,
  type LegId,
  type OpenedSession,
  type RemoteMedia,
  type SessionEvent,
} from '../../workers/channel/protocol.js'
import type { InfoDigit } from '../sip/info-dtmf.js'
import type { CallId } from './call-events.js'
import { CallListeners } from './call-listeners.js'
import { type CallEffect, type CallInput, type CallState, type CallTimerName, step } from './call-machine.js'
import type { CallDeps, CallOptions } from './call-options.js'
import { CallPublisher } from './call-publisher.js'
import { CallRequests } from './call-requests.js'
import { CallTakeovers, type TakenOverCall } from './call-takeover.js'
import { CallTransfers, type TransferDeps, type TransferredCall } from './call-transfer.js'
import { closeReasonOf, type Ending, endingOfConversation, endingOfError } from './ending.js'
import { FurtherLeg, type MakeLeg } from './further-leg.js'
import type { Leg, LegEvents } from './leg.js'
import type {
  CallListener,
  JoinPlan,
  LiveAudio,
  TakeoverPlan,
  TakeoverRefusal,
  TransferPlan,
} from './ports.js'
import { SilentPeer } from './silent-peer.js'
import { NamedTimers, StepMachine } from './step-machine.js'
import type { TransferRefusal } from './transfer-machine.js'

/** Time (ms) of the clause that an agent ends before its last words. */
const CLAUSE_MS = 3_000
const CALLER_LEFT: Ending = { by: 'caller', cause: 'caller_hangup', fault: 'none' }

/**
 * One call: runs the effects of `call-machine` on its leg and its media session, and publishes events with an
 * increasing `seq`. Publishes `ended` exactly once, last, whatever fails.
 */
export class Call {
  readonly #deps: CallDeps
  readonly #options: CallOptions
  readonly #leg: Leg
  readonly #publisher: CallPublisher
  readonly #requests: CallRequests
  readonly #listeners: CallListeners
  readonly #machine: StepMachine<CallState, CallInput, CallEffect>
  readonly #timers: NamedTimers<CallTimerName>
  #media: OpenedSession | null = null
  /** Resolves with true when there is a session to close. */
  #opening: Promise<boolean> = Promise.resolve(false)
  #remote: RemoteMedia | null = null
  /** Unix time (ms) at which the caller's part ended, if a briefed person hears of it before the call ends. */
  #callerLeftAt: number | null = null
  #closed: ClosedSession | null = null
  #transfers: CallTransfers | null = null
  #takeovers: CallTakeovers | null = null
  /** The leg to which the call is forwarded. */
  #person: FurtherLeg | null = null
  /** The agent that speaks. Null while none does. */
  #agent: AgentSpec | null
  /** Asks a caller that sends nothing. */
  readonly #silence = new SilentPeer(() => this.#machine.input({ type: 'mediaLost' }))
  /** A person has the call, so the agent's limits do not count any more. */
  #agentLeft = false

  constructor(deps: CallDeps, options: CallOptions, makeLeg: (events: LegEvents) => Leg) {
    this.#deps = deps
    this.#options = options
    const { callId, direction, forward, party } = options
    this.#publisher = new CallPublisher(callId, deps)
    this.#agent = party.kind === 'agent' ? party.agent : null
    this.#requests = new CallRequests(callId, () => this.#agent, deps)
    this.#listeners = new CallListeners(deps, {
      ...{ callId, rate: options.rate },
      publish: (event) => this.#publisher.publish(event),
    })
    this.#machine = new StepMachine<CallState, CallInput, CallEffect>(
      { kind: 'queued', direction, ...(forward === undefined ? {} : { forwards: true }) },
      step,
      (effect) => this.#perform(effect),
      (effect, error) => this.#failed(effect, error),
    )
    this.#timers = new NamedTimers(deps.clock, (name) => this.#machine.input({ type: 'timer', name }))
    this.#leg = makeLeg({
      progress: (sip) => this.#machine.input({ type: 'progress', sip }),
      answered: (remote) => {
        this.#remote = remote
        this.#machine.input({ type: 'legAnswered' })
      },
      mediaChanged: (remote) => this.#mediaChanged(remote),
      digit: (key) => this.#digit(key),
      referred: (target, report) =>
        this.#machine.state.kind === 'live' && this.#requests.refer(target, report),
      ended: (ending) => this.#machine.input({ type: 'legEnded', ending }),
    })
  }

  get callId(): CallId {
    return this.#options.callId
  }

  get state(): CallState['kind'] {
    return this.#machine.state.kind
  }

  begin(): void {
    this.#machine.input({ type: 'begin' })
  }

  /** Ends the call. Idempotent; the first ending counts. */
  finish(ending: Ending): void {
    this.#machine.input({ type: 'finish', ending })
  }

  /** Ends the call with last words, or with null with those of its agent. The first ending counts. */
  finishWithLine(given: string | null, ending: Ending): void {
    const line = given ?? this.#agent?.hangupLine ?? null
    this.#machine.input(line === null ? { type: 'finish', ending } : { type: 'finishWithLine', ending, line })
  }

  /** Longest time (ms) of the last words of the agent, behind the clause that it ends first. 0 without such words. */
  get lastWordsMs(): number {
    const line = this.#agent?.hangupLine ?? null
    return line === null ? 0 : CLAUSE_MS + lineMs(line)
  }

  /** Says a text to all parties; see `CallControl.say`. */
  async say(text: string, now: boolean): Promise<SayResult | null> {
    if (!this.#hasMedia()) return null
    return await this.#deps.pool.request({ type: 'say', session: this.callId, leg: null, text, now })
  }

  /** Tells the agent something for its next reply; see `CallControl.note`. */
  async note(text: string): Promise<boolean> {
    if (!this.#hasMedia() || this.#agentLeft) return false
    return await this.#deps.pool.request({ type: 'note', session: this.callId, text })
  }

  /** Lets a listener hear the call; see `CallControl.listen`. */
  async listen(listener: CallListener): Promise<LiveAudio | null> {
    return this.#hasMedia() ? await this.#listeners.add(listener) : null
  }

  /** Lets the sender of an INVITE take the call over, or hear it. Returns why that is refused, or null. */
  join(joins: JoinPlan, make: MakeLeg): TakeoverRefusal | null {
    const refusal = joins.kind === 'takeover' ? this.takeOver(joins.plan, make) : this.#hear(joins, make)
    if (refusal !== null) this.notJoined(joins)
    return refusal
  }

  /** Reports that a person who was to join the call did not. */
  notJoined(joins: JoinPlan): void {
    const { id, by } = joins.kind === 'takeover' ? joins.plan : joins
    const over = { status: 'over', outcome: joins.kind === 'takeover' ? 'withdrawn' : 'left' } as const
    this.#publisher.publish({ type: 'monitored', id, by, mode: joins.kind, ...over })
  }

  #hear(joins: Extract<JoinPlan, { kind: 'listen' }>, make: MakeLeg): TakeoverRefusal | null {
    if (!this.#hasMedia()) return 'call_ending'
    this.#listeners.join(joins, make)
    return null
  }

  #hasMedia(): boolean {
    return this.#machine.state.kind === 'live' || this.#machine.state.kind === 'held'
  }

  /** Hands the call to a person. Returns why that is refused, or null. */
  transfer(plan: TransferPlan): TransferRefusal | null {
    if (!this.#hasMedia()) return 'call_ending'
    if (this.#takeovers?.idle === false) return 'transfer_in_progress'
    this.#transfers ??= new CallTransfers(this.#legDeps(), this.#sharedCall())
    return this.#transfers.request(plan)
  }

  /** Lets a person take the call over; see `CallControl.takeOver`. With `make` the person has called us. */
  takeOver(plan: TakeoverPlan, make: MakeLeg | null = null): TakeoverRefusal | null {
    if (!this.#hasMedia()) return 'call_ending'
    if (this.#transfers?.idle === false) return 'transfer_in_progress'
    this.#takeovers ??= new CallTakeovers(this.#legDeps(), this.#sharedCall())
    return this.#takeovers.request(plan, make)
  }

  /** Gives the call back to its agent; see `CallControl.giveBack`. */
  giveBack(message: string | null): boolean {
    return this.#takeovers?.release(message) ?? false
  }

  /** Returns the call as transfers and takeovers change it. */
  #sharedCall(): TransferredCall & TakenOverCall {
    return {
      callId: this.callId,
      publish: (event) => this.#publisher.publish(event),
      agentReleased: () => {
        this.#agentLeft = true
        this.#machine.input({ type: 'agentReleased' })
      },
      agentReturned: () => {
        this.#agentLeft = false
        this.#machine.input({ type: 'agentReturned' })
      },
      finish: (ending) => this.finish(ending),
    }
  }

  #legDeps(): TransferDeps {
    const { dialLeg, pool, clock, log } = this.#deps
    if (dialLeg === undefined) throw new EngineError('internal', 'this call cannot be transferred')
    return { dialLeg, pool, clock, log }
  }

  /** Ends the call because its media worker died. */
  mediaLost(): void {
    this.finish(endingOfError(new EngineError('worker_lost', 'the media worker of this call died')))
  }

  #failed(effect: CallEffect, error: unknown): void {
    const fields = { callId: this.callId, effect: effect.type, error: errorText(error) }
    this.#deps.log.error(fields, 'call.effect_failed')
    this.#machine.input({ type: 'finish', ending: endingOfError(error) })
  }

  #perform(effect: CallEffect): void {
    switch (effect.type) {
      case 'openMedia':
        this.#openMedia()
        return
      case 'ring':
        this.#leg.ring()
        return
      case 'ringEarly':
        this.#ringEarly()
        return
      case 'sendInvite':
      case 'answer':
        if (this.#media) this.#leg.connect(this.#media)
        return
      case 'dialPerson':
        this.#dialPerson()
        return
      case 'connectMedia':
        this.#connectMedia()
        return
      case 'sayLine':
        this.#sayLine(effect.line)
        return
      case 'cancelTimer':
        this.#timers.cancel(effect.name)
        return
      case 'endLeg':
        this.#leg.end(effect.ending).finally(() => this.#machine.input({ type: 'legClosed' }))
        return
      case 'closeMedia':
        this.#closeMedia(effect.ending)
        return
      case 'publishDialing':
        this.#publisher.publish({ type: 'dialing', sipCallId: this.#leg.sipCallId })
        return
      case 'publishRinging':
        this.#publisher.publish({ type: 'ringing', sip: effect.sip })
        return
      case 'publishAnswered':
        this.#publisher.answered()
        return
      case 'publishHeld':
        this.#publisher.publish({ type: 'held', on: effect.on })
        return
      case 'publishEnded':
        this.#publishEnded(effect.ending)
        return
      case 'startTimer':
        this.#timers.start(effect.name, this.#options.timers[effect.name])
        return
      case 'cancelTimers':
        this.#timers.cancelAll()
        return
    }
  }

  #openMedia(): void {
    const { party, forward, rate, callId } = this.#options
    // A forwarded call may have media before its answer, which is not recorded.
    const recordTo = forward === undefined ? this.#options.recordTo : null
    this.#opening = this.#deps.pool
      .open(callId, { party, recordTo, rate }, (event) => this.#sessionEvent(event))
      .then(
        (media) => {
          this.#media = media
          this.#machine.input({ type: 'mediaOpened' })
          return true
        },
        (error: unknown) => {
          this.finish(endingOfError(error))
          return false
        },
      )
  }

  #connectMedia(): void {
    const remote = this.#remote
    if (!remote) throw new EngineError('internal', 'media was connected before SDP was agreed')
    const { recordTo } = this.#options
    const session = this.callId
    const records = this.#person === null ? null : { type: 'record' as const, session, path: recordTo }
    // The requests leave at once; the channel keeps their order.
    Promise.all([records && this.#deps.pool.request(records), this.#startMedia(remote)]).then(
      () => {
        this.#machine.input({ type: 'mediaLive' })
        // The peer may have put us on hold while media was being connected.
        this.#machine.input({ type: 'hold', on: this.#remote?.send === false })
      },
      (error: unknown) => this.finish(endingOfError(error)),
    )
  }

  /** Lets the caller hear what the person's side plays before the answer: ringing, or an announcement. */
  #ringEarly(): void {
    const remote = this.#media === null ? null : this.#leg.early(this.#media)
    if (remote === null) return
    this.#startMedia(remote).catch((error: unknown) => this.finish(endingOfError(error)))
  }

  async #startMedia(remote: RemoteMedia): Promise<void> {
    const { pool } = this.#deps
    const person = this.#person
    await Promise.all([
      pool.setRemote(this.callId, remote),
      person && pool.request({ type: 'route', session: this.callId, mode: 'bridge', persons: [person.id] }),
      pool.start(this.callId, this.#leg.sipCallId),
    ])
  }

  async #mediaChanged(remote: RemoteMedia): Promise<void> {
    this.#remote = remote
    await this.#deps.pool.setRemote(this.callId, remote)
    this.#machine.input({ type: 'hold', on: !remote.send })
  }

  /** Passes an INFO digit to the media session, which emits it like any other digit. */
  #digit({ digit, durationMs }: InfoDigit): void {
    if (this.#machine.state.kind !== 'live' && this.#machine.state.kind !== 'held') return
    this.#deps.pool.digit(this.callId, digit, durationMs).catch((error: unknown) => {
      this.#deps.log.warn({ callId: this.callId, error: errorText(error) }, 'call.info_digit_lost')
    })
  }

  #dialPerson(): void {
    const { forward } = this.#options
    const { dialLeg, pool, log } = this.#deps
    if (forward === undefined || dialLeg === undefined)
      throw new EngineError('internal', 'this call cannot be forwarded')
    this.#person = new FurtherLeg({ dialLeg, pool, log }, this.callId, 'person', {
      ringing: (sip) => this.#machine.input({ type: 'personRinging', sip }),
      early: (sip) => this.#machine.input({ type: 'personRinging', sip, early: true }),
      answered: () => this.#machine.input({ type: 'personAnswered' }),
      ended: (ending) => this.#machine.input({ type: 'personEnded', ending }),
    })
    this.#person.open(() => forward.clear(this.callId))
  }

  #closeMedia(ending: Ending): void {
    const listeners = this.#listeners.end()
    const why = closeReasonOf(ending)
    // The further legs end now too; their session is closed meanwhile.
    const by = ending.cause === 'caller_hangup' ? 'caller' : why === 'shutdown' ? why : 'other'
    const transfers = this.#transfers?.end(by)
    const takeovers = this.#takeovers?.end(by)
    const told = transfers?.told ?? takeovers?.told ?? null
    if (told !== null) this.#silenceCaller()
    const legs = Promise.all([
      this.#person?.drop(ending.reason),
      transfers?.closed,
      takeovers?.closed,
      listeners,
    ])
    // A session that is still being opened is closed as soon as it exists, also after the watchdog fired.
    this.#opening
      .then(async (opened) => {
        if (told !== null) await told
        if (opened) this.#closed = await this.#deps.pool.closeSession(this.callId, why)
      })
      .catch((error: unknown) => {
        this.#deps.log.error({ callId: this.callId, error: errorText(error) }, 'call.media_close_failed')
      })
      .then(() => legs)
      .finally(() => this.#machine.input({ type: 'mediaClosed' }))
  }

  /** Sends nothing more to a caller whose part ended while the session goes on. */
  #silenceCaller(): void {
    const { pool, log } = this.#deps
    const remote = this.#remote
    this.#callerLeftAt = this.#publisher.now()
    if (remote === null) return
    pool.setRemote(this.callId, { ...remote, send: false, receive: false }).catch((error: unknown) => {
      log.warn({ callId: this.callId, error: errorText(error) }, 'call.caller_not_silenced')
    })
  }

  #sayLine(line: string): void {
    this.#deps.pool.request({ type: 'finish', session: this.callId, line }).catch((error: unknown) => {
      this.#deps.log.warn({ callId: this.callId, error: errorText(error) }, 'call.last_words_failed')
      this.#machine.input({ type: 'lineSaid' })
    })
  }

  #sessionEvent(event: SessionEvent): void {
    // Events of a closing session still belong to the call; after `ended` they are dropped.
    if (this.#machine.state.kind === 'ended') return
    switch (event.type) {
      case 'finished':
        if (this.#machine.state.kind === 'parting') {
          this.#machine.input({ type: 'lineSaid' })
          return
        }
        // The limits of an agent that left do not bind the others.
        if (this.#agentLeft || event.why === 'asked') return
        this.finish(endingOfConversation(event.why, 'message' in event ? event.message : undefined))
        return
      case 'agent_took_over': {
        const { party } = this.#options
        this.#agent = party.kind === 'bot' ? (party.fallback ?? null) : this.#agent
        this.#publisher.publish(event)
        return
      }
      case 'heard':
        this.#transfers?.heard(event)
        this.#takeovers?.heard(event)
        return
      case 'transfer_requested':
        this.#requests.transfer(event.request, () => this.#machine.state.kind === 'ended')
        return
      case 'transfer_decided':
        this.#transfers?.decide(event.accepted)
        return
      case 'hang_up':
        this.finish(endingOfConversation('agent_hangup'))
        return
      case 'tool_request':
        this.#requests.useTool(event)
        return
      case 'media_timeout':
        // A peer that holds us may stop sending.
        if (event.leg !== CALLER_LEG) this.#furtherLeg(event.leg)?.mediaTimeout(event.again)
        else if (this.#machine.state.kind === 'live') this.#silence.silent(event.again, () => this.#leg.ask())
        return
      case 'media_failed':
        if (event.leg === CALLER_LEG) this.#machine.input({ type: 'mediaLost' })
        else this.#furtherLeg(event.leg)?.mediaLost()
        return
      case 'media_closed':
        // Its BYE may still be on its way, or be lost with its connection.
        if (event.leg === CALLER_LEG) this.finish(CALLER_LEFT)
        else this.#furtherLeg(event.leg)?.mediaLost()
        return
      case 'detected':
        this.#publisher.detected(event.event)
        return
      case 'recording_failed':
        this.#publisher.recordingFailed(event.message)
        return
      default:
        this.#publisher.publish(event)
    }
  }

  #furtherLeg(id: LegId): FurtherLeg | null {
    if (id === this.#person?.id) return this.#person
    return this.#transfers?.legOf(id) ?? this.#takeovers?.legOf(id) ?? this.#listeners.legOf(id)
  }

  #publishEnded(ending: Ending): void {
    if (this.#media && !this.#closed) {
      this.#deps.log.warn({ callId: this.callId }, 'call.media_not_closed')
    }
    const { recordTo } = this.#options
    const { parts: recorded = [], legs = [] } = this.#closed ?? {}
    // For a forwarded call it began at the answer.
    const own = recorded.find(({ path }) => path === recordTo)
    const parts = recorded.filter((part) => part !== own)
    this.#publisher.publish({
      type: 'ended',
      ending,
      ...(this.#callerLeftAt === null ? {} : { callerLeftAt: this.#callerLeftAt }),
      rtp: this.#closed?.stats.rtp ?? null,
      ...(legs.length > 0 ? { legs } : {}),
      recording: this.#closed?.recording ?? own ?? null,
      ...(this.#publisher.isRecordingCut ? { recordingCut: true } : {}),
      ...(parts.length > 0 ? { parts } : {}),
    })
    this.#options.onEnded(ending)
  }
}
