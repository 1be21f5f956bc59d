/** Settings of Deepgram, or of a server with the same protocol. */
export interface DeepgramSettings {
  /** Base URL, `wss://api.deepgram.com` or `wss://api.in.deepgram.com` in India, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
}
