import type { Clock } from '../../base/clock.js'
import type { AgentSpec, ChosenModel } from '../agent-spec.js'
import { circuitBreakersOf } from '../circuit-breaker.js'
import { ModelChain, type ModelChoice } from '../llm/model-chain.js'
import type { RecogniserChoice } from '../stt/stt-failover.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { Vendors } from '../vendor-ports.js'

/*
 * The parts of a conversation with a vendor for each: recogniser, language model, synthesis. Throws
 * EngineError `config_invalid` when one that is named is not configured.
 */

/** Those that go on when the agent's own recogniser fails. */
export function fallbackRecognisers(spec: AgentSpec, vendors: Vendors): readonly RecogniserChoice[] {
  return (spec.fallbacks?.speechToText ?? []).map((spare) => ({
    ...spare,
    recogniser: vendors.speechToText(spare.vendor),
  }))
}

/** Models in the order in which they are asked. */
export function openModelChain(
  chosen: readonly [ChosenModel, ...ChosenModel[]],
  {
    vendors,
    clock,
    floor,
  }: { readonly vendors: Vendors; readonly clock: Clock; readonly floor: TurnContext },
): ModelChain {
  const choice = (one: ChosenModel): ModelChoice => ({ ...one, vendor: vendors.languageModel(one.vendor) })
  const [own, ...spares] = chosen
  return new ModelChain([choice(own), ...spares.map(choice)], circuitBreakersOf(vendors, clock), (who) => {
    const message = 'the model failed on other turns just now'
    floor.emit({
      type: 'trouble',
      part: 'language_model',
      code: 'vendor_unreachable',
      message,
      ...who,
      atMs: floor.now(),
    })
  })
}
