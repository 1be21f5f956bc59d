import type { TimedWord } from '../agent-spec.js'
import { remainder } from '../language/plain-words.js'
import { join } from './step-draft.js'
import type { TurnDraft } from './turn-draft.js'
import type { TurnPolicy } from './turn-policy.js'
import { CALL, type TurnInput, type TurnState } from './turn-types.js'

/* The caller's side of the turn machine: sound, words and keys. Their meaning depends on whose turn it is. */

export function onset(t: TurnDraft, fromMs: number): void {
  const { s } = t
  t.speculation('drop')
  const begin = () => {
    // From here on, a final text belongs to the new utterance.
    s.usedPartial = null
    if (!s.caller) t.newCaller(fromMs)
    else if (s.caller.text === '' && s.phase !== 'waitingFinal') t.caller({ startMs: fromMs })
    // After lasting silence, a final text for an earlier sound is not worth waiting for.
    if (s.phase === 'listening') t.caller({ pendingFinals: 0 })
    t.caller({ voiced: true, endMs: fromMs, finalBeforeEnd: false })
  }
  switch (s.phase) {
    case 'listening':
    case 'waitingFinal':
      if (s.caller?.awaitingMore) t.pausedFor(fromMs - s.caller.endMs)
      // Flickering sound counts as one sound until words arrive.
      if (s.phase === 'listening') s.callerConfirmedMs = t.atMs
      begin()
      if (s.caller) t.effects.push({ type: 'cancelTimers', turn: s.caller.id })
      t.callerSpeaks()
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

export function confirmationMs(s: TurnState, policy: TurnPolicy): number {
  if (s.ignoreWordlessSound) return Number.POSITIVE_INFINITY
  const text = s.caller?.partial ?? ''
  const agreeing = text !== '' && policy.isBackchannel(text, s.reply?.opening ?? false)
  return agreeing ? policy.confirmBackchannelMs : policy.confirmSpeechMs
}

export function voiceEndsPause(s: TurnState, voicedMs: number, quietMs: number, policy: TurnPolicy): boolean {
  if (s.phase !== 'paused') return false
  return (
    quietMs >= policy.resumeAfterMs ||
    (voicedMs >= policy.confirmSpeechMs && voicedMs >= confirmationMs(s, policy))
  )
}

export function offset(t: TurnDraft, lastVoicedMs: number): void {
  const { s } = t
  const caller = s.caller
  if (!caller?.voiced) {
    t.unexpected()
    return
  }
  const done = caller.finalBeforeEnd && caller.partial === ''
  t.caller({
    voiced: false,
    finalBeforeEnd: false,
    endMs: Math.max(caller.endMs, lastVoicedMs),
    pendingFinals: done ? caller.pendingFinals : caller.pendingFinals + 1,
  })
  if (s.phase === 'callerSpeaking') {
    t.cancel(caller.id, 'wordless')
    t.awaitFinal()
    return
  }
  // These words arrived during the sound.
  if (caller.text !== '' && done) {
    bargeInOrAside(t)
    return
  }
  if (s.phase === 'paused' && s.reply) {
    t.timer(s.reply.id, 'resume', lastVoicedMs + t.policy.resumeAfterMs - t.atMs)
  }
}

/** Handles an estimate of the turn detector. It is late when the turn was decided or the pause is over. */
export function turnEstimated(t: TurnDraft, lastVoicedMs: number, probability: number): void {
  const { s } = t
  const caller = s.caller
  const waiting = s.phase === 'callerSpeaking' || s.phase === 'waitingFinal'
  if (!caller || !waiting || lastVoicedMs < caller.endMs) {
    t.unexpected()
    return
  }
  t.caller({ turnEstimate: { endMs: lastVoicedMs, probability } })
  if (s.phase === 'waitingFinal' && caller.awaitingMore && caller.pendingFinals === 0) t.endCallerTurn(false)
}

export function partial(t: TurnDraft, text: string): void {
  const { s } = t
  if (!s.caller) {
    t.unexpected()
    return
  }
  t.caller({ partial: text.trim() })
  if (text.trim() !== '') t.callerConfirmed()
  // Words confirm a barge-in. A partial without sound of its own belongs to an earlier utterance.
  if (s.phase === 'paused' && text.trim() !== '' && !isAside(t, text)) t.confirm('words')
}

export function final(t: TurnDraft, input: TurnInput & { type: 'final' }): void {
  const { s } = t
  s.recognitionFailures = 0
  s.askedToRepeat = false
  const late = s.usedPartial
  s.usedPartial = null
  const text = late === null ? input.text.trim() : remainder(late, input.text.trim())
  wordsReceived(t, text, late === null ? (input.words ?? []) : [], false)
}

/** Handles complete words of the caller, spoken or keyed. */
function wordsReceived(t: TurnDraft, text: string, words: readonly TimedWord[], keyed: boolean): void {
  const { s } = t
  if (!s.caller) {
    if (text === '') return
    // Words without a sound of their own are the late rest of the answered turn.
    const spokenMs = keyed ? t.atMs : (s.answering?.endMs ?? t.atMs)
    t.newCaller(words[0]?.startMs ?? spokenMs)
    t.caller({ endMs: words.at(-1)?.endMs ?? spokenMs })
  }
  const caller = s.caller
  if (!caller) return
  if (text !== '') t.callerConfirmed()
  t.caller({ text: join(caller.text, text) })
  if (keyed) {
    if (!caller.voiced) t.caller({ endMs: t.atMs })
  } else {
    t.caller({
      words: words.length > 0 ? [...caller.words, ...words] : caller.words,
      partial: '',
      pendingFinals: Math.max(0, caller.pendingFinals - 1),
      finalBeforeEnd: caller.pendingFinals === 0 && caller.voiced,
    })
  }
  switch (s.phase) {
    case 'listening':
      if (text === '' || s.digits !== '') return
      // Keyed input is complete. Words may be incomplete.
      if (keyed) t.answer()
      else t.endCallerTurn(false)
      return
    case 'callerSpeaking':
      // The recogniser detected the end before the VAD.
      if (s.caller?.finalBeforeEnd) {
        t.speculation('consider')
        t.callerSpeaks()
      }
      return
    case 'waitingFinal':
      if (s.caller?.pendingFinals === 0) t.endCallerTurn(false)
      return
    default:
      if (keyed && s.phase !== 'ending') t.confirm('words')
      else bargeInOrAside(t)
  }
}

/** Decides whether complete words during the agent's turn are a barge-in or an aside. */
function bargeInOrAside(t: TurnDraft): void {
  const { s } = t
  const caller = s.caller
  if (!caller) return
  if (caller.text === '') {
    if (s.phase === 'paused' && !caller.voiced && caller.pendingFinals === 0) t.resume()
  } else if (s.phase !== 'ending' && s.reply?.interruptible && !isAside(t, caller.text)) {
    t.confirm('words')
  } else if (keptForLater(t, caller.text)) {
    // These words are answered after the opening line.
    return
  } else if (!caller.voiced) {
    t.aside()
    if (s.phase === 'paused') t.resume()
  }
}

/** Tells whether words over a protected opening line are a turn of the caller, not only a backchannel. */
function keptForLater(t: TurnDraft, text: string): boolean {
  const reply = t.s.reply
  return reply?.opening === true && !reply.interruptible && !isAside(t, text)
}

function isAside(t: TurnDraft, text: string): boolean {
  // Before the agent is audible, "yes" belongs to what the caller just said.
  const reply = t.s.reply
  return reply?.audible === true && t.policy.isBackchannel(text, reply.opening)
}

/** Handles a failed recogniser: reopens it until it has failed too often. */
export function recognitionFailed(t: TurnDraft, code: string, message: string): void {
  const { s, policy } = t
  t.effects.push({ type: 'reportFailure', part: 'speech_to_text', code, message })
  s.recognitionFailures++
  if (s.phase === 'ending') return
  if (s.recognitionFailures > policy.giveUpAfter) {
    t.end('provider_failure')
    return
  }
  t.effects.push({ type: 'reopenRecogniser' })
  t.caller({ pendingFinals: 0 })
  if (s.phase !== 'waitingFinal') return
  if (join(s.caller?.text ?? '', s.caller?.partial ?? '') !== '') {
    t.endCallerTurn(true)
    return
  }
  t.effects.push({ type: 'cancelTimers', turn: s.caller?.id ?? CALL })
  s.caller = null
  t.askToRepeat()
}

export function digit(t: TurnDraft, pressed: string): void {
  const { s } = t
  if (s.phase === 'ending') return
  if (s.phase === 'listening' && s.digits === '' && s.caller?.text === '') t.caller({ startMs: t.atMs })
  s.digits += pressed
  const agentHasFloor = s.phase === 'thinking' || s.phase === 'speaking' || s.phase === 'paused'
  if (agentHasFloor && s.reply?.interruptible) {
    // A pressed key is always intended, so the agent stops at once.
    t.callerConfirmed()
    t.stopAgent()
    if (s.caller?.voiced) t.callerSpeaks()
    else {
      s.phase = 'listening'
      if (!s.caller) t.newCaller(t.atMs)
    }
  } else if (s.phase === 'listening' && s.caller) t.cancel(s.caller.id, 'nudge')
  if (pressed === '#') {
    t.cancel(CALL, 'digits')
    digitsComplete(t)
    return
  }
  const { awaitsKeys, digitsIdleMs, digitsPartMs } = t.policy
  t.timer(CALL, 'digits', awaitsKeys(s.digits, s.asked) ? digitsPartMs : digitsIdleMs)
}

export function digitsComplete(t: TurnDraft): void {
  const { s } = t
  const typed = s.digits.length > 1 && s.digits.endsWith('#') ? s.digits.slice(0, -1) : s.digits
  s.digits = ''
  if (typed === '') {
    t.unexpected()
    return
  }
  if (typed === t.policy.optOut?.key && t.keyedOptOut(typed)) return
  wordsReceived(t, typed, [], true)
}
