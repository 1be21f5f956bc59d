/** Settings of Anthropic's Messages API, or of a server with the same protocol. */
export interface AnthropicSettings {
  /** Base URL, `https://api.anthropic.com`, without `/v1`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Upper bound of the tokens of one reply; the API requires one. */
  readonly maxTokens: number
  /** Time to the first token (ms) after which the request is repeated or another model asked. */
  readonly firstTokenMs?: number | undefined
  /** Fields added to every request. */
  readonly extra: Readonly<Record<string, unknown>>
}
