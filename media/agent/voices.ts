import type { Vendors } from './ports.js'
import type { AgentSpec } from './spec.js'
import type { VoiceChoice } from './synthesis.js'
import { EMBEDDED, EMBEDDED_VOICE } from './vendors/catalogue.js'

/** The agent's voice, then the embedded one, which needs no network. */
export function voicesFor(spec: AgentSpec, vendors: Vendors): readonly VoiceChoice[] {
  const { vendor, voice, model, pace } = spec.textToSpeech
  const own: VoiceChoice = { tts: vendors.textToSpeech(vendor), voice, model, pace }
  if (vendor === EMBEDDED) return [own]
  return [own, { tts: vendors.textToSpeech(EMBEDDED), voice: EMBEDDED_VOICE, model: null, pace: 1 }]
}
