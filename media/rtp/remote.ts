import type { RtcpRemote, SrtpKeys } from './keying.js'

/** The far side as SDP negotiated it. */
export interface RtpRemote {
  readonly address: string
  readonly port: number
  readonly codec: 'PCMU' | 'PCMA'
  readonly payloadType: number
  /** Of telephone-event/8000; null when it was not negotiated. */
  readonly dtmfPayloadType: number | null
  readonly send: boolean
  readonly receive: boolean
  /** Absent: no RTCP is exchanged. */
  readonly rtcp?: RtcpRemote
  /** Absent: RTP and RTCP in the clear. */
  readonly srtp?: SrtpKeys
}
