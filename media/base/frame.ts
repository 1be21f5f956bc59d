/** Sample rates of audio inside Parley (Hz). A session mixes at 8000 or 16000; vendors may deliver the others. */
export type Rate = 8000 | 16000 | 24000 | 48000
export type SessionRate = 8000 | 16000

/** Length of an audio frame and of a tick of the frame clock (ms). Queues, timestamps and recordings count in frames. */
export const FRAME_MS = 20

/** 20 ms of mono PCM, 16 bits. Borrowed: valid until the receiving call returns, so copy the samples to keep them. */
export interface AudioFrame {
  readonly pcm: Int16Array
  readonly rate: Rate
  /** Position of the first sample, counted from session start at `rate`. */
  readonly at: number
}

/** A DTMF digit (ITU-T Q.23). */
export type Digit =
  | '0'
  | '1'
  | '2'
  | '3'
  | '4'
  | '5'
  | '6'
  | '7'
  | '8'
  | '9'
  | '*'
  | '#'
  | 'A'
  | 'B'
  | 'C'
  | 'D'

/** Timing of DTMF digits that are sent: whole frames, at least 40 ms of tone and 60 ms of pause. */
export interface DtmfTiming {
  readonly toneMs: number
  readonly gapMs: number
}
