/** Settings of Azure Speech, or of a Speech container with the same protocol. */
export interface AzureSettings {
  /** URL of the region, `wss://centralindia.stt.speech.microsoft.com`, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
  /** URL of the voices, `https://centralindia.tts.speech.microsoft.com`. */
  readonly speechUrl: string
}
