import type { AgentSpec } from '../agent-spec.js'
import type { Vendors } from '../vendor-ports.js'
import { EMBEDDED, EMBEDDED_VOICE } from '../vendors/catalogue.js'
import { ESPEAK_VOICES } from '../vendors/espeak/voices.js'
import type { VoiceChoice } from './synthesis.js'

/** The agent's voice, those that stand in for it, then the embedded one, which needs no network. */
export function voicesFor(spec: AgentSpec, vendors: Vendors): readonly VoiceChoice[] {
  const { vendor, voice, model, pace, languages } = spec.textToSpeech
  const tts = vendors.textToSpeech(vendor)
  const own: VoiceChoice = { tts, voice, model, pace, ...(languages ? { languages } : {}) }
  return vendor === EMBEDDED ? [own] : [own, ...fallbackVoices(spec, vendors)]
}

/** Those that stand in for the agent's voice, the embedded one last. */
export function fallbackVoices(spec: AgentSpec, vendors: Vendors): readonly VoiceChoice[] {
  const spares = (spec.fallbacks?.textToSpeech ?? []).map((spare) => ({
    ...spare,
    tts: vendors.textToSpeech(spare.vendor),
  }))
  const embedded = vendors.textToSpeech(EMBEDDED)
  return [...spares, { tts: embedded, voice: embeddedVoice(spec), model: null, pace: 1, embedded: true }]
}

/** Of the gender that the agent's voice is known to have. */
function embeddedVoice({ textToSpeech: { gender } }: AgentSpec): string {
  return ESPEAK_VOICES.find((voice) => voice.gender === gender)?.voice ?? EMBEDDED_VOICE
}
