import { randomBytes } from 'node:crypto'
import type { ArrivalEnd, ArrivalListener } from '../arrival.js'
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { AudioFrame, CloseReason, Digit, EndId, RtpStats, SessionRate } from '../frame.js'
import { type PortRange, type RtpPort, RtpPorts } from './port.js'
import { RtpReceiver } from './receiver.js'
import type { RtpRemote } from './remote.js'
import { RtpSender } from './sender.js'
import { RtpSource } from './source.js'

export interface RtpEndOptions {
  readonly id: EndId
  /** Local address to bind. */
  readonly address: string
  /** Even ports of this range; null takes any port. */
  readonly ports: PortRange | null
  /** Of the session. The wire has the codec's. */
  readonly rate: SessionRate
  readonly clock: Clock
  readonly log: Log
  /**
   * An observer's copy of each digit heard. The session already hands digits to the ends this one is
   * routed to (`End.dtmf`): do not hand them on from here.
   */
  readonly onDigit: ((digit: Digit, durationMs: number) => void) | null
  /** Once for each silence: nothing valid came for `mediaTimeoutMs` although it should. */
  readonly onTimeout: (silentMs: number) => void
  readonly mediaTimeoutMs: number
  /**
   * Once: a listener, or what it calls, threw at a packet; nothing is heard from then on. Without it
   * the error is the thread's.
   */
  readonly onFault?: (error: unknown) => void
}

export interface RtpEndStats extends RtpStats {
  /** RTCP packets that came on the RTP port; ignored. */
  readonly rtcp: number
  readonly sendErrors: number
}

export interface RtpEnd extends ArrivalEnd {
  readonly address: string
  readonly port: number
  /** What SDP says, at first and after every re-INVITE. */
  setRemote(remote: RtpRemote): void
  /** Sends digits as RFC 4733 events; false when not negotiated, not live, or too many are waiting. */
  press(digits: readonly Digit[]): boolean
  stats(): RtpEndStats
}

// Ports rest after a call: one memory per clock, which is one per thread.
const portsOf = new WeakMap<Clock, RtpPorts>()

/**
 * A network leg: one socket, symmetric RTP, one packet a beat from `start` to `close`. Throws
 * EngineError `port_unavailable`.
 */
export async function openRtpEnd(options: RtpEndOptions): Promise<RtpEnd> {
  let ports = portsOf.get(options.clock)
  if (ports === undefined) {
    ports = new RtpPorts(options.clock)
    portsOf.set(options.clock, ports)
  }
  const end = new UdpRtpEnd(options)
  end.bind(await ports.open(options.address, options.ports, end))
  return end
}

class UdpRtpEnd implements RtpEnd {
  readonly id: EndId
  readonly kind = 'rtp'
  readonly ear = 'beat'
  readonly #clock: Clock
  readonly #log: Log
  readonly #onTimeout: (silentMs: number) => void
  readonly #mediaTimeoutMs: number
  readonly #perMs: number
  readonly #observer: ((digit: Digit, durationMs: number) => void) | null
  readonly #source = new RtpSource()
  readonly #receiver: RtpReceiver
  readonly #sender: RtpSender
  #port: RtpPort | null = null
  #remote: RtpRemote | null = null
  #listener: ArrivalListener | null = null
  #originMs = 0
  #lastHeardMs = 0
  #timedOut = false
  #faulty = false
  #closed = false
  readonly #onFault: ((error: unknown) => void) | undefined

  constructor(options: RtpEndOptions) {
    this.id = options.id
    this.#clock = options.clock
    this.#log = options.log
    this.#onTimeout = options.onTimeout
    this.#mediaTimeoutMs = options.mediaTimeoutMs
    this.#perMs = options.rate / 1000
    this.#observer = options.onDigit
    this.#onFault = options.onFault
    this.#receiver = new RtpReceiver(
      options.rate,
      this.#source,
      (frame) => this.#listener?.arrived(frame),
      (digit, durationMs) => {
        this.#listener?.digit(digit, durationMs)
        this.#observer?.(digit, durationMs)
      },
    )
    this.#sender = new RtpSender(options.rate, randomBytes(10))
  }

  get address(): string {
    return this.#port?.address ?? ''
  }

  get port(): number {
    return this.#port?.port ?? 0
  }

  /** The socket that feeds `datagram`; once. */
  bind(port: RtpPort): void {
    this.#port = port
  }

  setRemote(remote: RtpRemote): void {
    this.#remote = remote
    this.#source.expect(remote.address, remote.port)
    this.#receiver.setRemote(remote)
    this.#sender.setRemote(remote)
    this.#expectNow()
  }

  start(originMs: number, listener: ArrivalListener): void {
    if (this.#closed || this.#listener !== null) return
    this.#originMs = originMs
    this.#listener = listener
    this.#expectNow()
  }

  datagram(data: Uint8Array, from: { readonly address: string; readonly port: number }): void {
    if (this.#listener === null || this.#closed || this.#faulty) return
    const nowMs = this.#clock.now()
    try {
      if (
        !this.#receiver.datagram(data, from.address, from.port, nowMs, (nowMs - this.#originMs) * this.#perMs)
      )
        return
    } catch (error) {
      if (this.#onFault === undefined) throw error
      // The socket's callback belongs to the thread: other calls must not pay for this one.
      this.#faulty = true
      this.#onFault(error)
      return
    }
    this.#lastHeardMs = nowMs
    this.#timedOut = false
  }

  pull(into: Int16Array, at: number): boolean {
    return this.#receiver.pull(into, at)
  }

  push(frame: AudioFrame): void {
    if (this.#listener !== null && !this.#closed) this.#sender.push(frame.pcm)
  }

  press(digits: readonly Digit[]): boolean {
    if (this.#closed || this.#listener === null) return false
    return this.#sender.press(digits)
  }

  flush(at: number): boolean {
    if (this.#closed || this.#listener === null || this.#remote === null || this.#port === null) return false
    const nowMs = this.#clock.now()
    this.#receiver.beat(nowMs, (nowMs - this.#originMs) * this.#perMs)
    this.#checkTimeout(nowMs)
    return this.#sender.flush(at, this.#port, this.#source)
  }

  stats(): RtpEndStats {
    const receiver = this.#receiver
    return {
      packetsSent: this.#sender.packetsSent,
      packetsReceived: receiver.packetsReceived,
      lost: receiver.lost,
      late: receiver.late,
      duplicates: receiver.duplicates,
      refused: receiver.refused,
      concealedFrames: receiver.concealedFrames,
      jitterMs: receiver.jitterMs,
      rtcp: receiver.rtcp,
      sendErrors: this.#port?.sendErrors ?? 0,
    }
  }

  close(why: CloseReason): void {
    if (this.#closed) return
    this.#closed = true
    this.#port?.close()
    this.#log.debug({ end: this.id, why, stats: this.stats() }, 'rtp end closed')
  }

  #expectNow(): void {
    this.#lastHeardMs = this.#clock.now()
    this.#timedOut = false
  }

  #checkTimeout(nowMs: number): void {
    if (this.#timedOut || this.#remote?.receive !== true) return
    const silentMs = nowMs - this.#lastHeardMs
    if (silentMs < this.#mediaTimeoutMs) return
    this.#timedOut = true
    this.#onTimeout(silentMs)
  }
}
