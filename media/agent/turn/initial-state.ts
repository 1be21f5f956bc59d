import type { TurnId } from '../conversation-events.js'
import type { CallerTurn, Reply, TurnState } from './turn-types.js'

/* What the turn machine begins with: a call, a turn of the caller, a reply. */

export const initialTurnState: TurnState = {
  phase: 'opening',
  nextTurn: 1,
  caller: null,
  answering: null,
  reply: null,
  speculation: null,
  nudged: 0,
  digits: '',
  digitsOnlySaid: false,
  brokenReplies: 0,
  deafness: 0,
  repeated: false,
  pauseMs: null,
  cutMs: 0,
  usedPartial: null,
  cutBySound: null,
  soundMistrusted: false,
  callerProvedMs: 0,
  leaving: null,
  unexpected: 0,
}

export function beginningOfCaller(id: TurnId, startMs: number): CallerTurn {
  return {
    id,
    startMs,
    endMs: startMs,
    voiced: false,
    text: '',
    words: [],
    partial: '',
    owed: 0,
    early: false,
    held: false,
    judged: null,
  }
}

/** What is the same of all replies. */
export function beginningOfReply(
  id: TurnId,
  askedAtMs: number,
): Omit<Reply, 'kind' | 'interruptible' | 'modelBusy'> {
  return {
    id,
    opening: false,
    audible: false,
    said: false,
    pausedAtMs: null,
    askedAtMs,
    attempt: 1,
    failedSinceMs: null,
    round: 0,
    lastTokenMs: null,
    apologised: false,
    toolsRun: false,
    sounding: false,
    waits: 0,
    stalls: 0,
    why: null,
  }
}
