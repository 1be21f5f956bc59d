import { randomBytes, randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { MediaPool } from '../../workers/channel/protocol.js'
import { Call } from '../call/call.js'
import { callTimers } from '../call/call-options.js'
import { SHUTDOWN } from '../call/ending.js'
import { InboundLeg } from '../call/inbound-leg.js'
import type { Leg, LegEvents } from '../call/leg.js'
import { OutboundLeg } from '../call/outbound-leg.js'
import type { Gateway, SandboxCaller, SandboxInboundCall } from '../call/ports.js'
import { openEmbeddedServer } from '../embedded/server.js'
import { isThisMachine } from '../embedded/transport/local-address.js'
import { G711_CODECS } from '../sdp/sdp-session.js'
import type { DialGate, Permit } from '../sip/dial-gate.js'
import type { IncomingInvite } from '../sip/incoming-invite.js'
import type { SipServer } from '../sip/sip-port.js'
import { openSipServer } from '../sip/sip-server.js'
import { type ClipManifest, readClipManifest } from './clip-manifest.js'
import { behaviourOf, isPersona, type PersonaName, personaSpec } from './personas.js'
import type { SpeakerScripts } from './speaker-scripts.js'

export interface SandboxCarrierOptions {
  readonly pool: MediaPool
  readonly clock: Clock
  readonly log: Log
  /** The service's SIP endpoint for sandbox calls, at an address of this machine. */
  readonly serviceAddress: { readonly host: string; readonly port: number; readonly transport: 'udp' | 'tcp' }
  /** The instance that the call manager uses. */
  readonly scripts: SpeakerScripts
}

export interface SandboxCarrier extends SandboxCaller {
  /** The destination for the service's calls of the test environment. */
  readonly gateway: Gateway
  /** Number of live calls of simulated people. */
  readonly live: number
  close(): Promise<void>
}

const LOOPBACK = '127.0.0.1'
const LOOPBACK_6 = '::1'
/** Delay (ms) before a simulated person answers; short, because tests and demos wait for it. */
const PICK_UP_MS = 400
/** Ring timeout (ms) of calls that simulated people place. */
const CALLER_PATIENCE_MS = 60_000
const LONGEST_CALL_SECONDS = 3600

/**
 * Opens the simulated far end: a SIP server and SIP peer of its own on loopback, with real INVITEs and real
 * RTP, played by personas. It uses the transport and address family of the service's endpoint. It accepts only calls that the service announced in `scripts`.
 */
export async function openSandboxCarrier(options: SandboxCarrierOptions): Promise<SandboxCarrier> {
  const clips = readClipManifest()
  const scope = new Scope()
  try {
    const secret = randomBytes(24).toString('base64url')
    const { transport, host } = options.serviceAddress
    const address = isIP(host) === 6 ? LOOPBACK_6 : LOOPBACK
    const server = await openEmbeddedServer({
      listen: [{ transport, address, port: 0 }],
      control: { address: LOOPBACK, port: 0, secret },
      clock: options.clock,
      log: options.log,
    })
    scope.add(server)
    const sip = await openSipServer({
      host: LOOPBACK,
      port: server.controlPort,
      secret,
      gate: CALLS_TO_THE_SERVICE,
      clock: options.clock,
      log: options.log,
    })
    scope.add(sip)
    const [endpoint] = server.endpoints
    if (!endpoint) throw new EngineError('sip_failed', 'the sandbox carrier has no SIP endpoint')
    const gateway = { host: address, port: endpoint.port, transport, codecs: G711_CODECS }
    return new Carrier(options, scope, sip, clips, gateway)
  } catch (error) {
    await scope.close()
    throw error
  }
}

/**
 * The carrier plays people who call the service. Its INVITEs go to the address of the service only, and no person is
 * dialled, so that no gate has decided.
 */
const CALLS_TO_THE_SERVICE: Pick<DialGate, 'spend' | 'allows'> = { spend: () => 'spent', allows: () => true }

function playedCall({ from, to, sipCallId }: SandboxInboundCall): Permit {
  return { recordId: '', callId: sipCallId, from, to, expiresAt: 0 } as Permit
}

class Carrier implements SandboxCarrier {
  readonly gateway: Gateway
  readonly #options: SandboxCarrierOptions
  readonly #scope: Scope
  readonly #sip: SipServer
  readonly #clips: ClipManifest
  readonly #calls = new Map<string, Call>()
  readonly #idle = new Set<() => void>()

  constructor(
    options: SandboxCarrierOptions,
    scope: Scope,
    sip: SipServer,
    clips: ClipManifest,
    gateway: Gateway,
  ) {
    this.#options = options
    this.#scope = scope
    this.#sip = sip
    this.#clips = clips
    this.gateway = gateway
    sip.onInvite((invite) => this.#invited(invite))
    options.pool.onLost((session) => this.#calls.get(session)?.mediaLost())
    scope.own(() => this.#hangUpAll())
  }

  get live(): number {
    return this.#calls.size
  }

  async callIn(call: SandboxInboundCall): Promise<void> {
    if (this.#scope.closed) throw new EngineError('closed', 'the sandbox carrier is closed')
    const { persona, sipCallId } = call
    if (!isPersona(persona)) {
      throw new EngineError('internal', 'unknown persona', { context: { persona } })
    }
    const { serviceAddress } = this.#options
    const target = {
      gateway: { ...serviceAddress, codecs: G711_CODECS },
      permit: playedCall(call),
      sipCallId,
    }
    await new Promise<void>((resolve, reject) => {
      this.#play(
        persona,
        'outbound',
        sipCallId,
        (events) => new OutboundLeg(this.#sip, target, events, this.#options.log),
        {
          dialed: resolve,
          ended: () => reject(new EngineError('sip_failed', 'the call could not be placed')),
        },
      )
    })
  }

  close(): Promise<void> {
    return this.#scope.close()
  }

  #invited(invite: IncomingInvite): void {
    const { scripts, clock } = this.#options
    // Any process on this machine may find the port, but only the service knows its Call-IDs in advance.
    if (!isThisMachine(invite.sourceAddress) || !scripts.isAnnounced(invite.callId)) {
      invite.refuse(403)
      return
    }
    const behaviour = behaviourOf(invite.to)
    if (behaviour.kind === 'refuse') {
      invite.refuse(behaviour.status)
      return
    }
    // This person has lost the whole call with its media. A muted telephone would still know the call.
    const exists = () => behaviour.kind !== 'answer' || behaviour.persona !== 'media_dies'
    invite.ring()
    if (behaviour.kind === 'ring') return
    this.#scope.after(clock, PICK_UP_MS, () => {
      if (invite.over) return
      this.#play(
        behaviour.persona,
        'inbound',
        invite.callId,
        (events) => new InboundLeg(invite, { codecs: G711_CODECS, exists }, events, this.#options.log),
        {},
      )
    })
  }

  #play(
    name: PersonaName,
    direction: 'inbound' | 'outbound',
    sipCallId: string,
    makeLeg: (events: LegEvents) => Leg,
    callbacks: { dialed?: () => void; ended?: () => void },
  ): void {
    const { pool, clock, log, scripts } = this.#options
    const spec = personaSpec(name, this.#clips)
    // Registered before the answer: the media pool asks for it when media starts.
    scripts.register(sipCallId, spec.script)
    const callId = `sandbox_${randomUUID()}`
    const call = new Call(
      {
        pool,
        clock,
        log,
        events: {
          publish: (event) => {
            if (event.type === 'dialing') callbacks.dialed?.()
          },
        },
      },
      {
        callId,
        direction,
        party: { kind: 'persona', persona: spec },
        recordTo: null,
        rate: 8000,
        timers: callTimers(CALLER_PATIENCE_MS, LONGEST_CALL_SECONDS),
        onEnded: () => {
          this.#calls.delete(callId)
          if (direction === 'outbound') scripts.forget(sipCallId)
          callbacks.ended?.()
          if (this.#calls.size === 0) for (const resolve of this.#idle) resolve()
        },
      },
      makeLeg,
    )
    this.#calls.set(callId, call)
    call.begin()
  }

  /** Ends every call. Each call has its own watchdog, so this resolves. */
  async #hangUpAll(): Promise<void> {
    this.#sip.onInvite(null)
    for (const call of this.#calls.values()) {
      call.finish(SHUTDOWN)
    }
    if (this.#calls.size === 0) return
    await new Promise<void>((resolve) => {
      this.#idle.add(resolve)
    })
  }
}
