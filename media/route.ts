import type { ArrivalEnd } from './arrival.js'
import { type AudioFrame, type End, FRAME_MS, type SessionRate } from './frame.js'
import { Limiter } from './limiter.js'

/** Over this long a route comes and goes: no click. */
const FADE_MS = FRAME_MS

/** One end in its session. */
export class Member {
  readonly end: End
  readonly arrival: ArrivalEnd | null
  /** What its `pull` wrote this beat. */
  readonly pcm: Int16Array
  readonly limiter: Limiter
  /** This beat's `pull` gave sound. */
  sounding = false
  /** Taken out of the session, maybe while a beat runs. */
  gone = false
  /** Who hears this end: as ordered, for digits. */
  to: readonly Member[] = []
  /** Who is heard by this end; those just taken back fade for one more beat. */
  from: Route[] = []
  /** Its one source is handed over as packets arrive, not on the beat. */
  byEar = false
  /** Who hears this end as packets arrive. */
  ears: End[] = []
  /** Who is shown that beside them. */
  readonly observers: ((frame: AudioFrame) => void)[] = []
  /** Where what it says is recorded. */
  track: 'caller' | 'person' | null = null

  constructor(end: End, arrival: ArrivalEnd | null, rate: SessionRate) {
    this.end = end
    this.arrival = arrival
    this.pcm = new Int16Array((rate / 1000) * FRAME_MS)
    this.limiter = new Limiter(rate)
  }
}

interface Softer {
  readonly member: Member
  readonly gain: number
  /** Share of the route's gain that comes back in one frame. */
  readonly step: number
}

/** One end heard by another, and how loud. */
export class Route {
  readonly source: Member
  readonly target: Member
  /** Gain where this frame begins and where it ends. */
  before: number
  level: number
  leaving = false
  readonly #gain: number
  readonly #under: readonly Softer[]
  #step = FRAME_MS / FADE_MS

  /** @param level where its gain is now: 0 lets it fade in. */
  constructor(source: Member, target: Member, gain: number, under: readonly Softer[], level: number) {
    this.source = source
    this.target = target
    this.#gain = gain
    this.#under = under
    this.before = level
    this.level = level
  }

  /** A network leg at full gain: it needs no mixing. */
  get bare(): boolean {
    return this.source.arrival !== null && this.#gain === 1 && this.#under.length === 0
  }

  /** Something of it is heard in this frame. */
  get audible(): boolean {
    return this.source.sounding && (this.before > 0 || this.level > 0)
  }

  /** At full gain, unchanged through this frame. */
  get plain(): boolean {
    return this.before === 1 && this.level === 1
  }

  /** Begins the next frame. Softer at once, back to full slowly. */
  advance(): void {
    let wanted = this.leaving ? 0 : this.#gain
    for (let i = 0; i < this.#under.length; i++) {
      const { member, gain, step } = this.#under[i] as Softer
      if (!member.sounding) continue
      wanted *= gain
      this.#step = step
    }
    this.before = this.level
    this.level = wanted <= this.level ? wanted : Math.min(wanted, this.level + this.#gain * this.#step)
  }
}

/** Takes routes out that were taken back and have faded. In place: this is the beat. */
export function dropLeft(routes: Route[]): void {
  let kept = 0
  for (let i = 0; i < routes.length; i++) {
    const route = routes[i] as Route
    if (!route.leaving) routes[kept++] = route
  }
  routes.length = kept
}
