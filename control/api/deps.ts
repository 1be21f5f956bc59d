import type { ServiceRefusal } from '../../media/agent/tools/service-tools.js'
import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { FoundPassage, Question } from '../../media/knowledge/passage-index.js'
import type {
  AwaitedAdmission,
  CallControl,
  Gateway,
  SandboxCaller,
  TakeoverPlan,
  TakeoverRefusal,
} from '../../signalling/call/ports.js'
import type { WsUpgrade } from '../../signalling/embedded/transport/ws-transport.js'
import type { Permit } from '../../signalling/sip/dial-gate.js'
import type { SipServer } from '../../signalling/sip/sip-port.js'
import type { PdfDocument } from '../../workers/jobs/pdf/document.js'
import type { PasswordHasher } from '../base/passwords.js'
import type { RootKey } from '../base/root-key.js'
import type { Carriers } from '../carriers/directory.js'
import type { PolicyInForce } from '../config/policy-file.js'
import type { Settings } from '../config/settings.js'
import type { Db } from '../db/database.js'
import type { TransferAttemptRow } from '../db/tables/transfers.js'
import type { Egress } from '../net/egress.js'
import type { ObjectStore } from '../objects/object-store.js'
import type { Telemetry } from '../observe/telemetry.js'
import type { DndRegister } from './dnd-register.js'
import type { EventStream } from './event-stream.js'
import type { PaymentGateway } from './payment-gateway.js'
import type { Refusal } from './problem.js'
import type { RateLimiter } from './request-budget.js'

/** Makes the permits that signalling requires to dial. */
export interface PermitIssuer {
  /**
   * Makes a permit for one dial. Call it only after the sealed gate record of that call is committed;
   * `compliance/clearance.ts` is the only caller. `mayDial` decides again at the time of the INVITE (Unix ms).
   */
  issue(call: Pick<Permit, 'recordId' | 'callId' | 'to' | 'from'>, mayDial: (now: number) => boolean): Permit
}

/** A request to hand a call to a person. */
export interface TransferAsked {
  readonly trigger: 'model' | 'api' | 'byo' | 'dtmf'
  /** Id or key of a destination, or its telephone number. Null means the agent's default. */
  readonly destination: string | null
  /** Null means as the agent is set. */
  readonly handoff: 'cold' | 'warm' | null
  /** With `cold`: without a question to the person. Absent or null means as the agent is set. */
  readonly blind?: boolean | null
  readonly note: string | null
  readonly reason: string | null
}

export type TransferAnswer =
  | { readonly accepted: true; readonly attempt: TransferAttemptRow }
  /** `refusal` is null when no destination was named and the agent has no default. */
  | { readonly accepted: false; readonly refusal: ServiceRefusal | null }

/** A user who takes a call over from its agent, and the id of that. */
export interface JoinAsked {
  readonly id: string
  readonly userId: string
}

export type JoinAnswer =
  | { readonly accepted: true; readonly plan: TakeoverPlan }
  | {
      readonly accepted: false
      readonly refusal: 'call_ending' | 'not_supported' | 'taken_over' | 'token_used'
    }

/** A request of a user to take a call over by a telephone. */
export interface TakeoverAsked extends JoinAsked {
  /** Id, key or telephone number of a destination. */
  readonly destination: string
}

export type TakeoverAnswer =
  | { readonly accepted: true }
  | {
      readonly accepted: false
      readonly refusal:
        | TakeoverRefusal
        | 'not_supported'
        | 'destination_not_allowed'
        | 'destination_disabled'
        | 'destination_not_verified'
        | 'outside_hours'
    }

/** Memory of requests about live calls. */
export interface DoneRequests {
  /**
   * Carries out a request, or resolves with the answer of the earlier one of this id, also while that one runs. A request
   * that rejects has done nothing and may be repeated. Without an id each request is another one.
   */
  once<Answer>(id: string | null, carryOut: () => Promise<Answer>): Promise<Answer>
}

export interface TransferRequests {
  /** Decides on a request, and starts the transfer. */
  ask(callId: string, request: TransferAsked): Promise<TransferAnswer>
  /** Decides on a request, and starts the takeover. */
  takeOver(callId: string, request: TakeoverAsked): Promise<TakeoverAnswer>
  /** Decides on a user whose own call is to take a call over, and stores that it begins. */
  join(callId: string, request: JoinAsked): Promise<JoinAnswer>
}

export interface Backlog {
  /** Number of call events that are not stored yet. */
  readonly callEvents: number
  /** Time since the job runner last looked for due jobs (ms). Null before its first look. */
  readonly jobsIdleMs: number | null
  /** True if the disk of the data folder is almost full. */
  readonly isDiskLow: boolean
}

/** Address at which customers' telephone systems reach the service. */
export interface SipGateway {
  readonly host: string
  readonly ips: readonly string[]
  readonly port: number
  readonly transport: 'tls' | 'tcp' | 'udp'
}

/** A knowledge base and the build that is searched. */
export interface BaseToSearch {
  readonly id: string
  readonly buildId: string
}

export interface FoundInBase extends FoundPassage {
  readonly knowledgeBaseId: string
}

/** The SIP over WebSocket of dashboards. */
export interface BrowserSip {
  /** Gives the socket of a handshake to the SIP server, and remembers whose it is until it closes. */
  accept(upgrade: WsUpgrade, userId: string): void
  /** Returns the user whose connection has this address towards SIP, or null. */
  userAt(address: string, port: number): string | null
  /** Number of open connections of a user. */
  connectionsOf(userId: string): number
}

/** Result of a search. */
export interface KnowledgeAnswer {
  /** The best first. */
  readonly passages: readonly FoundInBase[]
  /**
   * Use of vectors: `used`; `near` when the vector of the question's beginning was used; `possible` when the bases
   * have vectors of the configured model but none of the question is known; `failed` when the model gave none in
   * time; `none` without a model or without vectors of it.
   */
  readonly vectors: 'used' | 'near' | 'possible' | 'failed' | 'none'
}

/** Search over the indexes of knowledge bases. */
export interface KnowledgeSearch {
  /**
   * Returns the best passages of the bases. A build that is gone is replaced by the one that serves. Waits at most
   * `vectorsMs` for the vector of the question, and then searches by words; 0 asks for none and uses what is
   * known. Rejects with EngineError
   * when the object store fails or too many searches wait.
   */
  search(
    organizationId: string,
    bases: readonly BaseToSearch[],
    question: Question,
    options: { readonly limit: number; readonly vectorsMs: number },
  ): Promise<KnowledgeAnswer>
}

/** A watcher, and the changes that it watches. */
export interface LiveWatch {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly userId: string
  /** The call whose transcript is watched, or null. */
  readonly callId: string | null
  /** `Last-Event-ID` of the client, any text. Null at the start. */
  readonly lastEventId: string | null
}

export interface LiveFeed {
  /** Opens a stream of changes. A refusal means that too many are open. */
  watch(watch: LiveWatch): Promise<EventStream | Refusal>
}

export interface HandoffFeed {
  /**
   * Opens a stream of the lines that are said on the call of a transfer after a position. Refuses when too many are
   * open.
   */
  follow(transferId: string, after: number): EventStream | Refusal
}

/** Everything that operations work with. The composition root (`app/service.ts`) makes it once. */
export interface Deps {
  readonly db: Db
  /** For lists that may read a whole table, see `OpenDatabase`. */
  readonly reads: Db
  readonly clock: Clock
  readonly log: Log
  readonly rootKey: RootKey
  readonly passwords: PasswordHasher
  readonly calls: CallControl
  /** Memory of the requests that were carried out on live calls of this process. */
  readonly doneRequests: DoneRequests
  /** Decides on requests to hand a call to a person. */
  readonly transfers: TransferRequests
  readonly ringer: SandboxCaller
  readonly admission: AwaitedAdmission
  readonly settings: Settings
  /** Rules of the compliance gate. */
  readonly policy: PolicyInForce
  /** Id of this process among those that share the database. It survives restarts. */
  readonly nodeId: string
  /** Signalling receives the same book as its `DialGate`. */
  readonly permits: PermitIssuer
  /** Metrics and traces. */
  readonly telemetry: Telemetry
  /** Request budgets of API keys. */
  readonly requests: RateLimiter
  /** Recordings and documents, the same for every process. */
  readonly objects: ObjectStore
  readonly knowledge: KnowledgeSearch
  /** Changes that open dashboards receive. */
  readonly live: LiveFeed
  /** Follows the calls of transfers for the pages of their persons. */
  readonly handoffs: HandoffFeed
  /** Renders PDF documents. Rejects as `PdfJobs.render` does. */
  readonly pdf: { render(document: PdfDocument): Promise<Uint8Array> }
  /** The only route to URLs and addresses that customers name. */
  readonly egress: Egress
  /** Gateway of top-ups. Null if none is configured. */
  readonly payments: PaymentGateway | null
  /** Call `wake` after queueing a mail. */
  readonly mail: { wake(): void }
  /** Carriers that sell numbers. */
  readonly carriers: Carriers
  /** Service that is asked about the DND register. Null if only scrub files answer. */
  readonly dndService: DndRegister | null
  /** Sends requests outside calls, to test trunks. */
  readonly sip: Pick<SipServer, 'request'>
  readonly sipGateway: SipGateway
  /** Null when an operator's drachtio-server is used, which has no entrance for dashboards. */
  readonly browserSip: BrowserSip | null
  /** Next hop of calls in the test environment: the simulated carrier. */
  readonly sandboxGateway: Gateway
  /** Returns the vendors and models that failed several times in a row, for as long as they rest (`breakerKey`). */
  openCircuits(): Promise<readonly string[]>
  /** Returns the amount of work that waits and the time since the job runner last ran. */
  backlog(): Backlog
  /** Returns the base URL of absolute addresses, without a trailing slash. */
  publicUrl(): string
}
