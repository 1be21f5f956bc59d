import type { TurnPolicy } from './turn-policy.js'
import type { CallerTurn, TurnState } from './turn-types.js'

/**
 * Returns the wait (ms) from the caller's last sound to the answer. It depends on the completeness of the
 * words as an answer to the question, on this caller's usual pauses and on the turn detector.
 */
export function endpointingDelayMs(
  { endMs, turnEstimate }: Pick<CallerTurn, 'endMs' | 'turnEstimate'>,
  text: string,
  { earlyAnswerPauseMs, pauseMs, asked }: Pick<TurnState, 'earlyAnswerPauseMs' | 'pauseMs' | 'asked'>,
  policy: Pick<TurnPolicy, 'openness' | 'waitMs'>,
): number {
  const openness = policy.openness(text, asked)
  const { ifFinished, usual, maxFromPauses, ifContinuing } = policy.waitMs[openness]
  const callerMs = openness === 'closed' ? earlyAnswerPauseMs : (pauseMs ?? 0) * 1.5
  const waitMs = Math.min(maxFromPauses, Math.max(usual, callerMs))
  // An estimate for an earlier pause does not apply to this one.
  if (turnEstimate === null || turnEstimate.endMs !== endMs) return waitMs
  const bias = 2 * turnEstimate.probability - 1
  return bias > 0
    ? waitMs + bias * (Math.min(ifFinished, waitMs) - waitMs)
    : waitMs - bias * (Math.max(ifContinuing, waitMs) - waitMs)
}
