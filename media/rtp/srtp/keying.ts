/** Protection of a media stream, by its name in `a=crypto` (RFC 4568 section 6.2, RFC 7714 section 14.1). */
export type SrtpSuiteName =
  | 'AEAD_AES_256_GCM'
  | 'AEAD_AES_128_GCM'
  | 'AES_CM_128_HMAC_SHA1_80'
  | 'AES_CM_128_HMAC_SHA1_32'

/** The master key of one direction. A secret: never logged. */
export interface SrtpKey {
  /** Master key, then master salt. */
  readonly keyAndSalt: Uint8Array
  /** Master key identifier that follows every packet; null when none was agreed. */
  readonly mki: Uint8Array | null
}

/** What SDES agreed on for one media stream. */
export interface SrtpKeys {
  readonly suite: SrtpSuiteName
  readonly send: SrtpKey
  readonly receive: SrtpKey
}

/** Where the far side takes RTCP. */
export interface RtcpRemote {
  /** On the port of RTP (RFC 5761); else on `address` and `port`. */
  readonly mux: boolean
  readonly address: string
  readonly port: number
}
