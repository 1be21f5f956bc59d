/** Settings of Soniox, or of a server with the same protocol. */
export interface SonioxSettings {
  /** Base URL, `wss://stt-rt.soniox.com`, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
}
