import type { LanguageModel } from '../../agent/vendor-ports.js'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { openAiLanguageModel } from '../openai/llm.js'
import type { SarvamSettings } from './settings.js'

/**
 * Opens Sarvam's chat completions, on the same host as its WebSockets.
 * https://docs.sarvam.ai/api-reference-docs/chat/chat-completions
 */
export function sarvamLanguageModel(
  settings: SarvamSettings,
  deps: { readonly clock: Clock; readonly log: Log },
): LanguageModel {
  const baseUrl = `${settings.baseUrl.replace(/^ws/, 'http')}/v1`
  // Reasoning takes seconds and is on by default.
  const extra = { reasoning_effort: null }
  return openAiLanguageModel({ baseUrl, apiKey: settings.apiKey }, deps, { id: 'sarvam', extra })
}
