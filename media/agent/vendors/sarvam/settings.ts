/** Sarvam's speech endpoints, or a server that speaks their protocol. */
export interface SarvamSettings {
  /** `wss://api.sarvam.ai`; no slash at the end. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Name of the language field of the synthesis configuration; the vendor's clients disagree. */
  readonly languageField: 'target_language_code' | 'language_code'
}
