import type { Deps } from './deps.js'

/** A request that another service has signed. */
export interface SignedRequest {
  readonly method: string
  /** Address that the sender called, with the query. */
  readonly url: string
  readonly header: (name: string) => string | undefined
  /** The bytes as they arrived. */
  readonly body: Buffer
}

export interface ValidSignature {
  /** Text that only a repetition of this request has again: its signature, its nonce, or the id of its event. */
  readonly key: string
  /** Time of signing (Unix ms). Null if the scheme has none. Then only `key` protects against replay. */
  readonly signedAt: number | null
}

/** How another service signs its requests. */
export interface SignatureScheme {
  /**
   * Treatment of an authentic request that was accepted before. `refuse`: 401. `pass`: the handler runs with
   * `actor.repeated`. Payment gateways repeat events until they get a 2xx response.
   */
  readonly repeats: 'refuse' | 'pass'
  /** Returns null if the signature is missing or wrong. The caller checks time and replay. */
  verify(request: SignedRequest, deps: Deps): ValidSignature | null | Promise<ValidSignature | null>
}

/** Returns the scheme for the parameters of a path, for example `{provider}`. Null if there is no such sender. */
export type SchemeOf = (params: Readonly<Record<string, string>>) => SignatureScheme | null
