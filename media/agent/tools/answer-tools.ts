import type { AgentVoice } from './agent-voice.js'
import type { TurnId } from './events.js'
import type { Floor } from './floor.js'
import type { ToolCall } from './ports.js'
import { spokenForm } from './spoken-form.js'
import type { ToolRounds } from './tool-rounds.js'
import { fillerOf } from './tools.js'

/** What an answer of a model leads to. */
export interface ModelAnswer {
  readonly turn: TurnId
  readonly text: string
  readonly calls: readonly ToolCall[]
}

/** A model has answered: its tools run, with words for the wait, and the turn machine hears what is next. */
export function runAnswer(
  { turn, text, calls }: ModelAnswer,
  { floor, voice, tools }: { readonly floor: Floor; readonly voice: AgentVoice; readonly tools: ToolRounds },
): void {
  try {
    const pending = tools.run(text, calls, (next) =>
      floor.feed({ on: 'modelDone', turn, next, at: floor.now() }),
    )
    if (pending === null) return
    const language = floor.language.current
    const filler = fillerOf(pending, language)
    floor.feed({ on: 'toolsRun', turn, bridged: filler !== null, at: floor.now() })
    if (filler !== null) voice.say(turn, spokenForm(filler, language), language)
  } catch (error) {
    floor.failed(error)
  }
}
