import type { TurnId } from '../conversation-events.js'
import { NO_TOOL_WAIT } from './tool-wait.js'
import type { CallerTurn, Reply, TurnState } from './turn-types.js'

/* Initial states of the machine, a caller's turn and a reply. */

export const initialTurnState: TurnState = {
  phase: 'opening',
  nextTurn: 1,
  caller: null,
  answering: null,
  reply: null,
  speculation: null,
  answeredBy: null,
  nudged: 0,
  digits: '',
  asked: '',
  digitsOnlySaid: false,
  brokenReplies: 0,
  recognitionFailures: 0,
  askedToRepeat: false,
  pauseMs: null,
  earlyAnswerPauseMs: 0,
  usedPartial: null,
  interruptedBySound: null,
  ignoreWordlessSound: false,
  callerConfirmedMs: 0,
  finishReason: null,
  announcement: null,
  optOutAsked: false,
  awayMs: 0,
  awaySinceMs: null,
  unexpected: 0,
  backchannelMs: 0,
}

export function initialCallerTurn(id: TurnId, startMs: number): CallerTurn {
  return {
    id,
    startMs,
    endMs: startMs,
    voiced: false,
    text: '',
    words: [],
    partial: '',
    pendingFinals: 0,
    finalBeforeEnd: false,
    awaitingMore: false,
    turnEstimate: null,
  }
}

/** Returns the fields that all new replies share. */
export function initialReply(
  id: TurnId,
  askedAtMs: number,
): Omit<Reply, 'kind' | 'interruptible' | 'modelBusy'> {
  return {
    id,
    opening: false,
    audible: false,
    sentenceGiven: false,
    lastSentence: '',
    pausedAtMs: null,
    askedAtMs,
    attempt: 1,
    failedSinceMs: null,
    round: 0,
    lastTokenMs: null,
    progressMs: null,
    apologised: false,
    tools: NO_TOOL_WAIT,
    silenceTimeouts: 0,
    finishReason: null,
  }
}
