/** A job for the caller process of bench/byo/calls.ts. */
export interface ByoJob {
  readonly target: { readonly address: string; readonly port: number }
  readonly to: string
  readonly calls: number
  readonly callsPerSecond: number
  /** A call refused with 503 is retried after its Retry-After, until this long after the first attempt. */
  readonly patienceMs: number
  /** Interval of loud frames on every call. */
  readonly everyMs: number
  /** The bot's audio returns unchanged: each loud frame is identified by its samples. */
  readonly exact: boolean
}

export type ToByoCaller =
  | { readonly type: 'call'; readonly job: ByoJob }
  /** Starts, and later ends, the measured time. */
  | { readonly type: 'begin' }
  | { readonly type: 'end' }
  | { readonly type: 'hang_up' }

export interface Echo {
  readonly sentMs: number
  /** Null: it did not return. */
  readonly delayMs: number | null
}

export interface ByoResult {
  readonly echoes: readonly Echo[]
  readonly packets: number
  readonly lost: number
  readonly gapP99: number
  readonly gapP999: number
  readonly gapMax: number
  /** Lateness of the caller's own packets, p99; above the limit the result says nothing about the engine. */
  readonly ownLateP99: number
  /** CPU of this process during the measured time, in cores. */
  readonly ownCores: number
}

export type FromByoCaller =
  /** `tries` counts the INVITEs, including refused ones. */
  | { readonly kind: 'up'; readonly established: number; readonly tries: number }
  | { readonly kind: 'result'; readonly result: ByoResult }

export type ToByoBot = { readonly type: 'freeze'; readonly ms: number } | { readonly type: 'usage' }

export type FromByoBot =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'thawed'; readonly atMs: number }
  | { readonly kind: 'usage'; readonly cpuMs: number }
