import { ESPEAK_VOICES } from '../../vendors/espeak/voices.js'
import { EMBEDDED, EMBEDDED_VOICE, isSpeechToSpeech } from '../../vendors/vendor-ids.js'
import type { VoiceSpec } from '../agent-spec.js'
import type { Vendors } from '../vendor-ports.js'
import type { VoiceChoice } from './synthesis.js'

/** Returns the agent's voice, its fallbacks, and last the embedded voice, which needs no network. */
export function voicesFor(spec: VoiceSpec, vendors: Vendors): readonly VoiceChoice[] {
  const { vendor, voice, model, pace, languages } = spec.textToSpeech
  const tts = vendors.textToSpeech(vendor)
  const own: VoiceChoice = { tts, voice, model, pace, ...(languages ? { languages } : {}) }
  return vendor === EMBEDDED ? [own] : [own, ...fallbackVoices(spec, vendors)]
}

/** Returns the voices for texts outside of a conversation. A speech-to-speech model cannot read them aloud. */
export function announcerVoices(spec: VoiceSpec, vendors: Vendors): readonly VoiceChoice[] {
  return isSpeechToSpeech(spec.textToSpeech.vendor) ? fallbackVoices(spec, vendors) : voicesFor(spec, vendors)
}

/** Returns the fallbacks of the agent's voice, the embedded voice last. */
export function fallbackVoices(spec: VoiceSpec, vendors: Vendors): readonly VoiceChoice[] {
  const fallbacks = (spec.fallbacks?.textToSpeech ?? []).map((fallback) => ({
    ...fallback,
    tts: vendors.textToSpeech(fallback.vendor),
  }))
  const embedded = vendors.textToSpeech(EMBEDDED)
  return [...fallbacks, { tts: embedded, voice: embeddedVoice(spec), model: null, pace: 1, embedded: true }]
}

/** Returns an embedded voice of the same gender as the agent's voice, if that is known. */
function embeddedVoice({ textToSpeech: { gender } }: VoiceSpec): string {
  return ESPEAK_VOICES.find((voice) => voice.gender === gender)?.voice ?? EMBEDDED_VOICE
}
