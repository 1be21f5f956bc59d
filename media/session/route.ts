import { type AudioFrame, FRAME_MS, type SessionRate } from '../base/frame.js'
import type { VoiceTrack } from '../recording/recorder.js'
import { type Endpoint, isNetworkEndpoint, type NetworkEndpoint } from './endpoint.js'
import { Limiter } from './limiter.js'

/** A route fades in and out over this time (ms), so that it does not click. */
const FADE_MS = FRAME_MS

/** An endpoint and its state in a session. */
export class Member {
  readonly endpoint: Endpoint
  /** The endpoint again, when it is a network leg. */
  readonly network: NetworkEndpoint | null
  /** The audio of this tick's `pull`. */
  readonly pcm: Int16Array
  readonly limiter: Limiter
  /** This tick's `pull` returned audio. */
  hasAudio = false
  /** The audio of `pull` is used. */
  pulled = true
  /** The session removed this member, possibly during a tick. */
  removed = false
  /** The members that this endpoint is routed to, without fading routes: digits go there. */
  targets: readonly Member[] = []
  /** At least one member who takes part in the conversation hears this member. */
  hasAudience = false
  /** The routes that end here. A removed route stays for one tick to fade out. */
  routes: Route[] = []
  /** The only source is delivered as packets arrive instead of on each tick. */
  fedOnArrival = false
  /** The endpoints that take this member's audio as packets arrive. */
  arrivalTargets: Endpoint[] = []
  readonly observers: ((frame: AudioFrame) => void)[] = []
  /** Recording of the voice of this leg; null when it is not. */
  track: VoiceTrack | null = null
  /** The voice is heard by those whose conversation is recorded. */
  recorded = false

  constructor(endpoint: Endpoint, rate: SessionRate) {
    this.endpoint = endpoint
    this.network = isNetworkEndpoint(endpoint) ? endpoint : null
    this.pcm = new Int16Array((rate / 1000) * FRAME_MS)
    this.limiter = new Limiter(rate)
  }
}

interface DuckingRule {
  readonly member: Member
  readonly gain: number
  /** Share of the route's gain that recovers in one frame. */
  readonly step: number
}

/** The audio of one member mixed into another, with a gain. */
export class Route {
  readonly source: Member
  readonly target: Member
  leaving = false
  /**
   * Gain at the start and at the end of the frame, and the share that may recover per frame. An array,
   * because separate number fields would allocate on each tick.
   */
  readonly levels = Float64Array.of(0, 0, FRAME_MS / FADE_MS)
  readonly #gain: number
  readonly #ducking: readonly DuckingRule[]

  /** @param level the current gain; 0 fades the route in. */
  constructor(source: Member, target: Member, gain: number, ducking: readonly DuckingRule[], level: number) {
    this.source = source
    this.target = target
    this.#gain = gain
    this.#ducking = ducking
    this.levels.fill(level, 0, 2)
  }

  /** The source is a network leg at full gain without ducking, so this route needs no mixing. */
  get isDirect(): boolean {
    return this.source.network !== null && this.#gain === 1 && this.#ducking.length === 0
  }

  /** The gain depends on whether this member has audio. */
  isDuckedBy(member: Member): boolean {
    return this.#ducking.some((rule) => rule.member === member)
  }

  /** The route adds audio to the current frame. */
  get audible(): boolean {
    return this.source.hasAudio && ((this.levels[0] as number) > 0 || (this.levels[1] as number) > 0)
  }

  /** The gain is 1 throughout the current frame. */
  get isUnityGain(): boolean {
    return this.levels[0] === 1 && this.levels[1] === 1
  }

  /** Computes the gain of the next frame: ducking acts at once and recovers slowly. */
  advance(): void {
    const levels = this.levels
    let wanted = this.leaving ? 0 : this.#gain
    for (let i = 0; i < this.#ducking.length; i++) {
      const { member, gain, step } = this.#ducking[i] as DuckingRule
      if (!member.hasAudio) continue
      wanted *= gain
      levels[2] = step
    }
    const before = levels[1] as number
    levels[0] = before
    levels[1] = wanted <= before ? wanted : Math.min(wanted, before + this.#gain * (levels[2] as number))
  }
}

/** Removes faded routes in place, because it runs on the tick. */
export function dropLeavingRoutes(routes: Route[]): void {
  let kept = 0
  for (let i = 0; i < routes.length; i++) {
    const route = routes[i] as Route
    if (!route.leaving) routes[kept++] = route
  }
  routes.length = kept
}
