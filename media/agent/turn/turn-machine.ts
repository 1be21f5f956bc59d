import { isMachine, stepAnsweredBy } from '../answering-machine/answered-by.js'
import {
  confirmationMs,
  digit,
  digitsComplete,
  final,
  offset,
  onset,
  partial,
  recognitionFailed,
  turnEstimated,
  voiceEndsPause,
} from './caller-inputs.js'
import { initialTurnState } from './initial-state.js'
import {
  audioFlow,
  modelDone,
  modelFailed,
  modelProgress,
  modelTimer,
  modelToken,
  sentence,
  toolsRun,
} from './model-inputs.js'
import { TurnDraft } from './turn-draft.js'
import { type TurnPolicy, VAD_STOP_MS } from './turn-policy.js'
import { CALL, type Step, type TurnEffect, type TurnInput, type TurnState } from './turn-types.js'

export { initialTurnState }

const NOTHING: readonly TurnEffect[] = []

/**
 * Decides whose turn it is. Pure: the conversation runs the effects and supplies the time. An unexpected
 * input only increments the count of unexpected inputs.
 */
export function step(state: TurnState, input: TurnInput, policy: TurnPolicy): Step {
  // This input arrives every frame while paused, so it takes no copy when nothing happens.
  if (input.type === 'voice' && !voiceEndsPause(state, input.voicedMs, input.quietMs, policy)) {
    return { next: state, effects: NOTHING }
  }
  const t = new TurnDraft(state, policy, input.atMs)
  if (!isExpected(state, input)) {
    t.unexpected()
  } else {
    apply(t, input)
    // Whatever ended the utterance also ends the wait for its clause.
    if (t.s.announcement !== null && t.s.phase !== 'speaking') t.announce()
    if (t.s.optOutAsked && confirmsNow(t.s)) t.confirmOptOut()
    t.speculation('check')
  }
  return { next: t.s, effects: t.effects }
}

const BEFORE_START: ReadonlySet<TurnInput['type']> = new Set(['start', 'close'])
const WHILE_AWAY: ReadonlySet<TurnInput['type']> = new Set([
  'say',
  'return',
  'firstSample',
  'drained',
  'audioFlow',
  'synthesisFailed',
  'timer',
  'close',
])

function isExpected({ phase }: TurnState, { type }: TurnInput): boolean {
  if (phase === 'opening') return BEFORE_START.has(type)
  if (phase === 'away') return WHILE_AWAY.has(type)
  return phase !== 'ended' && type !== 'return'
}

/** An opt-out that waited is confirmed when the caller is silent, and over anything that may be interrupted. */
function confirmsNow({ phase, reply }: TurnState): boolean {
  if (phase === 'listening') return true
  return (phase === 'thinking' || phase === 'speaking') && reply?.interruptible === true
}

function apply(t: TurnDraft, input: TurnInput): void {
  const { s } = t
  switch (input.type) {
    case 'start':
      if (s.phase !== 'opening') {
        t.unexpected()
        return
      }
      t.limitCall()
      if (input.opening) t.speak(['opening'], { opening: true, interruptible: !t.policy.protectedOpening })
      else t.listen()
      return
    case 'onset':
      onset(t, input.fromMs)
      return
    case 'voice':
      if (input.voicedMs >= confirmationMs(s, t.policy)) t.confirm('sound')
      else t.resume()
      return
    case 'offset':
      offset(t, input.lastVoicedMs)
      return
    case 'turnEstimate':
      turnEstimated(t, input.lastVoicedMs, input.probability)
      return
    case 'partial':
      partial(t, input.text)
      return
    case 'final':
      final(t, input)
      return
    case 'eagerEndOfTurn':
      if (s.phase !== 'callerSpeaking' && s.phase !== 'waitingFinal') t.unexpected()
      else if (input.complete) t.speculation('consider')
      else t.speculation('drop')
      return
    case 'contextChanged':
      t.speculation('drop')
      return
    case 'speculationFailed':
      if (s.speculation?.live) t.speculation('drop')
      else t.unexpected()
      return
    case 'recognitionFailed':
      recognitionFailed(t, input.code, input.message)
      return
    case 'digit':
      digit(t, input.digit)
      return
    case 'token':
    case 'progress':
    case 'sentence':
    case 'toolsRun':
    case 'modelDone':
    case 'modelFailed':
      if (s.reply?.id !== input.turn || !s.reply.modelBusy) {
        t.unexpected()
        return
      }
      if (input.type === 'token') {
        modelToken(t)
        return
      }
      if (input.type === 'progress') {
        modelProgress(t)
        return
      }
      if (input.type === 'sentence') {
        sentence(t, input.text ?? '')
        return
      }
      if (input.type === 'toolsRun') {
        toolsRun(t, input.fillerSpoken)
        return
      }
      if (input.type === 'modelDone') {
        modelDone(t, input.next)
        return
      }
      modelFailed(t, input.code, input.message)
      return
    case 'firstSample':
      firstSample(t, input.turn)
      return
    case 'drained':
      drained(t, input.turn)
      return
    case 'audioFlow':
      if (s.reply?.id !== input.turn) {
        t.unexpected()
        return
      }
      audioFlow(t, input.flowing)
      return
    case 'synthesisFailed':
      if (s.reply?.id !== input.turn) {
        t.unexpected()
        return
      }
      t.speechFailed()
      return
    case 'timer':
      timer(t, input)
      return
    case 'optOut':
      t.optOut()
      return
    case 'answeredBy': {
      const { next, note, finish } = stepAnsweredBy(s.answeredBy, input.by)
      s.answeredBy = next
      s.optOutAsked &&= !isMachine(next)
      if (note !== null) t.effects.push({ type: 'addNote', note })
      if (finish === 'voicemail' && t.policy.voicemailMessage !== null && s.phase !== 'ending')
        t.awaitRecording()
      else if (finish !== null) t.finish(finish)
      return
    }
    case 'recording':
      t.leaveMessage()
      return
    case 'say':
      if (s.phase === 'ending') t.unexpected()
      else t.say({ text: input.text, last: input.last, now: input.now ?? false })
      return
    case 'leave':
      if (s.phase === 'ending') t.unexpected()
      else t.leave()
      return
    case 'return':
      t.comeBack()
      return
    case 'close':
      t.clear()
      s.phase = 'ended'
      t.effects.push({ type: 'stop' })
      return
    default:
      input satisfies never
  }
}

// ---- the agent's audio

function firstSample(t: TurnDraft, turn: number): void {
  const { s } = t
  const reply = s.reply
  if (reply?.id !== turn || reply.audible) {
    t.unexpected()
    return
  }
  t.reply({ audible: true })
  t.cancel(turn, 'agentSilence')
  if (s.phase === 'thinking') s.phase = 'speaking'
  if (s.answering) {
    t.effects.push(
      { type: 'commitCaller', caller: s.answering, forModel: true },
      { type: 'replyAudible', turn },
    )
    s.answering = null
    // The words were complete, so less caution is needed.
    s.earlyAnswerPauseMs = s.earlyAnswerPauseMs < VAD_STOP_MS ? 0 : s.earlyAnswerPauseMs / 2
  }
}

function drained(t: TurnDraft, turn: number): void {
  const { s } = t
  const reply = s.reply
  if (reply?.id !== turn || reply.modelBusy) {
    t.unexpected()
    return
  }
  if (s.phase === 'paused') t.resume()
  // An utterance without audible audio has nothing to commit.
  t.effects.push(reply.audible ? { type: 'commitAgent', turn } : { type: 'dropReply', turn })
  t.effects.push({ type: 'cancelTimers', turn })
  t.asks(reply)
  s.reply = null
  if (s.answering) {
    t.effects.push({ type: 'commitCaller', caller: s.answering, forModel: true })
    s.answering = null
  }
  if (s.phase === 'away') return
  if (s.announcement?.last) {
    t.announce()
    return
  }
  if (reply.finishReason !== null) {
    if (reply.kind === 'last' || !t.policy.hangupLine) t.finishAfterTail(reply.finishReason)
    else t.end(reply.finishReason)
    return
  }
  if (s.announcement !== null) {
    t.announce()
    return
  }
  const caller = s.caller
  if (caller?.voiced) {
    s.callerConfirmedMs = t.atMs
    t.callerSpeaks()
  } else if (caller && caller.text !== '' && caller.pendingFinals === 0) t.answer()
  else t.listen()
}

// ---- timers

function timer(t: TurnDraft, input: TurnInput & { type: 'timer' }): void {
  const { s, policy } = t
  const { turn, name } = input
  if (turn === CALL) {
    if (name === 'digits') {
      digitsComplete(t)
      return
    }
    if ((name === 'tail' || name === 'recording') && s.finishReason !== null) {
      t.finish(s.finishReason)
      return
    }
    if (name === 'callLimit' && s.phase !== 'ending') {
      t.end('max_duration')
      return
    }
    if (name === 'callEnd') {
      t.finish(s.finishReason ?? s.reply?.finishReason ?? 'max_duration')
      return
    }
    t.unexpected()
    return
  }
  if (turn === s.caller?.id) {
    if (name === 'final' && s.phase === 'waitingFinal') {
      t.endCallerTurn(true)
      return
    }
    if (name === 'wordless' && s.phase === 'callerSpeaking') {
      // Tolerates the error of a timer.
      if (t.remainingWordlessMs() <= 1) {
        s.callerConfirmedMs = t.atMs
        t.effects.push({ type: 'learnNoise' })
      }
      t.callerSpeaks()
      return
    }
    if (name === 'backchannel') {
      t.backchannel()
      return
    }
    if (name !== 'nudge' || s.phase !== 'listening') {
      t.unexpected()
      return
    }
    if (s.nudged >= policy.nudgesMs.length) {
      t.end('silence')
      return
    }
    const nudge = s.nudged++
    if (s.caller.pendingFinals === 0) s.caller = null
    t.speak([{ nudge }])
    return
  }
  if (turn !== s.reply?.id) {
    t.unexpected()
    return
  }
  switch (name) {
    case 'pause':
    case 'resume':
      if (s.phase !== 'paused') {
        t.unexpected()
        return
      }
      t.resume()
      return
    case 'clause':
      if (s.announcement === null) t.unexpected()
      else t.announce()
      return
    case 'ending':
      t.finish(s.reply.finishReason ?? 'provider_failure')
      return
    default:
      modelTimer(t, name)
      return
  }
}
