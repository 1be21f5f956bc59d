/** Settings of Cartesia, or of a server with the same protocol. */
export interface CartesiaSettings {
  /** Base URL, for example `wss://api.cartesia.ai`, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
  /** API version, a date in the vendor's notation. */
  readonly version: string
  /** Voices by the names that agents use. */
  readonly voices: readonly { readonly name: string; readonly id: string }[]
}
