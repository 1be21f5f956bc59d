import type { Listener } from '../../media/agent/stt/listener.js'
import type { Clock } from '../../media/base/clock.js'
import type { Digit, DtmfTiming, SessionRate } from '../../media/base/frame.js'
import type { Log } from '../../media/base/log.js'
import type { DetectorName } from '../../media/detect/detectors.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import type { DtlsIdentity } from '../../media/rtp/dtls/identity.js'
import { openRtpEndpoint, type RtpEndpoint } from '../../media/rtp/endpoint.js'
import type { RtpPorts } from '../../media/rtp/port.js'
import type { RtpStats } from '../../media/rtp/stats.js'
import type { Session } from '../../media/session/session.js'
import type {
  CollectedDigits,
  CollectOptions,
  OpenedSession,
  RemoteMedia,
  WorkerSettings,
} from '../channel/protocol.js'
import { KeyCollector } from './key-collector.js'
import { LegDetectors } from './leg-detectors.js'

/** The thread as a leg uses it. */
export interface LegHost {
  readonly settings: WorkerSettings
  readonly ports: RtpPorts
  /** Certificate for browsers; their legs' DTLS is in this thread. */
  readonly identity: DtlsIdentity
  readonly clock: Clock
  readonly log: Log
}

export interface SessionLegOptions {
  /** The id of its endpoint in the session. */
  readonly id: string
  readonly rate: SessionRate
  /** Receives what the detectors find besides digits; null runs no other detectors. */
  readonly onEvent: ((event: DetectorEvent) => void) | null
  /** Further detectors for the first minute. */
  readonly sounds?: readonly DetectorName[]
  /** The far side sends nothing; `again` is false for the first report of a silence. */
  readonly onTimeout: (again: boolean) => void
  /** The far side can send nothing any more. */
  readonly onFailed: () => void
  /** The far side closed its media. */
  readonly onLeft: () => void
  readonly onFault: (error: unknown) => void
}

/** A leg of a session: its RTP endpoint, its detectors, and its keys. */
export class SessionLeg {
  readonly id: string
  readonly opened: OpenedSession
  readonly #endpoint: RtpEndpoint
  readonly #detectors: LegDetectors
  readonly #keys: KeyCollector
  #remote: RemoteMedia | null = null
  #sendingStopped = false
  #listener: Listener | null = null

  /** Binds the ports and adds the endpoint to the session. Rejects with EngineError `port_unavailable`. */
  static async open(host: LegHost, session: Session, options: SessionLegOptions): Promise<SessionLeg> {
    const { settings, ports, identity, clock, log } = host
    let leg: SessionLeg | null = null
    const endpoint = await openRtpEndpoint({
      id: options.id,
      address: settings.rtpAddress,
      ports,
      portRange: portsOf(settings),
      identity,
      rate: options.rate,
      clock,
      log,
      onDigit: (digit) => (leg === null ? false : leg.#onRtpDigit(digit)),
      onTimeout: (_silentMs, again) => options.onTimeout(again),
      onFailed: options.onFailed,
      onLeft: options.onLeft,
      mediaTimeoutMs: settings.mediaTimeoutMs,
      onFault: options.onFault,
    })
    try {
      session.add(endpoint)
    } catch (error) {
      endpoint.close('error')
      throw error
    }
    leg = new SessionLeg(host, session, endpoint, options)
    return leg
  }

  private constructor(host: LegHost, session: Session, endpoint: RtpEndpoint, options: SessionLegOptions) {
    this.id = options.id
    const { address, port, rtcpPort, ssrc, cname } = endpoint
    const { fingerprint } = host.identity
    const { iceAddress: publicAddress = null } = host.settings
    this.opened = { address, port, rtcpPort, dtls: { fingerprint, ssrc, cname, publicAddress } }
    this.#endpoint = endpoint
    this.#keys = new KeyCollector(host.clock)
    this.#detectors = new LegDetectors({
      rate: options.rate,
      clock: host.clock,
      onDigit: (digit, durationMs, source) => {
        if (!this.#keys.take(digit)) session.press(this.id, digit, durationMs, source === 'tone')
      },
      onEvent: options.onEvent,
      atFirst: options.sounds ?? [],
      telephoneEventNegotiated: () => this.#telephoneEvent,
      traffic: () => {
        const { packetsSent, packetsReceived } = endpoint.stats()
        const { send = false, receive = false } = this.#remote ?? {}
        return { sent: packetsSent, received: packetsReceived, expected: send && receive }
      },
    })
    session.observe(this.id, (frame) => {
      this.#detectors.process(frame)
      this.#listener?.push(frame)
    })
  }

  stats(): RtpStats {
    return this.#endpoint.stats()
  }

  /** Sets the far side as SDP negotiated it. */
  setRemote(remote: RemoteMedia): void {
    this.#remote = remote
    this.#endpoint.setRemote(this.#sendingStopped ? { ...remote, send: false } : remote)
  }

  /** Sends nothing any more, whatever SDP says. */
  stopSending(): void {
    this.#sendingStopped = true
    if (this.#remote !== null) this.setRemote(this.#remote)
  }

  /** Takes a digit of the far side that arrived by INFO. */
  onInfoDigit(digit: Digit, durationMs: number): void {
    this.#detectors.onInfoDigit(digit, durationMs)
  }

  /** Recognises the far side from now on; null ends that. */
  listen(listener: Listener | null): void {
    this.#listener?.close()
    this.#listener = listener
  }

  /** Ends the collection of keys in progress. */
  endCollection(): void {
    this.#keys.close()
  }

  /** Collects keys; see `KeyCollector.collect`. */
  collect(options: CollectOptions): Promise<CollectedDigits> {
    return this.#keys.collect(options)
  }

  /**
   * Sends digits as RTP events when the far side supports them, else with `asTones`. Returns false, and sends
   * none, when too many are pending or the far side is unknown.
   */
  press(
    digits: readonly Digit[],
    timing: DtmfTiming | undefined,
    asTones: (digits: readonly Digit[], timing?: DtmfTiming) => boolean,
  ): boolean {
    if (this.#remote === null) return false
    if (this.#telephoneEvent) return this.#endpoint.press(digits, timing)
    this.#detectors.onTonesSent(digits.length, timing)
    return asTones(digits, timing)
  }

  /** Ends the detectors and the collection; the session closes the endpoint. Idempotent. */
  close(): void {
    this.#keys.close()
    this.listen(null)
    this.#detectors.close()
  }

  get #telephoneEvent(): boolean {
    return (this.#remote?.dtmfPayloadType ?? null) !== null
  }

  /** Returns whether the digit was taken and must not reach the other endpoints. */
  #onRtpDigit(digit: Digit): boolean {
    this.#detectors.onRtpDigit()
    return this.#keys.take(digit)
  }
}

/** Returns this worker's even share of the port range; null when no range is configured. */
function portsOf({
  rtpPorts,
  index,
  workers,
}: WorkerSettings): { readonly first: number; readonly last: number } | null {
  const { first, last } = rtpPorts
  if (first <= 0 || last <= 0) return null
  const pairs = Math.floor((last - first + 1) / 2)
  const share = Math.floor(pairs / workers)
  const from = first + 2 * share * index
  // The last worker also takes the remainder.
  return { first: from, last: index === workers - 1 ? last : from + 2 * share - 1 }
}
