/** Settings of Google's Gemini API. */
export interface GeminiSettings {
  /** Base URL, `wss://generativelanguage.googleapis.com`, without a trailing slash. */
  readonly baseUrl: string
  /** Never logged; the vendor takes it in the address of the socket. */
  readonly apiKey: string
  /** Speech-to-speech models; the first one is the default. */
  readonly models: readonly string[]
}
