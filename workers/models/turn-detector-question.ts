/** The sound of one pause to be judged. */
export interface TurnDetectorRequest {
  readonly id: number
  readonly rate: 8000 | 16000
  /** A ring of the party's latest sound, in memory both threads share; the oldest is overwritten last. */
  readonly ring: Int16Array
  /** Where the newest sample stands, plus one, and how many up to there are meant. */
  readonly end: number
  readonly samples: number
}

export interface TurnDetectorResult {
  readonly id: number
  /** 0 to 1. */
  readonly probability: number
}
