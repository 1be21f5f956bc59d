import type { ToolSpec } from '../../media/agent/agent-spec.js'
import type { TransferRequest, TransferUpdate } from '../../media/byo/dialects/dialect.js'
import type { CodecName } from '../../media/codec/codec.js'
import type { Party } from '../../workers/channel/protocol.js'
import type { SrtpPolicy } from '../sdp/sdp-crypto.js'
import type { Cidr } from '../trunk/cidr.js'
import type { DigestAlgorithm } from '../trunk/digest.js'
import type { Credentials } from '../trunk/digest-client.js'
import type { CallerIdPolicy, NumberFormat } from '../trunk/number-format.js'
import type { TrunkLimits } from '../trunk/trunk-limiter.js'
import type { CallEvent, CallId } from './call-events.js'
import type { Cause } from './ending.js'

/*
 * What signalling needs from the business. It knows calls and legs, not customers.
 */

declare const permitBrand: unique symbol

/**
 * Leave to dial one number once. Only `control/compliance/permit.ts` makes them, after the gate's
 * sealed record is stored; the dial function has it verified again, so that a cast cannot dial.
 */
export interface Permit {
  readonly [permitBrand]: true
  readonly callId: CallId
  readonly to: string
  readonly from: string
  /** Unix ms; a permit not used by then is void. */
  readonly expiresAt: number
}

export interface DialGate {
  /** True once per genuine, unexpired permit: spends it. */
  spend(permit: Permit): boolean
}

/** Where an outbound INVITE goes. */
export interface Gateway {
  readonly host: string
  /** 0: none is named, DNS tells it (RFC 3263). */
  readonly port: number
  readonly transport: 'udp' | 'tcp' | 'tls'
  /** Preference order. */
  readonly codecs: readonly CodecName[]
  /** Absent: `off`. What is `optional` is offered over TLS only: its keys stand in the SDP. */
  readonly srtp?: SrtpPolicy
  /** What a trunk adds; absent for the sandbox carrier. */
  readonly trunk?: OutboundTrunk
}

/** How one trunk wants to be called, and what it may be used for. */
export interface OutboundTrunk {
  readonly trunkId: string
  readonly limits: TrunkLimits
  readonly numberFormat: NumberFormat
  readonly callerIdPolicy: CallerIdPolicy
  /** The trunk's own number or account name, for `trunk_default`. */
  readonly callerId: string | null
  /** Host part of From; null writes our own address. */
  readonly fromDomain: string | null
  /** Extra `X-*` headers of every INVITE. */
  readonly headers: Readonly<Record<string, string>>
  readonly credentials: Credentials | null
}

/** Who speaks on our side of a call. */
export type CallParty = Extract<Party, { readonly kind: 'agent' | 'bot' }>

export interface OutboundCallSpec {
  readonly party: CallParty
  readonly gateway: Gateway
  readonly ringTimeoutMs: number
  readonly recordTo: string | null
}

export interface InboundInvite {
  readonly sipCallId: string
  /** User part of the Request-URI and of From, as sent. */
  readonly to: string
  readonly from: string
  readonly sourceAddress: string
  readonly sourcePort: number
  readonly transport: string
  /** The trunk the caller proved to be; null for a caller that proved nothing. */
  readonly trunkId: string | null
  /**
   * Other places where the called number may stand, best first: a carrier calls a registered account by
   * its own name, and tells the number elsewhere.
   */
  readonly alternateTo: readonly string[]
  /** The identity the network asserts (RFC 3325); null when there is none, or it wants to stay private. */
  readonly assertedIdentity: string | null
}

export type AdmissionDecision =
  | {
      readonly admit: true
      readonly callId: CallId
      readonly party: CallParty
      /** Preferred first; null: nobody chose, so the telephone's own first. */
      readonly codecs: readonly CodecName[] | null
      /** Absent: `optional`. */
      readonly srtp?: SrtpPolicy
      readonly recordTo: string | null
    }
  | {
      readonly admit: false
      readonly sip: 402 | 403 | 404 | 486 | 500 | 503
      readonly reason: string
      readonly cause?: Cause
      /** Of the answer, for example `X-Svc-Code`. */
      readonly headers?: Readonly<Record<string, string>>
      /** Credentials could change it: the caller is asked for them instead. */
      readonly challenge?: true
    }

export interface AdmissionControl {
  /** Decides an inbound INVITE; an admitted call already has its row. */
  admit(invite: InboundInvite): Promise<AdmissionDecision>
}

/** A trunk as far as its callers have to prove it. */
export interface InboundTrunk {
  readonly id: string
  readonly inboundAuth: 'ip_acl' | 'digest' | 'both'
  readonly ranges: readonly Cidr[]
  readonly realm: string
  /** Asked for and taken in its realm. */
  readonly algorithm: DigestAlgorithm
  readonly username: string | null
  readonly password: string | null
  readonly limits: TrunkLimits
  /** What we are known by there: some carriers challenge our requests inside their calls. */
  readonly credentials: Credentials | null
}

/** Who may call in over a trunk. Read for every INVITE, so that a change counts at once. */
export interface TrunkDirectory {
  /**
   * The trunk whose address list covers `address`: the one that hosts `dialled` first, then the
   * narrowest range.
   */
  byAddress(address: string, dialled: string): Promise<InboundTrunk | null>
  byUsername(username: string): Promise<InboundTrunk | null>
  /** What is asked for in that realm; null when no trunk has it. */
  realm(realm: string): Promise<DigestAlgorithm | null>
}

/** Hands live calls over to people. */
export interface TransferHandler {
  /**
   * A bot on the call asks for it. `report` is told of every step, the first time at once or soon:
   * `accepted` or `rejected`.
   */
  request(callId: CallId, request: TransferRequest, report: (update: TransferUpdate) => void): void
}

/** Carries out what an agent's tools ask of other systems. */
export interface AgentTools {
  /** What the model is told; a failure too is told in words. Bounded by the tool's own time limit. */
  run(callId: CallId, tool: ToolSpec, given: Readonly<Record<string, unknown>>): Promise<string>
}

export interface EventSink {
  /** Takes the event in order and at once; storing it is the sink's own queue. */
  publish(event: CallEvent): void
}

/** The live calls, as the control plane drives them. Outcomes arrive as CallEvents. */
export interface CallControl {
  /** Starts dialling at once. Throws EngineError `permit_invalid` without a genuine permit. */
  dial(permit: Permit, plan: OutboundCallSpec): void
  /** False when no such call is live. */
  hangUp(callId: CallId, by: 'operator' | 'engine'): boolean
  readonly live: number
  /** No new calls any more. */
  readonly draining: boolean
  /** No new calls (INVITEs get 503 with Retry-After); resolves when all ended or `ms` passed, ending the rest. */
  drain(ms: number): Promise<void>
}

/** The simulated carrier's side that the sandbox operation uses. */
export interface SandboxCaller {
  /** A simulated person calls one of our test numbers. Resolves when the INVITE was sent. */
  callIn(call: { readonly from: string; readonly to: string; readonly persona: string }): Promise<void>
  readonly personas: readonly string[]
}
