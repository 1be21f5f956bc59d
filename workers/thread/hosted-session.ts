import type { SpeakerScript } from '../../media/agent/agent-spec.js'
import type { CircuitBreakers } from '../../media/agent/circuit-breaker.js'
import { Persona } from '../../media/agent/persona.js'
import { openAgent } from '../../media/agent/realtime/realtime-conversation.js'
import type { PhraseCache } from '../../media/agent/tts/phrase-cache.js'
import type { Vendors } from '../../media/agent/vendor-ports.js'
import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { type Digit, type DtmfTiming, FRAME_MS } from '../../media/base/frame.js'
import type { Log } from '../../media/base/log.js'
import type { SafeResolver } from '../../media/base/public-address.js'
import { BotEndpoint } from '../../media/byo/bot-endpoint.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import { openRtpEndpoint, type RtpEndpoint } from '../../media/rtp/endpoint.js'
import type { RtpPorts } from '../../media/rtp/port.js'
import type { CloseReason, Endpoint } from '../../media/session/endpoint.js'
import { type FrameClock, type FrameClockMember, PHASE_MS } from '../../media/session/frame-clock.js'
import { Session } from '../../media/session/session.js'
import type { TurnDetector } from '../../media/vad/turn-detector.js'
import type { VadFactory } from '../../media/vad/vad.js'
import { withSandboxScript } from '../../media/vendors/embedded/stt.js'
import type {
  ClosedSession,
  OpenedSession,
  OpenSessionOptions,
  Party,
  RemoteMedia,
  SessionEvent,
  WorkerSettings,
} from '../channel/protocol.js'
import type { RecordingJobs } from '../jobs/recording-jobs.js'
import { CallSounds } from './call-sounds.js'
import { LegDetectors } from './leg-detectors.js'
import type { SoundLibrary } from './sound-library.js'
import type { SpeechClips } from './speech-clips.js'
import { ToolRequests } from './tool-requests.js'

const LEG = 'leg'
const PARTY = 'party'
/** A frame that is due later than this (ms) may be sent early; no jitter buffer is shorter. */
const EARLY_FRAME_MS = FRAME_MS / 2

/** Shared by the sessions of one thread. */
export interface SessionHost {
  readonly settings: WorkerSettings
  readonly vendors: Vendors
  readonly breakers: CircuitBreakers
  readonly phrases: PhraseCache
  readonly vad: VadFactory
  readonly turnDetector: TurnDetector | null
  readonly clips: SpeechClips
  readonly sounds: SoundLibrary
  readonly recordings: Pick<RecordingJobs, 'finish'>
  /** Resolves the host names of customers' bots; see `openSafeNames`. */
  readonly names: SafeResolver
  readonly ports: RtpPorts
  readonly frameClock: FrameClock
  readonly clock: Clock
  readonly log: Log
  /** Runs when a member of the frame clock throws: ends the member's session. */
  readonly members: Map<FrameClockMember, () => void>
}

export interface HostedSessionOptions extends OpenSessionOptions {
  readonly emit: (event: SessionEvent) => void
  /**
   * Runs once when the session failed, in a frame, at a packet or inside its party; the session is to be
   * closed.
   */
  readonly onFault: () => void
}

/** The party on our side. */
interface HostedParty {
  readonly endpoint: Endpoint
  prepare(): Promise<void>
  start(sipCallId: string | null): void
  transferUpdate?(update: TransferUpdate): void
  /** Takes a detector event of the far side. */
  detected?(event: DetectorEvent): void
  /** See `FrameClockMember.ready`. */
  ready?(): boolean
}

/** One call leg with our party behind it: an RTP endpoint and an agent, bot or persona, which hear each other. */
export class HostedSession {
  readonly opened: OpenedSession
  readonly #host: SessionHost
  readonly #options: HostedSessionOptions
  readonly #session: Session
  readonly #leg: RtpEndpoint
  readonly #party: HostedParty
  readonly #member: FrameClockMember
  readonly #detectors: LegDetectors
  readonly #sounds: CallSounds
  readonly #tools: ToolRequests
  #remote: RemoteMedia | null = null
  #sandboxScript: SpeakerScript | null = null
  /** True after a persona stopped its media: it sends nothing any more, whatever SDP says. */
  #mediaStopped = false
  #faulty = false
  #leaveClock: (() => void) | null = null
  #closed: Promise<ClosedSession> | null = null

  /**
   * Opens a session. Throws EngineError `port_unavailable`, or an error of the party's preparation; nothing
   * stays open then.
   */
  static async open(host: SessionHost, options: HostedSessionOptions): Promise<HostedSession> {
    const { settings, clock, log } = host
    const { rate, recordTo, emit } = options
    const session = new Session({
      rate,
      clock,
      recordTo,
      finish: (raw) => host.recordings.finish(raw),
      onRecordingFailed: (message) => emit({ type: 'recording_failed', message }),
    })
    try {
      let hosted: HostedSession | null = null
      const leg = await openRtpEndpoint({
        id: LEG,
        address: settings.rtpAddress,
        ports: host.ports,
        portRange: portsOf(settings),
        rate,
        clock,
        log,
        onDigit: () => {
          if (hosted !== null) hosted.#detectors.onRtpDigit()
        },
        onTimeout: () => emit({ type: 'media_timeout' }),
        mediaTimeoutMs: settings.mediaTimeoutMs,
        onFault: (error) => {
          if (hosted !== null) hosted.#fail(error)
        },
      })
      session.add(leg)
      hosted = new HostedSession(host, options, session, leg)
      await Promise.all([hosted.#party.prepare(), hosted.#addBackgroundSound()])
      return hosted
    } catch (error) {
      await session.close('error')
      throw error
    }
  }

  private constructor(host: SessionHost, options: HostedSessionOptions, session: Session, leg: RtpEndpoint) {
    this.#host = host
    this.#options = options
    this.#session = session
    this.#leg = leg
    this.opened = { address: leg.address, port: leg.port, rtcpPort: leg.rtcpPort }
    this.#tools = new ToolRequests(host.clock, options.emit)
    this.#party = this.#open(options.party)
    session.add(this.#party.endpoint)
    this.#sounds = new CallSounds(session, options.rate, LEG, PARTY)
    const { emit } = options
    this.#detectors = new LegDetectors({
      rate: options.rate,
      clock: host.clock,
      onDigit: this.#party.endpoint.dtmf === undefined ? null : (digit, ms) => session.press(LEG, digit, ms),
      onEvent:
        options.party.kind === 'persona'
          ? null
          : (event) => {
              emit({ type: 'detected', event })
              this.#party.detected?.(event)
            },
      telephoneEventNegotiated: () => (this.#remote?.dtmfPayloadType ?? null) !== null,
      traffic: () => {
        const { packetsSent, packetsReceived } = leg.stats()
        const { send = false, receive = false } = this.#remote ?? {}
        return { sent: packetsSent, received: packetsReceived, expected: send && receive }
      },
    })
    session.observe(LEG, (frame) => this.#detectors.process(frame))
    this.#member = {
      tick: (idealMs) => session.tick(idealMs),
      skip: (frames) => session.skip(frames),
      ready: () => this.#party.ready?.() ?? true,
    }
  }

  /** Sets the far side as SDP negotiated it. */
  setRemote(remote: RemoteMedia): void {
    this.#remote = remote
    this.#leg.setRemote(this.#mediaStopped ? { ...remote, send: false } : remote)
  }

  /** Starts the session: media is live. A second start does nothing. `sipCallId` is that of the leg. */
  start(sipCallId: string | null): void {
    if (this.#leaveClock !== null || this.#closed !== null) return
    const { frameClock, members } = this.#host
    const member = this.#member
    this.#session.start()
    this.#party.start(sipCallId)
    members.set(member, () => this.#reportFault())
    const leave = frameClock.add(member)
    this.#leaveClock = () => {
      leave()
      members.delete(member)
    }
  }

  /** Sets the script that the sandbox recogniser reads for a simulated caller; before `start`. */
  setSandboxScript(script: SpeakerScript): void {
    this.#sandboxScript = script
  }

  /** Delivers the result of a tool that the main thread ran. */
  toolResult(request: number, result: string): void {
    this.#tools.result(request, result)
  }

  /** Sends digits to the far side. Throws EngineError `overloaded` when too many are pending. */
  press(digits: readonly Digit[]): void {
    if (!this.#sendDigits(digits)) {
      throw new EngineError('overloaded', 'too many digits are pending', { retryable: true })
    }
  }

  /** Takes a digit of the far side that arrived by INFO. */
  digit(digit: Digit, durationMs: number): void {
    if (this.#leaveClock === null || this.#closed !== null) return
    this.#detectors.onInfoDigit(digit, durationMs)
  }

  /** Reports the progress of a transfer that the bot asked for. */
  transferUpdate(update: TransferUpdate): void {
    this.#party.transferUpdate?.(update)
  }

  /** Ends the session after an uncaught error, which would otherwise end the thread. */
  #fail(error: unknown): void {
    const stack = error instanceof Error ? error.stack : undefined
    this.#host.log.error({ error: errorText(error), stack }, 'session.failed')
    this.#reportFault()
  }

  /** Closes the session. Idempotent. */
  close(why: CloseReason): Promise<ClosedSession> {
    if (this.#closed === null) {
      this.#detectors.close()
      this.#tools.close()
      this.#leaveClock?.()
      this.#closed = this.#session.close(why)
    }
    return this.#closed
  }

  /**
   * Advances the clock phase of this session; called within a frame. Returns false when that is not possible.
   */
  #advancePhase(ms: number): boolean {
    if (!this.#host.frameClock.advancePhase(this.#member, ms / PHASE_MS)) return false
    this.#session.advancePlayout(ms)
    return true
  }

  /** Sends the last frame of an interrupted agent at once, instead of most of a frame later. */
  #flushEarly(): void {
    // Deferred, because the caller may be handling a packet or a frame of this session.
    queueMicrotask(() => this.#host.frameClock.flushEarly(this.#member, EARLY_FRAME_MS))
  }

  /** Sends digits as RTP events when the far side supports them, else as tones in the audio. */
  #sendDigits(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    if (this.#remote === null || this.#leaveClock === null) return false
    if (this.#remote.dtmfPayloadType !== null) return this.#leg.press(digits, timing)
    this.#detectors.onTonesSent(digits.length, timing)
    return this.#sounds.press(digits, timing)
  }

  /** Adds the background sound. The call continues without it when that fails. */
  async #addBackgroundSound(): Promise<void> {
    const { party } = this.#options
    if (party.kind !== 'agent') return
    const { sound, volume } = party.agent.background
    if (sound === 'none' || volume === 0) return
    try {
      await this.#sounds.addAmbience(this.#host.sounds, sound, volume)
    } catch (error) {
      this.#host.log.error({ sound, error: errorText(error) }, 'session.background_sound_failed')
    }
  }

  #reportFault(): void {
    if (this.#faulty || this.#closed !== null) return
    this.#faulty = true
    this.#options.onFault()
  }

  #open(party: Party): HostedParty {
    switch (party.kind) {
      case 'agent':
        return this.#agent(party)
      case 'persona':
        return this.#persona(party)
      case 'bot':
        return this.#bot(party)
    }
  }

  #bot({ bot }: Extract<Party, { kind: 'bot' }>): HostedParty {
    const { clock, log, names, settings } = this.#host
    const endpoint = new BotEndpoint({
      id: PARTY,
      spec: bot,
      rate: this.#options.rate,
      clock,
      log,
      // A media thread knows no organization. A bot whose name hangs only delays calls to the same bot.
      lookup: names.lookupOf(bot.url),
      allowPrivate: settings.allowPrivateUrls,
      emit: this.#options.emit,
      sendDigits: (digits, timing) => this.#sendDigits(digits, timing),
      advancePhase: (ms) => this.#advancePhase(ms),
      audioReady: () => this.#host.frameClock.audioReady(this.#member),
      onFault: (error) => this.#fail(error),
    })
    return {
      endpoint,
      // Inbound: connect to the bot before answering. Outbound: connect only once the callee answers.
      prepare: async () => {
        if (bot.direction === 'inbound' && !(await endpoint.connect())) {
          throw new EngineError('vendor_unreachable', 'the bot is unreachable')
        }
      },
      start: (sipCallId) => endpoint.start(sipCallId),
      transferUpdate: (update) => endpoint.transferUpdate(update),
      ready: () => endpoint.ready(),
    }
  }

  #agent(party: Extract<Party, { kind: 'agent' }>): HostedParty {
    const { vendors, breakers, phrases, vad, turnDetector, clock, log, settings } = this.#host
    const conversation = openAgent({
      id: PARTY,
      spec: party.agent,
      rate: this.#options.rate,
      vendors: withSandboxScript(vendors, () => this.#sandboxScript),
      breakers,
      phrases,
      vad,
      turnDetector,
      speculate: settings.speculate,
      clock,
      emit: this.#options.emit,
      log,
      flushEarly: () => this.#flushEarly(),
      tools: {
        run: (request, done) => this.#tools.run(request, done),
        serve: (request, done) => this.#tools.run(request, done),
        press: (digits) => this.#sendDigits([...digits] as Digit[]),
      },
      onFault: (error) => this.#fail(error),
    })
    return {
      endpoint: conversation,
      detected: (event) => conversation.detected(event),
      prepare: () => conversation.prepare(),
      start: () => conversation.start(),
    }
  }

  #persona(party: Extract<Party, { kind: 'persona' }>): HostedParty {
    const { vad, clips } = this.#host
    const persona = new Persona({
      id: PARTY,
      spec: party.persona,
      rate: this.#options.rate,
      vad,
      loadClip: (name) => clips.load(name, this.#options.rate),
      // A digit that cannot be sent is lost, as with a real telephone.
      press: (digits) => void this.#sendDigits(digits),
      hangUp: () => this.#options.emit({ type: 'hang_up' }),
      stopMedia: () => {
        this.#mediaStopped = true
        if (this.#remote !== null) this.setRemote(this.#remote)
      },
    })
    return {
      endpoint: persona,
      prepare: () => persona.prepare(),
      start: () => persona.start(),
    }
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
