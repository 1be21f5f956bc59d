/** More sessions than any measured core carries. */
export const MAX_SESSIONS = 400
/** Beats later than this (p99 over 10 s) mean a full worker. */
export const LATE_MS = 5
/** Under this many sessions lateness is the machine's, not ours, and refusing calls would not help. */
export const FEW_SESSIONS = 20

/** A worker, as the pool sees it. */
export interface WorkerStatus {
  /** Ready for sessions. */
  readonly ready: boolean
  readonly sessions: number
  /** Lateness of its beats, p99 over the last 10 s; 0 while nothing runs. */
  readonly p99Ms: number
}

/**
 * Which worker takes the next session: the emptiest that keeps its beat, and one that does not only while
 * it carries few. Null: none has room, the call is refused.
 */
export function chooseWorker(places: readonly WorkerStatus[]): number | null {
  let best: number | null = null
  let bestScore = Number.POSITIVE_INFINITY
  places.forEach(({ ready: up, sessions, p99Ms }, index) => {
    const late = p99Ms > LATE_MS
    if (!up || sessions >= MAX_SESSIONS || (late && sessions >= FEW_SESSIONS)) return
    const score = sessions + (late ? FEW_SESSIONS : 0)
    if (score >= bestScore) return
    best = index
    bestScore = score
  })
  return best
}
