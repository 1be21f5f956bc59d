import { type AudioFrame, type Endpoint, FRAME_MS, type SessionRate } from '../base/frame.js'
import { Limiter } from './limiter.js'
import type { NetworkEndpoint } from './network-endpoint.js'

/** Over this long a route comes and goes: no click. */
const FADE_MS = FRAME_MS

/** One end in its session. */
export class Member {
  readonly endpoint: Endpoint
  readonly network: NetworkEndpoint | null
  /** What its `pull` wrote this beat. */
  readonly pcm: Int16Array
  readonly limiter: Limiter
  /** This beat's `pull` gave sound. */
  hasAudio = false
  /** Taken out of the session, maybe while a beat runs. */
  removed = false
  /** Who hears this end: as ordered, for digits. */
  targets: readonly Member[] = []
  /** Who is heard by this end; those just taken back fade for one more beat. */
  routes: Route[] = []
  /** Its one source is handed over as packets arrive, not on the beat. */
  fedOnArrival = false
  /** Who hears this end as packets arrive. */
  arrivalTargets: Endpoint[] = []
  /** Who is shown that beside them. */
  readonly observers: ((frame: AudioFrame) => void)[] = []
  /** Where what it says is recorded. */
  track: 'caller' | 'person' | null = null

  constructor(endpoint: Endpoint, network: NetworkEndpoint | null, rate: SessionRate) {
    this.endpoint = endpoint
    this.network = network
    this.pcm = new Int16Array((rate / 1000) * FRAME_MS)
    this.limiter = new Limiter(rate)
  }
}

interface DuckingRule {
  readonly member: Member
  readonly gain: number
  /** Share of the route's gain that comes back in one frame. */
  readonly step: number
}

/** One end heard by another, and how loud. */
export class Route {
  readonly source: Member
  readonly target: Member
  leaving = false
  /**
   * Gain where this frame begins, where it ends, and the share that may come back in a frame; in an array,
   * so that a beat allocates no numbers.
   */
  readonly levels = Float64Array.of(0, 0, FRAME_MS / FADE_MS)
  readonly #gain: number
  readonly #ducking: readonly DuckingRule[]

  /** @param level where its gain is now: 0 lets it fade in. */
  constructor(source: Member, target: Member, gain: number, under: readonly DuckingRule[], level: number) {
    this.source = source
    this.target = target
    this.#gain = gain
    this.#ducking = under
    this.levels.fill(level, 0, 2)
  }

  /** A network leg at full gain: it needs no mixing. */
  get isDirect(): boolean {
    return this.source.network !== null && this.#gain === 1 && this.#ducking.length === 0
  }

  /** Something of it is heard in this frame. */
  get audible(): boolean {
    return this.source.hasAudio && ((this.levels[0] as number) > 0 || (this.levels[1] as number) > 0)
  }

  /** At full gain, unchanged through this frame. */
  get isUnityGain(): boolean {
    return this.levels[0] === 1 && this.levels[1] === 1
  }

  /** Begins the next frame. Softer at once, back to full slowly. */
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

/** Takes routes out that were taken back and have faded. In place: this is the beat. */
export function dropLeavingRoutes(routes: Route[]): void {
  let kept = 0
  for (let i = 0; i < routes.length; i++) {
    const route = routes[i] as Route
    if (!route.leaving) routes[kept++] = route
  }
  routes.length = kept
}
