import type { TimedWord } from './spec.js'
import { initialTurnState, join, TurnDraft } from './turn-draft.js'
import { remainder } from './turn-late.js'
import { modelDone, modelFailed, modelTimer, modelToken } from './turn-model.js'
import type { TurnPolicy } from './turn-policy.js'
import { CALL, type Step, type TurnEffect, type TurnInput, type TurnState } from './turn-types.js'

export { initialTurnState }

const NOTHING: readonly TurnEffect[] = []

/**
 * Who has the floor. Pure: the shell (conversation.ts) runs the effects and brings the time. An
 * input that the state does not expect changes nothing but the count of such inputs.
 */
export function step(state: TurnState, input: TurnInput, policy: TurnPolicy): Step {
  // Every frame while paused: decided without a copy when nothing happens.
  if (input.on === 'voice' && !voiceDecides(state, input.voicedMs, input.quietMs, policy)) {
    return { next: state, effects: NOTHING }
  }
  const t = new TurnDraft(state, policy, input.at)
  if (state.phase === 'ended' || (state.phase === 'opening' && !BEFORE_START.has(input.on))) {
    t.unexpected()
  } else {
    apply(t, input)
  }
  return { next: t.s, effects: t.effects }
}

const BEFORE_START: ReadonlySet<TurnInput['on']> = new Set(['start', 'close'])

function apply(t: TurnDraft, input: TurnInput): void {
  const { s } = t
  switch (input.on) {
    case 'start':
      if (s.phase !== 'opening') {
        t.unexpected()
        return
      }
      t.timer(CALL, 'limit', t.policy.maxCallMs)
      if (input.opening) t.speak(['opening'], { opening: true })
      else t.listen()
      return
    case 'onset':
      onset(t, input.fromMs)
      return
    case 'voice':
      if (input.voicedMs >= neededMs(s, t.policy)) t.confirm()
      else t.resume()
      return
    case 'offset':
      offset(t, input.lastVoicedMs)
      return
    case 'partial':
      partial(t, input.text)
      return
    case 'final':
      final(t, input)
      return
    case 'deaf':
      deaf(t, input.code, input.message)
      return
    case 'digit':
      digit(t, input.digit)
      return
    case 'token':
    case 'sentence':
    case 'modelDone':
    case 'modelFailed':
      if (s.reply?.id !== input.turn || !s.reply.modelBusy) {
        t.unexpected()
        return
      }
      if (input.on === 'token') {
        modelToken(t)
        return
      }
      if (input.on === 'sentence') {
        t.reply({ said: true })
        return
      }
      if (input.on === 'modelDone') {
        modelDone(t, input.then)
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
    case 'mute':
      if (s.reply?.id !== input.turn) {
        t.unexpected()
        return
      }
      t.finish(s.reply.why ?? 'provider_failure')
      return
    case 'timer':
      timer(t, input)
      return
    case 'close':
      t.clear()
      s.phase = 'ended'
      t.effects.push({ do: 'stop' })
      return
    default:
      input satisfies never
  }
}

// ---- sound of the caller

function onset(t: TurnDraft, fromMs: number): void {
  const { s } = t
  const begin = () => {
    // From here on a final text belongs to the new utterance.
    s.usedPartial = null
    if (!s.caller) t.newCaller(fromMs)
    else if (s.caller.text === '' && s.phase !== 'waitingFinal') t.caller({ startMs: fromMs })
    // Silence lasted: a text still owed for an earlier sound is not worth waiting for.
    if (s.phase === 'listening') t.caller({ owed: 0 })
    t.caller({ voiced: true, endMs: fromMs, early: false })
  }
  switch (s.phase) {
    case 'listening':
    case 'waitingFinal':
      begin()
      if (s.caller) t.effects.push({ do: 'cancelTimers', turn: s.caller.id })
      s.phase = 'callerSpeaking'
      return
    case 'thinking':
    case 'speaking':
      begin()
      if (s.reply?.interruptible) t.pause()
      return
    case 'paused':
      begin()
      if (s.reply) t.cancel(s.reply.id, 'resume')
      return
    case 'ending':
      begin()
      return
    default:
      t.unexpected()
  }
}

function neededMs(s: TurnState, policy: TurnPolicy): number {
  const text = s.caller?.partial ?? ''
  const agreeing = text !== '' && policy.isBackchannel(text, s.reply?.opening ?? false)
  return agreeing ? policy.confirmBackchannelMs : policy.confirmSpeechMs
}

function voiceDecides(s: TurnState, voicedMs: number, quietMs: number, policy: TurnPolicy): boolean {
  if (s.phase !== 'paused') return false
  return (
    quietMs >= policy.resumeAfterMs || (voicedMs >= policy.confirmSpeechMs && voicedMs >= neededMs(s, policy))
  )
}

function offset(t: TurnDraft, lastVoicedMs: number): void {
  const { s } = t
  const caller = s.caller
  if (!caller?.voiced) {
    t.unexpected()
    return
  }
  const done = caller.early && caller.partial === ''
  t.caller({
    voiced: false,
    early: false,
    endMs: Math.max(caller.endMs, lastVoicedMs),
    owed: done ? caller.owed : caller.owed + 1,
  })
  if (s.phase === 'callerSpeaking') {
    t.awaitFinal()
    return
  }
  // Words that came while the sound lasted.
  if (caller.text !== '' && done) {
    weigh(t)
    return
  }
  if (s.phase === 'paused' && s.reply) {
    t.timer(s.reply.id, 'resume', lastVoicedMs + t.policy.resumeAfterMs - t.at)
  }
}

// ---- words of the caller

function partial(t: TurnDraft, text: string): void {
  const { s } = t
  if (!s.caller) {
    t.unexpected()
    return
  }
  t.caller({ partial: text.trim() })
  // Words confirm an interruption. Without a sound of its own a partial text is an old utterance's.
  if (s.phase === 'paused' && text.trim() !== '' && !isAside(t, text)) t.confirm()
}

function final(t: TurnDraft, input: TurnInput & { on: 'final' }): void {
  const { s } = t
  s.deafness = 0
  const late = s.usedPartial
  s.usedPartial = null
  const text = late === null ? input.text.trim() : remainder(late, input.text.trim())
  hear(t, text, late === null ? (input.words ?? []) : [], false)
}

/** Complete words of the caller, spoken or keyed. */
function hear(t: TurnDraft, text: string, words: readonly TimedWord[], keyed: boolean): void {
  const { s } = t
  if (!s.caller) {
    if (text === '') return
    t.newCaller(words[0]?.startMs ?? t.at)
    t.caller({ endMs: words.at(-1)?.endMs ?? t.at })
  }
  const caller = s.caller
  if (!caller) return
  t.caller({ text: join(caller.text, text) })
  if (keyed) {
    if (!caller.voiced) t.caller({ endMs: t.at })
  } else {
    t.caller({
      words: words.length > 0 ? [...caller.words, ...words] : caller.words,
      partial: '',
      owed: Math.max(0, caller.owed - 1),
      early: caller.owed === 0 && caller.voiced,
    })
  }
  switch (s.phase) {
    case 'listening':
      if (text !== '' && s.digits === '') t.answer()
      return
    case 'callerSpeaking':
      return
    case 'waitingFinal':
      if (s.caller?.owed === 0) t.settle(false)
      return
    default:
      if (keyed && s.phase !== 'ending') t.confirm()
      else weigh(t)
  }
}

/** Complete words while the agent has the floor: an interruption, or said beside it. */
function weigh(t: TurnDraft): void {
  const { s } = t
  const caller = s.caller
  if (!caller) return
  if (caller.text === '') {
    if (s.phase === 'paused' && !caller.voiced && caller.owed === 0) t.resume()
  } else if (s.phase !== 'ending' && s.reply?.interruptible && !isAside(t, caller.text)) {
    t.confirm()
  } else if (!caller.voiced) {
    t.aside()
    if (s.phase === 'paused') t.resume()
  }
}

function isAside(t: TurnDraft, text: string): boolean {
  // Before the agent is heard, "yes" adds to what the caller just said.
  const over = t.s.reply
  return over?.audible === true && t.policy.isBackchannel(text, over.opening)
}

/** The recogniser failed; it is opened again until it fails too often. */
function deaf(t: TurnDraft, code: string, message: string): void {
  const { s, policy } = t
  t.effects.push({ do: 'trouble', part: 'speech_to_text', code, message })
  s.deafness++
  if (s.phase === 'ending') return
  if (s.deafness > policy.giveUpAfter) {
    t.end('provider_failure')
    return
  }
  t.effects.push({ do: 'reopenEars' })
  t.caller({ owed: 0 })
  if (s.phase !== 'waitingFinal') return
  if (join(s.caller?.text ?? '', s.caller?.partial ?? '') !== '') {
    t.settle(true)
    return
  }
  t.effects.push({ do: 'cancelTimers', turn: s.caller?.id ?? CALL })
  s.caller = null
  t.speak(['repeat'])
}

function digit(t: TurnDraft, pressed: string): void {
  const { s } = t
  if (s.phase === 'ending') return
  if (s.phase === 'listening' && s.digits === '' && s.caller?.text === '') t.caller({ startMs: t.at })
  s.digits += pressed
  const agentHasFloor = s.phase === 'thinking' || s.phase === 'speaking' || s.phase === 'paused'
  if (agentHasFloor && s.reply?.interruptible) {
    // A pressed key is never an accident of sound: the agent stops at once.
    t.takeFloor()
    if (s.caller?.voiced) s.phase = 'callerSpeaking'
    else {
      s.phase = 'listening'
      if (!s.caller) t.newCaller(t.at)
    }
  } else if (s.phase === 'listening' && s.caller) t.cancel(s.caller.id, 'nudge')
  if (pressed === '#') {
    t.cancel(CALL, 'digits')
    digitsComplete(t)
    return
  }
  t.timer(CALL, 'digits', t.policy.digitsIdleMs)
}

function digitsComplete(t: TurnDraft): void {
  const { s } = t
  const typed = s.digits.length > 1 && s.digits.endsWith('#') ? s.digits.slice(0, -1) : s.digits
  s.digits = ''
  if (typed === '') {
    t.unexpected()
    return
  }
  hear(t, typed, [], true)
}

// ---- sound of the agent

function firstSample(t: TurnDraft, turn: number): void {
  const { s } = t
  const reply = s.reply
  if (reply?.id !== turn || reply.audible) {
    t.unexpected()
    return
  }
  t.reply({ audible: true })
  t.cancel(turn, 'floor')
  if (s.phase === 'thinking') s.phase = 'speaking'
  if (s.answering) {
    t.effects.push({ do: 'commitCaller', caller: s.answering, forModel: true }, { do: 'trace', turn })
    s.answering = null
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
  // An utterance in which nothing could be made audible has nothing to commit.
  t.effects.push(reply.audible ? { do: 'commitAgent', turn } : { do: 'drop', turn })
  t.effects.push({ do: 'cancelTimers', turn })
  s.reply = null
  if (s.answering) {
    t.effects.push({ do: 'commitCaller', caller: s.answering, forModel: true })
    s.answering = null
  }
  if (reply.why !== null) {
    if (reply.kind === 'last' || !t.policy.hangupLine) t.leave(reply.why)
    else t.end(reply.why)
    return
  }
  const caller = s.caller
  if (caller?.voiced) s.phase = 'callerSpeaking'
  else if (caller && caller.text !== '' && caller.owed === 0) t.answer()
  else t.listen()
}

// ---- timers

function timer(t: TurnDraft, input: TurnInput & { on: 'timer' }): void {
  const { s, policy } = t
  const { turn, name } = input
  if (turn === CALL) {
    if (name === 'digits') {
      digitsComplete(t)
      return
    }
    if (name === 'tail' && s.leaving !== null) {
      t.finish(s.leaving)
      return
    }
    if (name === 'limit' && s.phase !== 'ending') {
      t.end('max_duration')
      return
    }
    t.unexpected()
    return
  }
  if (turn === s.caller?.id) {
    if (name === 'final' && s.phase === 'waitingFinal') {
      t.settle(true)
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
    if (s.caller.owed === 0) s.caller = null
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
    case 'ending':
      t.finish(s.reply.why ?? 'provider_failure')
      return
    default:
      modelTimer(t, name)
      return
  }
}
