import type { TurnDraft } from './turn-draft.js'
import type { Reply, TimerName } from './turn-types.js'

/*
 * The model's side of a reply: first token and stall deadlines, retries while nothing was spoken, the
 * spoken excuse, and giving up. The caller of these functions has checked that the reply is current.
 */

export function modelToken(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  if (reply.lastTokenMs === null) {
    t.cancel(reply.id, 'modelFirst')
    t.timer(reply.id, 'modelStall', t.policy.modelStallMs)
  }
  // A timer per token would be wasteful: the one that runs looks at this time when it fires.
  t.reply({ lastTokenMs: t.atMs })
}

/** The caller waits for other systems: they get the time they are allowed, he gets a word now and then. */
export function toolsRun(t: TurnDraft, bridged: boolean): void {
  const { policy } = t
  const reply = t.s.reply
  if (!reply) return
  cancelDeadlines(t)
  t.reply({ toolsRun: true, waits: bridged ? 1 : 0, flowing: reply.flowing || bridged })
  // While words are heard, or about to be, the wait begins after them.
  if (bridged || reply.flowing) return
  // Else it counts from when the caller stopped, whatever the model took of it.
  const waitedMs = t.atMs - (t.s.answering?.endMs ?? t.atMs)
  t.timer(reply.id, 'tools', Math.min(policy.toolsFirstMs, Math.max(0, policy.toolsLatestMs - waitedMs)))
}

/** Tools run, or their results were just given to the model. */
function waitsForTools(reply: Reply): boolean {
  return reply.toolsRun || (reply.modelBusy && reply.round > 0)
}

/** Where the agent's sound ends while tools run, the next words for the wait are due. */
export function audioFlow(t: TurnDraft, sounding: boolean): void {
  const reply = t.s.reply
  if (!reply) return
  t.reply({ flowing: sounding })
  if (!sounding && waitsForTools(reply)) t.timer(reply.id, 'tools', t.policy.toolsAgainMs)
}

/** A sentence of the answer goes to synthesis. */
export function sentence(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  if (reply.round > 0) t.cancel(reply.id, 'tools')
  t.reply({ sentenceGiven: true, flowing: true })
}

export function modelDone(t: TurnDraft, next: 'nothing' | 'again' | 'end'): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply) return
  cancelDeadlines(t)
  t.reply({ modelBusy: false, toolsRun: false })
  if (next === 'again') {
    // The model asked for tools in spite of not being offered any: it will not stop by itself.
    if (reply.round >= policy.toolRounds) {
      t.reply({ modelBusy: true })
      modelFailed(t, 'vendor_failed', 'the model did not stop calling tools')
      return
    }
    t.reply({ round: reply.round + 1, attempt: 1, failedSinceMs: null })
    // The caller still waits: words for that stay due until the answer begins.
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
    modelFailed(t, 'vendor_failed', 'the model answered nothing')
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
  // Asking again cannot help against a refusal (a wrong key, an unknown model); another model may.
  const hopeless = code === 'vendor_rejected' && reply.attempt >= policy.models
  const failedSinceMs = reply.failedSinceMs ?? t.atMs
  // Three refusals within a moment are no reason to end a call: the next tries are spread.
  const early = t.atMs - failedSinceMs < policy.retryWindowMs && reply.round < policy.toolRounds
  const patient = early && reply.attempt < 2 * policy.modelAttempts
  const again = !reply.sentenceGiven && !hopeless && (reply.attempt < policy.modelAttempts || patient)
  t.effects.push(
    { type: 'cancelModel', turn: reply.id },
    { type: 'trouble', part: 'language_model', code, message, again },
  )
  // What was already given to synthesis is said; the rest of the answer is lost.
  if (reply.sentenceGiven) {
    s.brokenReplies++
    if (s.brokenReplies >= policy.giveUpAfter * policy.models) {
      giveUp(t)
      return
    }
    t.reply({ modelBusy: false })
    t.effects.push(
      { type: 'say', turn: reply.id, phrase: 'trouble' },
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
      slow(t)
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
      modelFailed(t, 'vendor_stalled', 'the model stopped in the middle of its answer')
      return
    }
    case 'tools': {
      if (!waitsForTools(reply) || reply.flowing) {
        t.unexpected()
        return
      }
      t.reply({ waits: reply.waits + 1, flowing: true })
      t.effects.push({ type: 'say', turn: reply.id, phrase: reply.waits === 0 ? 'wait' : 'stillWaiting' })
      return
    }
    case 'retry':
      t.ask()
      return
    case 'floor':
      agentSilent(t)
      return
    default:
      t.unexpected()
  }
}

/** No token yet: the caller gets a word, and the model what is left of its time. */
function slow(t: TurnDraft): void {
  const { policy } = t
  const reply = t.s.reply
  if (!reply) return
  const leftMs = reply.askedAtMs + policy.modelFirstTokenMs - t.atMs
  if (leftMs <= 1) {
    modelFailed(t, 'vendor_stalled', 'the model did not begin to answer in time')
    return
  }
  t.timer(reply.id, 'modelFirst', leftMs)
  // Tools have words of their own for the wait.
  if (reply.apologised || reply.sentenceGiven || waitsForTools(reply)) return
  t.reply({ apologised: true })
  t.effects.push({ type: 'say', turn: reply.id, phrase: 'wait' })
}

/** The agent has the floor and nothing of it was heard for too long. */
function agentSilent(t: TurnDraft): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply || reply.audible) {
    t.unexpected()
    return
  }
  t.reply({ silenceTimeouts: reply.silenceTimeouts + 1 })
  if (s.phase !== 'paused') {
    // The second time even the excuse was not heard: synthesis is gone.
    if (reply.silenceTimeouts >= 1) {
      t.finish(reply.finishReason ?? 'provider_failure')
      return
    }
    if (reply.modelBusy && !reply.toolsRun && !reply.sentenceGiven && !reply.apologised) apologise(t)
  }
  t.timer(reply.id, 'floor', policy.maxAgentSilenceMs)
}

function apologise(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  t.reply({ apologised: true })
  // Who was waited for himself is not told of trouble: most of the time was his.
  const line = t.s.answering?.awaitingMore ? 'wait' : 'trouble'
  t.effects.push({ type: 'say', turn: reply.id, phrase: line })
}

/** Says goodbye after whatever is still being said, and ends the call. */
function giveUp(t: TurnDraft): void {
  const { s, policy } = t
  const reply = s.reply
  if (!reply) return
  if (s.phase === 'paused') t.resume()
  t.reply({ modelBusy: false, kind: 'last', interruptible: false, finishReason: 'provider_failure' })
  s.phase = 'ending'
  t.effects.push({ type: 'say', turn: reply.id, phrase: 'goodbye' }, { type: 'finishSpeech', turn: reply.id })
  t.timer(reply.id, 'ending', policy.endingLimitMs)
}

function cancelDeadlines(t: TurnDraft): void {
  const reply = t.s.reply
  if (!reply) return
  t.cancel(reply.id, 'modelFirst')
  t.cancel(reply.id, 'modelStall')
}
