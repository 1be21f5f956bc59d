import type { AgentSpec, ChosenModel } from '../agent-spec.js'
import type { CircuitBreakers } from '../circuit-breaker.js'
import { ModelChain, type ModelChoice } from '../llm/model-chain.js'
import type { RecogniserChoice } from '../stt/stt-stream.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { Vendors } from '../vendor-ports.js'

/*
 * Opens the parts of a conversation that has one vendor each for STT, LLM and TTS. Throws EngineError
 * `config_invalid` when a named vendor is not configured.
 */

/** Returns the recognisers that take over when the agent's own fails. */
export function fallbackRecognisers(spec: AgentSpec, vendors: Vendors): readonly RecogniserChoice[] {
  return (spec.fallbacks?.speechToText ?? []).map((fallback) => ({
    ...fallback,
    recogniser: vendors.speechToText(fallback.vendor),
  }))
}

/** Returns the agent's models in the order in which they are asked. */
export function openModelChain(
  chosen: readonly [ChosenModel, ...ChosenModel[]],
  {
    vendors,
    breakers,
    turnContext,
  }: { readonly vendors: Vendors; readonly breakers: CircuitBreakers; readonly turnContext: TurnContext },
): ModelChain {
  const choice = (one: ChosenModel): ModelChoice => ({ ...one, vendor: vendors.languageModel(one.vendor) })
  const [own, ...fallbacks] = chosen
  return new ModelChain([choice(own), ...fallbacks.map(choice)], breakers, (who) => {
    const message = 'the model failed on recent turns'
    turnContext.emit({
      type: 'trouble',
      part: 'language_model',
      code: 'vendor_unreachable',
      message,
      ...who,
      atMs: turnContext.now(),
    })
  })
}
