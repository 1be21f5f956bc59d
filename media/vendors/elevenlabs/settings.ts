/** Settings of ElevenLabs in any region, or of a server with the same protocol. */
export interface ElevenLabsSettings {
  /**
   * Base URL, `wss://api.elevenlabs.io` or `wss://api.in.residency.elevenlabs.io` in India, without a
   * trailing slash.
   */
  readonly baseUrl: string
  readonly apiKey: string
  /** Voices of the account by the names that agents use. */
  readonly voices: readonly { readonly name: string; readonly id: string }[]
}
