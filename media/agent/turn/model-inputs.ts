import { stepToolWait, type ToolWaitInput } from './tool-wait.js'
import type { TurnDraft } from './turn-draft.js'
import type { Reply, TimerName } from './turn-types.js'

/*
 * The model's side of a reply: token deadlines, retries while nothing was spoken, apologies and giving up.
 * The caller of these functions has checked that the reply is current.
 */

export function modelToken(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  if (reply.lastTokenMs === null) {
    t.cancel(reply.id, 'modelFirst')
    t.timer(reply.id, 'modelStall', t.policy.modelStallMs)
  }
  // One timer serves all tokens. It checks this time when it fires.
  t.reply({ lastTokenMs: t.atMs })
}

/** Handles running tools. They have their own timeouts; the caller hears a filler phrase now and then. */
export function toolsRun(t: TurnDraft, fillerSpoken: boolean): void {
  cancelDeadlines(t)
  toolWait(t, { type: 'toolsRun', fillerSpoken, waitedMs: t.atMs - (t.s.answering?.endMs ?? t.atMs) })
}

export function audioFlow(t: TurnDraft, flowing: boolean): void {
  toolWait(t, { type: 'audioFlow', flowing, resultsGiven: resultsGiven(t.s.reply) })
}

/** Handles a sentence that was given to synthesis. */
export function sentence(t: TurnDraft, text: string): void {
  toolWait(t, { type: 'sentence', afterTools: (t.s.reply?.round ?? 0) > 0 })
  t.reply({ sentenceGiven: true, lastSentence: text })
}

/** Returns whether the model works on the results of earlier tools. */
function resultsGiven(reply: Reply | null): boolean {
  return reply?.modelBusy === true && reply.round > 0
}

function toolWait(t: TurnDraft, input: ToolWaitInput): void {
  const reply = t.s.reply
  if (!reply) return
  const step = stepToolWait(reply.tools, input, t.policy)
  if (step === null) {
    t.unexpected()
    return
  }
  t.reply({ tools: step.next })
  if (step.timer === 'cancel') t.cancel(reply.id, 'tools')
  else if (step.timer !== null) t.timer(reply.id, 'tools', step.timer)
  if (step.phrase !== null) t.effects.push({ type: 'sayPhrase', turn: reply.id, phrase: step.phrase })
}

export function modelDone(t: TurnDraft, next: 'nothing' | 'again' | 'end'): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply) return
  cancelDeadlines(t)
  t.reply({ modelBusy: false })
  toolWait(t, { type: 'toolsDone' })
  if (next === 'again') {
    // The model called tools although none were offered, so it will not stop by itself.
    if (reply.round >= policy.toolRounds) {
      t.reply({ modelBusy: true })
      modelFailed(t, 'vendor_failed', 'the model did not stop calling tools')
      return
    }
    t.reply({ round: reply.round + 1, attempt: 1, failedSinceMs: null })
    // The caller still waits, so the filler timer runs until the answer begins.
    t.ask()
    return
  }
  t.cancel(reply.id, 'tools')
  if (next === 'end') {
    if (!reply.sentenceGiven) {
      t.end('agent_hangup')
      return
    }
    t.reply({ finishReason: 'agent_hangup' })
  } else if (!reply.sentenceGiven) {
    t.reply({ modelBusy: true })
    modelFailed(t, 'vendor_failed', 'the model returned an empty answer')
    return
  }
  s.brokenReplies = 0
  t.effects.push({ type: 'finishSpeech', turn: reply.id })
}

export function modelFailed(t: TurnDraft, code: string, message: string): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply) return
  cancelDeadlines(t)
  t.cancel(reply.id, 'tools')
  // A retry cannot fix a rejection such as a wrong key or unknown model. Another model may help.
  const hopeless = code === 'vendor_rejected' && reply.attempt >= policy.models
  const failedSinceMs = reply.failedSinceMs ?? t.atMs
  // Three quick failures must not end a call, so the next attempts are spread over time.
  const withinWindow = t.atMs - failedSinceMs < policy.retryWindowMs && reply.round < policy.toolRounds
  const patient = withinWindow && reply.attempt < 2 * policy.modelAttempts
  const again = !reply.sentenceGiven && !hopeless && (reply.attempt < policy.modelAttempts || patient)
  t.effects.push(
    { type: 'cancelModel', turn: reply.id },
    { type: 'reportFailure', part: 'language_model', code, message, again },
  )
  // Sentences given to synthesis are spoken. The rest of the answer is lost.
  if (reply.sentenceGiven) {
    s.brokenReplies++
    if (s.brokenReplies >= policy.giveUpAfter * policy.models) {
      giveUp(t)
      return
    }
    t.reply({ modelBusy: false })
    t.effects.push(
      { type: 'sayPhrase', turn: reply.id, phrase: 'failure' },
      { type: 'finishSpeech', turn: reply.id },
    )
    return
  }
  if (!again) {
    giveUp(t)
    return
  }
  const waited = t.atMs - reply.askedAtMs
  const attempt = reply.attempt + 1
  t.reply({ attempt, failedSinceMs })
  if (!reply.apologised && (waited >= policy.apologiseAfterMs || attempt > 2)) apologise(t)
  if (attempt === 2) t.ask()
  else t.timer(reply.id, 'retry', policy.retryDelayMs * 2 ** (attempt - 3))
}

export function modelTimer(t: TurnDraft, name: TimerName): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply) return
  switch (name) {
    case 'modelFirst':
      if (!reply.modelBusy) {
        t.unexpected()
        return
      }
      firstTokenLate(t)
      return
    case 'modelStall': {
      if (!reply.modelBusy) {
        t.unexpected()
        return
      }
      const left = (reply.lastTokenMs ?? reply.askedAtMs) + policy.modelStallMs - t.atMs
      if (left > 1) {
        t.timer(reply.id, 'modelStall', left)
        return
      }
      modelFailed(t, 'vendor_stalled', 'the model stalled within its answer')
      return
    }
    case 'tools':
      toolWait(t, { type: 'fillerDue', resultsGiven: resultsGiven(reply) })
      return
    case 'retry':
      t.ask()
      return
    case 'agentSilence':
      agentSilent(t)
      return
    default:
      t.unexpected()
  }
}

/** Work without words extends the deadlines, not the wait for the filler. */
export function modelProgress(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  if (reply.lastTokenMs === null) t.reply({ progressMs: t.atMs })
  else t.reply({ lastTokenMs: t.atMs })
}

/** Returns when the first token is late for good: a model that shows its work has longer, within a bound. */
function firstTokenDueMs(
  { askedAtMs, progressMs }: { readonly askedAtMs: number; readonly progressMs: number | null },
  policy: TurnDraft['policy'],
): number {
  const dueMs = askedAtMs + policy.modelFirstTokenMs
  if (progressMs === null) return dueMs
  return Math.max(dueMs, Math.min(progressMs + policy.modelStallMs, askedAtMs + policy.modelProgressMs))
}

/** Handles a late first token: speaks a filler and waits for the rest of the deadline. */
function firstTokenLate(t: TurnDraft): void {
  const { policy } = t
  const reply = t.s.reply
  if (!reply) return
  const leftMs = firstTokenDueMs(reply, policy) - t.atMs
  if (leftMs <= 1) {
    modelFailed(t, 'vendor_stalled', 'the model sent no token in time')
    return
  }
  t.timer(reply.id, 'modelFirst', leftMs)
  // Waiting for tools has its own filler phrases.
  if (reply.apologised || reply.sentenceGiven || reply.tools.running || resultsGiven(reply)) return
  t.reply({ apologised: true })
  t.effects.push({ type: 'sayPhrase', turn: reply.id, phrase: 'wait' })
}

/** Handles an agent's turn without audio for too long. */
function agentSilent(t: TurnDraft): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply || reply.audible) {
    t.unexpected()
    return
  }
  t.reply({ silenceTimeouts: reply.silenceTimeouts + 1 })
  if (s.phase !== 'paused') {
    // The second time, not even the apology was audible, so synthesis has failed.
    if (reply.silenceTimeouts >= 1) {
      t.speechFailed()
      return
    }
    if (reply.modelBusy && !reply.tools.running && !reply.sentenceGiven && !reply.apologised) apologise(t)
  }
  t.timer(reply.id, 'agentSilence', policy.maxAgentSilenceMs)
}

function apologise(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  t.reply({ apologised: true })
  // Most of the wait was for more words of the caller, so the phrase does not mention a problem.
  const phrase = t.s.answering?.awaitingMore ? 'wait' : 'failure'
  t.effects.push({ type: 'sayPhrase', turn: reply.id, phrase })
}

/** Says goodbye after the words in progress, then ends the call. */
function giveUp(t: TurnDraft): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply) return
  if (s.phase === 'paused') t.resume()
  t.reply({ modelBusy: false, kind: 'last', interruptible: false, finishReason: 'provider_failure' })
  s.phase = 'ending'
  t.effects.push(
    { type: 'sayPhrase', turn: reply.id, phrase: 'goodbye' },
    { type: 'finishSpeech', turn: reply.id },
  )
  t.timer(reply.id, 'ending', policy.endingLimitMs)
}

function cancelDeadlines(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  t.cancel(reply.id, 'modelFirst')
  t.cancel(reply.id, 'modelStall')
}
