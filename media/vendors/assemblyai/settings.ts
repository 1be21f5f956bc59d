/** Settings of AssemblyAI, or of a server with the same protocol. */
export interface AssemblyAiSettings {
  /** Base URL, `wss://streaming.assemblyai.com`, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
}
