import type { AgentSpec } from '../media/agent/spec.js'
import type { Cause } from './ending.js'
import type { CallEvent, CallId } from './events.js'

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
  /** `host:port` of the next hop. */
  readonly host: string
  readonly port: number
  readonly transport: 'udp' | 'tcp'
  /** Preference order. */
  readonly codecs: readonly ('PCMU' | 'PCMA')[]
}

export interface DialPlan {
  readonly agent: AgentSpec
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
}

export type Admission =
  | {
      readonly admit: true
      readonly callId: CallId
      readonly agent: AgentSpec
      readonly codecs: readonly ('PCMU' | 'PCMA')[]
      readonly recordTo: string | null
    }
  | {
      readonly admit: false
      readonly sip: 403 | 404 | 486 | 500 | 503
      readonly reason: string
      readonly cause?: Cause
    }

export interface Directory {
  /** Decides an inbound INVITE; an admitted call already has its row. */
  admit(invite: InboundInvite): Promise<Admission>
}

export interface EventSink {
  /** Takes the event in order and at once; storing it is the sink's own queue. */
  publish(event: CallEvent): void
}

/** The live calls, as the control plane drives them. Outcomes arrive as CallEvents. */
export interface CallControl {
  /** Starts dialling at once. Throws EngineError `permit_invalid` without a genuine permit. */
  dial(permit: Permit, plan: DialPlan): void
  /** False when no such call is live. */
  hangUp(callId: CallId, by: 'operator' | 'engine'): boolean
  readonly live: number
  /** No new calls any more. */
  readonly draining: boolean
  /** No new calls (INVITEs get 503 with Retry-After); resolves when all ended or `ms` passed, ending the rest. */
  drain(ms: number): Promise<void>
}

/** The simulated carrier's side that the sandbox operation uses. */
export interface SandboxRinger {
  /** A simulated person calls one of our test numbers. Resolves when the INVITE was sent. */
  callIn(call: { readonly from: string; readonly to: string; readonly persona: string }): Promise<void>
  readonly personas: readonly string[]
}
