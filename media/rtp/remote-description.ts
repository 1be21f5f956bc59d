import type { CodecName, CodecParameters, Ptime } from '../codec/codec.js'
import type { Fingerprint } from './dtls/identity.js'
import type { IceCredentials } from './ice/lite-agent.js'
import type { RtcpRemote, SrtpKeys } from './srtp/keying.js'

/** A payload type that the peer may send, by Parley's number for it. */
export type ReceiveFormat =
  | { readonly payloadType: number; readonly kind: 'audio'; readonly codec: CodecName }
  | { readonly payloadType: number; readonly kind: 'event'; readonly clockRate: number }
  | { readonly payloadType: number; readonly kind: 'noise' }

/**
 * The description in SDP of a peer that checks our address by ICE and makes its SRTP keys by DTLS, as browsers do
 * (RFC 8827).
 */
export interface DtlsRemote {
  /** Our credentials, which change when the peer restarts ICE. */
  readonly ice: IceCredentials
  /** The peer's `a=ice-ufrag`. */
  readonly iceUfrag: string
  /** The peer's certificate has this fingerprint. */
  readonly fingerprint: Fingerprint
}

/** The peer's media description as negotiated by SDP. */
export interface RtpRemote {
  readonly address: string
  readonly port: number
  /** The codec that Parley sends, and the peer's payload type for it. */
  readonly codec: CodecName
  readonly payloadType: number
  /** The peer's `a=fmtp` for the audio that Parley sends. */
  readonly parameters?: CodecParameters
  /** Length of sent packets (ms); 20 when absent. */
  readonly ptime?: Ptime
  /** The peer's payload type for telephone-event; null when it was not negotiated. */
  readonly dtmfPayloadType: number | null
  /** Clock rate of sent events; that of the codec when absent. */
  readonly dtmfClockRate?: number
  /** The peer's payload type for comfort noise (RFC 3389). Without it silence is sent as audio. */
  readonly noisePayloadType?: number
  /** The payload types that the peer may send. When absent, the sent ones with the same numbers. */
  readonly receiveFormats?: readonly ReceiveFormat[]
  readonly send: boolean
  readonly receive: boolean
  /** Address at which the peer receives RTCP. Without it no RTCP is exchanged. */
  readonly rtcp?: RtcpRemote
  /** SRTP keys. Without them RTP and RTCP are not encrypted. */
  readonly srtp?: SrtpKeys
  /** Instead of `srtp`: the keys and the addresses of the peer come later. `address` and `port` have no meaning then. */
  readonly dtls?: DtlsRemote
}
