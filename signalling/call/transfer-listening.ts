import { CALLER_LEG, type LegId } from '../../workers/channel/protocol.js'
import type { CallId } from './call-events.js'
import type { FurtherLeg } from './further-leg.js'
import { type LegSpeechDeps, listenTo } from './leg-speech.js'
import type { TransferListening } from './ports.js'
import type { TransferAttempt, TransferRoute } from './transfer-machine.js'

/**
 * Listens to whom each route of a transfer needs: to a caller who waits, to a person with whom the agent talks, and to both
 * of a conversation that is kept.
 */
export class RouteListening {
  readonly #callId: CallId
  readonly #deps: LegSpeechDeps
  readonly #legs = new Set<LegId>()

  constructor(callId: CallId, deps: LegSpeechDeps) {
    this.#callId = callId
    this.#deps = deps
  }

  /** Returns whether a leg is listened to. */
  has(leg: LegId): boolean {
    return this.#legs.has(leg)
  }

  follow(
    route: TransferRoute,
    listening: TransferListening | null,
    leg: FurtherLeg | null,
    attempt: TransferAttempt | null,
  ): void {
    const bridged = route === 'bridged'
    const waits = route !== 'agent' && route !== 'parting'
    const wanted = listening !== null && waits && (!bridged || listening.keep)
    this.#listen(CALLER_LEG, wanted ? listening.caller : null)
    if (leg === null || attempt === null) return
    if (leg.isOver) {
      this.#legs.delete(leg.id)
      return
    }
    const hears = wanted && route !== 'waiting' && (attempt.mode === 'consult' || listening.keep)
    this.#listen(leg.id, hears ? listening.person(attempt.destination) : null, leg.sipCallId)
  }

  #listen(leg: LegId, languages: readonly string[] | null, sipCallId: string | null = null): void {
    if (this.#legs.has(leg) === (languages !== null)) return
    if (languages === null) this.#legs.delete(leg)
    else this.#legs.add(leg)
    // Keys work without it.
    listenTo(this.#deps, this.#callId, { leg, languages, sipCallId, event: 'transfer.listen_failed' })
  }
}
