import type { Echo } from '../../fixtures/rtp/rtp-peer.js'
import type { OutPacket } from '../lib/packet-times.js'

/** A job for the caller process; each result is one message back. */
export type CallerJob =
  /**
   * Ordinary conversation: wait for the end of the agent's speech, play a clip, wait for the reply, repeat.
   */
  | (Common & { readonly kind: 'turns'; readonly turnsPerCall: number })
  /** Interruptions: speak while the agent speaks, until it stops, repeat. */
  | (Common & { readonly kind: 'interrupt'; readonly turnsPerCall: number })
  | NonSpeechJob
  /** Two questions per call; a vendor fails the second one. */
  | (Common & { readonly kind: 'faults' })
  /** Conversation on many calls for a fixed time; only timing is recorded. */
  | (Common & { readonly kind: 'density'; readonly holdMs: number; readonly callsPerSecond: number })

/**
 * Non-speech sounds (`echo`: only the agent's own echo) during the agent's speech, by name without condition.
 */
export type NonSpeechJob = Common & {
  readonly kind: 'aside'
  /** A question that makes the agent speak. */
  readonly prompt: string
  readonly echo: Echo | null
}

interface Common {
  readonly target: { readonly address: string; readonly port: number }
  readonly to: string
  /** Concurrent calls. */
  readonly calls: number
  /** Names of the manifest, played in order; each call starts at another one. */
  readonly clips: readonly string[]
  readonly seed: number
}

/** Times are of the machine's monotonic clock. */
export interface TurnSample {
  readonly from: string
  readonly clip: string
  /** When the labelled first and last sample of the caller's speech were sent. */
  readonly onsetMs: number
  readonly offsetMs: number
  /**
   * First packet of the agent louder than -45 dBFS after the caller's last sample; null if there was none.
   */
  readonly replyMs: number | null
  /** The agent spoke before the caller had finished. */
  readonly early: boolean
}

export interface InterruptSample {
  readonly from: string
  readonly clip: string
  readonly onsetMs: number
  /** Last packet of agent speech before a silence; null if it did not stop. */
  readonly lastSpeechMs: number | null
  /**
   * The received words of the stopped reply, one tone per word, complete: it may have paused and resumed
   * before.
   */
  readonly receivedWords: readonly ReceivedWord[]
  /** Last packet before each silence after the onset, and the last packet of all. */
  readonly stopsMs: readonly number[]
}

/** A run of packets with the tone of one word. */
export interface ReceivedWord {
  readonly index: number
  readonly packets: number
}

export interface NonSpeechSample {
  readonly from: string
  readonly clip: string
  /** Labelled first and last sample of the sound, and the end of observation. */
  readonly onsetMs: number
  readonly endMs: number
  readonly untilMs: number
  /** The agent spoke when the sound began; otherwise it could not be stopped. */
  readonly spoken: boolean
  /** First packet of the agent's speech after it stopped for the sound; null if it did not stop. */
  readonly resumedMs: number | null
}

/** Audio that the caller received after a question that a vendor failed. */
export interface FaultSample {
  readonly from: string
  readonly offsetMs: number
  /** Arrival times of the agent's loud packets from then on, until the end of observation. */
  readonly loudMs: readonly number[]
  readonly untilMs: number
}

export interface DensityResult {
  readonly established: number
  readonly failed: number
  /** All packets of all calls while all calls were established. */
  readonly packets: number
  readonly lateOver5: number
  readonly lateOver20: number
  readonly latenessP50: number
  readonly latenessP99: number
  readonly latenessMax: number
  readonly gapP99: number
  readonly gapP999: number
  readonly gapMax: number
  /** Packets missing from the RTP sequences. */
  readonly lost: number
  /** Turns with a reply, and turns without one. */
  readonly replies: number
  readonly unanswered: number
  /** Caller's last sample to the reply, including the silence policy. */
  readonly replyAfterMs: readonly number[]
}

export interface CallerResult {
  readonly turns: readonly TurnSample[]
  readonly interrupts: readonly InterruptSample[]
  readonly nonSpeech: readonly NonSpeechSample[]
  readonly faults: readonly FaultSample[]
  /** First loud packet of each stretch of agent speech, per call: calibrates session time. */
  readonly speechStarts: Readonly<Record<string, readonly number[]>>
  /** The agent's packets per call. */
  readonly streams: readonly (readonly OutPacket[])[]
  readonly density: DensityResult | null
  readonly errors: readonly string[]
}

/** Returns the number of the caller at `index`. */
export function callerNumber(index: number): string {
  return `+9198${String(10_000_000 + index)}`
}

export type FromCaller =
  | { readonly kind: 'progress'; readonly done: number; readonly of: number }
  /**
   * All calls of a `density` job are established, or its time is over; with the CPU time of this process so
   * far.
   */
  | { readonly kind: 'phase'; readonly phase: 'up' | 'over'; readonly cpuMs: number }
  /** Answered with the numbers of the windows in which the host was late since the phase `up`. */
  | { readonly kind: 'host' }
  /** Answered with any message once the vendors know the clip. */
  | { readonly kind: 'saying'; readonly clip: string | null }
  | { readonly kind: 'result'; readonly result: CallerResult }
  | { readonly kind: 'failed'; readonly message: string }
