/** Deepgram, or a server that speaks its protocol. */
export interface DeepgramSettings {
  /** `wss://api.deepgram.com`, `wss://api.in.deepgram.com` in India; no slash at the end. */
  readonly baseUrl: string
  readonly apiKey: string
}
