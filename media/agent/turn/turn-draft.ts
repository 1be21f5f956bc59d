import type { TurnId } from '../conversation-events.js'
import { initialCallerTurn, initialReply } from './initial-state.js'
import { newSpeculation, speculationHolds } from './speculation.js'
import type { TurnPolicy } from './turn-policy.js'
import {
  CALL,
  type CallerTurn,
  type FinishReason,
  type Phrase,
  type Reply,
  type TimerName,
  type TurnEffect,
  type TurnState,
} from './turn-types.js'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** One step in the making: a private copy of the state, and the moves that several inputs share. */
export class TurnDraft {
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

  // ---- the caller's floor

  /** The caller has the floor and is silent. */
  listen(): void {
    const { s, policy } = this
    s.phase = 'listening'
    const caller = s.caller ?? this.newCaller(this.atMs)
    const delay = policy.nudgesMs[s.nudged] ?? (policy.nudgesMs.length > 0 ? policy.hangupAfterMs : null)
    if (delay !== null) this.timer(caller.id, 'nudge', delay)
  }

  /** The caller has the floor and is heard. */
  callerSpeaks(): void {
    const { s } = this
    s.phase = 'callerSpeaking'
    if (s.caller) this.timer(s.caller.id, 'wordless', this.remainingWordlessMs())
  }

  /** How long sound may still go on without words. */
  remainingWordlessMs(): number {
    const { s, policy } = this
    const over = s.caller?.finalBeforeEnd === true && s.caller.partial === ''
    return s.callerConfirmedMs + (over ? policy.afterWordsMs : policy.wordlessMs) - this.atMs
  }

  /** Words of the caller: whatever sounded was no noise. */
  callerConfirmed(): void {
    this.s.callerConfirmedMs = this.atMs
    this.s.interruptedBySound = null
    this.s.ignoreWordlessSound = false
  }

  /** The caller stopped: wait for the text that is owed, from the end of speech. */
  awaitFinal(): void {
    const { s, policy } = this
    const caller = s.caller
    if (!caller) {
      this.listen()
      return
    }
    if (caller.pendingFinals === 0 || !policy.understandsSpeech) {
      this.endCallerTurn(false)
      return
    }
    s.phase = 'waitingFinal'
    this.timer(caller.id, 'final', caller.endMs + policy.finalDeadlineMs - this.atMs)
    this.speculate()
  }

  /** Asks the model already, when there is a reason to and it was not done for this turn. */
  speculate(): void {
    const { s, policy } = this
    const begun = newSpeculation(s, policy)
    if (begun === null || !s.caller) return
    s.speculation = begun
    const { text, partial } = s.caller
    const caller = { ...s.caller, text: join(text, partial), partial: '' }
    this.effects.push({ type: 'speculate', caller })
  }

  forgetSpeculation(): void {
    const { s } = this
    if (!s.speculation?.live) return
    s.speculation = { ...s.speculation, live: false }
    this.effects.push({ type: 'dropSpeculation' })
  }

  /** Nothing more is expected of the caller's turn: answer it, or go on listening. */
  endCallerTurn(late: boolean): void {
    const caller = this.s.caller
    if (!caller) {
      this.listen()
      return
    }
    const text = join(caller.text, late ? caller.partial : '')
    if (this.s.digits !== '') {
      // Keys are still being pressed: they belong to the same turn.
      this.effects.push({ type: 'cancelTimers', turn: caller.id })
      this.s.caller = { ...caller, text, partial: '' }
      this.s.phase = 'listening'
      return
    }
    if (text !== '' && !late && this.waitForMore(caller, text)) return
    if (text !== '') {
      if (late) this.s.usedPartial = caller.partial === '' ? null : caller.partial
      this.s.caller = { ...caller, text }
      this.answer()
      return
    }
    this.nothingUnderstood(caller, late)
  }

  /** Waits for the rest of what the caller says; false when it has been waited for long enough. */
  waitForMore(caller: CallerTurn, text: string): boolean {
    const { s } = this
    const leftMs = caller.endMs + this.waitMs(caller, text) - this.atMs
    if (leftMs <= 1) return false
    s.phase = 'waitingFinal'
    s.caller = { ...caller, awaitingMore: true }
    this.timer(caller.id, 'final', leftMs)
    this.speculate()
    return true
  }

  /** What words, this caller's habits and the sound together make of the wait after the last sound. */
  waitMs({ endMs, turnEstimate: judged }: CallerTurn, text: string): number {
    const { s, policy } = this
    const open = policy.openness(text)
    const { ifFinished: sure, usual, maxFromPauses: own, ifContinuing: most } = policy.waitMs[open]
    const ownMs = open === 'closed' ? s.earlyAnswerPauseMs : (s.pauseMs ?? 0) * 1.5
    const waitMs = Math.min(own, Math.max(usual, ownMs))
    // A judgement of an earlier pause says nothing about this one.
    if (judged === null || judged.endMs !== endMs) return waitMs
    const lean = 2 * judged.probability - 1
    return lean > 0
      ? waitMs + lean * (Math.min(sure, waitMs) - waitMs)
      : waitMs - lean * (Math.max(most, waitMs) - waitMs)
  }

  /** The caller went on after words that were being answered: they were not complete. */
  answeredTooEarly(ms: number): void {
    // Who was kept waiting for so long did not pause: he asks whether anybody is there.
    if (ms <= 0 || ms > this.policy.maxAgentSilenceMs) return
    this.pausedFor(ms)
    this.s.earlyAnswerPauseMs = Math.max(this.s.earlyAnswerPauseMs, ms)
  }

  /** The caller went on after a pause: the next one may last as long. */
  pausedFor(ms: number): void {
    const { s } = this
    s.pauseMs = s.pauseMs === null ? ms : (s.pauseMs + ms) / 2
    this.caller({ awaitingMore: false })
  }

  nothingUnderstood(caller: CallerTurn, late: boolean): void {
    const { s, policy } = this
    this.effects.push({ type: 'cancelTimers', turn: caller.id })
    const heardMs = caller.endMs - caller.startMs
    const cut = s.interruptedBySound
    s.interruptedBySound = null
    if (!policy.understandsSpeech) {
      s.caller = null
      if (s.digitsOnlySaid || heardMs < policy.minUnheardMs) {
        this.listen()
        return
      }
      s.digitsOnlySaid = true
      this.speak(['digitsOnly'])
      return
    }
    s.ignoreWordlessSound ||= cut !== null
    if (!late && cut !== null) {
      s.caller = null
      this.speakAgain(cut)
      return
    }
    if (!late || heardMs < policy.minUnheardMs) {
      // The late text may still come: it finds the same turn.
      if (!late) s.caller = null
      this.listen()
      return
    }
    s.recognitionFailures++
    this.effects.push({
      type: 'trouble',
      part: 'speech_to_text',
      code: 'vendor_stalled',
      message: 'no text came for what the caller said',
    })
    if (s.recognitionFailures > policy.giveUpAfter) {
      this.end('provider_failure')
      return
    }
    this.speakAgain(cut)
  }

  /** After a sound in which nothing was understood. */
  speakAgain(cut: TurnState['interruptedBySound']): void {
    if (cut === 'opening') this.speak(['opening'], { opening: true })
    else this.askToRepeat()
  }

  /** Nothing came of what the caller said: once more, please; after that, the keys still work. */
  askToRepeat(): void {
    this.speak([this.s.askedToRepeat ? 'digitsOnly' : 'repeat'])
    this.s.askedToRepeat = true
  }

  /** Asks the model to answer the caller's turn. */
  answer(): void {
    const { s, policy } = this
    const caller = s.caller
    if (!caller) return
    this.effects.push({ type: 'cancelTimers', turn: caller.id })
    // A partial text that is left is not answered.
    const kept = speculationHolds({ ...s, caller: { ...caller, partial: '' } })
    s.caller = null
    s.answering = { ...caller, partial: '', voiced: false, finalBeforeEnd: false }
    s.nudged = 0
    const reply = this.newReply({ kind: 'reply', modelBusy: true, interruptible: true })
    s.phase = 'thinking'
    if (kept) this.keepSpeculation(s.answering)
    else this.ask()
    this.timer(reply.id, 'floor', Math.max(200, caller.endMs + policy.maxAgentSilenceMs - this.atMs))
  }

  /** The answer is there, or on its way: the model's time counts from now. */
  keepSpeculation(caller: CallerTurn): void {
    const { s, policy } = this
    if (!s.reply || !s.speculation) return
    s.speculation = { ...s.speculation, live: false }
    this.effects.push({ type: 'keepSpeculation', turn: s.reply.id, caller })
    this.timer(s.reply.id, 'modelFirst', policy.modelFirstTokenMs)
  }

  ask(): void {
    const { s, policy } = this
    this.forgetSpeculation()
    if (!s.reply) return
    this.reply({ askedAtMs: this.atMs, lastTokenMs: null, modelBusy: true })
    const { id, attempt, round } = s.reply
    this.effects.push({ type: 'ask', turn: id, caller: s.answering, attempt, round })
    this.timer(id, 'modelFirst', Math.min(policy.modelSlowMs, policy.modelFirstTokenMs))
  }

  // ---- the agent's floor

  newReply(change: Pick<Reply, 'kind' | 'interruptible' | 'modelBusy'> & Partial<Reply>): Reply {
    const reply = { ...initialReply(this.s.nextTurn++, this.atMs), ...change }
    this.s.reply = reply
    return reply
  }

  /** Speaks fixed lines as one utterance. */
  speak(lines: readonly Phrase[], change: Partial<Reply> = {}): void {
    const reply = this.newReply({
      kind: 'line',
      interruptible: true,
      modelBusy: false,
      sentenceGiven: true,
      ...change,
    })
    this.s.phase = reply.kind === 'last' ? 'ending' : 'thinking'
    for (const line of lines) this.effects.push({ type: 'say', turn: reply.id, phrase: line })
    this.effects.push({ type: 'finishSpeech', turn: reply.id })
    this.timer(reply.id, 'floor', this.policy.maxAgentSilenceMs)
    if (reply.kind === 'last') this.timer(reply.id, 'ending', this.policy.endingLimitMs)
  }

  /** The caller made a sound: hold the agent's audio where it is. */
  pause(): void {
    const reply = this.s.reply
    if (!reply) return
    this.s.phase = 'paused'
    this.reply({ pausedAtMs: this.atMs })
    this.effects.push({ type: 'pause', turn: reply.id })
    this.timer(reply.id, 'pause', this.policy.pauseLimitMs)
  }

  /** It was no interruption: go on from the same sample. */
  resume(): void {
    const reply = this.s.reply
    if (!reply) return
    this.cancel(reply.id, 'pause')
    this.cancel(reply.id, 'resume')
    this.effects.push({
      type: 'resume',
      turn: reply.id,
      pausedAtMs: reply.audible ? reply.pausedAtMs : null,
    })
    this.reply({ pausedAtMs: null })
    this.s.phase = reply.kind === 'last' ? 'ending' : reply.audible ? 'speaking' : 'thinking'
  }

  /**
   * It was an interruption, proved by words or by the length of a sound. What the caller says belongs
   * to the caller's turn, old words included.
   */
  confirm(by: 'words' | 'sound'): void {
    const { s } = this
    if (by === 'words') this.callerConfirmed()
    // An answer that was not heard is merged with its question, and given anew.
    else if (s.reply?.audible || !s.answering) s.interruptedBySound = s.reply?.opening ? 'opening' : 'other'
    s.callerConfirmedMs = this.atMs
    if (s.answering && s.caller) this.answeredTooEarly(s.caller.startMs - s.answering.endMs)
    this.stopAgent()
    if (s.caller?.voiced) this.callerSpeaks()
    else this.awaitFinal()
  }

  /** Stops the agent for the caller; a reply that was not heard leaves its question to be merged. */
  stopAgent(): void {
    const { s } = this
    const reply = s.reply
    if (reply) {
      this.effects.push(
        reply.audible
          ? { type: 'interrupt', turn: reply.id, atMs: reply.pausedAtMs ?? this.atMs }
          : { type: 'drop', turn: reply.id },
        { type: 'cancelTimers', turn: reply.id },
      )
    }
    const before = s.answering
    s.reply = null
    s.answering = null
    if (!before) return
    const caller = s.caller
    s.caller = caller
      ? {
          ...caller,
          id: before.id,
          startMs: before.startMs,
          text: join(before.text, caller.text),
          words: [...before.words, ...caller.words],
        }
      : before
    if (caller) this.effects.push({ type: 'cancelTimers', turn: caller.id })
  }

  /** What the caller said beside the agent's speech: in the transcript, no turn of its own. */
  aside(): void {
    const caller = this.s.caller
    if (!caller) return
    this.effects.push(
      { type: 'cancelTimers', turn: caller.id },
      { type: 'commitCaller', caller, forModel: false },
    )
    this.s.caller = null
  }

  // ---- the end

  /** Says the last line, when there is one, then finishes. */
  end(why: FinishReason): void {
    this.clear()
    const line: Phrase | null =
      why === 'provider_failure' ? 'goodbye' : this.policy.hangupLine ? 'hangup' : null
    if (line === null) {
      this.finish(why)
      return
    }
    this.speak([line], { kind: 'last', interruptible: false, finishReason: why })
  }

  /** All was said: lets the last samples be heard, then finishes. */
  finishAfterTail(why: FinishReason): void {
    this.s.phase = 'ending'
    this.s.finishReason = why
    this.timer(CALL, 'tail', this.policy.tailMs)
  }

  finish(why: FinishReason): void {
    this.clear()
    this.s.phase = 'ended'
    this.effects.push({ type: 'stop' }, { type: 'finish', why })
  }

  /** Ends whatever either side is doing; heard words are kept. */
  clear(): void {
    const { s } = this
    if (s.answering) this.effects.push({ type: 'commitCaller', caller: s.answering, forModel: true })
    s.answering = null
    if (s.reply) {
      this.effects.push(
        { type: s.reply.audible ? 'cut' : 'drop', turn: s.reply.id },
        { type: 'cancelTimers', turn: s.reply.id },
      )
      s.reply = null
    }
    const caller = s.caller
    s.caller = null
    if (caller) {
      this.effects.push({ type: 'cancelTimers', turn: caller.id })
      const text = join(caller.text, caller.partial)
      if (text !== '')
        this.effects.push({ type: 'commitCaller', caller: { ...caller, text }, forModel: true })
    }
    if (s.digits !== '') this.cancel(CALL, 'digits')
    s.digits = ''
  }
}

export function join(before: string, after: string): string {
  const tail = after.trim()
  return before === '' ? tail : tail === '' ? before : `${before} ${tail}`
}
