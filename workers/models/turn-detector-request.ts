export interface TurnDetectorReady {
  /** Time of one question, features included: the median of several after the warm-up. */
  readonly ms: number
}

/** The audio of one pause to judge. */
export interface TurnDetectorRequest {
  readonly id: number
  readonly rate: 8000 | 16000
  /** Ring buffer of the party's latest audio in shared memory; the oldest samples are overwritten last. */
  readonly ring: Int16Array
  /** Index after the newest sample; `samples` up to it are meant. */
  readonly end: number
  readonly samples: number
}

export interface TurnDetectorResult {
  readonly id: number
  /** 0 to 1. */
  readonly probability: number
}
