import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { SessionRate } from '../../media/base/frame.js'
import type { Log } from '../../media/base/log.js'
import type { TransferRequest, TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import {
  CALLER_LEG,
  type ClosedSession,
  type MediaPool,
  type OpenedSession,
  type Party,
  type RemoteMedia,
  type SessionEvent,
} from '../../workers/channel/protocol.js'
import type { ReferReport } from '../sip/dialog-port.js'
import type { InfoDigit } from '../sip/info-dtmf.js'
import { uriUser } from '../sip/sip-uri.js'
import type { CallEvent, CallId } from './call-events.js'
import {
  type CallDirection,
  type CallEffect,
  type CallInput,
  type CallState,
  type CallTimerName,
  step,
} from './call-machine.js'
import { CallTransfers, type TransferDeps } from './call-transfer.js'
import { closeReasonOf, type Ending, endingOfConversation, endingOfError } from './ending.js'
import { FurtherLeg } from './further-leg.js'
import type { Leg, LegEvents } from './leg.js'
import type { AgentTools, EventSink, ForwardPlan, TransferHandler, TransferPlan } from './ports.js'
import type { TransferRefusal } from './transfer-machine.js'

export interface CallDeps {
  readonly pool: MediaPool
  readonly events: EventSink
  /** Runs the agent's tools. Without it every tool call fails with a message to the model. */
  readonly tools?: AgentTools
  readonly clock: Clock
  readonly log: Log
  readonly transfers?: TransferHandler
  /** Dials further legs. Without it a call cannot be transferred. */
  readonly dialLeg?: TransferDeps['dialLeg']
}

export interface CallOptions {
  readonly callId: CallId
  readonly direction: CallDirection
  readonly party: Party
  readonly recordTo: string | null
  /** Mixing rate of the session (Hz): 16000 when the leg is or may become wideband. */
  readonly rate: SessionRate
  readonly timers: Readonly<Record<CallTimerName, number>>
  /** Connects an inbound call with another leg. */
  readonly forward?: ForwardPlan
  /** Runs once, after the `ended` event. */
  onEnded(ending: Ending): void
}

/** ACK timeout (ms): slightly longer than the SIP server's 64*T1, so that the server's BYE comes first. */
const ACK_MS = 35_000
/** Upper bound (ms) for the BYE and the recording to finish; the pool gives up after 15 s. */
const CLOSING_MS = 20_000
/** Bound (ms) for the last words; the media session gives up after 20 s. */
const PARTING_MS = 22_000
/** No call lasts longer (ms), whoever talks. */
const REAPER_MS = 2 * 3600 * 1000
/** Margin (ms) of the maximum-duration timer over the agent's own limit. */
const GUARD_MARGIN_MS = 120_000

export function callTimers(
  ringTimeoutMs: number,
  maxCallSeconds: number,
): Readonly<Record<CallTimerName, number>> {
  return {
    ring: ringTimeoutMs,
    ack: ACK_MS,
    guard: maxCallSeconds * 1000 + GUARD_MARGIN_MS,
    reaper: REAPER_MS,
    parting: PARTING_MS,
    closing: CLOSING_MS,
  }
}

/** What the steps of a transfer are called in the NOTIFYs of a REFER (RFC 3515 2.4.5). */
const REFER_STATUS: Readonly<Record<TransferUpdate['status'], readonly [number, string]>> = {
  accepted: [100, 'Trying'],
  ringing: [180, 'Ringing'],
  answered: [183, 'Session Progress'],
  completed: [200, 'OK'],
  rejected: [603, 'Decline'],
  failed: [503, 'Service Unavailable'],
}

/** An event without the fields that every event has. */
type CallEventBody = CallEvent extends infer E
  ? E extends CallEvent
    ? Omit<E, 'callId' | 'seq' | 'at'>
    : never
  : never

/**
 * One call: runs the effects of `call-machine` on its leg and its media session, and publishes events with an
 * increasing `seq`. Publishes `ended` exactly once, last, whatever fails.
 */
export class Call {
  readonly #deps: CallDeps
  readonly #options: CallOptions
  readonly #leg: Leg
  readonly #timers = new Map<CallTimerName, Timer>()
  readonly #queue: CallInput[] = []
  #state: CallState
  #running = false
  #seq = 0
  #media: OpenedSession | null = null
  /** Resolves with true when there is a session to close. */
  #opening: Promise<boolean> = Promise.resolve(false)
  #remote: RemoteMedia | null = null
  /** Clock time (ms) at which media was connected; null before. Billing and disposition depend on it. */
  #answeredAt: number | null = null
  #closed: ClosedSession | null = null
  #transfers: CallTransfers | null = null
  /** The leg to which the call is forwarded. */
  #person: FurtherLeg | null = null
  /** Number of REFERs received. */
  #refers = 0
  /** A person has the call, so the agent's limits do not count any more. */
  #agentLeft = false

  constructor(deps: CallDeps, options: CallOptions, makeLeg: (events: LegEvents) => Leg) {
    this.#deps = deps
    this.#options = options
    const { direction, forward } = options
    this.#state = { kind: 'queued', direction, ...(forward === undefined ? {} : { forwards: true }) }
    this.#leg = makeLeg({
      progress: (sip) => this.#input({ type: 'progress', sip }),
      answered: (remote) => {
        this.#remote = remote
        this.#input({ type: 'legAnswered' })
      },
      mediaChanged: (remote) => this.#mediaChanged(remote),
      digit: (key) => this.#digit(key),
      referred: (target, report) => this.#referred(target, report),
      ended: (ending) => this.#input({ type: 'legEnded', ending }),
    })
  }

  get callId(): CallId {
    return this.#options.callId
  }

  get state(): CallState['kind'] {
    return this.#state.kind
  }

  begin(): void {
    this.#input({ type: 'begin' })
  }

  /** Ends the call. Idempotent; the first ending counts. */
  finish(ending: Ending): void {
    this.#input({ type: 'finish', ending })
  }

  /** Ends the call with last words, or with null with those of its agent. The first ending counts. */
  finishWithLine(given: string | null, ending: Ending): void {
    const { party } = this.#options
    const line = given ?? (party.kind === 'agent' ? party.agent.hangupLine : null)
    this.#input(line === null ? { type: 'finish', ending } : { type: 'finishWithLine', ending, line })
  }

  /** Hands the call to a person. Returns why that is refused, or null. */
  transfer(plan: TransferPlan): TransferRefusal | null {
    if (this.#state.kind !== 'live' && this.#state.kind !== 'held') return 'call_ending'
    const { dialLeg, pool, clock, log } = this.#deps
    if (this.#transfers === null) {
      if (dialLeg === undefined) throw new EngineError('internal', 'this call cannot be transferred')
      this.#transfers = new CallTransfers(
        { dialLeg, pool, clock, log },
        {
          callId: this.callId,
          publish: (event) => this.#publish(event),
          agentReleased: () => {
            this.#agentLeft = true
            this.#input({ type: 'agentReleased' })
          },
          finish: (ending) => this.finish(ending),
        },
      )
    }
    return this.#transfers.request(plan)
  }

  /** Tells what the person decided to whom the agent presents the caller. */
  decideTransfer(accepted: boolean): void {
    this.#transfers?.decide(accepted)
  }

  /** Ends the call because its media worker died. */
  mediaLost(): void {
    this.finish(endingOfError(new EngineError('worker_lost', 'the media worker of this call died')))
  }

  /** Queues inputs that arise while effects run. */
  #input(input: CallInput): void {
    this.#queue.push(input)
    if (this.#running) return
    this.#running = true
    try {
      for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
        const result = step(this.#state, next)
        this.#state = result.next
        for (const effect of result.effects) this.#run(effect)
      }
    } finally {
      this.#running = false
    }
  }

  #run(effect: CallEffect): void {
    try {
      this.#perform(effect)
    } catch (error) {
      this.#deps.log.error(
        { callId: this.callId, effect: effect.type, error: errorText(error) },
        'call.effect_failed',
      )
      this.#queue.push({ type: 'finish', ending: endingOfError(error) })
    }
  }

  #perform(effect: CallEffect): void {
    switch (effect.type) {
      case 'openMedia':
        this.#openMedia()
        return
      case 'ring':
        this.#leg.ring()
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
        this.#timers.get(effect.name)?.cancel()
        this.#timers.delete(effect.name)
        return
      case 'endLeg':
        this.#leg.end(effect.ending).finally(() => this.#input({ type: 'legClosed' }))
        return
      case 'closeMedia':
        this.#closeMedia(effect.ending)
        return
      case 'publishDialing':
        this.#publish({ type: 'dialing', sipCallId: this.#leg.sipCallId })
        return
      case 'publishRinging':
        this.#publish({ type: 'ringing', sip: effect.sip })
        return
      case 'publishAnswered':
        this.#answeredAt = this.#deps.clock.now()
        this.#publish({ type: 'answered' })
        // The peer may have put us on hold while media was being connected.
        this.#queue.push({ type: 'hold', on: this.#remote?.send === false })
        return
      case 'publishHeld':
        this.#publish({ type: 'held', on: effect.on })
        return
      case 'publishEnded':
        this.#publishEnded(effect.ending)
        return
      case 'startTimer':
        this.#startTimer(effect.name)
        return
      case 'cancelTimers':
        for (const timer of this.#timers.values()) timer.cancel()
        this.#timers.clear()
        return
    }
  }

  #startTimer(name: CallTimerName): void {
    this.#timers.get(name)?.cancel()
    const timer = this.#deps.clock.after(this.#options.timers[name], () => {
      this.#timers.delete(name)
      this.#input({ type: 'timer', name })
    })
    this.#timers.set(name, timer)
  }

  #openMedia(): void {
    const { party, recordTo, rate, callId } = this.#options
    this.#opening = this.#deps.pool
      .open(callId, { party, recordTo, rate }, (event) => this.#sessionEvent(event))
      .then(
        (media) => {
          this.#media = media
          this.#input({ type: 'mediaOpened' })
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
    const { pool } = this.#deps
    const { sipCallId } = this.#leg
    const person = this.#person
    // The requests leave at once; the channel keeps their order.
    Promise.all([
      pool.setRemote(this.callId, remote),
      person && pool.request({ type: 'route', session: this.callId, mode: 'bridge', persons: [person.id] }),
      pool.start(this.callId, sipCallId),
    ]).then(
      () => this.#input({ type: 'mediaLive' }),
      (error: unknown) => this.finish(endingOfError(error)),
    )
  }

  async #mediaChanged(remote: RemoteMedia): Promise<void> {
    this.#remote = remote
    await this.#deps.pool.setRemote(this.callId, remote)
    this.#input({ type: 'hold', on: !remote.send })
  }

  /** Passes an INFO digit to the media session, which emits it like any other digit. */
  #digit({ digit, durationMs }: InfoDigit): void {
    if (this.#state.kind !== 'live' && this.#state.kind !== 'held') return
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
      ringing: (sip) => this.#input({ type: 'personRinging', sip }),
      answered: () => this.#input({ type: 'personAnswered' }),
      ended: (ending) => this.#input({ type: 'personEnded', ending }),
    })
    this.#person.open(() => forward.clear(this.callId))
  }

  #closeMedia(ending: Ending): void {
    const why = closeReasonOf(ending)
    // The further legs end now too; their session is closed meanwhile.
    const legs = Promise.all([
      this.#person?.drop(),
      this.#transfers?.end(ending.cause === 'caller_hangup' ? 'caller' : 'other'),
    ])
    // A session that is still being opened is closed as soon as it exists, also after the watchdog fired.
    this.#opening
      .then(async (opened) => {
        if (opened) this.#closed = await this.#deps.pool.closeSession(this.callId, why)
      })
      .catch((error: unknown) => {
        this.#deps.log.error({ callId: this.callId, error: errorText(error) }, 'call.media_close_failed')
      })
      .then(() => legs)
      .finally(() => this.#input({ type: 'mediaClosed' }))
  }

  #sayLine(line: string): void {
    this.#deps.pool.request({ type: 'finish', session: this.callId, line }).catch((error: unknown) => {
      this.#deps.log.warn({ callId: this.callId, error: errorText(error) }, 'call.last_words_failed')
      this.#input({ type: 'lineSaid' })
    })
  }

  /** Passes a REFER of the far side to the port for transfers; its steps are those of a transfer. */
  #referred(target: string, report: ReferReport): boolean {
    const { transfers } = this.#deps
    const destination = uriUser(target)
    if (transfers === undefined || destination === '' || this.#state.kind !== 'live') return false
    const request = {
      destination,
      destinationId: null,
      handoff: 'cold',
      note: null,
      reason: 'REFER',
    } as const
    transfers.request(this.callId, { ...request, id: `refer-${++this.#refers}` }, ({ status }) => {
      const [code, reason] = REFER_STATUS[status]
      report(code, reason)
    })
    return true
  }

  #transferRequested(request: TransferRequest): void {
    const report = (update: TransferUpdate): void => {
      if (this.#state.kind === 'ended') return
      this.#deps.pool.transferUpdate(this.callId, update).catch((error: unknown) => {
        this.#deps.log.warn({ callId: this.callId, error: errorText(error) }, 'call.transfer_update_lost')
      })
    }
    const { transfers } = this.#deps
    if (transfers !== undefined) transfers.request(this.callId, request, report)
    else
      report({
        id: request.id,
        status: 'rejected',
        code: 'not_supported',
        message: 'transfers are not supported',
      })
  }

  #sessionEvent(event: SessionEvent): void {
    // Events of a closing session still belong to the call; after `ended` they are dropped.
    if (this.#state.kind === 'ended') return
    switch (event.type) {
      case 'finished':
        if (this.#state.kind === 'parting') {
          this.#input({ type: 'lineSaid' })
          return
        }
        // The limits of an agent that left bound nobody.
        if (this.#agentLeft || event.why === 'asked') return
        this.finish(endingOfConversation(event.why, 'message' in event ? event.message : undefined))
        return
      case 'transfer_requested':
        this.#transferRequested(event.request)
        return
      case 'hang_up':
        this.finish(endingOfConversation('agent_hangup'))
        return
      case 'tool_request':
        this.#useTool(event)
        return
      case 'media_timeout':
        if (event.leg === CALLER_LEG) this.#input({ type: 'mediaTimeout' })
        else if (event.leg === this.#person?.id) this.#person.mediaTimeout()
        else this.#transfers?.mediaTimeout(event.leg)
        return
      case 'detected':
        this.#detected(event.event)
        return
      case 'recording_failed':
        this.#publish({
          type: 'trouble',
          part: 'recording',
          code: 'storage_failed',
          message: event.message,
          atMs: this.#sinceAnswerMs(),
        })
        return
      default:
        this.#publish(event)
    }
  }

  /** Runs a tool. The agent waits for the result, so every request gets one. */
  #useTool({ request, tool, arguments: given }: SessionEvent & { readonly type: 'tool_request' }): void {
    const { party } = this.#options
    const found = party.kind === 'agent' ? party.agent.tools.find(({ name }) => name === tool) : undefined
    const { tools } = this.#deps
    const running =
      found === undefined || tools === undefined
        ? Promise.resolve(`Failed: there is no tool named ${tool}.`)
        : tools.run(this.callId, found, given)
    running
      .catch((error: unknown) => {
        this.#deps.log.error({ callId: this.callId, tool, error: errorText(error) }, 'call.tool_failed')
        return 'Failed: the request could not be carried out.'
      })
      .then((result) => this.#deps.pool.toolResult(this.callId, request, result))
      .catch((error: unknown) => {
        // The call ended in the meantime.
        this.#deps.log.info({ callId: this.callId, tool, error: errorText(error) }, 'call.tool_result_late')
      })
  }

  /** Publishes a detector event, and a failure event where the operator may have to act. */
  #detected(event: DetectorEvent): void {
    this.#publish({ type: 'detected', event })
    if (event.type === 'one_way' && event.what === 'nothing_comes' && !event.over) {
      this.#publish({
        type: 'trouble',
        part: 'media',
        code: 'one_way_audio',
        message: 'no packets arrive from the far side although we send',
        atMs: this.#sinceAnswerMs(),
      })
    }
    if (event.type === 'clipping') {
      this.#publish({
        type: 'trouble',
        part: 'media',
        code: 'clipping',
        message: 'the audio of the far side is clipped',
        atMs: this.#sinceAnswerMs(),
      })
    }
  }

  #sinceAnswerMs(): number {
    return this.#answeredAt === null ? 0 : Math.round(this.#deps.clock.now() - this.#answeredAt)
  }

  #publish(body: CallEventBody): void {
    this.#seq++
    const event = {
      callId: this.callId,
      seq: this.#seq,
      at: this.#deps.clock.wall(),
      ...body,
    } as CallEvent
    try {
      this.#deps.events.publish(event)
    } catch (error) {
      this.#deps.log.error(
        { callId: this.callId, type: body.type, error: errorText(error) },
        'call.event_rejected',
      )
    }
  }

  #publishEnded(ending: Ending): void {
    if (this.#media && !this.#closed) {
      this.#deps.log.warn({ callId: this.callId }, 'call.media_not_closed')
    }
    const parts = this.#closed?.parts ?? []
    this.#publish({
      type: 'ended',
      ending,
      rtp: this.#closed?.stats.rtp ?? null,
      recording: this.#closed?.recording ?? null,
      ...(parts.length > 0 ? { parts } : {}),
    })
    this.#options.onEnded(ending)
  }
}
