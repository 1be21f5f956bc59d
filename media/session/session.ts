import type { Clock } from '../base/clock.js'
import { EngineError, errorText } from '../base/errors.js'
import {
  type AudioFrame,
  type CloseReason,
  type Digit,
  type Endpoint,
  type EndpointId,
  FRAME_MS,
  type MediaSession,
  type Rate,
  type RouteTo,
  type RtpStats,
  type SessionRate,
  type SessionStats,
} from '../base/frame.js'
import { finishRecording, type RecordedFile } from '../recording/finish.js'
import { type RawRecording, Recorder } from '../recording/recorder.js'
import type { Disk } from '../recording/wav-file.js'
import { ArrivalFanOut } from './arrival-fan-out.js'
import { softClip } from './limiter.js'
import { mixInto } from './mixer.js'
import { isNetworkEndpoint } from './network-endpoint.js'
import { dropLeavingRoutes, Member, Route } from './route.js'

export interface SessionOptions {
  readonly rate: SessionRate
  readonly clock: Clock
  /**
   * Stereo WAV from `start` on: left the first network leg as received, right what our side sent it. The
   * voice of another leg is recorded only by `recordPerson`.
   */
  readonly recordTo: string | null
  /** Makes the one file of what was recorded, away from this thread; done here without it. */
  readonly finish?: (raw: RawRecording) => Promise<RecordedFile | null>
  /** The disk that is recorded to; the system's unless told. */
  readonly disk?: Disk
  /** Once while it lasts, and once more if it cannot be finished; the call goes on. */
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
  /** What an end that hears packets as they arrive hears, whoever it is routed to. Borrowed frames. */
  observe(id: EndpointId, observer: (frame: AudioFrame) => void): void
  /** A key of this end that did not come in its own media: goes where its audio goes. */
  press(from: EndpointId, digit: Digit, durationMs: number): void
  /** One beat of 20 ms; `idealMs` is the clock time it was due. Before `start` it does nothing. */
  tick(idealMs?: number): void
  /**
   * Records a further leg, the person of a transfer, from now on: a track of its own, mixed into the
   * agent's channel when the call is over. One person at a time.
   */
  recordPerson(id: EndpointId): void
  /** While paused nothing that is said is recorded: a soft beep now and then, and no time is lost. */
  pauseRecording(): void
  resumeRecording(): void
  /** Leaves out beats after a stall of the thread. */
  skip(frames: number): void
  /**
   * Beats come so many ms earlier from now on than frames are long: what comes in is played that much
   * sooner, and what goes out runs ahead of the session's time by it.
   */
  advancePlayout(ms: number): void
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
interface BorrowedFrame extends AudioFrame {
  pcm: Int16Array
  at: number
}

const MAX_GAIN = 4

class RoutedSession implements Session {
  readonly rate: SessionRate
  readonly #clock: Clock
  /** Replaced, never changed: a beat may be walking it. */
  #members: readonly Member[] = []
  readonly #recorder: Recorder | null
  /** Sum of what one end hears, and what it is given of it. */
  readonly #sum: Float32Array
  readonly #mix: Int16Array
  /** What the recorded leg was given to send this beat by our side: not by other network legs. */
  readonly #agentMix: Int16Array
  #hasAgentMix = false
  readonly #frame: BorrowedFrame
  readonly #frameSamples: number
  readonly #onRecordingFailed: (message: string) => void
  readonly #finishRecording: (raw: RawRecording) => Promise<RecordedFile | null>
  #recorded: Member | null = null
  #phase: 'idle' | 'starting' | 'live' | 'closed' = 'idle'
  #originMs = 0
  #frames = 0
  /** Samples by which beats run ahead of the clock. */
  #leadSamples = 0
  #closed: Promise<FinishedSession> | null = null

  constructor(options: SessionOptions) {
    this.rate = options.rate
    this.#clock = options.clock
    this.#frameSamples = (options.rate / 1000) * FRAME_MS
    this.#sum = new Float32Array(this.#frameSamples)
    this.#mix = new Int16Array(this.#frameSamples)
    this.#agentMix = new Int16Array(this.#frameSamples)
    this.#frame = { pcm: this.#mix, rate: options.rate as Rate, at: 0 }
    this.#recorder =
      options.recordTo === null
        ? null
        : new Recorder({
            path: options.recordTo,
            rate: options.rate,
            onFailed: options.onRecordingFailed,
            ...(options.disk === undefined ? {} : { disk: options.disk }),
          })
    this.#onRecordingFailed = options.onRecordingFailed
    this.#finishRecording = options.finish ?? ((raw) => finishRecording(raw))
  }

  get nowMs(): number {
    return this.#phase === 'live' ? Math.max(0, this.#clock.now() - this.#originMs) : 0
  }

  /** Throws EngineError `internal` for an id already here, `closed` after close. */
  add(end: Endpoint): void {
    if (this.#phase === 'closed') throw new EngineError('closed', 'the session is closed')
    if (this.#members.some((member) => member.endpoint.id === end.id)) {
      throw new EngineError('internal', 'two ends of one id', { context: { id: end.id } })
    }
    const member = new Member(end, isNetworkEndpoint(end) ? end : null, this.rate)
    this.#members = [...this.#members, member]
    if (end.kind === 'rtp' && this.#recorded === null) {
      this.#recorded = member
      member.track = 'caller'
    }
    if (this.#phase === 'live') this.#startNetwork(member)
  }

  /** Throws EngineError `internal` for an id not here. */
  remove(id: EndpointId, why: CloseReason): void {
    const gone = this.#member(id)
    this.#members = this.#members.filter((member) => member !== gone)
    gone.removed = true
    for (const member of this.#members) {
      member.targets = member.targets.filter((target) => target !== gone)
      member.routes = member.routes.filter((route) => route.source !== gone)
    }
    this.#assignArrivalTargets()
    if (gone.track === 'person') this.#recorder?.endPerson(this.#frames * this.#frameSamples)
    gone.endpoint.close(why)
  }

  /**
   * Replaces who hears `from`. Throws EngineError `internal` for an id not here, routed to itself or
   * twice to one end, or a gain that is no loudness.
   */
  route(from: EndpointId, to: readonly (EndpointId | RouteTo)[]): void {
    const source = this.#member(from)
    const orders = to.map((order) => (typeof order === 'string' ? { to: order } : order))
    const targets = orders.map((order) => this.#member(order.to))
    if (targets.includes(source) || new Set(targets).size < targets.length) {
      throw new EngineError('internal', 'an end routed to itself, or twice to one end', {
        context: { id: from },
      })
    }
    const live = this.#phase === 'live'
    const routes = orders.map((order, i) => this.#createRoute(source, targets[i] as Member, order, live))
    source.targets = targets
    for (const target of this.#members) {
      const kept = target.routes.filter((route) => route.source !== source)
      const next = routes.find((route) => route.target === target)
      const old = target.routes.find((route) => route.source === source)
      if (next !== undefined) kept.push(next)
      else if (live && old !== undefined) {
        old.leaving = true
        kept.push(old)
      }
      target.routes = kept
    }
    this.#assignArrivalTargets()
  }

  observe(id: EndpointId, observer: (frame: AudioFrame) => void): void {
    this.#member(id).observers.push(observer)
  }

  press(from: EndpointId, digit: Digit, durationMs: number): void {
    for (const target of this.#member(from).targets) target.endpoint.dtmf?.(digit, durationMs)
  }

  recordPerson(id: EndpointId): void {
    const member = this.#member(id)
    if (member.network === null || member.track === 'caller' || this.#phase === 'closed') {
      throw new EngineError('internal', 'no leg of a person', { context: { id } })
    }
    for (const other of this.#members) if (other.track === 'person') other.track = null
    member.track = 'person'
    this.#recorder?.beginPerson(this.#frames * this.#frameSamples)
  }

  pauseRecording(): void {
    this.#recorder?.pause(this.#frames * this.#frameSamples)
  }

  resumeRecording(): void {
    this.#recorder?.resume(this.#frames * this.#frameSamples)
  }

  start(): void {
    if (this.#phase === 'idle') this.#phase = 'starting'
  }

  tick(idealMs = this.#clock.now()): void {
    if (this.#phase === 'starting') {
      this.#phase = 'live'
      this.#originMs = idealMs
      for (const member of this.#members) this.#startNetwork(member)
    }
    if (this.#phase !== 'live') return
    const at = this.#frames * this.#frameSamples
    const members = this.#members
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as Member
      member.hasAudio = !member.removed && member.endpoint.pull(member.pcm, at - this.#leadSamples)
    }
    this.#hasAgentMix = false
    for (let i = 0; i < members.length; i++) this.#deliver(members[i] as Member, at)
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as Member
      if (member.network === null || member.removed) continue
      const sent = member.network.flush(at)
      if (sent && this.#hasAgentMix && member === this.#recorded)
        this.#recorder?.writeAgent(at, this.#agentMix)
    }
    this.#frames++
    this.#recorder?.advance(this.#frames * this.#frameSamples)
  }

  advancePlayout(ms: number): void {
    this.#leadSamples += (ms * this.rate) / 1000
  }

  skip(frames: number): void {
    if (this.#phase === 'live') this.#frames += frames
  }

  stats(): SessionStats {
    return { frames: this.#frames, rtp: rtpStats(this.#recorded?.endpoint) }
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
        member.endpoint.close(why)
      } catch (error) {
        // One end that cannot close must not keep another's socket open.
        failures.push(error)
      }
    }
    const stats = this.stats()
    const recording = await this.#finishedRecording()
    if (failures.length > 0) {
      throw new EngineError('internal', 'an end of the session did not close', { cause: failures[0] })
    }
    return { stats, recording }
  }

  async #finishedRecording(): Promise<RecordedFile | null> {
    const raw = await (this.#recorder?.close(this.#frames * this.#frameSamples) ?? null)
    if (raw === null) return null
    try {
      return await this.#finishRecording(raw)
    } catch (error) {
      this.#onRecordingFailed(errorText(error))
    }
    // Without the people, whose tracks stay beside it, the file is as whole as the disk let it be. What
    // stops this too has been told just now.
    return await finishRecording({ ...raw, persons: [] }).catch(() => null)
  }

  /** Hands an end what is routed to it. A network leg is left alone while nobody speaks to it. */
  #deliver(target: Member, at: number): void {
    if (target.fedOnArrival) return
    const routes = target.routes
    let audible: Route | null = null
    let mixed = false
    let leaving = 0
    for (let i = 0; i < routes.length; i++) {
      const route = routes[i] as Route
      route.advance()
      if (route.leaving) leaving++
      if (!route.audible) continue
      if (audible !== null || !route.isUnityGain) mixed = true
      audible ??= route
    }
    // One voice at full gain needs no mixing, unless the gain is still coming back from a louder time.
    const alone = !mixed && target.limiter.idle && audible !== null ? audible.source : null
    if (audible === null) {
      target.limiter.silentFrame()
      if (leaving > 0) dropLeavingRoutes(routes)
      // Its ear hears packets as they arrive, or it is a leg that sends comfort silence by itself.
      if (target.network !== null || routes.length === 0) return
      this.#mix.fill(0)
    } else if (alone === null) {
      this.#mixFor(target)
    }
    if (target.removed) return
    this.#frame.pcm = alone === null ? this.#mix : alone.pcm
    this.#frame.at = at
    if (target === this.#recorded && this.#recorder !== null) this.#keepAgentMix(target, alone)
    if (leaving > 0) dropLeavingRoutes(routes)
    target.endpoint.push(this.#frame)
  }

  #mixFor(target: Member): void {
    const sum = this.#sum
    sum.fill(0)
    const routes = target.routes
    for (let i = 0; i < routes.length; i++) {
      const route = routes[i] as Route
      if (route.audible) mixInto(sum, route.source.pcm, route.levels)
    }
    target.limiter.process(sum, this.#mix)
  }

  /** What the recorded leg hears of our side; the voice of another leg is recorded where it arrives. */
  #keepAgentMix(target: Member, alone: Member | null): void {
    const routes = target.routes
    let legs = false
    let ours = false
    for (let i = 0; i < routes.length; i++) {
      const route = routes[i] as Route
      if (!route.audible) continue
      if (route.source.network !== null) legs = true
      else ours = true
    }
    this.#hasAgentMix = ours
    if (!ours) return
    if (!legs) {
      this.#agentMix.set(alone === null ? this.#mix : alone.pcm)
      return
    }
    const sum = this.#sum
    sum.fill(0)
    for (let i = 0; i < routes.length; i++) {
      const route = routes[i] as Route
      if (!route.audible || route.source.network !== null) continue
      mixInto(sum, route.source.pcm, route.levels)
    }
    for (let i = 0; i < sum.length; i++) this.#agentMix[i] = Math.round(softClip(sum[i] as number))
  }

  #createRoute(source: Member, target: Member, order: RouteTo, live: boolean): Route {
    const gain = order.gain ?? 1
    if (!(gain >= 0 && gain <= MAX_GAIN)) {
      throw new EngineError('internal', 'a route with an impossible gain', { context: { gain } })
    }
    const under = (order.duckedBy ?? []).map((softer) => ({
      member: this.#member(softer.endpoint),
      gain: softer.gain,
      step: Math.min(1, FRAME_MS / softer.releaseMs),
    }))
    const old = target.routes.find((route) => route.source === source)
    return new Route(source, target, gain, under, live ? (old?.levels[1] ?? 0) : gain)
  }

  /** An ear that hears one network leg at full gain, and nobody else, is fed as packets arrive. */
  #assignArrivalTargets(): void {
    for (const member of this.#members) member.arrivalTargets = []
    for (const target of this.#members) {
      const ordered = target.routes.filter((route) => !route.leaving)
      const only = ordered.length === 1 ? ordered[0] : undefined
      target.fedOnArrival = target.endpoint.delivery === 'arrival' && only !== undefined && only.isDirect
      if (!target.fedOnArrival || only === undefined) continue
      target.routes = ordered
      only.source.arrivalTargets.push(target.endpoint)
    }
  }

  #startNetwork(member: Member): void {
    member.network?.start(this.#originMs, new ArrivalFanOut(member, this.#recorder))
  }

  #member(id: EndpointId): Member {
    const member = this.#members.find((candidate) => candidate.endpoint.id === id)
    if (member === undefined) throw new EngineError('internal', 'no such end', { context: { id } })
    return member
  }
}

function rtpStats(end: Endpoint | undefined): RtpStats | null {
  return end !== undefined && 'stats' in end && typeof end.stats === 'function' ? end.stats() : null
}
