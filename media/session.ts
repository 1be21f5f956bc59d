import { type ArrivalEnd, type ArrivalListener, isArrivalEnd } from './arrival.js'
import type { Clock } from './base/clock.js'
import { EngineError } from './base/errors.js'
import {
  type AudioFrame,
  type CloseReason,
  type Digit,
  type End,
  type EndId,
  FRAME_MS,
  type MediaSession,
  type Rate,
  type RtpStats,
  type SessionRate,
  type SessionStats,
} from './frame.js'
import { mixInto } from './mixer.js'
import { Recorder } from './recorder.js'
import type { RecordedFile } from './wav-file.js'

export interface SessionOptions {
  readonly rate: SessionRate
  readonly clock: Clock
  /** Stereo WAV from `start` on: left the first network leg as received, right what it was sent. */
  readonly recordTo: string | null
  /** Once; the call goes on. */
  readonly onRecordingFailed: (message: string) => void
}

export interface FinishedSession {
  readonly stats: SessionStats
  readonly recording: RecordedFile | null
}

export interface Session extends MediaSession {
  /** Session ms since the first beat after `start`; 0 before it. */
  readonly nowMs: number
  /** Media is live from the next beat on: that beat is session sample 0. */
  start(): void
  /** One beat of 20 ms; `idealMs` is the clock time it was due. Before `start` it does nothing. */
  tick(idealMs?: number): void
  /** Leaves out beats after a stall of the thread. */
  skip(frames: number): void
  /**
   * Idempotent. Closes the ends and finishes the recording; rejects with EngineError `internal` when an
   * end threw, everything else being closed all the same.
   */
  close(why: CloseReason): Promise<FinishedSession>
}

/** Ends and routes of one call. No timers: `startBeat` drives it. */
export function openSession(options: SessionOptions): Session {
  return new RoutedSession(options)
}

/** The session's own, mutable frame; lent to one `push` at a time. */
interface Lent extends AudioFrame {
  pcm: Int16Array
  at: number
}

interface Member {
  readonly end: End
  readonly arrival: ArrivalEnd | null
  readonly pcm: Int16Array
  /** This beat's `pull` gave sound. */
  sounding: boolean
  /** Who hears this end: as ordered, for digits. */
  to: readonly Member[]
  /** Who is heard by this end on the beat. */
  from: Member[]
  /** Who hears this end as packets arrive. */
  ears: End[]
}

class RoutedSession implements Session {
  readonly rate: SessionRate
  readonly #clock: Clock
  readonly #members: Member[] = []
  readonly #recorder: Recorder | null
  readonly #mix: Int16Array
  /** What the recorded leg was given to send this beat. */
  readonly #spoken: Int16Array
  readonly #frame: Lent
  readonly #frameSamples: number
  #recorded: Member | null = null
  #phase: 'idle' | 'starting' | 'live' | 'closed' = 'idle'
  #originMs = 0
  #frames = 0
  #closed: Promise<FinishedSession> | null = null

  constructor(options: SessionOptions) {
    this.rate = options.rate
    this.#clock = options.clock
    this.#frameSamples = (options.rate / 1000) * FRAME_MS
    this.#mix = new Int16Array(this.#frameSamples)
    this.#spoken = new Int16Array(this.#frameSamples)
    this.#frame = { pcm: this.#mix, rate: options.rate as Rate, at: 0 }
    this.#recorder =
      options.recordTo === null
        ? null
        : new Recorder(options.recordTo, options.rate, options.onRecordingFailed)
  }

  get nowMs(): number {
    return this.#phase === 'live' ? Math.max(0, this.#clock.now() - this.#originMs) : 0
  }

  /** Throws EngineError `internal` for an id already here, `closed` after close. */
  add(end: End): void {
    if (this.#phase === 'closed') throw new EngineError('closed', 'the session is closed')
    if (this.#members.some((member) => member.end.id === end.id)) {
      throw new EngineError('internal', 'two ends of one id', { context: { id: end.id } })
    }
    const member: Member = {
      end,
      arrival: isArrivalEnd(end) ? end : null,
      pcm: new Int16Array(this.#frameSamples),
      sounding: false,
      to: [],
      from: [],
      ears: [],
    }
    this.#members.push(member)
    if (end.kind === 'rtp') this.#recorded ??= member
    if (this.#phase === 'live') this.#startArrival(member)
  }

  /** Replaces who hears `from`. Throws EngineError `internal` for an id not here or routed to itself. */
  route(from: EndId, to: readonly EndId[]): void {
    const source = this.#member(from)
    const targets = to.map((id) => this.#member(id))
    if (targets.includes(source)) {
      throw new EngineError('internal', 'an end routed to itself', { context: { id: from } })
    }
    source.to = targets
    for (const target of this.#members) {
      target.from = this.#members.filter((member) => member.to.includes(target))
    }
    for (const member of this.#members) member.ears = []
    for (const target of this.#members) {
      const only = target.from.length === 1 ? target.from[0] : undefined
      if (target.end.ear !== 'arrival' || !only?.arrival) continue
      only.ears.push(target.end)
      target.from = []
    }
  }

  start(): void {
    if (this.#phase === 'idle') this.#phase = 'starting'
  }

  tick(idealMs = this.#clock.now()): void {
    if (this.#phase === 'starting') {
      this.#phase = 'live'
      this.#originMs = idealMs
      for (const member of this.#members) this.#startArrival(member)
    }
    if (this.#phase !== 'live') return
    const at = this.#frames * this.#frameSamples
    const members = this.#members
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as Member
      member.sounding = member.end.pull(member.pcm, at)
    }
    for (let i = 0; i < members.length; i++) this.#feed(members[i] as Member, at)
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as Member
      if (member.arrival === null) continue
      const sent = member.arrival.flush(at)
      if (sent && member === this.#recorded) this.#recorder?.right(at, this.#spoken)
    }
    this.#frames++
    this.#recorder?.advance(this.#frames * this.#frameSamples)
  }

  skip(frames: number): void {
    if (this.#phase === 'live') this.#frames += frames
  }

  stats(): SessionStats {
    return { frames: this.#frames, rtp: rtpStats(this.#recorded?.end) }
  }

  close(why: CloseReason): Promise<FinishedSession> {
    this.#closed ??= this.#finish(why)
    return this.#closed
  }

  async #finish(why: CloseReason): Promise<FinishedSession> {
    this.#phase = 'closed'
    const failures: unknown[] = []
    for (const member of this.#members) {
      try {
        member.end.close(why)
      } catch (error) {
        // One end that cannot close must not keep another's socket open.
        failures.push(error)
      }
    }
    const stats = this.stats()
    const recording = await (this.#recorder?.close(this.#frames * this.#frameSamples) ?? null)
    if (failures.length > 0) {
      throw new EngineError('internal', 'an end of the session did not close', { cause: failures[0] })
    }
    return { stats, recording }
  }

  /** Hands an end what is routed to it. A network leg is left alone while nobody speaks to it. */
  #feed(target: Member, at: number): void {
    const sources = target.from
    let heard: Member | null = null
    let mixed = false
    for (let i = 0; i < sources.length; i++) {
      const source = sources[i] as Member
      if (!source.sounding) continue
      if (heard === null) {
        heard = source
        continue
      }
      if (!mixed) this.#mix.set(heard.pcm)
      mixed = true
      mixInto(this.#mix, source.pcm)
    }
    if (heard === null) {
      // Its ear hears packets as they arrive, or it is a leg that sends comfort silence by itself.
      if (target.arrival !== null || sources.length === 0) return
      this.#mix.fill(0)
    }
    this.#frame.pcm = heard === null || mixed ? this.#mix : heard.pcm
    this.#frame.at = at
    if (target === this.#recorded) this.#spoken.set(this.#frame.pcm)
    target.end.push(this.#frame)
  }

  #startArrival(member: Member): void {
    member.arrival?.start(this.#originMs, new Listener(member, this.#recordLeft(member)))
  }

  #recordLeft(member: Member): Recorder | null {
    return member === this.#recorded ? this.#recorder : null
  }

  #member(id: EndId): Member {
    const member = this.#members.find((candidate) => candidate.end.id === id)
    if (member === undefined) throw new EngineError('internal', 'no such end', { context: { id } })
    return member
  }
}

/**
 * What a network leg hears goes to the recording and to whoever listens to it without delay. In the
 * recording a sent packet begins when it left; a received one begins 10 ms before it came, which is
 * within 10 ms of both views of it: the packets on the wire, and the mouth and ear behind them.
 */
class Listener implements ArrivalListener {
  readonly #member: Member
  readonly #recorder: Recorder | null

  constructor(member: Member, recorder: Recorder | null) {
    this.#member = member
    this.#recorder = recorder
  }

  arrived(frame: AudioFrame): void {
    this.#recorder?.left(frame.at + frame.pcm.length / 2, frame.pcm)
    const ears = this.#member.ears
    for (let i = 0; i < ears.length; i++) (ears[i] as End).push(frame)
  }

  digit(digit: Digit, durationMs: number): void {
    for (const target of this.#member.to) target.end.dtmf?.(digit, durationMs)
  }
}

function rtpStats(end: End | undefined): RtpStats | null {
  return end !== undefined && 'stats' in end && typeof end.stats === 'function' ? end.stats() : null
}
