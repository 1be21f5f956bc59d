import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { SipServer } from '../../signalling/sip/sip-port.js'
import type { RegistrationReport } from '../../signalling/trunk/registration.js'
import { TrunkRegistrations } from '../../signalling/trunk/trunk-registrations.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import { listRegisteringTrunks } from './store.js'
import { registrationOf } from './trunk-route.js'

export interface Registrations {
  /** Null for a trunk that is not registered by this process. */
  report(trunkId: string): RegistrationReport | null
  /** Removes the bindings. Idempotent. */
  close(): Promise<void>
}

export interface RegistrationsOptions {
  readonly db: Db
  readonly rootKey: RootKey
  readonly sip: SipServer
  readonly clock: Clock
  readonly log: Log
}

/** A trunk that was changed, disabled or given another password is followed this fast. */
const LOOK_MS = 5_000

/** Keeps the trunks that ask for it registered at their carriers, following the tables. */
export function openRegistrations(options: RegistrationsOptions): Registrations {
  const { db, rootKey, clock, log } = options
  const registrar = new TrunkRegistrations(options)
  let timer: Timer | null = null
  let closed = false
  let looking: Promise<void> = Promise.resolve()

  const look = async (): Promise<void> => {
    try {
      const trunks = await listRegisteringTrunks(db)
      if (!closed) registrar.sync(trunks.flatMap((trunk) => registrationOf(trunk, rootKey) ?? []))
    } catch (error) {
      log.error({ error: errorText(error) }, 'the trunks to register could not be read')
    }
    if (!closed) timer = clock.after(LOOK_MS, again)
  }
  const again = (): void => {
    looking = look()
  }
  again()
  return {
    report: (trunkId) => registrar.report(trunkId),
    async close() {
      closed = true
      timer?.cancel()
      await looking
      await registrar.close()
    },
  }
}
