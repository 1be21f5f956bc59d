import type { CodecName, CodecParameters, Ptime } from '../codec/codec.js'
import type { RtcpRemote, SrtpKeys } from './srtp/keying.js'

/** A payload type that may come, under our number for it. */
export type ReceiveFormat =
  | { readonly payloadType: number; readonly kind: 'audio'; readonly codec: CodecName }
  | { readonly payloadType: number; readonly kind: 'event'; readonly clockRate: number }
  | { readonly payloadType: number; readonly kind: 'noise' }

/** The far side as SDP negotiated it. */
export interface RtpRemote {
  readonly address: string
  readonly port: number
  /** What we send, under the peer's number for it. */
  readonly codec: CodecName
  readonly payloadType: number
  /** What the peer's `a=fmtp` wants of what we send. */
  readonly parameters?: CodecParameters
  /** Length of the packets we send; 20 ms when absent. */
  readonly ptime?: Ptime
  /** The peer's number for telephone-event; null when it was not negotiated. */
  readonly dtmfPayloadType: number | null
  /** Clock of the events we send; the codec's when absent. */
  readonly dtmfClockRate?: number
  /** The peer's number for comfort noise (RFC 3389): silence is sent as that. Absent: as sound. */
  readonly noisePayloadType?: number
  /** What may come; absent: what we send, under the same numbers. */
  readonly receiveFormats?: readonly ReceiveFormat[]
  readonly send: boolean
  readonly receive: boolean
  /** Absent: no RTCP is exchanged. */
  readonly rtcp?: RtcpRemote
  /** Absent: RTP and RTCP in the clear. */
  readonly srtp?: SrtpKeys
}
