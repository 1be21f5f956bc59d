import type { Clock, Timer } from '../base/clock.js'
import { FRAME_MS } from '../base/frame.js'
import { Lateness, type LatenessFigures } from './lateness.js'

const PHASES = 4
/** The step by which `advancePhase` moves a member (ms). */
export const PHASE_MS = FRAME_MS / PHASES
/** After a stall of the thread a member catches up by at most this many frames and skips the others. */
const CATCH_UP_FRAMES = 3
/** A frame that is not ready waits for at most three phases, so that it still precedes the next one. */
const PATIENCE_MS = 2.5 * PHASE_MS
// Timers of Node.js count whole milliseconds and may fire up to half of one early.
const EARLY_MS = 0.5

/** A tick this late means that the thread was stalled, and that sockets hold unread packets. */
const STALL_MS = PHASE_MS
/**
 * `advancePhase` refuses a phase that holds more members than this and more than this share of all members.
 */
const FEW_MEMBERS = 50
const MOST_OF_ALL = 0.5

/** Runs once per frame. */
export interface FrameClockMember {
  /** Runs a frame. `idealMs` is the clock time at which it was due. */
  tick(idealMs: number): void
  /** Skips frames after a stall of the thread. */
  skip(frames: number): void
  /**
   * Returns false when the audio of a due frame is about to arrive. The frame then runs when
   * `FrameClock.audioReady` is called, or up to 15 ms late without it. A member without this method is always
   * ready.
   */
  ready?(): boolean
}

/** A member and its deferred frames, the first of which was due at `pendingDueMs`. */
interface Slot {
  readonly member: FrameClockMember
  /** `flushEarly` already ran its next frame. */
  flushedEarly: boolean
  pending: number
  pendingDueMs: number
  deadlineMs: number
}

/** Lateness of frames. */
export interface FrameClockLoad extends LatenessFigures {
  readonly members: number
  /**
   * CPU time of the frames of one 5 ms phase over the last 10 s. Lateness beyond it comes from the rest of
   * the thread or from the host.
   */
  readonly workP99Ms: number
  readonly workMaxMs: number
}

/**
 * The 20 ms clock of a thread: one timer with absolute deadlines every 5 ms, and members spread over
 * four phases. Without members no timer runs. A member that throws is removed and passed to `onFault`; the
 * others continue.
 */
export class FrameClock {
  readonly #clock: Clock
  readonly #onFault: (member: FrameClockMember, error: unknown) => void
  readonly #phases: (Slot | null)[][] = Array.from({ length: PHASES }, () => [])
  readonly #slots = new Map<FrameClockMember, Slot>()
  /** Slots with deferred frames. */
  readonly #deferred: Slot[] = []
  readonly #lateness: Lateness
  readonly #work: Lateness
  readonly #wake = () => this.#run()
  #members = 0
  #timer: Timer | null = null
  /** Clock time of phase number 0. */
  #origin = 0
  /** Number of the next 5 ms phase to run. */
  #next = 0
  #running = false
  #yielded = false
  #hasHoles = false
  #closed = false

  constructor(clock: Clock, onFault: (member: FrameClockMember, error: unknown) => void) {
    this.#clock = clock
    this.#onFault = onFault
    this.#lateness = new Lateness(clock.now())
    this.#work = new Lateness(clock.now())
  }

  /** Adds a member to the emptiest phase. The returned function removes it. Both are safe inside `tick`. */
  add(member: FrameClockMember): () => void {
    if (this.#closed) return () => {}
    if (this.#members === 0 && !this.#running) {
      this.#origin = this.#clock.now()
      this.#next = 1
      this.#arm()
    }
    let best = this.#next % PHASES
    for (let i = 1; i < PHASES; i++) {
      const phase = (this.#next + i) % PHASES
      if (this.#count(phase) < this.#count(best)) best = phase
    }
    const seat: Slot = { member, flushedEarly: false, pending: 0, pendingDueMs: 0, deadlineMs: 0 }
    this.#slots.set(member, seat)
    ;(this.#phases[best] as (Slot | null)[]).push(seat)
    this.#members++
    return () => this.#remove(member)
  }

  /**
   * Moves the next frame of a member and all later ones `phases` (1 to 3) times 5 ms earlier. Call it only
   * from the member's `tick`. Returns false, and changes nothing, when that phase is full.
   */
  advancePhase(member: FrameClockMember, phases: number): boolean {
    // The running phase is the one before the next.
    const here = (this.#next + PHASES - 1) % PHASES
    const from = this.#phases[here] as (Slot | null)[]
    const at = from.findIndex((seat) => seat?.member === member)
    const phase = (here + PHASES - phases) % PHASES
    const full = this.#count(phase) >= Math.max(FEW_MEMBERS, this.#members * MOST_OF_ALL)
    if (!this.#running || at === -1 || full) return false
    ;(this.#phases[phase] as (Slot | null)[]).push(from[at] as Slot)
    from[at] = null
    this.#hasHoles = true
    return true
  }

  /**
   * Runs the member's next frame now when it is due more than `leastMs` from now, and skips it when it is
   * due. Never call it from a tick. Returns false when the frame is due sooner or already ran.
   */
  flushEarly(member: FrameClockMember, leastMs: number): boolean {
    const seat = this.#slots.get(member)
    if (this.#running || seat === undefined || seat.flushedEarly || seat.pending > 0) return false
    const phase = this.#phases.findIndex((seats) => seats.includes(seat))
    const next = this.#next + ((phase - (this.#next % PHASES) + PHASES) % PHASES)
    const idealMs = this.#origin + next * PHASE_MS
    if (idealMs - this.#clock.now() <= leastMs) return false
    seat.flushedEarly = true
    // As in a regular tick, a member removed meanwhile leaves a hole in its list.
    this.#running = true
    this.#tick(member, idealMs)
    this.#running = false
    if (this.#hasHoles) this.#compact()
    if (this.#members === 0) this.#disarm()
    return true
  }

  /** Runs the deferred frames of a member while it is ready. Never call it from a tick. */
  audioReady(member: FrameClockMember): void {
    const seat = this.#slots.get(member)
    if (seat === undefined || this.#running) return
    while (seat.pending > 0 && member.ready?.() !== false) this.#runPending(seat)
  }

  load(): FrameClockLoad {
    const nowMs = this.#clock.now()
    const late = this.#lateness.snapshot(nowMs)
    const work = this.#work.snapshot(nowMs)
    return { ...late, members: this.#members, workP99Ms: work.p99Ms, workMaxMs: work.maxMs }
  }

  /** Removes all members. Idempotent. */
  close(): void {
    this.#closed = true
    this.#disarm()
    for (const list of this.#phases) list.fill(null)
    this.#slots.clear()
    for (const seat of this.#deferred) seat.pending = 0
    this.#hasHoles = true
    this.#members = 0
    if (!this.#running) this.#compact()
  }

  #count(phase: number): number {
    let count = 0
    for (const seat of this.#phases[phase] as (Slot | null)[]) if (seat !== null) count++
    return count
  }

  #remove(member: FrameClockMember): void {
    const seat = this.#slots.get(member)
    if (seat === undefined) return
    this.#slots.delete(member)
    seat.pending = 0
    for (const list of this.#phases) {
      const at = list.indexOf(seat)
      if (at !== -1) list[at] = null // the list may be iterated right now
    }
    this.#hasHoles = true
    this.#members--
    if (!this.#running) this.#compact()
    if (this.#members === 0 && !this.#running) this.#disarm()
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #compact(): void {
    this.#hasHoles = false
    for (const list of this.#phases) {
      let kept = 0
      for (const seat of list) if (seat !== null) list[kept++] = seat
      list.length = kept
    }
  }

  #arm(): void {
    const deadline = this.#origin + this.#next * PHASE_MS
    this.#timer = this.#clock.after(Math.max(0, Math.round(deadline - this.#clock.now())), this.#wake)
  }

  #run(): void {
    this.#timer = null
    const now = this.#clock.now()
    if (!this.#yielded && now - (this.#origin + this.#next * PHASE_MS) > STALL_MS) {
      // Node.js runs timers before it reads sockets, so audio that arrived in time would be missed now.
      this.#yielded = true
      this.#timer = this.#clock.after(0, this.#wake)
      return
    }
    this.#yielded = false
    this.#running = true
    this.#runOverdue(now)
    const due = Math.floor((now + EARLY_MS - this.#origin) / PHASE_MS)
    const behind = due - this.#next + 1 - CATCH_UP_FRAMES * PHASES
    if (behind > 0) this.#skip(Math.ceil(behind / PHASES))
    while (this.#next <= due && !this.#closed) {
      const list = this.#phases[this.#next % PHASES] as (Slot | null)[]
      const idealMs = this.#origin + this.#next * PHASE_MS
      this.#next++
      // Not for-of: the list may change meanwhile.
      const length = list.length
      const beganMs = length === 0 ? 0 : this.#clock.now()
      for (let i = 0; i < length; i++) {
        const seat = list[i]
        if (seat === null || seat === undefined) continue
        if (seat.flushedEarly) {
          seat.flushedEarly = false
          continue
        }
        const startMs = this.#clock.now()
        this.#lateness.add(startMs - idealMs, startMs)
        if (seat.pending > 0 || seat.member.ready?.() === false) this.#defer(seat, idealMs, startMs)
        else this.#tick(seat.member, idealMs)
      }
      if (length === 0) continue
      const endedMs = this.#clock.now()
      this.#work.add(endedMs - beganMs, endedMs)
    }
    this.#running = false
    if (this.#hasHoles) this.#compact()
    if (this.#members > 0 && !this.#closed) this.#arm()
  }

  #tick(member: FrameClockMember, idealMs: number): void {
    try {
      member.tick(idealMs)
    } catch (error) {
      this.#remove(member)
      this.#onFault(member, error)
    }
  }

  #defer(seat: Slot, idealMs: number, nowMs: number): void {
    if (seat.pending === 0) {
      seat.pendingDueMs = idealMs
      seat.deadlineMs = nowMs + PATIENCE_MS
      this.#deferred.push(seat)
    }
    seat.pending++
    if (seat.pending > CATCH_UP_FRAMES) this.#runPending(seat)
  }

  /** Runs the first deferred frame. */
  #runPending(seat: Slot): void {
    const idealMs = seat.pendingDueMs
    seat.pending--
    seat.pendingDueMs += FRAME_MS
    this.#tick(seat.member, idealMs)
  }

  /** Runs the deferred frames whose deadline has passed. */
  #runOverdue(nowMs: number): void {
    let kept = 0
    for (const seat of this.#deferred) {
      while (seat.pending > 0 && nowMs >= seat.deadlineMs) this.#runPending(seat)
      if (seat.pending > 0) this.#deferred[kept++] = seat
    }
    this.#deferred.length = kept
  }

  #skip(frames: number): void {
    this.#next += frames * PHASES
    for (const list of this.#phases) {
      for (const seat of list) {
        if (seat === null) continue
        const { member } = seat
        const left = seat.flushedEarly ? frames - 1 : frames
        seat.flushedEarly = false
        this.#lateness.skippedFrames += left
        try {
          member.skip(left)
        } catch (error) {
          this.#remove(member)
          this.#onFault(member, error)
        }
      }
    }
  }
}
