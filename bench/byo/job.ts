/** What the caller process of bench/byo/calls.ts is asked to do. */
export interface ByoJob {
  readonly target: { readonly address: string; readonly port: number }
  readonly to: string
  readonly calls: number
  readonly callsPerSecond: number
  /** A call refused with 503 is tried again, when the answer says, until so long after the first one. */
  readonly patienceMs: number
  /** A loud frame is sent so often on every call. */
  readonly everyMs: number
  /** The bot's sound comes back as it went: each loud frame is known again by its samples. */
  readonly exact: boolean
}

export type ToByoCaller =
  | { readonly type: 'call'; readonly job: ByoJob }
  /** Begin, and later end, the time that counts. */
  | { readonly type: 'begin' }
  | { readonly type: 'end' }
  | { readonly type: 'hang_up' }

export interface Echo {
  readonly sentMs: number
  /** Null: it did not come back before the next one was sent. */
  readonly delayMs: number | null
}

export interface ByoResult {
  readonly echoes: readonly Echo[]
  readonly packets: number
  readonly lost: number
  readonly gapP99: number
  readonly gapP999: number
  readonly gapMax: number
  /** How late the caller's own packets went out, p99: above that nothing says anything of the engine. */
  readonly ownLateP99: number
  /** CPU of this process, of a core, in the time that counts. */
  readonly ownCores: number
}

export type FromByoCaller =
  /** `tries` counts the INVITEs, refused ones included. */
  | { readonly kind: 'up'; readonly established: number; readonly tries: number }
  | { readonly kind: 'result'; readonly result: ByoResult }

export type ToByoBot = { readonly type: 'freeze'; readonly ms: number } | { readonly type: 'usage' }

export type FromByoBot =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'thawed'; readonly atMs: number }
  | { readonly kind: 'usage'; readonly cpuMs: number }
