/** Settings of Sarvam's endpoints, or of a server with the same protocol. */
export interface SarvamSettings {
  /** Base URL, `wss://api.sarvam.ai`, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Name of the language field in the TTS configuration; the vendor's own clients disagree. */
  readonly languageField: 'target_language_code' | 'language_code'
}
