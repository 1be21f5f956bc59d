import type { Echo } from '../../fixtures/rtp/rtp-peer.js'
import type { OutPacket } from '../lib/statistics.js'

/** What the caller process is asked to do; each answer is one message back. */
export type CallerJob =
  /** Ordinary conversation: hear the agent out, say a clip, wait for the reply, again. */
  | (Common & { readonly kind: 'turns'; readonly turnsPerCall: number })
  /** Rudeness: speak while the agent speaks, until it stops, again. */
  | (Common & { readonly kind: 'interrupt'; readonly turnsPerCall: number })
  | NonSpeechJob
  /** Two questions each; a vendor fails the second one. */
  | (Common & { readonly kind: 'faults' })
  /** Conversation on many calls for a time; only timing is kept. */
  | (Common & { readonly kind: 'density'; readonly holdMs: number; readonly callsPerSecond: number })

/** Small sounds (`echo`: none but the agent's own) over the agent's speech, by name without condition. */
export type NonSpeechJob = Common & {
  readonly kind: 'aside'
  /** Said to make the agent speak. */
  readonly prompt: string
  readonly echo: Echo | null
}

interface Common {
  readonly target: { readonly address: string; readonly port: number }
  readonly to: string
  /** Calls at once. */
  readonly calls: number
  /** Names of the manifest; said in turn, each call beginning elsewhere. */
  readonly clips: readonly string[]
  readonly seed: number
}

/** Times are of the machine's monotonic clock. */
export interface TurnSample {
  readonly from: string
  readonly clip: string
  /** When the labelled first and last sample of the caller's speech were spoken. */
  readonly onsetMs: number
  readonly offsetMs: number
  /** First packet of the agent louder than -45 dBFS after the caller's last sample; null: none came. */
  readonly replyMs: number | null
  /** The agent spoke before the caller was done. */
  readonly early: boolean
}

export interface InterruptSample {
  readonly from: string
  readonly clip: string
  readonly onsetMs: number
  /** Last packet of agent speech before a silence; null: it did not stop. */
  readonly lastSpeechMs: number | null
  /** What came of the stopped reply, a tone a word, all of it: it may have paused first and gone on. */
  readonly receivedWords: readonly ReceivedWord[]
  /** Its last packets before each of its silences after the onset, and the last of all. */
  readonly stopsMs: readonly number[]
}

/** Packets that carried the tone of a word. */
export interface ReceivedWord {
  readonly index: number
  readonly packets: number
}

export interface NonSpeechSample {
  readonly from: string
  readonly clip: string
  /** Labelled first and last sample of the sound, and the end of watching. */
  readonly onsetMs: number
  readonly endMs: number
  readonly untilMs: number
  /** The agent spoke when the sound began; one that did not could not be stopped. */
  readonly spoken: boolean
  /** First packet of the agent's speech after it had stopped for the sound; null: it did not stop. */
  readonly resumedMs: number | null
}

/** What was heard after a question that a vendor failed. */
export interface FaultSample {
  readonly from: string
  readonly offsetMs: number
  /** Arrivals of the agent's loud packets from then on, as long as was listened. */
  readonly loudMs: readonly number[]
  readonly untilMs: number
}

export interface DensityResult {
  readonly established: number
  readonly failed: number
  /** Of all packets of all calls while all calls were up. */
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
  /** Turns that got their reply, and those that did not. */
  readonly replies: number
  readonly unanswered: number
  /** Caller's last sample to the reply, silence policy not subtracted. */
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

/** Number of the caller at `index`. */
export function callerNumber(index: number): string {
  return `+9198${String(10_000_000 + index)}`
}

export type FromCaller =
  | { readonly kind: 'progress'; readonly done: number; readonly of: number }
  /** All calls of a `density` job are up; its time is over. With the CPU of this process until then. */
  | { readonly kind: 'phase'; readonly phase: 'up' | 'over'; readonly cpuMs: number }
  /** Answered with any message once the providers know. */
  | { readonly kind: 'saying'; readonly clip: string | null }
  | { readonly kind: 'result'; readonly result: CallerResult }
  | { readonly kind: 'failed'; readonly message: string }
