import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { SipServer } from '../../signalling/sip/sip-port.js'
import type { RegistrationReport } from '../../signalling/trunk/registration.js'
import { TrunkRegistrations } from '../../signalling/trunk/trunk-registrations.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import type { Egress } from '../net/egress.js'
import { hostProblem } from './outbound-host.js'
import { listRegisteringTrunks } from './store.js'
import { isCustomers, registrationOf } from './trunk-route.js'

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
  readonly egress: Pick<Egress, 'check'>
  readonly clock: Clock
  readonly log: Log
}

/** Poll interval (ms): changes of trunks take effect within this time. */
const POLL_MS = 5_000

/** Keeps trunks registered at their carriers, following changes in the database. */
export function openRegistrations(options: RegistrationsOptions): Registrations {
  const { db, rootKey, egress, clock, log } = options
  const registrar = new TrunkRegistrations(options)
  let timer: Timer | null = null
  let closed = false
  let polling: Promise<void> = Promise.resolve()

  const poll = async (): Promise<void> => {
    try {
      const trunks = await listRegisteringTrunks(db)
      const usable: SipTrunkRow[] = []
      for (const trunk of trunks) if (await mayRegister(trunk)) usable.push(trunk)
      if (!closed) registrar.sync(usable.flatMap((trunk) => registrationOf(trunk, rootKey) ?? []))
    } catch (error) {
      log.error({ error: errorText(error) }, 'registration.trunks_read_failed')
    }
    if (!closed) timer = clock.after(POLL_MS, startPoll)
  }
  /** The host of a customer is checked again before the first REGISTER to it, and the SIP server checks each one. */
  const mayRegister = async (trunk: SipTrunkRow) => {
    const { id, organizationId, outboundHost: host } = trunk
    if (!isCustomers(trunk) || host === null || registrar.report(id) !== null) return true
    const problem = await hostProblem(egress, organizationId, host)
    if (problem !== null) log.warn({ trunkId: id, problem }, 'registration.host_refused')
    return problem === null
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
