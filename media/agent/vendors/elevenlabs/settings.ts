/** ElevenLabs, any of its regions, or a server that speaks its protocol. */
export interface ElevenLabsSettings {
  /** `wss://api.elevenlabs.io`, `wss://api.in.residency.elevenlabs.io` in India; no slash at the end. */
  readonly baseUrl: string
  readonly apiKey: string
  /** The account's voices as agents name them. */
  readonly voices: readonly { readonly name: string; readonly id: string }[]
}
