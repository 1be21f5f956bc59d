import type { Turn } from '../../media/agent/conversation-events.js'
import { errorText } from '../../media/base/errors.js'
import { CALLER_LEG, type LegId, type LegRequest } from '../../workers/channel/protocol.js'
import type { CallId, MonitorEvent } from './call-events.js'
import { outcomeOf, type TransferDeps } from './call-transfer.js'
import { type Ending, endingOfError } from './ending.js'
import { FurtherLeg, type MakeLeg } from './further-leg.js'
import { askOrEnd, decisionByKey, type Heard, heardTurn, listenTo, noteTo, sayTo } from './leg-speech.js'
import { type EndedLegs, PARTING_TIMES_MS, PartingWords } from './parting-words.js'
import type { SaidLine, TakeoverPlan, TakeoverRefusal } from './ports.js'
import { NamedTimers, StepMachine } from './step-machine.js'
import {
  step,
  type TakeoverEffect,
  type TakeoverInput,
  type TakeoverOutcome,
  type TakeoverState,
  type TakeoverTimerName,
} from './takeover-machine.js'
import type { CallEnder } from './transfer-machine.js'

/** Time (ms) for the person who answered to press a key. */
const CONFIRM_MS = 30_000
/** Longest line to the caller before the person comes (ms). */
const LINE_MS = 15_000
/** Longer than a BYE may take. */
const LEAVING_MS = 5_000
/** Ids of turns outside of the agent's conversation, and of transfers. */
const FIRST_TURN = 2_000_000
/** The last lines that the agent is told about. */
const MAX_LINES = 50

/** The call as its takeovers change it. */
export interface TakenOverCall {
  readonly callId: CallId
  publish(event: MonitorEvent | { readonly type: 'turn'; readonly turn: Turn }): void
  /** The agent's limits do not count until `agentReturned`. */
  agentReleased(): void
  agentReturned(): void
  finish(ending: Ending): void
}

/** Runs the takeovers of one call: the effects of `takeover-machine` on the person's leg and the media session. */
export class CallTakeovers {
  readonly #deps: TransferDeps
  readonly #call: TakenOverCall
  readonly #machine: StepMachine<TakeoverState, TakeoverInput, TakeoverEffect>
  readonly #timers: NamedTimers<TakeoverTimerName>
  readonly #legs: FurtherLeg[] = []
  readonly #listened = new Set<LegId>()
  #plan: TakeoverPlan | null = null
  /** Makes the leg of a person who called us. Null: the person is dialled. */
  #make: MakeLeg | null = null
  #leg: FurtherLeg | null = null
  #since = 0
  #lines: SaidLine[] = []
  /** Message of the person for the agent. */
  #message: string | null = null
  readonly #parting: PartingWords
  #turns = FIRST_TURN

  constructor(deps: TransferDeps, call: TakenOverCall) {
    this.#deps = deps
    this.#call = call
    this.#parting = new PartingWords(call.callId, deps)
    this.#machine = new StepMachine<TakeoverState, TakeoverInput, TakeoverEffect>(
      { kind: 'idle' },
      step,
      (effect) => this.#perform(effect),
      (effect, error) => this.#failed(effect, error),
    )
    this.#timers = new NamedTimers(deps.clock, (name) => this.#machine.input({ type: 'timer', name }))
  }

  /** No person has the call or is about to have it. */
  get idle(): boolean {
    return this.#machine.state.kind === 'idle'
  }

  /**
   * Starts a takeover. With `make` the person has called us, and is answered. Returns why it is refused, or null; its steps
   * follow as events.
   */
  request(plan: TakeoverPlan, make: MakeLeg | null = null): TakeoverRefusal | null {
    if (this.#machine.state.kind === 'over') return 'call_ending'
    if (!this.idle) return 'taken_over'
    this.#plan = plan
    this.#make = make
    this.#machine.input({ type: 'request', confirms: plan.prompt !== null })
    return null
  }

  /** Gives the caller back to the agent, with a message. Returns false when no person has the call or is coming. */
  release(message: string | null): boolean {
    const { kind } = this.#machine.state
    if (kind === 'idle' || kind === 'leaving' || kind === 'over') return false
    this.#message = message
    this.#machine.input({ type: 'release' })
    return true
  }

  /** Takes what a leg said while a person has the call. */
  heard(event: Heard): void {
    if (this.#machine.state.kind !== 'taken') return
    const turn = heardTurn(this.#turns++, event)
    this.#lines.push({ by: turn.speaker === 'caller' ? 'caller' : 'person', text: turn.text })
    if (this.#lines.length > MAX_LINES) this.#lines.shift()
    this.#call.publish({ type: 'turn', turn })
  }

  /** Returns the further leg of this id; null without one. */
  legOf(id: LegId): FurtherLeg | null {
    return this.#leg?.id === id ? this.#leg : null
  }

  /** Ends the takeover. */
  end(by: CallEnder): EndedLegs {
    // A person who took over in the browser hears nothing, because the browser shows the end.
    const ender = this.#plan?.partingLine === null ? 'shutdown' : by
    this.#machine.input({ type: 'callEnding', by: ender })
    return this.#parting.ended(this.#machine.state.kind === 'parting', this.#legs)
  }

  /** Ends the call: when a step failed, it is unknown who hears whom. */
  #failed(effect: TakeoverEffect, error: unknown): void {
    const fields = { callId: this.#call.callId, effect: effect.type, error: errorText(error) }
    this.#deps.log.error(fields, 'call.takeover_effect_failed')
    this.#call.finish(endingOfError(error))
  }

  #perform(effect: TakeoverEffect): void {
    const plan = this.#plan
    if (plan === null) return
    switch (effect.type) {
      case 'dial':
        this.#dial(plan)
        return
      case 'askForKey':
        this.#askForKey(plan)
        return
      case 'announce':
        void this.#say(plan.announcement, true).then(() => this.#machine.input({ type: 'announced' }))
        return
      case 'connect':
        this.#connect(plan)
        return
      case 'returnToAgent':
        void this.#returnToAgent(plan)
        return
      case 'part':
        this.#part(plan, effect.by)
        return
      case 'releaseSession':
        this.#parting.done()
        return
      case 'dropLeg':
        this.#leg?.drop().then(() => this.#machine.input({ type: 'legClosed' }))
        return
      case 'publishBegun':
        this.#publish(plan, 'begun', null)
        return
      case 'publishOver':
        this.#publish(plan, 'over', effect.outcome)
        return
      case 'startTimer':
        this.#startTimer(effect.name, plan)
        return
      case 'cancelTimers':
        this.#timers.cancelAll()
        return
    }
  }

  #publish({ id, by }: TakeoverPlan, status: 'begun' | 'over', outcome: TakeoverOutcome | null): void {
    this.#call.publish({ type: 'monitored', id, by, mode: 'takeover', status, outcome })
  }

  #startTimer(name: TakeoverTimerName, plan: TakeoverPlan): void {
    const durations: Readonly<Record<TakeoverTimerName, number>> = {
      ring: plan.ringTimeoutMs,
      confirm: CONFIRM_MS,
      line: LINE_MS,
      leaving: LEAVING_MS,
      ...PARTING_TIMES_MS,
    }
    this.#timers.start(name, durations[name])
  }

  #dial(plan: TakeoverPlan): void {
    const leg = new FurtherLeg(this.#deps, this.#call.callId, `takeover-${this.#legs.length + 1}`, {
      ringing: () => {},
      answered: () => this.#machine.input({ type: 'answered' }),
      ended: (ending) => {
        const gaveUp = this.#make !== null && ending.cause === 'caller_hangup'
        this.#machine.input({ type: 'legEnded', outcome: gaveUp ? 'withdrawn' : outcomeOf(ending) })
      },
    })
    this.#leg = leg
    this.#legs.push(leg)
    if (this.#make === null) leg.open(() => plan.clear())
    else leg.take(this.#make)
  }

  #askForKey({ prompt }: TakeoverPlan): void {
    const leg = this.#leg
    if (leg === null) return
    const { callId } = this.#call
    void decisionByKey(this.#deps, callId, leg, CONFIRM_MS).then((decision) => {
      if (decision === null || leg !== this.#leg || leg.isOver) return
      this.#machine.input({ type: decision === 'accepted' ? 'confirmed' : 'declined' })
    })
    void sayTo(this.#deps, callId, { leg: leg.id, text: prompt })
  }

  #connect({ languages, records }: TakeoverPlan): void {
    const leg = this.#leg
    if (leg === null) return
    const { callId } = this.#call
    this.#since = this.#deps.clock.now()
    this.#lines = []
    this.#message = null
    void this.#ask({ type: 'route', session: callId, mode: 'bridge', persons: [leg.id] })
    if (!records) void this.#ask({ type: 'pauseRecording', session: callId, paused: true })
    if (languages !== null) {
      this.#listen(CALLER_LEG, languages)
      this.#listen(leg.id, languages, leg.sipCallId)
    }
    this.#call.agentReleased()
  }

  /** Tells the person that the call ends. The agent is silent then: its caller has gone. */
  #part({ partingLine }: TakeoverPlan, by: 'caller' | 'other'): void {
    const routed = this.#ask({ type: 'route', session: this.#call.callId, mode: 'hold', persons: [] })
    this.#parting.say(this.#leg?.id ?? null, partingLine?.[by] ?? null, routed, () =>
      this.#machine.input({ type: 'parted' }),
    )
  }

  async #returnToAgent(plan: TakeoverPlan): Promise<void> {
    const { callId } = this.#call
    const { clock } = this.#deps
    for (const leg of this.#listened)
      if (leg === CALLER_LEG || this.#leg?.isOver === false) this.#listen(leg, null)
    this.#listened.clear()
    const seconds = Math.round((clock.now() - this.#since) / 1000)
    const text = plan.report({ seconds, lines: this.#lines, message: this.#message })
    this.#call.agentReturned()
    if (!plan.records) void this.#ask({ type: 'pauseRecording', session: callId, paused: false })
    await this.#ask({ type: 'route', session: callId, mode: 'agent', persons: [] })
    await noteTo(this.#deps, callId, text, 'takeover.note_failed')
    await this.#say(plan.returnLine, false)
  }

  #say(text: string | null, now: boolean): Promise<void> {
    return sayTo(this.#deps, this.#call.callId, { leg: CALLER_LEG, text, now })
  }

  #listen(leg: LegId, languages: readonly string[] | null, sipCallId: string | null = null): void {
    if (languages !== null) this.#listened.add(leg)
    listenTo(this.#deps, this.#call.callId, { leg, languages, sipCallId, event: 'takeover.listen_failed' })
  }

  /** Sends a request without which a party would hear nothing: a failure ends the call. Never rejects. */
  #ask(request: LegRequest): Promise<void> {
    const { callId } = this.#call
    return askOrEnd(this.#deps, callId, request, (error) => {
      if (this.#machine.state.kind === 'over') return null
      this.#call.finish(endingOfError(error))
      return 'takeover.request_failed'
    })
  }
}
