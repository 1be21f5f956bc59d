import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { LegId, LegRequest, MediaPool, RemoteMedia } from '../../workers/channel/protocol.js'
import type { CallId } from './call-events.js'
import { type Ending, endingOfError } from './ending.js'
import type { Leg, LegEvents } from './leg.js'
import type { LegClearance } from './ports.js'
import { SilentPeer } from './silent-peer.js'

/** A leg that was dialled; `release` gives back what it holds on its trunk. */
export interface DialledLeg {
  readonly leg: Leg
  release(): void
}

/** Makes the leg of a person who called us. */
export type MakeLeg = (events: LegEvents) => Leg

export interface FurtherLegDeps {
  readonly pool: MediaPool
  readonly log: Log
  /** Dials a leg under a permit. Throws EngineError when permit or trunk refuse. */
  dialLeg(callId: CallId, clearance: LegClearance, events: LegEvents): DialledLeg
}

/** Events of a further leg. None follows `ended` or the call's own `drop`. */
export interface FurtherLegEvents {
  /** The phone rings. */
  ringing(sip: number): void
  /** As `ringing`, and the leg has media before its answer. Without this handler there is none. */
  early?(sip: number): void
  /** Instead of `early`: the leg has media before its answer, over a carrier that never reports answers. */
  unreported?(): void
  /** The person answered and the media of the leg runs. */
  answered(): void
  /** The leg ended without our doing, or could not be made. Once. */
  ended(ending: Ending): void
}

/** The ending of a leg that may not be dialled now. */
const NOT_CLEARED: Ending = { by: 'engine', cause: 'rejected', fault: 'customer', note: 'not cleared' }
const DROPPED: Ending = { by: 'engine', cause: 'agent_hangup', fault: 'none' }
const NO_MEDIA: Ending = { by: 'engine', cause: 'carrier_error', fault: 'carrier', note: 'media timeout' }

/** A leg of a call beside the one it began with: its dialog and its part of the media session. */
export class FurtherLeg {
  readonly id: LegId
  readonly #callId: CallId
  readonly #deps: FurtherLegDeps
  readonly #events: FurtherLegEvents
  #dialled: DialledLeg | null = null
  #clearance: LegClearance | null = null
  /** The media session has the leg. */
  #hasMedia = false
  /** False while the person holds the call and may send nothing, and before the answer. */
  #sends = false
  #isAnswered = false
  #reportsAnswer = true
  #isOver = false
  readonly #silence = new SilentPeer(() => this.mediaLost())
  #closed: Promise<void> = Promise.resolve()

  constructor(deps: FurtherLegDeps, callId: CallId, id: LegId, events: FurtherLegEvents) {
    this.#deps = deps
    this.#callId = callId
    this.id = id
    this.#events = events
  }

  /** Call-ID of its dialog; null before it is dialled. */
  get sipCallId(): string | null {
    return this.#dialled?.leg.sipCallId ?? null
  }

  /** False over a carrier that never reports the answer. */
  get reportsAnswer(): boolean {
    return this.#reportsAnswer
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Resolves when nothing of an ended leg is left; never rejects. */
  get closed(): Promise<void> {
    return this.#closed
  }

  /** Asks for the right to dial, and dials. `clear` resolves with null when the dial is not allowed. */
  open(clear: () => Promise<LegClearance | null>): void {
    this.#open(clear).catch((error: unknown) => this.#failed(error))
  }

  /** Takes the leg of a person who called us. */
  take(make: MakeLeg): void {
    const leg = make(this.#legEvents())
    this.#dialled = { leg, release: () => {} }
    leg.ring()
    this.#place(() => leg).catch((error: unknown) => this.#failed(error))
  }

  /** Ends the leg, with a Reason header if one is given, and its media. Idempotent; never rejects. */
  drop(reason?: string): Promise<void> {
    if (!this.#isOver) {
      this.#isOver = true
      // BYE first, so that the person does not hear cut-off audio.
      this.#closed = (async () => {
        await this.#dialled?.leg.end(reason === undefined ? DROPPED : { ...DROPPED, reason })
        this.#release()
        await this.#removeMedia()
      })()
    }
    return this.#closed
  }

  /** Ends a leg whose far side should send and does not, unless it is there nevertheless. */
  mediaTimeout(again: boolean): void {
    if (this.#isOver || !this.#sends) return
    const leg = this.#dialled?.leg
    // Before the answer there is no dialog to ask about, and nothing else tells that such a leg has ended.
    if (leg === undefined || !this.#isAnswered) this.mediaLost()
    else this.#silence.silent(again, () => leg.ask())
  }

  /** Ends a leg whose far side has left, or can send nothing any more. */
  mediaLost(): void {
    if (this.#isOver) return
    void this.drop()
    this.#events.ended(NO_MEDIA)
  }

  async #open(clear: () => Promise<LegClearance | null>): Promise<void> {
    const clearance = await clear()
    this.#clearance = clearance
    if (this.#isOver) {
      this.#release()
      return
    }
    if (clearance === null) {
      this.#ended(NOT_CLEARED)
      return
    }
    this.#reportsAnswer = clearance.gateway.reportsAnswer ?? true
    await this.#place(() => {
      this.#dialled = this.#deps.dialLeg(this.#callId, clearance, this.#legEvents())
      return this.#dialled.leg
    })
  }

  /** Opens the media of the leg, and connects it. */
  async #place(leg: () => Leg): Promise<void> {
    const { pool } = this.#deps
    this.#hasMedia = true
    const local = await pool.request({ type: 'addLeg', session: this.#callId, leg: this.id })
    if (this.#isOver) {
      await this.#removeMedia()
      return
    }
    leg().connect(local)
  }

  #legEvents(): LegEvents {
    const { pool, log } = this.#deps
    return {
      progress: (status, early) => this.#progress(status, early),
      answered: (remote) => this.#answered(remote),
      mediaChanged: (remote) => this.#setRemote(remote),
      digit: ({ digit, durationMs }) => {
        pool.digit(this.#callId, digit, durationMs, this.id).catch((error: unknown) => {
          log.warn({ callId: this.#callId, error: errorText(error) }, 'call.info_digit_lost')
        })
      },
      ended: (ending) => this.#ended(ending),
    }
  }

  #progress(status: number, early: RemoteMedia | undefined): void {
    if (this.#isOver || status < 180) return
    const { early: handler, unreported } = this.#events
    const report = this.#reportsAnswer ? handler : unreported
    if (early === undefined || report === undefined) {
      this.#events.ringing(status)
      return
    }
    // Nothing else tells that such a leg has begun to send.
    if (!this.#reportsAnswer) this.#sends = early.send
    this.#deps.pool.request(this.#remote(early)).then(
      () => {
        if (!this.#isOver && !this.#isAnswered) report(status)
      },
      (error: unknown) => {
        if (this.#isOver) return
        void this.drop()
        this.#events.ended(endingOfError(error))
      },
    )
  }

  #answered(remote: RemoteMedia): void {
    this.#isAnswered = true
    this.#setRemote(remote).then(
      () => {
        if (!this.#isOver) this.#events.answered()
      },
      (error: unknown) => {
        if (this.#isOver) return
        void this.drop()
        this.#events.ended(endingOfError(error))
      },
    )
  }

  async #setRemote(remote: RemoteMedia): Promise<void> {
    this.#sends = remote.send
    await this.#deps.pool.request(this.#remote(remote))
  }

  #remote(remote: RemoteMedia): LegRequest {
    return { type: 'remote', session: this.#callId, leg: this.id, remote }
  }

  #failed(error: unknown): void {
    this.#deps.log.warn({ callId: this.#callId, error: errorText(error) }, 'call.leg_failed')
    const ending = endingOfError(error)
    // When the leg is an incoming call, its caller gets an answer.
    void this.#dialled?.leg.end(ending)
    this.#ended(ending)
  }

  #ended(ending: Ending): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#release()
    this.#closed = this.#removeMedia()
    this.#events.ended(ending)
  }

  /** Gives back what the leg holds on its trunk. */
  #release(): void {
    this.#dialled?.release()
    this.#clearance?.release?.()
    this.#clearance = null
  }

  /** Never rejects: the leg may be gone with its session. */
  async #removeMedia(): Promise<void> {
    if (!this.#hasMedia) return
    this.#hasMedia = false
    const { pool, log } = this.#deps
    const request = { type: 'dropLeg', session: this.#callId, leg: this.id, why: 'hangup' } as const
    await pool.request(request).catch((error: unknown) => {
      log.debug({ callId: this.#callId, error: errorText(error) }, 'call.leg_gone')
    })
  }
}
