import type { Clock } from '../base/clock.js'
import { EngineError, errorText } from '../base/errors.js'
import { type AudioFrame, type Digit, FRAME_MS, type Rate, type SessionRate } from '../base/frame.js'
import { finishRecording, type RecordedFile } from '../recording/finish.js'
import { type RawRecording, Recorder } from '../recording/recorder.js'
import type { Disk } from '../recording/wav-file.js'
import { ArrivalFanOut } from './arrival-fan-out.js'
import type { CloseReason, Endpoint, EndpointId, RouteTo, SessionStats } from './endpoint.js'
import { softClip } from './limiter.js'
import { LiveAudioWriter } from './live-audio.js'
import { mixInto } from './mixer.js'
import { dropLeavingRoutes, Member, Route } from './route.js'

export interface SessionOptions {
  readonly rate: SessionRate
  readonly clock: Clock
  /**
   * Path of a stereo WAV file that begins at `start`. The left channel holds what the first network leg says while
   * another party hears it, the right one what it hears: the audio of Parley and of other legs. Null records nothing.
   */
  readonly recordTo: string | null
  /**
   * Makes the single file of the recording, for example on another thread. Runs on this thread when absent.
   */
  readonly finish?: (raw: RawRecording) => Promise<RecordedFile | null>
  /** The disk to record to; the file system when absent. */
  readonly disk?: Disk
  /** Called once when recording fails, and once more if the file cannot be finished. The call continues. */
  readonly onRecordingFailed: (message: string) => void
}

export interface FinishedSession {
  readonly stats: SessionStats
  /** The file of `recordTo`. */
  readonly recording: RecordedFile | null
  /** The files of `record`, in order. */
  readonly parts: readonly RecordedFile[]
}

/** The mutable frame of the session, lent to one `push` at a time. */
interface BorrowedFrame extends AudioFrame {
  pcm: Int16Array
  at: number
}

const MAX_GAIN = 4

/** The endpoints and routes of one call. The session has no timers: a frame clock drives it. */
export class Session {
  readonly rate: SessionRate
  readonly #clock: Clock
  /** Replaced and never modified, because a tick may be iterating over it. */
  #members: readonly Member[] = []
  readonly #options: SessionOptions
  #recorder: Recorder | null = null
  #recordingPaused = false
  /** Memory from which live listeners read the call; null without listeners. */
  #liveAudio: LiveAudioWriter | null = null
  /** The parts of the recording that have ended. */
  readonly #ended: { readonly path: string; readonly file: Promise<RecordedFile | null> }[] = []
  /** The sum of the routes to one endpoint, and the same as 16-bit samples. */
  readonly #sum: Float32Array
  readonly #mix: Int16Array
  /** The audio that Parley sent to the recorded leg on this tick, without the audio of other network legs. */
  readonly #agentMix: Int16Array
  #hasAgentMix = false
  readonly #frame: BorrowedFrame
  readonly #frameSamples: number
  readonly #finishRecording: (raw: RawRecording) => Promise<RecordedFile | null>
  #recorded: Member | null = null
  /** A route ended in this tick. */
  #routesFaded = false
  #phase: 'idle' | 'starting' | 'live' | 'closed' = 'idle'
  #originMs = 0
  #frames = 0
  /** The number of samples by which ticks run ahead of the clock. */
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
    this.#options = options
    this.#openRecorder(options.recordTo)
    this.#finishRecording = options.finish ?? ((raw) => finishRecording(raw))
  }

  /** Session time (ms) since the first tick after `start`; 0 before. */
  get nowMs(): number {
    return this.#phase === 'live' ? Math.max(0, this.#clock.now() - this.#originMs) : 0
  }

  /** Throws EngineError `internal` for an id that is in use, `closed` after `close`. */
  add(endpoint: Endpoint): void {
    if (this.#phase === 'closed') throw new EngineError('closed', 'the session is closed')
    if (this.#members.some((member) => member.endpoint.id === endpoint.id)) {
      throw new EngineError('internal', 'two endpoints with one id', { context: { id: endpoint.id } })
    }
    const member = new Member(endpoint, this.rate)
    this.#members = [...this.#members, member]
    if (member.network !== null && this.#recorded === null) {
      this.#recorded = member
      member.track = this.#recorder?.caller ?? null
    }
    if (this.#phase === 'live') this.#startNetwork(member)
  }

  /** Throws EngineError `internal` for an unknown id. */
  remove(id: EndpointId, why: CloseReason): void {
    const removed = this.#member(id)
    this.#members = this.#members.filter((member) => member !== removed)
    removed.removed = true
    for (const member of this.#members) {
      member.targets = member.targets.filter((target) => target !== removed)
      member.routes = member.routes.filter((route) => route.source !== removed)
    }
    this.#assignArrivalTargets()
    this.#assignTracks()
    removed.track?.end(this.#at)
    removed.endpoint.close(why)
  }

  /**
   * Replaces all routes from `from`. Throws EngineError `internal` for an unknown id, for a route to itself,
   * for two routes to one endpoint, or for a gain outside 0 to 4.
   */
  route(from: EndpointId, to: readonly (EndpointId | RouteTo)[]): void {
    const source = this.#member(from)
    const orders = to.map((order) => (typeof order === 'string' ? { to: order } : order))
    const targets = orders.map((order) => this.#member(order.to))
    if (targets.includes(source) || new Set(targets).size < targets.length) {
      throw new EngineError('internal', 'an endpoint routed to itself, or twice to one endpoint', {
        context: { id: from },
      })
    }
    const live = this.#phase === 'live'
    const routes = orders.map((order, i) => this.#createRoute(source, targets[i] as Member, order, live))
    source.targets = targets
    source.hasAudience = orders.some(({ onlyListens }) => onlyListens !== true)
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
    this.#assignTracks()
  }

  /**
   * Observes the audio that an endpoint with arrival delivery produces, wherever it is routed. Frames are
   * borrowed.
   */
  observe(id: EndpointId, observer: (frame: AudioFrame) => void): void {
    this.#member(id).observers.push(observer)
  }

  /**
   * Delivers a digit of this endpoint that did not arrive as RTP event to the endpoints it is routed to. A digit that is
   * a tone in the audio (`inAudio`) reaches network legs with the audio, and once only.
   */
  press(from: EndpointId, digit: Digit, durationMs: number, inAudio: boolean): void {
    for (const { endpoint, network } of this.#member(from).targets) {
      if (!inAudio || network === null) endpoint.dtmf?.(digit, durationMs)
    }
  }

  /** Ends the recording, and begins another one at the next tick unless `path` is null. */
  record(path: string | null): void {
    if (this.#phase === 'closed') throw new EngineError('closed', 'the session is closed')
    this.#endRecording()
    this.#openRecorder(path)
    for (const member of this.#members) {
      member.track = member === this.#recorded ? (this.#recorder?.caller ?? null) : null
    }
    this.#assignTracks()
  }

  /**
   * Masks the recording until `resumeRecording`: silence with a soft beep. The recording keeps its length.
   */
  pauseRecording(): void {
    this.#recordingPaused = true
    this.#recorder?.pause(this.#at)
  }

  resumeRecording(): void {
    this.#recordingPaused = false
    this.#recorder?.resume(this.#at)
  }

  /**
   * Writes the call into this memory from the next tick on, until null: the first network leg while another party
   * hears it, and what that leg hears.
   */
  shareAudio(memory: SharedArrayBuffer | null): void {
    if (this.#phase === 'closed') throw new EngineError('closed', 'the session is closed')
    this.#liveAudio = memory === null ? null : new LiveAudioWriter(memory, this.rate)
    this.#assignPlayout()
  }

  /** Makes the session live: the next tick is session sample 0. */
  start(): void {
    if (this.#phase === 'idle') this.#phase = 'starting'
  }

  /** Runs one tick of 20 ms. `idealMs` is the clock time at which it was due. Does nothing before `start`. */
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
      member.hasAudio =
        member.pulled && !member.removed && member.endpoint.pull(member.pcm, at - this.#leadSamples)
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
    if (this.#liveAudio !== null) this.#shareFrame(this.#liveAudio)
    if (this.#routesFaded) this.#assignPlayout()
    this.#frames++
    this.#recorder?.advance(this.#frames * this.#frameSamples)
  }

  /**
   * Shifts playout `ms` earlier from the next tick on: received audio is played sooner, and sent audio runs
   * ahead of session time by the same amount.
   */
  advancePlayout(ms: number): void {
    this.#leadSamples += (ms * this.rate) / 1000
  }

  /** Skips ticks after a stall of the thread. */
  skip(frames: number): void {
    if (this.#phase === 'live') this.#frames += frames
  }

  stats(): SessionStats {
    return { frames: this.#frames, rtp: this.#recorded?.network?.stats() ?? null }
  }

  /**
   * Closes the endpoints and finishes the recording. Idempotent. Rejects with EngineError `internal` when an
   * endpoint threw; everything else is closed nevertheless.
   */
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
        // An endpoint that fails to close must not keep the sockets of the others open.
        failures.push(error)
      }
    }
    const stats = this.stats()
    this.#endRecording()
    const files = await Promise.all(this.#ended.map(async ({ path, file }) => ({ path, file: await file })))
    if (failures.length > 0) {
      throw new EngineError('internal', 'an endpoint of the session did not close', { cause: failures[0] })
    }
    const { recordTo } = this.#options
    return {
      stats,
      recording: files.find(({ path }) => path === recordTo)?.file ?? null,
      parts: files.flatMap(({ path, file }) => (path === recordTo || file === null ? [] : [file])),
    }
  }

  /** The first sample of the next tick. */
  get #at(): number {
    return this.#frames * this.#frameSamples
  }

  #openRecorder(path: string | null): void {
    const { rate, onRecordingFailed, disk } = this.#options
    this.#recorder =
      path === null
        ? null
        : new Recorder({
            path,
            rate,
            start: this.#at,
            onFailed: onRecordingFailed,
            ...(disk === undefined ? {} : { disk }),
          })
    if (this.#recordingPaused) this.#recorder?.pause(this.#at)
  }

  #endRecording(): void {
    const recorder = this.#recorder
    if (recorder === null) return
    this.#recorder = null
    this.#ended.push({ path: recorder.path, file: this.#finishedFile(recorder.close(this.#at)) })
  }

  /**
   * Decides whose voice is recorded: the caller while another party hears him, and the others while the caller hears
   * them.
   */
  #assignTracks(): void {
    const caller = this.#recorded
    for (const member of this.#members) {
      if (member.network === null || caller === null) continue
      member.recorded = member === caller ? member.hasAudience : member.targets.includes(caller)
      if (member.recorded) member.track ??= this.#recorder?.beginPerson(this.#at) ?? null
    }
  }

  async #finishedFile(closing: Promise<RawRecording | null>): Promise<RecordedFile | null> {
    const raw = await closing
    if (raw === null) return null
    try {
      return await this.#finishRecording(raw)
    } catch (error) {
      this.#options.onRecordingFailed(errorText(error))
    }
    // Retries without the persons, whose tracks stay on the disk beside the file. The failure was reported
    // above.
    return await finishRecording({ ...raw, persons: [] }).catch(() => null)
  }

  /**
   * Delivers the audio routed to an endpoint. A network leg without incoming audio is skipped: it sends
   * comfort noise by itself.
   */
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
    // A single source at full gain needs no mixing, unless the limiter is still recovering.
    const alone = !mixed && target.limiter.idle && audible !== null ? audible.source : null
    if (audible === null) {
      target.limiter.silentFrame()
      if (leaving > 0) this.#dropLeavingRoutes(routes)
      // Arrival delivery has its own path, and a network leg sends comfort noise by itself.
      if (target.network !== null || routes.length === 0) return
      this.#mix.fill(0)
    } else if (alone === null) {
      this.#mixFor(target)
    }
    if (target.removed) return
    this.#frame.pcm = alone === null ? this.#mix : alone.pcm
    this.#frame.at = at
    if (target === this.#recorded) {
      if (this.#recorder !== null) this.#keepAgentMix(target, alone)
      this.#liveAudio?.heard(this.#frame.pcm)
    }
    if (leaving > 0) this.#dropLeavingRoutes(routes)
    target.endpoint.push(this.#frame)
  }

  /** Ends the frame of those who listen live, which has what the caller hears. */
  #shareFrame(audio: LiveAudioWriter): void {
    const caller = this.#recorded
    if (caller?.hasAudio && caller.targets.length > 0) audio.caller(caller.pcm)
    audio.commit()
  }

  #dropLeavingRoutes(routes: Route[]): void {
    dropLeavingRoutes(routes)
    this.#routesFaded = true
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

  /**
   * Keeps the audio that Parley sends to the recorded leg. Other network legs are recorded where they arrive.
   */
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
      throw new EngineError('internal', 'route gain out of range', { context: { gain } })
    }
    const under = (order.duckedBy ?? []).map((softer) => ({
      member: this.#member(softer.endpoint),
      gain: softer.gain,
      step: Math.min(1, FRAME_MS / softer.releaseMs),
    }))
    const old = target.routes.find((route) => route.source === source)
    return new Route(source, target, gain, under, live ? (old?.levels[1] ?? 0) : gain)
  }

  /** Selects arrival delivery for endpoints that hear exactly one network leg at full gain. */
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
    this.#assignPlayout()
  }

  /** Spares the jitter buffers of network legs whose audio only goes where it is delivered as it arrives. */
  #assignPlayout(): void {
    this.#routesFaded = false
    for (const member of this.#members) {
      if (member.network === null) continue
      const listened = member === this.#recorded && this.#liveAudio !== null
      const pulled =
        listened ||
        this.#members.some(
          (target) =>
            !target.fedOnArrival &&
            target.routes.some((route) => route.source === member || route.isDuckedBy(member)),
        )
      if (pulled === member.pulled) continue
      member.pulled = pulled
      member.network.setPlayout(pulled)
    }
  }

  #startNetwork(member: Member): void {
    member.network?.start(this.#originMs, new ArrivalFanOut(member))
  }

  #member(id: EndpointId): Member {
    const member = this.#members.find((candidate) => candidate.endpoint.id === id)
    if (member === undefined) throw new EngineError('internal', 'unknown endpoint', { context: { id } })
    return member
  }
}
