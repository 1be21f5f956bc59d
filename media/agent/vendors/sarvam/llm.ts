import type { Clock } from '../../../base/clock.js'
import type { Log } from '../../../base/log.js'
import type { LanguageModel } from '../../vendor-ports.js'
import { SARVAM } from '../catalogue.js'
import { openAiLanguageModel } from '../openai/llm.js'
import type { SarvamSettings } from './settings.js'

/** Sarvam's chat completions, on the host of its sockets. */
export function sarvamLanguageModel(
  settings: SarvamSettings,
  deps: { readonly clock: Clock; readonly log: Log },
): LanguageModel {
  const baseUrl = `${settings.baseUrl.replace(/^ws/, 'http')}/v1`
  // Unless told not to, it thinks for seconds before it answers.
  const extra = { reasoning_effort: null }
  return openAiLanguageModel({ baseUrl, apiKey: settings.apiKey }, deps, { id: SARVAM, extra })
}
