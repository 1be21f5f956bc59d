import type { TurnId } from '../conversation-events.js'
import { initialCallerTurn, initialReply } from './initial-state.js'
import { stepSpeculation } from './speculation.js'
import type { TurnPolicy } from './turn-policy.js'
import type { CallerTurn, Reply, TimerName, TurnEffect, TurnState } from './turn-types.js'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** One step in progress: a private copy of the state, its effects, and the operations on single parts. */
export class StepDraft {
  readonly s: Mutable<TurnState>
  readonly effects: TurnEffect[] = []
  readonly policy: TurnPolicy
  readonly atMs: number

  constructor(state: TurnState, policy: TurnPolicy, atMs: number) {
    this.s = { ...state }
    this.policy = policy
    this.atMs = atMs
  }

  timer(turn: TurnId, name: TimerName, ms: number): void {
    this.effects.push({ type: 'startTimer', turn, name, ms: Math.max(0, ms) })
  }

  cancel(turn: TurnId, name: TimerName): void {
    this.effects.push({ type: 'cancelTimer', turn, name })
  }

  unexpected(): void {
    this.s.unexpected++
  }

  reply(change: Partial<Reply>): void {
    if (this.s.reply) this.s.reply = { ...this.s.reply, ...change }
  }

  caller(change: Partial<CallerTurn>): void {
    if (this.s.caller) this.s.caller = { ...this.s.caller, ...change }
  }

  newCaller(startMs: number): CallerTurn {
    const caller = initialCallerTurn(this.s.nextTurn++, startMs)
    this.s.caller = caller
    return caller
  }

  newReply(change: Pick<Reply, 'kind' | 'interruptible' | 'modelBusy'> & Partial<Reply>): Reply {
    const reply = { ...initialReply(this.s.nextTurn++, this.atMs), ...change }
    this.s.reply = reply
    return reply
  }

  speculation(type: 'consider' | 'check' | 'drop'): void {
    const { s, policy } = this
    const input = { type, caller: s.caller, undecided: this.undecided, asked: s.asked }
    const { next, order } = stepSpeculation(s.speculation, input, policy)
    s.speculation = next
    if (order === 'drop' || order === 'renew') this.effects.push({ type: 'dropSpeculation' })
    if ((order !== 'begin' && order !== 'renew') || !s.caller) return
    const { text, partial } = s.caller
    this.effects.push({ type: 'speculate', caller: { ...s.caller, text: join(text, partial), partial: '' } })
  }

  /** True if only the end of the caller's turn is undecided and no keys are pending. */
  get undecided(): boolean {
    const { digits, phase } = this.s
    return digits === '' && (phase === 'waitingFinal' || phase === 'callerSpeaking')
  }

  /** Uses the speculative answer. The model's deadline counts from now. */
  keepSpeculation(turn: TurnId, caller: CallerTurn): void {
    this.effects.push({ type: 'keepSpeculation', turn, caller })
    this.timer(turn, 'modelFirst', this.policy.modelFirstTokenMs)
  }

  ask(): void {
    const { s, policy } = this
    this.speculation('drop')
    if (!s.reply) return
    this.reply({ askedAtMs: this.atMs, lastTokenMs: null, progressMs: null, modelBusy: true })
    const { id, attempt, round } = s.reply
    this.effects.push({ type: 'ask', turn: id, caller: s.answering, attempt, round })
    this.timer(id, 'modelFirst', Math.min(policy.modelSlowMs, policy.modelFirstTokenMs))
  }
}

export function join(before: string, after: string): string {
  const tail = after.trim()
  return before === '' ? tail : tail === '' ? before : `${before} ${tail}`
}
