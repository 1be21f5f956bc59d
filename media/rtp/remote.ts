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
}
