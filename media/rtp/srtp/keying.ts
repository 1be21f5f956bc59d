/** Names of SRTP crypto suites in `a=crypto` (RFC 4568 section 6.2, RFC 7714 section 14.1). */
export type SrtpSuiteName =
  | 'AEAD_AES_256_GCM'
  | 'AEAD_AES_128_GCM'
  | 'AES_CM_128_HMAC_SHA1_80'
  | 'AES_CM_128_HMAC_SHA1_32'

/** The master key of one direction. It is a secret and must not be logged. */
export interface SrtpKey {
  /** The master key, followed by the master salt. */
  readonly keyAndSalt: Uint8Array
  /** Master key identifier at the end of every packet; null when none was negotiated. */
  readonly mki: Uint8Array | null
}

/** The result of the SDES negotiation for one media stream. */
export interface SrtpKeys {
  readonly suite: SrtpSuiteName
  readonly send: SrtpKey
  readonly receive: SrtpKey
}

/** Address at which the peer receives RTCP. */
export interface RtcpRemote {
  /** True for RTCP on the RTP port (RFC 5761); otherwise it goes to `address` and `port`. */
  readonly mux: boolean
  readonly address: string
  readonly port: number
}
