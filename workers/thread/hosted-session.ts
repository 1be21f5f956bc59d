import type { SpeakerScript, VoiceSpec } from '../../media/agent/agent-spec.js'
import type { Announcer } from '../../media/agent/announcer.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import { UsageMeter } from '../../media/agent/conversation/usage-meter.js'
import type { Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { type Digit, type DtmfTiming, FRAME_MS } from '../../media/base/frame.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { Disk } from '../../media/recording/wav-file.js'
import type { RtpStats } from '../../media/rtp/stats.js'
import type { CloseReason, EndpointId } from '../../media/session/endpoint.js'
import { type FrameClockMember, PHASE_MS } from '../../media/session/frame-clock.js'
import { Session } from '../../media/session/session.js'
import { EMBEDDED, EMBEDDED_VOICE } from '../../media/vendors/vendor-ids.js'
import {
  CALLER_LEG,
  type ClosedSession,
  type LegId,
  type LegRequest,
  type LegStats,
  MAX_LEGS,
  type OpenedSession,
  type OpenSessionOptions,
  type RemoteMedia,
  type SessionEvent,
} from '../channel/protocol.js'
import { CallRouting } from './call-routing.js'
import { openParty } from './hosted-party.js'
import { ANSWER_SOUNDS } from './leg-detectors.js'
import { openLegListener } from './leg-listener.js'
import { type HostedParty, PARTY } from './party-context.js'
import type { SessionHost } from './session-host.js'
import { SessionLeg } from './session-leg.js'
import { openVoice, type VoiceContext } from './session-voice.js'
import { ToolRequests } from './tool-requests.js'

/** The voice that speaks when the party itself cannot. */
const ANNOUNCER = 'announcer'
const MAX_TEXT = 2000
/** Longest time from `finish` to its event. */
const FINISH_LIMIT_MS = 20_000
/** A dropped leg fades for this time (ms) before it closes. */
const DROP_MS = 2 * FRAME_MS
/** People who come and go in one call. */
const MAX_LEG_STATS = 16
/** A frame that is due later than this (ms) may be sent early; no jitter buffer is shorter. */
const EARLY_FRAME_MS = FRAME_MS / 2

/** The voice of sessions whose party has none of ours. */
const EMBEDDED_VOICE_SPEC: VoiceSpec = {
  languages: ['en-IN'],
  textToSpeech: { vendor: EMBEDDED, model: null, voice: EMBEDDED_VOICE, pace: 1 },
}

export interface HostedSessionOptions extends OpenSessionOptions {
  /** The disk to record to; the file system when absent. */
  readonly disk?: Disk
  readonly emit: (event: SessionEvent) => void
  /**
   * Runs once when the session failed, in a frame, at a packet or inside its party; the session is to be
   * closed.
   */
  readonly onFault: () => void
}

interface Said {
  readonly text: string
  readonly now?: boolean
}

function checkText(text: string): void {
  if (text.trim() !== '' && text.length <= MAX_TEXT) return
  throw new EngineError('config_invalid', 'a text is empty or too long', { context: { length: text.length } })
}

/** A call: the caller's leg and the further ones, and our party behind them. */
export class HostedSession {
  readonly #host: SessionHost
  readonly #options: HostedSessionOptions
  readonly #session: Session
  /** By id. */
  readonly #legs = new Map<LegId, SessionLeg>()
  readonly #caller: SessionLeg
  /** Of the further legs that ended. */
  readonly #legStats: LegStats[] = []
  /** Null when the legs talk with each other only. */
  readonly #party: HostedParty | null
  readonly #member: FrameClockMember
  readonly #routing: CallRouting
  readonly #tools: ToolRequests
  #sandboxScript: SpeakerScript | null = null
  #announcer: Announcer | null = null
  /** Use of vendors besides the conversation: texts of our own voice, and recognition of legs. */
  readonly #usage = new UsageMeter()
  #opening = 0
  /** Set by `finish`. */
  #finishLimit: Timer | null = null
  #faulty = false
  #leaveClock: (() => void) | null = null
  #closed: Promise<ClosedSession> | null = null

  /**
   * Opens a session. Throws EngineError `port_unavailable`, or an error of the party's preparation; nothing
   * stays open then.
   */
  static async open(host: SessionHost, options: HostedSessionOptions): Promise<HostedSession> {
    const { rate, recordTo, disk, emit, party } = options
    const session = new Session({
      rate,
      clock: host.clock,
      recordTo,
      ...(disk === undefined ? {} : { disk }),
      finish: (raw) => host.recordings.finish(raw),
      onRecordingFailed: (message) => emit({ type: 'recording_failed', message }),
    })
    try {
      let hosted: HostedSession | null = null
      const caller = await SessionLeg.open(host, session, {
        id: endpointOf(CALLER_LEG),
        rate,
        onEvent:
          party.kind === 'persona'
            ? null
            : (event) => {
                emit({ type: 'detected', event })
                if (hosted !== null) hosted.#party?.detected?.(event)
              },
        sounds: party.kind === 'agent' && party.agent.voicemail.enabled ? ANSWER_SOUNDS : [],
        onTimeout: (again) => emit({ type: 'media_timeout', leg: CALLER_LEG, again }),
        onFailed: () => emit({ type: 'media_failed', leg: CALLER_LEG }),
        onLeft: () => emit({ type: 'media_closed', leg: CALLER_LEG }),
        onFault: (error) => {
          if (hosted !== null) hosted.#fail(error)
        },
      })
      hosted = new HostedSession(host, options, session, caller)
      await Promise.all([hosted.#party?.prepare(), hosted.#addBackgroundSound()])
      return hosted
    } catch (error) {
      await session.close('error')
      throw error
    }
  }

  private constructor(
    host: SessionHost,
    options: HostedSessionOptions,
    session: Session,
    caller: SessionLeg,
  ) {
    this.#host = host
    this.#options = options
    this.#session = session
    this.#caller = caller
    this.#legs.set(CALLER_LEG, caller)
    this.#tools = new ToolRequests(host.clock, options.emit)
    this.#party = openParty(options.party, {
      ...this.#voiceContext(),
      host,
      tools: this.#tools,
      sandboxScript: () => this.#sandboxScript,
      sendDigits: (digits, timing) => this.#sendDigits(digits, timing),
      advancePhase: (ms) => this.#advancePhase(ms),
      flushEarly: () => this.#flushEarly(),
      audioReady: () => host.frameClock.audioReady(this.#member),
      stopMedia: () => caller.stopSending(),
      isClosed: () => this.#closed !== null,
      onFault: (error) => this.#fail(error),
    })
    if (this.#party !== null) session.add(this.#party.endpoint)
    this.#routing = new CallRouting({
      session,
      rate: options.rate,
      library: host.sounds,
      caller: caller.id,
      party: this.#party === null ? null : PARTY,
    })
    this.#member = {
      tick: (idealMs) => session.tick(idealMs),
      skip: (frames) => session.skip(frames),
      ready: () => this.#party?.ready?.() ?? true,
    }
  }

  /** The sockets of the caller's leg. */
  get opened(): OpenedSession {
    return this.#caller.opened
  }

  /** Runs a request about the legs; see `LegRequest`. */
  async request(request: LegRequest): Promise<unknown> {
    switch (request.type) {
      case 'addLeg':
        return await this.#addLeg(request.leg)
      case 'remote':
        return this.setRemote(request.remote, request.leg)
      case 'dropLeg':
        return await this.#dropLeg(request.leg, request.why)
      case 'route': {
        const persons = request.persons.map((id) => this.#leg(id).id)
        if (persons.includes(this.#caller.id)) {
          throw new EngineError('config_invalid', 'the caller cannot be a person of a transfer')
        }
        await this.#routing.route(request.mode, persons)
        // From now on a key is for the other party.
        if (request.mode === 'bridge') for (const leg of this.#legs.values()) leg.endCollection()
        this.#party?.setAway?.(!this.#routing.partyPresent)
        return
      }
      case 'attend':
        return this.#routing.addListener(this.#furtherLeg(request.leg).id)
      case 'hold':
        return await this.#routing.hold(this.#leg(request.leg).id, request.sound)
      case 'collect':
        return await this.#leg(request.leg).collect(request.options)
      case 'listen':
        return this.#listen(request)
      case 'say':
        return await this.#say(request, request.leg === null ? null : this.#leg(request.leg).id)
      case 'note':
        checkText(request.text)
        return this.#party?.note?.(request.text) ?? false
      case 'finish':
        return this.#finish(request.line)
      case 'record':
        return this.#session.record(request.path)
      case 'pauseRecording':
        return request.paused ? this.#session.pauseRecording() : this.#session.resumeRecording()
      case 'shareAudio':
        return this.#session.shareAudio(request.memory)
    }
  }

  /** Sets the far side of a leg as SDP negotiated it. */
  setRemote(remote: RemoteMedia, leg: LegId = CALLER_LEG): void {
    const { id } = this.#leg(leg)
    this.#leg(leg).setRemote(remote)
    // Without its music a hold is silent; the call goes on.
    this.#routing.setHolds(id, !remote.send).catch((error: unknown) => {
      this.#host.log.error({ leg, error: errorText(error) }, 'session.hold_music_failed')
    })
  }

  /** Starts the session: media is live. A second start does nothing. `sipCallId` is that of the leg. */
  start(sipCallId: string | null): void {
    if (this.#leaveClock !== null || this.#closed !== null) return
    const { frameClock, members } = this.#host
    const member = this.#member
    this.#session.start()
    this.#party?.start(sipCallId)
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

  /** Takes a digit of the far side of a leg that arrived by INFO. */
  digit(digit: Digit, durationMs: number, leg: LegId = CALLER_LEG): void {
    if (this.#leaveClock === null || this.#closed !== null) return
    this.#leg(leg).onInfoDigit(digit, durationMs)
  }

  /** Reports the progress of a transfer that the bot asked for. */
  transferUpdate(update: TransferUpdate): void {
    this.#party?.transferUpdate?.(update)
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
      for (const leg of this.#legs.values()) leg.close()
      if (this.#party?.agent && !this.#usage.isEmpty)
        this.#options.emit({ type: 'usage', usage: this.#usage.take() })
      this.#tools.close()
      this.#finishLimit?.cancel()
      this.#leaveClock?.()
      this.#closed = this.#session.close(why).then((session) => {
        for (const [id, leg] of this.#legs) if (leg !== this.#caller) this.#keepStats(id, leg)
        return { ...session, legs: this.#legStats }
      })
    }
    return this.#closed
  }

  async #addLeg(id: LegId): Promise<OpenedSession> {
    if (this.#closed !== null) throw new EngineError('closed', 'the session is closed')
    if (this.#legs.size + this.#opening >= MAX_LEGS) {
      throw new EngineError('overloaded', 'the session has no room for another leg')
    }
    this.#opening++
    try {
      const leg = await SessionLeg.open(this.#host, this.#session, {
        id: endpointOf(id),
        rate: this.#options.rate,
        onEvent: null,
        onTimeout: (again) => this.#options.emit({ type: 'media_timeout', leg: id, again }),
        onFailed: () => this.#options.emit({ type: 'media_failed', leg: id }),
        onLeft: () => this.#options.emit({ type: 'media_closed', leg: id }),
        onFault: (error) => this.#fail(error),
      })
      this.#legs.set(id, leg)
      this.#routing.addLeg(leg.id)
      return leg.opened
    } finally {
      this.#opening--
    }
  }

  async #dropLeg(id: LegId, why: CloseReason): Promise<RtpStats> {
    const leg = this.#furtherLeg(id)
    this.#legs.delete(id)
    this.#keepStats(id, leg)
    leg.close()
    this.#routing.removeLeg(leg.id)
    await new Promise<void>((faded) => this.#host.clock.after(DROP_MS, faded))
    if (this.#closed === null) this.#session.remove(leg.id, why)
    return leg.stats()
  }

  #keepStats(id: LegId, leg: SessionLeg): void {
    this.#legStats.push({ leg: id, rtp: leg.stats() })
    if (this.#legStats.length > MAX_LEG_STATS) this.#legStats.shift()
  }

  #listen({ leg, languages, script = null }: Extract<LegRequest, { type: 'listen' }>): void {
    const target = this.#leg(leg)
    if (this.#closed !== null) throw new EngineError('closed', 'the session is closed')
    const { vendors, breakers, vad, clock } = this.#host
    const { rate, emit } = this.#options
    const now = () => this.#session.nowMs
    const agent = this.#party?.agent ?? null
    const used = { usage: this.#usage, emit }
    const listening = { vendors, breakers, vad, clock, agent, rate, leg, script, now, ...used }
    target.listen(languages === null ? null : openLegListener({ ...listening, languages }))
  }

  async #say({ text, now = false }: Said, leg: EndpointId | null): Promise<SayResult> {
    checkText(text)
    const say = this.#party?.say
    // An agent in conversation with the caller does not interrupt itself to speak to another party.
    const itself =
      say !== undefined && (leg === null || leg === this.#caller.id || !this.#routing.partyPresent)
    if (itself) {
      const result = await this.#announce(PARTY, leg, () => say({ text, last: false, now }))
      // An agent that has ended says nothing more. A person hears its voice all the same.
      if (result !== 'failed' || leg === null || leg === this.#caller.id) return result
    }
    if (this.#closed !== null) return 'failed'
    const announcer = this.#openAnnouncer()
    return await this.#announce(announcer.id, leg, () => announcer.say(text))
  }

  /** Lets a voice speak to a leg, or to all with null, until `speak` resolves. */
  async #announce(
    from: EndpointId,
    leg: EndpointId | null,
    speak: () => Promise<SayResult>,
  ): Promise<SayResult> {
    const announced = this.#routing.announce(from, leg)
    try {
      return await speak()
    } finally {
      if (this.#closed === null) announced()
    }
  }

  /** Ends the call with a line; see `LegRequest`. */
  #finish(line: string | null): void {
    if (this.#finishLimit !== null || this.#closed !== null) return
    const finished = () => this.#options.emit({ type: 'finished', why: 'asked' })
    this.#finishLimit = this.#host.clock.after(FINISH_LIMIT_MS, finished)
    const text = line === null || line.trim() === '' ? null : line.slice(0, MAX_TEXT)
    const say = this.#party?.say
    if (say !== undefined) {
      this.#routing.announce(PARTY, null)
      // The conversation reports its end itself, except when it had not begun.
      void say({ text, last: true }).then((result) => {
        if (result === 'failed' && this.#leaveClock === null) finished()
      })
    } else if (text === null) finished()
    else void this.#say({ text }, null).then(finished)
  }

  /** Returns the voice for what the party does not say itself: that of the agent, or the embedded one. */
  #openAnnouncer(): Announcer {
    if (this.#announcer !== null) return this.#announcer
    const spec = this.#party?.agent ?? EMBEDDED_VOICE_SPEC
    this.#announcer = openVoice(ANNOUNCER, spec, this.#voiceContext())
    this.#session.add(this.#announcer)
    return this.#announcer
  }

  #voiceContext(): VoiceContext {
    const { rate, emit } = this.#options
    return { host: this.#host, rate, emit, nowMs: () => this.#session.nowMs, usage: this.#usage }
  }

  /** Throws EngineError `closed` for an unknown leg, `config_invalid` for the caller's. */
  #furtherLeg(id: LegId): SessionLeg {
    const leg = this.#leg(id)
    if (leg === this.#caller)
      throw new EngineError('config_invalid', 'a request for a further leg names the caller')
    return leg
  }

  /** Throws EngineError `closed` for an unknown leg. */
  #leg(id: LegId): SessionLeg {
    const leg = this.#legs.get(id)
    if (leg === undefined) throw new EngineError('closed', 'the leg does not exist', { context: { leg: id } })
    return leg
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

  /** Sends digits to the caller. */
  #sendDigits(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    if (this.#leaveClock === null) return false
    return this.#caller.press(digits, timing, (tones, pace) => this.#routing.press(tones, pace))
  }

  /** Adds the background sound. The call continues without it when that fails. */
  async #addBackgroundSound(): Promise<void> {
    const { party } = this.#options
    if (party.kind !== 'agent') return
    const { sound, volume } = party.agent.background
    if (sound === 'none' || volume === 0) return
    try {
      await this.#routing.addAmbience(sound, volume)
    } catch (error) {
      this.#host.log.error({ sound, error: errorText(error) }, 'session.background_sound_failed')
    }
  }

  #reportFault(): void {
    if (this.#faulty || this.#closed !== null) return
    this.#faulty = true
    this.#options.onFault()
  }
}

/** Returns the id of a leg's endpoint, which no other endpoint of the session has. */
function endpointOf(leg: LegId): string {
  return `leg ${leg}`
}
