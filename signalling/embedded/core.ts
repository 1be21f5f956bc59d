import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { Scope } from '../../media/base/scope.js'
import type { App } from './app/control-port.js'
import { Counts } from './counts.js'
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
  /** True if peers behind a NAT are answered at the source address of their messages. */
  readonly nat: boolean
  readonly dns: Dns
  /** Returns values in [0, 1), used to pick among SRV records of equal priority. */
  readonly random: () => number
  /** Returns the next application in turn for a new request of this method, or null without one. */
  nextApp(method: string): App | null
  /** The refresher of a session when the caller leaves it open (RFC 4028 9). */
  readonly sessionRefresher: 'none' | 'uac' | 'uas'
  readonly spammers: SpammerList | null
  /** True if registered clients are found by their Contact. */
  readonly registeredFlows: boolean
  readonly guard: Guard
  /** Called when a session timer fires: this side has to refresh, or the peer did not refresh in time. */
  onSessionTimer(dialog: Dialog, what: 'refresh' | 'expired'): void
}

/** The tables and settings that all parts of the server share. It has no behaviour of its own. */
export class Core {
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
  /** Owns every timer that does not belong to a transaction. */
  readonly scope: Scope
  readonly nat: boolean
  readonly nextApp: (method: string) => App | null
  readonly sessionRefresher: 'none' | 'uac' | 'uas'
  readonly spammers: SpammerList | null
  readonly guard: Guard
  readonly onSessionTimer: (dialog: Dialog, what: 'refresh' | 'expired') => void
  readonly transports: Transport[] = []
  /** True when the server is about to end and takes no new calls. */
  draining = false
  readonly locations: LocationCache
  /** Destinations that failed recently. */
  readonly quarantine: DestinationQuarantine
  /** The addresses of the machine, which a wildcard listener answers to. */
  readonly ownAddresses: ReadonlySet<string> = new Set([...interfaceAddresses(4), ...interfaceAddresses(6)])
  readonly dialogs = new DialogTable()
  /** Client and server transactions by their key from the message. */
  readonly clientTransactions = new Map<string, ClientTransaction>()
  readonly serverTransactions = new Map<string, ServerTransaction>()
  /** Requests of peers without a final response from an application, by transaction id. */
  readonly incoming = new Map<string, IncomingRequest>()
  /** The INVITEs among `incoming` by server transaction key, for the lookup of a CANCEL. */
  readonly invites = new Map<string, IncomingRequest>()
  readonly earlyDialogs = new EarlyDialogTable()
  /** Unanswered UPDATEs of peers by transaction id; in an early dialog, by the id of the INVITE. */
  readonly updates = new Map<string, IncomingRequest>()
  /** Requests this server forwards as a proxy, by server transaction key. */
  readonly responseContexts = new Map<string, ForwardedRequest>()
  /**
   * Requests in progress by the values that are equal on all paths of a forked request (RFC 3261 8.2.2.2).
   */
  readonly mergedRequests = new Map<string, string>()
  readonly proxiedCalls = new ProxiedCalls()
  /** NOTIFYs that arrived before the response to our SUBSCRIBE, by dialog id. */
  readonly heldNotifies = new Map<string, ReceivedRequest[]>()
  readonly registeredFlows: RegisteredFlows
  readonly keepAlives: RegistrationKeepAlives
  /** Unanswered INVITEs outside dialogs by source address. */
  readonly pendingBySource = new Counts()
  /** Server transactions of requests inside calls, by Call-ID. */
  readonly callTransactions = new Counts()
  /** Requests of applications without a final response, by transaction id. */
  readonly outgoing = new Map<string, PendingRequest>()
  /** The To tag of stateless responses, which must be the same every time (RFC 3261 8.2.7). */
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
    this.registeredFlows = new RegisteredFlows(settings.clock, settings.registeredFlows)
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
