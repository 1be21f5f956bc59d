/* Ids that code outside the vendors' folders refers to. */

/** The vendor that needs no account: eSpeak NG, and the rules and recogniser of the sandbox. */
export const EMBEDDED = 'embedded'
export const OPENAI = 'openai'
/** Speech-to-speech models; an agent uses the same model as LLM, STT and TTS. */
export const OPENAI_REALTIME = 'openai-realtime'
export const GEMINI_LIVE = 'gemini-live'

/** Tells whether the models of a vendor are LLM, STT and TTS in one. */
export function isSpeechToSpeech(vendor: string): boolean {
  return vendor === OPENAI_REALTIME || vendor === GEMINI_LIVE
}

/** Models of the embedded vendor, which a fresh installation uses. */
export const EMBEDDED_LANGUAGE_MODEL = 'parley-rules-1'
export const EMBEDDED_RECOGNITION_MODEL = 'parley-sandbox'
export const EMBEDDED_SPEECH_MODEL = 'espeak-ng'
export const EMBEDDED_VOICE = 'asha'
