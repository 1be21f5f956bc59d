import type { TurnPolicy } from './turn-policy.js'

/* The caller's wait for tools: a filler phrase is due when the agent has been silent for a while. */

export interface ToolWait {
  /** The tools of the last answer are running. The model is asked again with their results. */
  readonly running: boolean
  /** Audio is being sent, or was given to synthesis and will follow. */
  readonly audioFlowing: boolean
  /** Filler phrases spoken during this wait. */
  readonly fillers: number
}

export const NO_TOOL_WAIT: ToolWait = { running: false, audioFlowing: false, fillers: 0 }

export type ToolWaitInput =
  /** The tools of an answer run. `waitedMs`: how long the caller has waited already. */
  | { readonly type: 'toolsRun'; readonly fillerSpoken: boolean; readonly waitedMs: number }
  /** Audio ended or goes on. `resultsGiven`: the model works on the results of earlier tools. */
  | { readonly type: 'audioFlow'; readonly flowing: boolean; readonly resultsGiven: boolean }
  /** A sentence was given to synthesis. `afterTools`: it belongs to the answer after the tools. */
  | { readonly type: 'sentence'; readonly afterTools: boolean }
  /** The timer fired. */
  | { readonly type: 'fillerDue'; readonly resultsGiven: boolean }
  /** The tools are done, or the answer called none. */
  | { readonly type: 'toolsDone' }

export interface ToolWaitStep {
  readonly next: ToolWait
  /** Starts the timer (ms) or cancels it. Null leaves it as it is. */
  readonly timer: number | 'cancel' | null
  readonly phrase: 'wait' | 'stillWaiting' | null
}

/** Returns the next state with its orders, or null for an unexpected input. */
export function stepToolWait(
  state: ToolWait,
  input: ToolWaitInput,
  policy: Pick<TurnPolicy, 'toolsFirstMs' | 'toolsLatestMs' | 'toolsAgainMs'>,
): ToolWaitStep | null {
  const to = (next: Partial<ToolWait>, timer: ToolWaitStep['timer'] = null): ToolWaitStep => ({
    next: { ...state, ...next },
    timer,
    phrase: null,
  })
  switch (input.type) {
    case 'toolsRun': {
      const { fillerSpoken, waitedMs } = input
      const next = {
        running: true,
        fillers: fillerSpoken ? 1 : 0,
        audioFlowing: state.audioFlowing || fillerSpoken,
      }
      // While words are or will be audible, the wait starts after them.
      if (next.audioFlowing) return to(next)
      // Otherwise it starts when the caller stopped, including the model's time.
      return to(next, Math.min(policy.toolsFirstMs, Math.max(0, policy.toolsLatestMs - waitedMs)))
    }
    case 'audioFlow': {
      const waits = !input.flowing && (state.running || input.resultsGiven)
      return to({ audioFlowing: input.flowing }, waits ? policy.toolsAgainMs : null)
    }
    case 'sentence':
      return to({ audioFlowing: true }, input.afterTools ? 'cancel' : null)
    case 'fillerDue':
      if ((!state.running && !input.resultsGiven) || state.audioFlowing) return null
      return {
        next: { ...state, fillers: state.fillers + 1, audioFlowing: true },
        timer: null,
        phrase: state.fillers === 0 ? 'wait' : 'stillWaiting',
      }
    case 'toolsDone':
      return to({ running: false })
  }
}
