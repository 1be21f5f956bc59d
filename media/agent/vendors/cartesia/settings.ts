/** Cartesia, or a server that speaks its protocol. */
export interface CartesiaSettings {
  /** `wss://api.cartesia.ai`; no slash at the end. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Date of the API version, as the vendor writes it. */
  readonly version: string
  /** Voices as agents name them. */
  readonly voices: readonly { readonly name: string; readonly id: string }[]
}
