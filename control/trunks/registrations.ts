import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { SipServer } from '../../signalling/sip/sip-port.js'
import type { RegistrationReport } from '../../signalling/trunk/registration.js'
import { TrunkRegistrations } from '../../signalling/trunk/trunk-registrations.js'
import { jittered } from '../base/jitter.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import type { Egress } from '../net/egress.js'
import { hostProblem } from './outbound-host.js'
import { endRegistrationLeases, leaseRegistrations, listRegisteringTrunks } from './store.js'
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
  /** The clock of the database, which all processes share. */
  readonly clock: Clock
  readonly nodeId: string
  readonly log: Log
}

/** Longest time between two polls (ms): changes of trunks take effect within it. */
const POLL_MS = 5_000
/** Lifetime of a lease (ms). Another process registers a trunk whose lease was not renewed. */
const LEASE_MS = 30_000
/** A lease with less time left is renewed (ms). */
const RENEW_MS = LEASE_MS / 2

/**
 * Keeps trunks registered at their carriers, following changes in the database. Each trunk is registered by one of the
 * processes that share the database: the one that holds its lease. While the database cannot be read a process keeps
 * what it has registered.
 */
export function openRegistrations(options: RegistrationsOptions): Registrations {
  const { db, rootKey, egress, clock, nodeId, log } = options
  const registrar = new TrunkRegistrations(options)
  let timer: Timer | null = null
  let closed = false
  let leased = false
  let polling: Promise<void> = Promise.resolve()

  const poll = async (): Promise<void> => {
    try {
      const trunks = await ownTrunks()
      const usable: SipTrunkRow[] = []
      for (const trunk of trunks) if (await mayRegister(trunk)) usable.push(trunk)
      if (!closed) registrar.sync(usable.flatMap((trunk) => registrationOf(trunk, rootKey) ?? []))
    } catch (error) {
      log.error({ error: errorText(error) }, 'registration.trunks_read_failed')
    }
    if (!closed) timer = clock.after(jittered(POLL_MS), startPoll)
  }
  /** Returns the trunks whose lease this process holds, and takes the leases that have ended. */
  const ownTrunks = async (): Promise<readonly SipTrunkRow[]> => {
    const trunks = await listRegisteringTrunks(db)
    const now = clock.wall()
    const isOwn = ({ registeredBy }: SipTrunkRow): boolean => registeredBy === nodeId
    const isDue = (trunk: SipTrunkRow): boolean =>
      trunk.registeredUntil <= now + (isOwn(trunk) ? RENEW_MS : 0)
    const due = trunks.filter(isDue).map(({ id }) => id)
    const until = now + LEASE_MS
    const leases = due.length === 0 ? [] : await leaseRegistrations(db, due, { nodeId, now, until })
    const renewed = new Set(leases)
    const own = trunks.filter((trunk) => (isDue(trunk) ? renewed.has(trunk.id) : isOwn(trunk)))
    leased ||= own.length > 0
    return own
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
  const close = async (): Promise<void> => {
    closed = true
    timer?.cancel()
    await polling
    await registrar.close()
    if (!leased) return
    try {
      await endRegistrationLeases(db, nodeId)
    } catch (error) {
      log.warn({ error: errorText(error) }, 'registration.leases_not_ended')
    }
  }
  let closing: Promise<void> | null = null
  startPoll()
  return {
    report: (trunkId) => registrar.report(trunkId),
    close() {
      closing ??= close()
      return closing
    },
  }
}
