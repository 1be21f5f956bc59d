/** More sessions than any measured core carries. */
export const MAX_SESSIONS = 400
/** Lateness (ms, p99 over 10 s) above which a worker is full. */
export const LATE_MS = 5
/** Below this number of sessions the machine causes the lateness, and refusing calls would not help. */
export const FEW_SESSIONS = 20

/** A worker as the pool sees it. */
export interface WorkerStatus {
  /** Accepts sessions. */
  readonly ready: boolean
  readonly sessions: number
  /** Lateness of its frames (ms, p99 over the last 10 s); 0 while idle. */
  readonly p99Ms: number
}

/**
 * Returns the index of the worker for the next session: the one with the fewest sessions that is in time; a
 * late one only while it has few sessions. Returns null when none has room: the call is refused.
 */
export function chooseWorker(workers: readonly WorkerStatus[]): number | null {
  let best: number | null = null
  let bestScore = Number.POSITIVE_INFINITY
  workers.forEach(({ ready, sessions, p99Ms }, index) => {
    const late = p99Ms > LATE_MS
    if (!ready || sessions >= MAX_SESSIONS || (late && sessions >= FEW_SESSIONS)) return
    const score = sessions + (late ? FEW_SESSIONS : 0)
    if (score >= bestScore) return
    best = index
    bestScore = score
  })
  return best
}
