import { isMachine } from '../answering-machine/answered-by.js'
import type { FinishReason } from '../conversation-events.js'
import { endpointingDelayMs } from './endpointing-wait.js'
import { stepSpeculation } from './speculation.js'
import { join, StepDraft } from './step-draft.js'
import {
  type Announcement,
  CALL,
  type CallerTurn,
  type Phrase,
  type Reply,
  type TurnState,
} from './turn-types.js'

/** A step in progress with the transitions of the turn machine that several inputs share. */
export class TurnDraft extends StepDraft {
  // ---- the caller's turn

  /** Starts the caller's turn in silence. */
  listen(): void {
    const { s, policy } = this
    s.phase = 'listening'
    const caller = s.caller ?? this.newCaller(this.atMs)
    const delay = policy.nudgesMs[s.nudged] ?? (policy.nudgesMs.length > 0 ? policy.hangupAfterMs : null)
    if (delay !== null) this.timer(caller.id, 'nudge', delay)
  }

  /** Starts or continues the caller's turn with speech. */
  callerSpeaks(): void {
    const { s } = this
    s.phase = 'callerSpeaking'
    if (s.caller === null) return
    this.timer(s.caller.id, 'wordless', this.remainingWordlessMs())
    this.scheduleBackchannel()
  }

  scheduleBackchannel(): void {
    const { s, policy, atMs } = this
    if (s.caller === null || policy.backchannelAfterMs === null) return
    const fromMs = Math.max(s.caller.startMs, s.backchannelMs)
    this.timer(s.caller.id, 'backchannel', Math.max(0, fromMs + policy.backchannelAfterMs - atMs))
  }

  /** Shows a caller who goes on that the agent listens. Sound without words, and an end of the turn, get nothing. */
  backchannel(): void {
    const { s } = this
    const goesOn = s.phase === 'callerSpeaking' || (s.phase === 'waitingFinal' && s.caller?.awaitingMore)
    if (!goesOn || s.caller === null) return
    s.backchannelMs = this.atMs
    if (s.caller.partial !== '' || s.caller.text !== '') this.effects.push({ type: 'backchannel' })
    this.scheduleBackchannel()
  }

  /** Returns the time (ms) for which sound may continue without words. */
  remainingWordlessMs(): number {
    const { s, policy } = this
    const over = s.caller?.finalBeforeEnd === true && s.caller.partial === ''
    return s.callerConfirmedMs + (over ? policy.afterWordsMs : policy.wordlessMs) - this.atMs
  }

  /** Records words of the caller, which prove that the sound was no noise. */
  callerConfirmed(): void {
    this.s.callerConfirmedMs = this.atMs
    this.s.interruptedBySound = null
    this.s.ignoreWordlessSound = false
  }

  /** Waits for the pending final text, from the end of speech. */
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
    this.speculation('consider')
  }

  /** Ends the caller's turn: answers it, or goes on listening. */
  endCallerTurn(late: boolean): void {
    const caller = this.s.caller
    if (!caller) {
      this.listen()
      return
    }
    const text = join(caller.text, late ? caller.partial : '')
    if (this.s.digits !== '') {
      // More digits may follow in the same turn.
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

  /** Waits for more words. Returns false when the wait is over. */
  waitForMore(caller: CallerTurn, text: string): boolean {
    const { s, policy } = this
    const leftMs = caller.endMs + endpointingDelayMs(caller, text, s, policy) - this.atMs
    if (leftMs <= 1) return false
    s.phase = 'waitingFinal'
    s.caller = { ...caller, awaitingMore: true }
    this.timer(caller.id, 'final', leftMs)
    this.speculation('consider')
    return true
  }

  /** Records that the caller went on after words that were being answered. */
  answeredTooEarly(ms: number): void {
    // After such a long wait the caller did not pause but asks whether the agent is there.
    if (ms <= 0 || ms > this.policy.maxAgentSilenceMs) return
    this.pausedFor(ms)
    this.s.earlyAnswerPauseMs = Math.max(this.s.earlyAnswerPauseMs, ms)
  }

  /** Records a pause of the caller within a turn. The next one may be as long. */
  pausedFor(ms: number): void {
    const { s } = this
    s.pauseMs = s.pauseMs === null ? ms : (s.pauseMs + ms) / 2
    this.caller({ awaitingMore: false })
  }

  nothingUnderstood(caller: CallerTurn, late: boolean): void {
    const { s, policy } = this
    this.effects.push({ type: 'cancelTimers', turn: caller.id })
    const heardMs = caller.endMs - caller.startMs
    const interrupted = s.interruptedBySound
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
    s.ignoreWordlessSound ||= interrupted !== null
    if (!late && interrupted !== null) {
      s.caller = null
      this.speakAgain(interrupted)
      return
    }
    if (!late || heardMs < policy.minUnheardMs) {
      // A late final text still finds this turn.
      if (!late) s.caller = null
      this.listen()
      return
    }
    s.recognitionFailures++
    this.effects.push({
      type: 'reportFailure',
      part: 'speech_to_text',
      code: 'vendor_stalled',
      message: 'no final text arrived',
    })
    if (s.recognitionFailures > policy.giveUpAfter) {
      this.end('provider_failure')
      return
    }
    this.speakAgain(interrupted)
  }

  /** Speaks again after a sound without words. */
  speakAgain(interrupted: TurnState['interruptedBySound']): void {
    if (interrupted === 'opening') this.speak(['opening'], { opening: true })
    else this.askToRepeat()
  }

  /** Asks the caller to repeat. The second time, offers the keys instead. */
  askToRepeat(): void {
    this.speak([this.s.askedToRepeat ? 'digitsOnly' : 'repeat'])
    this.s.askedToRepeat = true
  }

  /** Asks the model to answer the caller's turn. */
  answer(): void {
    const { s, policy } = this
    const caller = s.caller
    if (!caller) return
    if (policy.optOut?.asks(caller.text)) {
      this.optOut()
      this.caller({ partial: '' })
      if (this.confirmOptOut()) return
    }
    this.effects.push({ type: 'cancelTimers', turn: caller.id })
    // A partial text that is left over is not answered.
    const decided = { type: 'decide', caller: { ...caller, partial: '' }, undecided: this.undecided } as const
    const { next, order } = stepSpeculation(s.speculation, decided, policy)
    s.speculation = next
    s.caller = null
    s.answering = { ...caller, partial: '', voiced: false, finalBeforeEnd: false }
    s.nudged = 0
    const reply = this.newReply({ kind: 'reply', modelBusy: true, interruptible: true })
    s.phase = 'thinking'
    if (order === 'keep') this.keepSpeculation(reply.id, s.answering)
    else this.ask()
    this.timer(reply.id, 'agentSilence', Math.max(200, caller.endMs + policy.maxAgentSilenceMs - this.atMs))
  }

  // ---- the agent's turn

  /** Speaks canned phrases as one utterance. */
  speak(phrases: readonly Phrase[], change: Partial<Reply> = {}): void {
    const reply = this.newReply({
      kind: 'phrase',
      interruptible: true,
      modelBusy: false,
      sentenceGiven: true,
      ...change,
    })
    if (reply.kind === 'last') this.s.phase = 'ending'
    else if (this.s.phase !== 'away') this.s.phase = 'thinking'
    for (const phrase of phrases) this.effects.push({ type: 'sayPhrase', turn: reply.id, phrase })
    this.effects.push({ type: 'finishSpeech', turn: reply.id })
    this.timer(reply.id, 'agentSilence', this.policy.maxAgentSilenceMs)
    if (reply.kind === 'last') this.timer(reply.id, 'ending', this.policy.endingLimitMs)
  }

  /** Pauses playout because the caller made a sound. */
  pause(): void {
    const reply = this.s.reply
    if (!reply) return
    this.s.phase = 'paused'
    this.reply({ pausedAtMs: this.atMs })
    this.effects.push({ type: 'pause', turn: reply.id })
    this.timer(reply.id, 'pause', this.policy.pauseLimitMs)
  }

  /** Resumes playout at the same sample. The sound was no barge-in. */
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
   * Confirms a barge-in by words or by the length of a sound. The caller's words so far belong to the
   * caller's turn.
   */
  confirm(by: 'words' | 'sound'): void {
    const { s } = this
    if (by === 'words') this.callerConfirmed()
    // An unheard answer is merged with its question and asked again.
    else if (s.reply?.audible || !s.answering) s.interruptedBySound = s.reply?.opening ? 'opening' : 'other'
    s.callerConfirmedMs = this.atMs
    if (s.answering && s.caller) this.answeredTooEarly(s.caller.startMs - s.answering.endMs)
    this.stopAgent()
    if (s.caller?.voiced) this.callerSpeaks()
    else this.awaitFinal()
  }

  /** Stops the agent for the caller. The question of an unheard reply is merged into the caller's turn. */
  stopAgent(): void {
    const { s } = this
    const reply = s.reply
    if (reply) {
      this.effects.push(
        reply.audible
          ? { type: 'interrupt', turn: reply.id, atMs: reply.pausedAtMs ?? this.atMs }
          : { type: 'dropReply', turn: reply.id },
        { type: 'cancelTimers', turn: reply.id },
      )
    }
    if (reply) this.asks(reply)
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

  /** Notes the question that the caller answers. Phrases, such as a nudge, do not replace it. */
  asks({ audible, lastSentence }: Reply): void {
    if (!audible || lastSentence === '') return
    const { asksForNumber } = this.policy
    const expected = asksForNumber(lastSentence)
    if (expected !== asksForNumber(this.s.asked)) this.effects.push({ type: 'expectNumber', expected })
    this.s.asked = lastSentence
  }

  /** Records words said alongside the agent's speech. They are in the transcript but are not a turn. */
  aside(): void {
    const caller = this.s.caller
    if (!caller) return
    this.effects.push(
      { type: 'cancelTimers', turn: caller.id },
      { type: 'commitCaller', caller, forModel: false },
    )
    this.s.caller = null
    if (this.policy.optOut?.asks(caller.text)) this.optOut()
  }

  // ---- opt-out

  /** Notes that the caller wants no more calls. The words of a machine are no wish. */
  optOut(): void {
    const { s, policy } = this
    s.optOutAsked = policy.optOut !== null && (s.answeredBy === null || !isMachine(s.answeredBy))
  }

  /**
   * Confirms an opt-out, says the hang-up line and ends the call. Returns false when there is none to confirm, or not
   * yet: while it is not known who answered, and while an announcement waits.
   */
  confirmOptOut(): boolean {
    const { s, policy } = this
    if (!s.optOutAsked || s.announcement !== null) return false
    if (policy.optOut?.awaitsVerdict && s.answeredBy === null) return false
    this.#endOptedOut()
    return true
  }

  /**
   * Confirms an opt-out with the key, which is a turn of its own, whatever the caller said before it. Returns false when
   * a machine answered. Only people press keys, so its result is not awaited.
   */
  keyedOptOut(key: string): boolean {
    const { s } = this
    if (s.answeredBy !== null && isMachine(s.answeredBy)) return false
    this.clear()
    this.newCaller(this.atMs)
    this.caller({ text: key })
    this.#endOptedOut()
    return true
  }

  #endOptedOut(): void {
    this.s.optOutAsked = false
    this.clear()
    const last = { kind: 'last', interruptible: false, finishReason: 'agent_hangup' } as const
    this.speak(this.policy.hangupLine ? ['optedOut', 'hangup'] : ['optedOut'], last)
  }

  // ---- announcements and absence

  /** Says a text now when the agent is silent, else at the end of the present clause. */
  say(announcement: Announcement): void {
    const { s } = this
    s.announcement = announcement
    if (s.phase === 'paused' && s.reply?.audible) this.resume()
    const reply = s.reply
    if (s.phase !== 'speaking' || reply === null || announcement.now === true) {
      this.announce()
      return
    }
    for (const name of ['modelFirst', 'modelStall', 'tools', 'retry'] as const) this.cancel(reply.id, name)
    if (reply.modelBusy) this.effects.push({ type: 'cancelModel', turn: reply.id })
    this.reply({ modelBusy: false, interruptible: false })
    this.effects.push({ type: 'stopAtClause', turn: reply.id })
    this.timer(reply.id, 'clause', this.policy.clauseLimitMs)
  }

  /** Says the announcement that waits, and stops everything else. */
  announce(): void {
    const { announcement } = this.s
    if (announcement === null) return
    this.clear()
    const { text, last } = announcement
    if (text === null) this.finishAfterTail('asked')
    else if (last) this.speak([{ say: text }], { kind: 'last', interruptible: false, finishReason: 'asked' })
    else this.speak([{ say: text }], { kind: 'announcement', interruptible: false })
  }

  /** Goes on after the present words could not be said, or ends the call when they belong to the conversation. */
  speechFailed(): void {
    const { phase, reply } = this.s
    // The persons on the call do not need the agent. A person who joins gets the caller without the line, too.
    if (phase === 'away') this.clear()
    else if (reply?.kind === 'announcement') {
      this.clear()
      this.listen()
    } else this.finish(reply?.finishReason ?? 'provider_failure')
  }

  /** Leaves the call to others. The limits of the call stand still. */
  leave(): void {
    this.clear()
    this.cancel(CALL, 'callLimit')
    this.cancel(CALL, 'callEnd')
    this.s.phase = 'away'
    this.s.optOutAsked = false
    this.s.awaySinceMs = this.atMs
    this.effects.push({ type: 'suspendRecogniser' })
  }

  /** Takes part in the call again, silent until the caller speaks or a text is to be said. */
  comeBack(): void {
    const { s } = this
    this.clear()
    s.awayMs += this.atMs - (s.awaySinceMs ?? this.atMs)
    s.awaySinceMs = null
    s.nudged = 0
    this.limitCall()
    this.effects.push({ type: 'reopenRecogniser' })
    this.listen()
  }

  // ---- the end of the call

  /** Starts the limits of the call. Only the agent's own time counts. */
  limitCall(): void {
    const { policy } = this
    const leftMs = policy.maxCallMs + this.s.awayMs - this.atMs
    if (policy.hangupLine) this.timer(CALL, 'callLimit', leftMs - policy.hangupLineMs)
    this.timer(CALL, 'callEnd', leftMs)
  }

  /** Speaks the last phrase, if any, then finishes. */
  end(why: FinishReason): void {
    this.clear()
    const phrase: Phrase | null =
      why === 'provider_failure' ? 'goodbye' : this.policy.hangupLine ? 'hangup' : null
    if (phrase === null) {
      this.finish(why)
      return
    }
    this.speak([phrase], { kind: 'last', interruptible: false, finishReason: why })
  }

  /** Waits in silence until the voicemail that answered records. */
  awaitRecording(): void {
    this.clear()
    this.s.phase = 'ending'
    this.s.finishReason = 'voicemail'
    this.timer(CALL, 'recording', this.policy.recordingWaitMs)
  }

  /** Speaks the message for a voicemail, then finishes. */
  leaveMessage(): void {
    const { s, policy } = this
    if (s.finishReason !== 'voicemail' || s.reply !== null || policy.voicemailMessage === null) {
      this.unexpected()
      return
    }
    this.cancel(CALL, 'recording')
    const last = { kind: 'last', interruptible: false, finishReason: 'voicemail' } as const
    this.speak([{ say: policy.voicemailMessage }], last)
  }

  /** Finishes after the far side has played the last samples. */
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

  /** Ends the turns of both sides and keeps the heard words. */
  clear(): void {
    const { s } = this
    s.announcement = null
    if (s.answering) this.effects.push({ type: 'commitCaller', caller: s.answering, forModel: true })
    s.answering = null
    if (s.reply) {
      this.effects.push(
        { type: s.reply.audible ? 'stopSpeech' : 'dropReply', turn: s.reply.id },
        { type: 'cancelTimers', turn: s.reply.id },
      )
      s.reply = null
    }
    const caller = s.caller
    s.caller = null
    if (caller) {
      this.effects.push({ type: 'cancelTimers', turn: caller.id })
      const text = join(caller.text, caller.partial)
      // The sound goes on, so its end is not known from an offset.
      const endMs = caller.voiced ? Math.max(caller.endMs, this.atMs) : caller.endMs
      if (text !== '')
        this.effects.push({ type: 'commitCaller', caller: { ...caller, text, endMs }, forModel: true })
    }
    if (s.digits !== '') this.cancel(CALL, 'digits')
    s.digits = ''
  }
}
