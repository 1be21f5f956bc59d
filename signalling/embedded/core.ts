import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { Scope } from '../../media/base/scope.js'
import type { App } from './app/control-port.js'
import { type Dialog, DialogTable } from './dialog/dialog.js'
import { EarlyDialogTable } from './dialog/early-dialogs.js'
import type { Guard } from './guard/guard.js'
import type { SpammerList } from './guard/spammer-list.js'
import { newTag } from './ids.js'
import type { Limits } from './limits.js'
import { ProxiedCalls } from './proxy/proxied-calls.js'
import { DestinationQuarantine } from './routing/destination-quarantine.js'
import type { Dns } from './routing/dns.js'
import { LocationCache } from './routing/location-cache.js'
import { RegisteredFlows } from './routing/registered-flows.js'
import { RegistrationKeepAlives } from './routing/registration-keep-alive.js'
import type { ClientTransaction } from './transaction/client-transaction.js'
import type { ServerTransaction } from './transaction/server-transaction.js'
import type { Timers } from './transaction/timers.js'
import { interfaceAddresses } from './transport/local-address.js'
import type { Transport } from './transport/transport.js'
import type {
  ForwardedRequest,
  IncomingRequest,
  PendingRequest,
  ReceivedRequest,
} from './user-agent/pending-requests.js'

export interface CoreSettings {
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
  readonly scope: Scope
  /** Whether peers behind a NAT are answered where their messages came from. */
  readonly nat: boolean
  readonly dns: Dns
  /** Values in [0, 1): the draw among servers of equal priority. */
  readonly random: () => number
  /** The application whose turn it is for a new request of that method. */
  nextApp(method: string): App | null
  /** Who refreshes a session when the caller leaves it open (RFC 4028 9). */
  readonly sessionRefresher: 'none' | 'uac' | 'uas'
  readonly spammers: SpammerList | null
  readonly guard: Guard
  /** A session timer ran out: time to refresh, or nobody did. */
  onSessionTimer(dialog: Dialog, what: 'refresh' | 'expired'): void
}

/** The server's tables, and what every part of it needs. No behaviour of its own. */
export class Core {
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
  /** Owns every timer that is not a transaction's. */
  readonly scope: Scope
  readonly nat: boolean
  readonly nextApp: (method: string) => App | null
  readonly sessionRefresher: 'none' | 'uac' | 'uas'
  readonly spammers: SpammerList | null
  readonly guard: Guard
  readonly onSessionTimer: (dialog: Dialog, what: 'refresh' | 'expired') => void
  readonly transports: Transport[] = []
  /** No new calls: the server is about to end. */
  draining = false
  readonly locations: LocationCache
  /** Destinations that failed lately. */
  readonly quarantine: DestinationQuarantine
  /** The machine's addresses: what a wildcard listener answers to. */
  readonly ownAddresses: ReadonlySet<string> = new Set([...interfaceAddresses(4), ...interfaceAddresses(6)])
  readonly dialogs = new DialogTable()
  /** Transactions by what messages on the wire carry. */
  readonly clientTransactions = new Map<string, ClientTransaction>()
  readonly serverTransactions = new Map<string, ServerTransaction>()
  /** Requests of peers an application has not finally answered, by transaction id. */
  readonly incoming = new Map<string, IncomingRequest>()
  /** The INVITEs among them by server transaction key, where a CANCEL looks. */
  readonly invites = new Map<string, IncomingRequest>()
  readonly earlyDialogs = new EarlyDialogTable()
  /** UPDATEs of peers an application has not answered; in early dialogs by the INVITE's id. */
  readonly updates = new Map<string, IncomingRequest>()
  /** Requests this server forwards, by server transaction key. */
  readonly responseContexts = new Map<string, ForwardedRequest>()
  /** Requests under way by what makes them the same one on several paths (RFC 3261 8.2.2.2). */
  readonly mergedRequests = new Map<string, string>()
  readonly proxiedCalls = new ProxiedCalls()
  /** NOTIFYs that overtook the answer to our SUBSCRIBE, by dialog id. */
  readonly heldNotifies = new Map<string, ReceivedRequest[]>()
  readonly registeredFlows: RegisteredFlows
  readonly keepAlives: RegistrationKeepAlives
  readonly pendingBySource = new Map<string, number>()
  /** Requests of applications without a final response yet, by transaction id. */
  readonly outgoing = new Map<string, PendingRequest>()
  /** The To tag of responses that no transaction remembers (RFC 3261 8.2.7: always the same). */
  readonly statelessTag = newTag()

  constructor(settings: CoreSettings) {
    this.clock = settings.clock
    this.timers = settings.timers
    this.limits = settings.limits
    this.log = settings.log
    this.scope = settings.scope
    this.nat = settings.nat
    this.nextApp = settings.nextApp
    this.sessionRefresher = settings.sessionRefresher
    this.spammers = settings.spammers
    this.guard = settings.guard
    this.onSessionTimer = settings.onSessionTimer
    this.registeredFlows = new RegisteredFlows(settings.clock)
    this.keepAlives = new RegistrationKeepAlives(settings.clock, settings.timers, settings.random)
    this.locations = new LocationCache(settings.clock, settings.log, settings.dns, settings.random)
    this.quarantine = new DestinationQuarantine(settings.clock)
    this.scope.own(() => {
      this.locations.close()
      this.keepAlives.close()
      for (const transaction of this.clientTransactions.values()) transaction.close()
      for (const transaction of this.serverTransactions.values()) transaction.close()
      for (const table of [this.incoming, this.updates]) {
        for (const incoming of table.values()) incoming.deadline?.cancel()
      }
      for (const dialog of this.dialogs.all()) this.dialogs.remove(dialog)
      for (const table of [
        this.clientTransactions,
        this.serverTransactions,
        this.incoming,
        this.invites,
        this.earlyDialogs,
        this.updates,
        this.responseContexts,
        this.mergedRequests,
        this.outgoing,
      ]) {
        table.clear()
      }
    })
  }
}
