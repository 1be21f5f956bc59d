import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { CALLER_LEG, type LegId, type MediaPool } from '../../workers/channel/protocol.js'
import type { CallId } from './call-events.js'
import type { FurtherLeg } from './further-leg.js'
import type { TransferListening } from './ports.js'
import type { TransferAttempt, TransferRoute } from './transfer-machine.js'

/**
 * Listens to whom each route of a transfer needs: to a caller who waits, to a person with whom the agent talks, and to both
 * of a conversation that is kept.
 */
export class RouteListening {
  readonly #callId: CallId
  readonly #pool: MediaPool
  readonly #log: Log
  readonly #legs = new Set<LegId>()

  constructor(callId: CallId, { pool, log }: { readonly pool: MediaPool; readonly log: Log }) {
    this.#callId = callId
    this.#pool = pool
    this.#log = log
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
    const wanted = listening !== null && route !== 'agent' && (!bridged || listening.keep)
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
    const from = sipCallId === null ? {} : { sipCallId }
    this.#pool
      .request({ type: 'listen', session: this.#callId, leg, languages, ...from })
      // Keys work without it.
      .catch((error: unknown) =>
        this.#log.warn({ callId: this.#callId, leg, error: errorText(error) }, 'transfer.listen_failed'),
      )
  }
}
