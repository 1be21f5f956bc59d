import type { TurnId } from '../conversation-events.js'
import { spokenForm } from '../language/spoken-form.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { ToolCall } from '../vendor-ports.js'
import { fillerOf } from './tool-calls.js'
import type { ToolRounds } from './tool-rounds.js'

/** What an answer of a model leads to. */
export interface ModelAnswer {
  readonly turn: TurnId
  readonly text: string
  readonly calls: readonly ToolCall[]
}

/** A model has answered: its tools run, with words for the wait, and the turn machine hears what is next. */
export function runAnswerTools(
  { turn, text, calls }: ModelAnswer,
  { floor, voice, tools }: { readonly floor: TurnContext; readonly voice: AgentSpeech; readonly tools: ToolRounds },
): void {
  try {
    const pending = tools.run(text, calls, (next) =>
      floor.feed({ type: 'modelDone', turn, next, atMs: floor.now() }),
    )
    if (pending === null) return
    const language = floor.language.current
    const filler = fillerOf(pending, language)
    floor.feed({ type: 'toolsRun', turn, fillerSpoken: filler !== null, atMs: floor.now() })
    if (filler !== null) voice.say(turn, spokenForm(filler, language), language)
  } catch (error) {
    floor.failed(error)
  }
}
