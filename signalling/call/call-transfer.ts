import type { Turn } from '../../media/agent/conversation-events.js'
import { asksToReturn } from '../../media/agent/language/person-answer.js'
import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { RoutingMode } from '../../media/session/routing.js'
import { CALLER_LEG, type LegId, type LegRequest } from '../../workers/channel/protocol.js'
import type { CallId, TransferEvent } from './call-events.js'
import { ConsultTalk } from './consult-talk.js'
import { type Ending, endingOfError } from './ending.js'
import { FurtherLeg, type FurtherLegDeps } from './further-leg.js'
import { askOrEnd, decisionByKey, type Heard, heardTurn, noteTo, recordTo, sayTo } from './leg-speech.js'
import { type EndedLegs, PARTING_TIMES_MS, PartingWords } from './parting-words.js'
import type { MissedTransfer, TransferPlan } from './ports.js'
import { NamedTimers, StepMachine } from './step-machine.js'
import { RouteListening } from './transfer-listening.js'
import {
  type CallEnder,
  step,
  type TransferAttempt,
  type TransferEffect,
  type TransferInput,
  type TransferRefusal,
  type TransferRoute,
  type TransferState,
  type TransferTimerName,
} from './transfer-machine.js'

/** Longest line to the caller (ms), until which the phone may already ring. */
const LINE_MS = 20_000
/** The brief, the question and the time to press a key (ms). */
const SCREEN_MS = 30_000
/** Longest talk of agent and person while the caller waits (ms). */
const CONSULT_MS = 90_000
/** Time between two words to a caller who waits (ms). */
const WAIT_LINE_MS = 20_000
/** Time (ms) until a word to the caller that would have cut another text is tried again. */
const WAIT_LINE_AGAIN_MS = 1_000
/** The last lines of a caller who waits that the agent is told about. */
const MAX_LINES = 50
/** Longer than a BYE may take. */
const LEAVING_MS = 5_000
/** Longest time of each state of a transfer, except the ringing (ms). */
export const TRANSFER_MS = {
  line: LINE_MS,
  screen: SCREEN_MS,
  consult: CONSULT_MS,
  leaving: LEAVING_MS,
  ...PARTING_TIMES_MS,
} as const

export interface TransferDeps extends FurtherLegDeps {
  readonly clock: Clock
}

/** Ids of turns outside of the agent's conversation. */
const FIRST_TURN = 1_000_000

/** Effects of transfers on their call. */
export interface TransferredCall {
  readonly callId: CallId
  publish(event: TransferEvent | { readonly type: 'turn'; readonly turn: Turn }): void
  /** The agent's part is over. */
  agentReleased(): void
  finish(ending: Ending): void
}

const ROUTES: Readonly<Record<TransferRoute, { readonly mode: RoutingMode; readonly withPerson: boolean }>> =
  {
    agent: { mode: 'agent', withPerson: false },
    waiting: { mode: 'hold', withPerson: false },
    screening: { mode: 'hold', withPerson: false },
    consulting: { mode: 'briefing', withPerson: true },
    bridged: { mode: 'bridge', withPerson: true },
    parting: { mode: 'hold', withPerson: false },
  }

/** Runs the transfers of one call: the effects of `transfer-machine` on the person's leg and the media session. */
export class CallTransfers {
  readonly #deps: TransferDeps
  readonly #call: TransferredCall
  readonly #machine: StepMachine<TransferState, TransferInput, TransferEffect>
  readonly #timers: NamedTimers<TransferTimerName>
  /** The legs of all attempts. */
  readonly #legs: FurtherLeg[] = []
  /** The person hears the brief of a screened transfer. */
  #presenting = false
  #refusal: TransferRefusal | null = null
  #plan: TransferPlan | null = null
  #leg: FurtherLeg | null = null
  /** The latest attempt. */
  #attempt: TransferAttempt | null = null
  #waitLine: Timer | null = null
  /** The talk of agent and person; null outside of a consultation. */
  #talk: ConsultTalk | null = null
  readonly #listening: RouteListening
  /** The attempts of the latest request that ended without a bridge. */
  #missed: MissedTransfer['attempts'][number][] = []
  /** Words of the caller since the latest request. */
  #said: string[] = []
  #turns = FIRST_TURN
  /** Resolves when the latest route is in force: what is said before that would be cut by it. */
  #routed: Promise<void> = Promise.resolve()
  readonly #parting: PartingWords

  constructor(deps: TransferDeps, call: TransferredCall) {
    this.#deps = deps
    this.#call = call
    this.#listening = new RouteListening(call.callId, deps)
    this.#parting = new PartingWords(call.callId, deps)
    this.#machine = new StepMachine<TransferState, TransferInput, TransferEffect>(
      { kind: 'idle', attempts: 0 },
      step,
      (effect) => this.#perform(effect),
      (effect, error) => this.#failed(effect, error),
    )
    this.#timers = new NamedTimers(deps.clock, (name) => this.#machine.input({ type: 'timer', name }))
  }

  /** Starts a transfer. Returns why it is refused, or null; its steps follow as events. */
  request(plan: TransferPlan): TransferRefusal | null {
    this.#refusal = null
    const before = this.#plan
    if (this.idle) {
      this.#missed = []
      this.#said = []
    }
    this.#plan = plan
    const { mode, destination, fallback } = plan
    this.#machine.input({ type: 'request', mode, destination, fallback })
    if (this.#refusal !== null) this.#plan = before
    return this.#refusal
  }

  /** No attempt is under way: the agent has the caller. */
  get idle(): boolean {
    return this.#machine.state.kind === 'idle'
  }

  /** Takes the person's decision, as told to the agent or the bot; nothing outside of a consultation. */
  decide(accepted: boolean): void {
    if (this.#machine.state.kind === 'consulting')
      this.#machine.input({ type: accepted ? 'accepted' : 'declined' })
  }

  /** Takes what a leg said: a decision, a question, the end of the wait, or a line of the transcript. */
  heard(event: Heard): void {
    const { leg, text, startMs, atMs } = event
    const { kind } = this.#machine.state
    if (kind === 'bridged') {
      if (this.#plan?.listening?.keep) this.#keep(event)
    } else if (leg === CALLER_LEG) {
      if (!this.#listening.has(leg)) return
      this.#keep(event)
      this.#said.push(text)
      if (this.#said.length > MAX_LINES) this.#said.shift()
      if (asksToReturn(text)) this.#machine.input({ type: 'withdrawn' })
    } else if (kind === 'consulting' && leg === this.#leg?.id) this.#talk?.heard(text, atMs - startMs)
  }

  /** Returns the further leg of this id; null without one. */
  legOf(id: LegId): FurtherLeg | null {
    return this.#leg?.id === id ? this.#leg : null
  }

  /** Ends every attempt. */
  end(by: CallEnder): EndedLegs {
    this.#waitLine?.cancel()
    this.#talk?.end()
    this.#machine.input({ type: 'callEnding', by })
    return this.#parting.ended(this.#machine.state.kind === 'parting', this.#legs)
  }

  /** Ends the call: when a step failed, it is unknown who hears whom. */
  #failed(effect: TransferEffect, error: unknown): void {
    const fields = { callId: this.#call.callId, effect: effect.type, error: errorText(error) }
    this.#deps.log.error(fields, 'call.transfer_effect_failed')
    this.#call.finish(endingOfError(error))
  }

  #perform(effect: TransferEffect): void {
    switch (effect.type) {
      case 'refuse':
        this.#refusal = effect.refusal
        return
      case 'publish': {
        const { number, mode, destination } = effect.attempt
        const { status, outcome } = effect
        if (outcome !== null && outcome !== 'connected') this.#missed.push({ destination, outcome })
        const plan = this.#plan
        const details = status === 'accepted' && plan !== null ? { details: plan.describe(destination) } : {}
        const told = status === 'answered' && mode !== 'blind' && plan !== null
        const brief = told ? { brief: plan.brief(destination).text } : {}
        this.#call.publish({
          ...{ type: 'transfer', attempt: number, mode, destination, status, outcome },
          ...details,
          ...brief,
          ...(status === 'answered' ? this.#legId() : {}),
          ...(effect.early ? { unconfirmed: true, ...this.#legId() } : {}),
        })
        return
      }
      case 'route':
        this.#route(effect.route)
        return
      case 'announce':
        this.#say(CALLER_LEG, this.#plan?.announcement ?? null, () =>
          this.#machine.input({ type: 'announced' }),
        )
        return
      case 'playWait':
        void this.#ask({ type: 'hold', session: this.#call.callId, leg: CALLER_LEG, sound: effect.sound })
        this.#repeatWaitLine()
        return
      case 'dial':
        this.#dial(effect.attempt)
        return
      case 'screen':
        this.#screen()
        return
      case 'brief':
        this.#consult()
        return
      case 'part':
        this.#part(effect.by)
        return
      case 'releaseSession':
        this.#parting.done()
        return
      case 'dropLeg':
        this.#leg?.drop().then(() => this.#machine.input({ type: 'legClosed' }))
        return
      case 'returnToAgent':
        this.#record((files) => files.back)
        this.#report()
        this.#say(
          CALLER_LEG,
          (effect.outcome === 'caller_returned' ? this.#plan?.returnLine : this.#plan?.missLine) ?? null,
          () => {},
        )
        return
      case 'releaseAgent':
        this.#record((files) => files.human)
        this.#call.agentReleased()
        return
      case 'endCall':
        this.#call.finish({ by: 'callee', cause: 'transfer_completed', fault: 'none' })
        return
      case 'startTimer':
        this.#startTimer(effect.name)
        return
      case 'cancelTimers':
        this.#timers.cancelAll()
        return
    }
  }

  #legId(): Pick<TransferEvent, 'sipCallId'> {
    const sipCallId = this.#leg?.sipCallId ?? null
    return sipCallId === null ? {} : { sipCallId }
  }

  /** Speaks to the caller from time to time until the wait is over. What is said to the person is not cut. */
  #repeatWaitLine(ms = WAIT_LINE_MS): void {
    this.#waitLine?.cancel()
    this.#waitLine = this.#deps.clock.after(ms, () => {
      if (this.#presenting || this.#talk?.speaking) {
        this.#repeatWaitLine(WAIT_LINE_AGAIN_MS)
        return
      }
      this.#say(CALLER_LEG, this.#plan?.waitLine ?? null, () => {})
      this.#repeatWaitLine()
    })
  }

  /** Adds what caller or person said to the transcript. */
  #keep(event: Heard): void {
    this.#call.publish({ type: 'turn', turn: heardTurn(this.#turns++, event) })
  }

  /** Tells the agent why no person took the call, before anything is said to the caller. */
  #report(): void {
    const report = this.#plan?.report ?? null
    if (report === null) return
    const text = report({ attempts: this.#missed, said: this.#said })
    this.#routed = this.#routed.then(() =>
      noteTo(this.#deps, this.#call.callId, text, 'transfer.note_failed'),
    )
  }

  /** Begins another file of the recording. Without it the call goes on. */
  #record(path: (files: { readonly human: string | null; readonly back: string }) => string | null): void {
    const destination = this.#attempt?.destination
    const files = destination === undefined ? null : (this.#plan?.recordTo?.(destination) ?? null)
    if (files !== null) recordTo(this.#deps, this.#call.callId, path(files))
  }

  #startTimer(name: TransferTimerName): void {
    const durations: Readonly<Record<TransferTimerName, number>> = {
      ...TRANSFER_MS,
      ring: this.#plan?.ringTimeoutMs ?? 0,
    }
    this.#timers.start(name, durations[name])
  }

  #route(route: TransferRoute): void {
    if (route === 'agent' || route === 'bridged') this.#waitLine?.cancel()
    const { mode, withPerson } = ROUTES[route]
    const persons = withPerson && this.#leg !== null ? [this.#leg.id] : []
    this.#routed = this.#ask({ type: 'route', session: this.#call.callId, mode, persons })
    if (route !== 'consulting') {
      this.#talk?.end()
      this.#talk = null
    }
    this.#listening.follow(route, this.#plan?.listening ?? null, this.#leg, this.#attempt)
  }

  /** Sends a request without which a party would hear nothing: a failure ends the call. Never rejects. */
  #ask(request: LegRequest): Promise<void> {
    const { callId } = this.#call
    return askOrEnd(this.#deps, callId, request, (error) => {
      if (this.#machine.state.kind === 'over') return null
      this.#call.finish(endingOfError(error))
      return 'transfer.request_failed'
    })
  }

  /** Says a text to a leg; `said` runs when it was said, cut or not possible. */
  #say(leg: LegId, text: string | null, said: () => void): void {
    if (text === null || text === '') {
      said()
      return
    }
    void this.#routed.then(() => sayTo(this.#deps, this.#call.callId, { leg, text })).then(said)
  }

  /** Says the brief to the person and waits for a key. */
  #screen(): void {
    const leg = this.#leg
    const told = this.#brief()
    if (leg === null || told === null) return
    this.#collect(leg, SCREEN_MS)
    this.#presenting = true
    this.#say(leg.id, `${told.text} ${told.keys}`.trim(), () => {
      this.#presenting = false
    })
  }

  /** Lets the agent present the caller to the person, who decides by key or by words. */
  #consult(): void {
    const leg = this.#leg
    const told = this.#brief()
    const destination = this.#attempt?.destination
    if (leg === null || told === null || destination === undefined) return
    this.#collect(leg, CONSULT_MS)
    const { clock, log } = this.#deps
    const { listening } = this.#plan ?? {}
    this.#talk = new ConsultTalk(
      {
        ...{ callId: this.#call.callId, clock, log },
        say: (text) => new Promise((said) => this.#say(leg.id, text, said)),
        answer: async (talk) => (await listening?.answer(destination, talk)) ?? null,
        decided: (accepted) => {
          if (leg === this.#leg && !leg.isOver) this.decide(accepted)
        },
      },
      told,
    )
  }

  /** Tells the person that the call ends. */
  #part(by: 'caller' | 'other'): void {
    const destination = this.#attempt?.destination
    const text = destination === undefined ? null : (this.#plan?.partingLine(destination, by) ?? null)
    this.#parting.say(this.#leg?.id ?? null, text, this.#routed, () =>
      this.#machine.input({ type: 'parted' }),
    )
  }

  /** Returns what the person is told. */
  #brief(): ReturnType<TransferPlan['brief']> | null {
    const destination = this.#attempt?.destination
    return destination === undefined ? null : (this.#plan?.brief(destination) ?? null)
  }

  #collect(leg: FurtherLeg, timeoutMs: number): void {
    void decisionByKey(this.#deps, this.#call.callId, leg, timeoutMs).then((decision) => {
      if (decision !== null && leg === this.#leg && !leg.isOver) this.#machine.input({ type: decision })
    })
  }

  #dial(attempt: TransferAttempt): void {
    const plan = this.#plan
    if (plan === null) return
    const { number, destination } = attempt
    this.#attempt = attempt
    const leg = new FurtherLeg(this.#deps, this.#call.callId, `person-${number}`, {
      ringing: () => this.#machine.input({ type: 'ringing' }),
      unreported: () => this.#machine.input({ type: 'early' }),
      answered: () => this.#machine.input({ type: 'answered' }),
      ended: (ending) => this.#machine.input({ type: 'legEnded', outcome: outcomeOf(ending) }),
    })
    this.#leg = leg
    this.#legs.push(leg)
    leg.open(() => plan.clear(destination))
  }
}

/** Returns what the end of a leg that was not answered means for an attempt or a takeover. */
export function outcomeOf({
  cause,
  fault,
}: Ending): 'destination_unavailable' | 'busy' | 'no_answer' | 'declined' | 'carrier_error' {
  // The customer's settings: no such number, or a destination that takes no calls now.
  if (fault === 'customer') return 'destination_unavailable'
  switch (cause) {
    case 'busy':
    case 'no_answer':
      return cause
    case 'rejected':
    // A person who hangs up during the brief.
    case 'caller_hangup':
      return 'declined'
    default:
      return 'carrier_error'
  }
}
