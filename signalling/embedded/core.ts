import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { Scope } from '../../media/base/scope.js'
import type { App } from './control.js'
import { DialogTable } from './dialog.js'
import { newTag } from './ids.js'
import type { Limits } from './limits.js'
import { interfaceAddresses } from './local-address.js'
import { Resolver } from './next-hop.js'
import type { Incoming, Pending } from './pending.js'
import type { Timers } from './timers.js'
import type { ClientTransaction } from './transaction-client.js'
import type { ServerTransaction } from './transaction-server.js'
import type { Transport } from './transport.js'

export interface CoreSettings {
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
  readonly scope: Scope
  /** Whether peers behind a NAT are answered where their messages came from. */
  readonly nat: boolean
  /** The application whose turn it is for a new request of that method. */
  nextApp(method: string): App | null
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
  readonly transports: Transport[] = []
  readonly resolver: Resolver
  /** The machine's addresses: what a wildcard listener answers to. */
  readonly ownAddresses: ReadonlySet<string> = new Set([...interfaceAddresses(4), ...interfaceAddresses(6)])
  readonly dialogs = new DialogTable()
  /** Transactions by what messages on the wire carry. */
  readonly clients = new Map<string, ClientTransaction>()
  readonly servers = new Map<string, ServerTransaction>()
  /** Requests of peers an application has not finally answered, by transaction id. */
  readonly incoming = new Map<string, Incoming>()
  /** The INVITEs among them by server transaction key, where a CANCEL looks. */
  readonly invites = new Map<string, Incoming>()
  /** Those with a To tag already, by `dialogId|tag`: early dialogs. */
  readonly early = new Map<string, Incoming>()
  readonly pendingBySource = new Map<string, number>()
  /** Requests of applications without a final response yet, by transaction id. */
  readonly outgoing = new Map<string, Pending>()
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
    this.resolver = new Resolver(settings.clock)
    this.scope.own(() => {
      this.resolver.close()
      for (const transaction of this.clients.values()) transaction.close()
      for (const transaction of this.servers.values()) transaction.close()
      for (const incoming of this.incoming.values()) incoming.deadline?.cancel()
      for (const dialog of this.dialogs.all()) this.dialogs.remove(dialog)
      for (const table of [
        this.clients,
        this.servers,
        this.incoming,
        this.invites,
        this.early,
        this.outgoing,
      ]) {
        table.clear()
      }
    })
  }
}
