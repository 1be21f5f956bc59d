import type { LanguageModel } from '../../agent/vendor-ports.js'
import { openAiLanguageModel } from '../openai/llm.js'
import type { VendorDeps } from '../vendor-module.js'
import type { SarvamSettings } from './settings.js'

/**
 * Opens Sarvam's chat completions, on the same host as its WebSockets.
 * https://docs.sarvam.ai/api-reference-docs/chat/chat-completions
 */
export function sarvamLanguageModel(
  settings: SarvamSettings,
  deps: Pick<VendorDeps, 'clock' | 'log' | 'connections' | 'manners'>,
): LanguageModel {
  const baseUrl = `${settings.baseUrl.replace(/^ws/, 'http')}/v1`
  // Reasoning takes seconds and is on by default.
  const extra = { reasoning_effort: null }
  return openAiLanguageModel({ baseUrl, apiKey: settings.apiKey }, deps, { id: 'sarvam', extra })
}
