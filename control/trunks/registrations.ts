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
  /** Returns the registration state of a trunk, or null if this process does not register it. */
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

/** Poll interval (ms): changes of trunks take effect within this time. */
const POLL_MS = 5_000

/** Keeps trunks registered at their carriers, following changes in the database. */
export function openRegistrations(options: RegistrationsOptions): Registrations {
  const { db, rootKey, clock, log } = options
  const registrar = new TrunkRegistrations(options)
  let timer: Timer | null = null
  let closed = false
  let polling: Promise<void> = Promise.resolve()

  const poll = async (): Promise<void> => {
    try {
      const trunks = await listRegisteringTrunks(db)
      if (!closed) registrar.sync(trunks.flatMap((trunk) => registrationOf(trunk, rootKey) ?? []))
    } catch (error) {
      log.error({ error: errorText(error) }, 'registration.trunks_read_failed')
    }
    if (!closed) timer = clock.after(POLL_MS, startPoll)
  }
  const startPoll = (): void => {
    polling = poll()
  }
  startPoll()
  return {
    report: (trunkId) => registrar.report(trunkId),
    async close() {
      closed = true
      timer?.cancel()
      await polling
      await registrar.close()
    },
  }
}
