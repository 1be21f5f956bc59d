import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { SessionRate } from '../../media/base/frame.js'
import { allocateLiveAudio, LiveAudioReader } from '../../media/session/live-audio.js'
import type { LegId } from '../../workers/channel/protocol.js'
import type { CallId, MonitorEvent } from './call-events.js'
import { FurtherLeg, type FurtherLegDeps, type MakeLeg } from './further-leg.js'
import type { CallListener, JoinPlan, LiveAudio } from './ports.js'

type ListenerDeps = Pick<FurtherLegDeps, 'pool' | 'log'> &
  Partial<Pick<FurtherLegDeps, 'dialLeg'>> & { readonly clock: Clock }

/** A listener who hears the call over a leg. */
interface Joined {
  readonly plan: JoinedPlan
  readonly leg: FurtherLeg
  /** The next check of the right to listen. */
  check: Timer | null
}
type JoinedPlan = Extract<JoinPlan, { kind: 'listen' }>

/** Interval at which the right to listen by a leg is checked (ms). */
const CHECK_MS = 15_000

/** The people who listen to a call: with its audio in shared memory, or by a leg of their own. */
export class CallListeners {
  readonly #deps: ListenerDeps
  readonly #callId: CallId
  readonly #rate: SessionRate
  readonly #publish: (event: MonitorEvent) => void
  readonly #listeners = new Set<CallListener>()
  readonly #joined = new Map<LegId, Joined>()
  #legs = 0
  /** Memory of the audio, when the session writes it. Null while no listener needs it. */
  #shared: Promise<SharedArrayBuffer> | null = null
  #over = false

  constructor(
    deps: ListenerDeps,
    call: {
      readonly callId: CallId
      readonly rate: SessionRate
      readonly publish: (event: MonitorEvent) => void
    },
  ) {
    this.#deps = deps
    this.#callId = call.callId
    this.#rate = call.rate
    this.#publish = call.publish
  }

  /** Adds a listener. Resolves with null when the call ended meanwhile; rejects when the session does not answer. */
  async add(listener: CallListener): Promise<LiveAudio | null> {
    if (this.#over) return null
    const { id, by } = listener
    this.#listeners.add(listener)
    this.#publish({ type: 'monitored', id, by, mode: 'listen', status: 'begun', outcome: null })
    this.#shared ??= this.#share()
    let memory: SharedArrayBuffer
    try {
      memory = await this.#shared
    } catch (error) {
      this.#remove(listener)
      throw error
    }
    // The call ended meanwhile, and told the listener.
    if (this.#over) return null
    const reader = new LiveAudioReader(memory, this.#rate)
    return {
      rate: this.#rate,
      read: () => reader.read(),
      get lostMs() {
        return reader.lostMs
      },
      close: () => this.#remove(listener),
    }
  }

  /** Lets the sender of an INVITE hear the call, until the leg, the right to listen or the call ends. */
  join(plan: JoinedPlan, make: MakeLeg): void {
    const { pool, log, dialLeg } = this.#deps
    if (dialLeg === undefined) throw new EngineError('internal', 'this call takes no further legs')
    const leg = new FurtherLeg({ pool, log, dialLeg }, this.#callId, `listener-${++this.#legs}`, {
      ringing: () => {},
      answered: () => {
        pool.request({ type: 'attend', session: this.#callId, leg: leg.id }).then(
          () => {
            if (!this.#joined.has(leg.id)) return
            this.#report(plan, 'begun')
            this.#checkAgain(joined)
          },
          (error: unknown) => this.#dismiss(joined, 'call.attend_failed', error),
        )
      },
      ended: () => this.#left(joined),
    })
    const joined: Joined = { plan, leg, check: null }
    this.#joined.set(leg.id, joined)
    leg.take(make)
  }

  /** Returns the leg of a listener; null without one of this id. */
  legOf(id: LegId): FurtherLeg | null {
    return this.#joined.get(id)?.leg ?? null
  }

  /** Ends the listening of all listeners. Resolves when no leg is left. Idempotent; never rejects. */
  async end(): Promise<void> {
    this.#over = true
    for (const listener of [...this.#listeners]) {
      this.#remove(listener)
      listener.ended()
    }
    const joined = [...this.#joined.values()]
    for (const one of joined) this.#left(one)
    await Promise.all(joined.map(({ leg }) => leg.drop()))
  }

  #checkAgain(joined: Joined): void {
    joined.check = this.#deps.clock.after(CHECK_MS, () => {
      joined.plan.mayListen().then(
        (allowed) => {
          if (!this.#joined.has(joined.leg.id)) return
          if (allowed) this.#checkAgain(joined)
          else this.#dismiss(joined, 'listen.not_allowed', null)
        },
        (error: unknown) => this.#dismiss(joined, 'listen.check_failed', error),
      )
    })
  }

  /** Ends the leg of a listener, and says why. */
  #dismiss(joined: Joined, event: string, error: unknown): void {
    if (!this.#joined.has(joined.leg.id)) return
    const why = error === null ? {} : { error: errorText(error) }
    this.#deps.log.warn({ callId: this.#callId, by: joined.plan.by, ...why }, event)
    this.#left(joined)
    void joined.leg.drop()
  }

  /** Idempotent. */
  #left({ leg, plan, check }: Joined): void {
    if (!this.#joined.delete(leg.id)) return
    check?.cancel()
    this.#report(plan, 'over')
  }

  #report({ id, by }: JoinedPlan, status: 'begun' | 'over'): void {
    const outcome = status === 'over' ? 'left' : null
    this.#publish({ type: 'monitored', id, by, mode: 'listen', status, outcome })
  }

  #remove(listener: CallListener): void {
    if (!this.#listeners.delete(listener)) return
    const { id, by } = listener
    this.#publish({ type: 'monitored', id, by, mode: 'listen', status: 'over', outcome: 'left' })
    if (this.#listeners.size > 0 || this.#over) return
    this.#shared = null
    this.#deps.pool
      .request({ type: 'shareAudio', session: this.#callId, memory: null })
      .catch((error: unknown) => {
        this.#deps.log.warn({ callId: this.#callId, error: errorText(error) }, 'call.share_audio_failed')
      })
  }

  async #share(): Promise<SharedArrayBuffer> {
    const memory = allocateLiveAudio(this.#rate)
    await this.#deps.pool.request({ type: 'shareAudio', session: this.#callId, memory })
    return memory
  }
}
