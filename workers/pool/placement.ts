/** More sessions than any measured core carries. */
export const MAX_SESSIONS = 400
/** Share of a core that a worker may use: beyond it frames wait for each other. */
export const FULL_SHARE = 0.85
/**
 * A worker whose frames are late (ms, p99) in each of several seconds is full from this share on: less work then helps
 * the calls that run. With less of it the host causes the lateness, and refusing calls would not help.
 */
export const LATE_MS = 5
export const LATE_SHARE = 0.25
/** With fewer sessions the host causes load and lateness too. */
export const FEW_SESSIONS = 20

/** A worker as the pool sees it. */
export interface WorkerStatus {
  /** Accepts sessions. */
  readonly ready: boolean
  readonly sessions: number
  /** Share (0..1) of a core that the thread used in the last second, and its sessions then. */
  readonly busy: number
  readonly busySessions: number
  /** Lateness of its frames (ms, p99) in the best of the last seconds. */
  readonly sustainedLateMs: number
}

/**
 * Returns the index of the worker for the next session: the one with the fewest sessions that has room; a
 * full one only while it has few sessions. Returns null when none has room: the call has to wait.
 */
export function chooseWorker(workers: readonly WorkerStatus[]): number | null {
  let best: number | null = null
  let bestScore = Number.POSITIVE_INFINITY
  workers.forEach((worker, index) => {
    const { ready, sessions } = worker
    const full = isFull(worker)
    if (!ready || sessions >= MAX_SESSIONS || (full && sessions >= FEW_SESSIONS)) return
    const score = sessions + (full ? FEW_SESSIONS : 0)
    if (score >= bestScore) return
    best = index
    bestScore = score
  })
  return best
}

function isFull({ sessions, busy, busySessions, sustainedLateMs }: WorkerStatus): boolean {
  // Sessions that came since the share was measured cost as much as the others.
  const expected = busySessions < FEW_SESSIONS ? busy : (busy * sessions) / busySessions
  return expected > FULL_SHARE || (busy > LATE_SHARE && sustainedLateMs > LATE_MS)
}
