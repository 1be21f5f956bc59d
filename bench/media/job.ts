import type { SessionRate } from '../../media/base/frame.js'
import type { CodecName } from '../../media/codec/codec.js'
import type { SrtpKeys } from '../../media/rtp/srtp/keying.js'

/** Codecs of the two legs of a measured call, and the processing between them. */
export interface Variant {
  readonly name: 'relay' | 'transcode' | 'opus' | 'record' | 'srtp'
  readonly rate: SessionRate
  readonly codecs: readonly [CodecName, CodecName]
  readonly record: boolean
  readonly srtp: boolean
}

export const VARIANTS: readonly Variant[] = [
  { name: 'relay', rate: 8000, codecs: ['PCMA', 'PCMA'], record: false, srtp: false },
  { name: 'transcode', rate: 16_000, codecs: ['PCMA', 'G722'], record: false, srtp: false },
  { name: 'opus', rate: 16_000, codecs: ['PCMA', 'OPUS'], record: false, srtp: false },
  { name: 'record', rate: 8000, codecs: ['PCMA', 'PCMA'], record: true, srtp: false },
  { name: 'srtp', rate: 8000, codecs: ['PCMA', 'PCMA'], record: false, srtp: true },
]

export const PAYLOAD_TYPES: Readonly<Record<CodecName, number>> = {
  PCMA: 8,
  PCMU: 0,
  G722: 9,
  OPUS: 111,
  L16: 112,
  'L16/8000': 113,
}

/** Ports of one call's legs. */
export type Ports = readonly [number, number]

/** To the process that runs the engine's media side: bridges, one thread, one frame clock. */
export type ToBridges =
  | {
      readonly type: 'open'
      readonly variant: Variant
      readonly keys: SrtpKeys | null
      readonly folder: string
    }
  /** Opens one more call for each pair of the peers' ports; answered with the engine's ports. */
  | { readonly type: 'add'; readonly peers: readonly Ports[] }
  /** `collect`: after a garbage collection, which is a stall; not during a measurement. */
  | { readonly type: 'usage'; readonly collect: boolean }
  | { readonly type: 'close' }

export interface Usage {
  readonly cpuMs: number
  readonly rssMb: number
  readonly latenessP50: number
  readonly latenessP99: number
  readonly latenessMax: number
  readonly skippedFrames: number
}

export type FromBridges =
  | { readonly kind: 'added'; readonly ports: readonly Ports[] }
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'ready' | 'closed' }
  | { readonly kind: 'failed'; readonly message: string }

/** To the process that plays the telephones of all calls. */
export type ToPeers =
  | { readonly type: 'open'; readonly variant: Variant; readonly keys: SrtpKeys | null }
  /** Opens the sockets of this many more calls; answered with their ports. */
  | { readonly type: 'make'; readonly calls: number }
  /** The engine's ports of the calls opened last; packets are sent to them from now on. */
  | { readonly type: 'talk'; readonly ports: readonly Ports[] }
  /** Clears the counters and starts measuring, or reports the counters without the windows in which the host was late. */
  | { readonly type: 'begin' }
  | { readonly type: 'end'; readonly hostLate: readonly number[] }

export interface ReceivedQuality {
  readonly packets: number
  readonly lost: number
  readonly lateOver5: number
  readonly lateOver20: number
  readonly latenessP99: number
  readonly gapP99: number
  /** From a packet sent on leg A to the packet received on leg B, for the marks in the audio. */
  readonly transitMs: readonly number[]
}

export type FromPeers =
  | { readonly kind: 'made'; readonly ports: readonly Ports[] }
  | { readonly kind: 'heard'; readonly heard: ReceivedQuality }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
