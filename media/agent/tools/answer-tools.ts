import type { TurnId } from '../conversation-events.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { ToolCall } from '../vendor-ports.js'
import { fillerOf } from './tool-calls.js'
import type { ToolRounds } from './tool-rounds.js'

/** An answer of a model with its tool calls. */
export interface ModelAnswer {
  readonly turn: TurnId
  readonly text: string
  readonly calls: readonly ToolCall[]
}

/** Runs the tools of an answer, speaks a filler, and feeds the turn machine with the next step. */
export function runAnswerTools(
  { turn, text, calls }: ModelAnswer,
  {
    turnContext,
    speech,
    tools,
  }: { readonly turnContext: TurnContext; readonly speech: AgentSpeech; readonly tools: ToolRounds },
): void {
  try {
    let withdrawFiller = (): void => {}
    const pending = tools.run(text, calls, (next) => {
      // A filler that waits behind other text is out of place once the results are there.
      withdrawFiller()
      turnContext.feed({ type: 'modelDone', turn, next, atMs: turnContext.now() })
    })
    if (pending === null) return
    const language = turnContext.language.current
    const filler = fillerOf(pending, language)
    turnContext.feed({ type: 'toolsRun', turn, fillerSpoken: filler !== null, atMs: turnContext.now() })
    if (filler !== null) withdrawFiller = speech.say(turn, filler, language)
  } catch (error) {
    turnContext.failed(error)
  }
}
