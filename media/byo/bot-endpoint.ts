import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../base/clock.js'
import { errorText } from '../base/errors.js'
import type { AudioFrame, Digit, DtmfTiming, SessionRate } from '../base/frame.js'
import type { Log } from '../base/log.js'
import { Scope } from '../base/scope.js'
import type { CloseReason, Endpoint, EndpointId } from '../session/endpoint.js'
import type { NamedFormat } from './audio/audio-format.js'
import { CallerAudioSender } from './audio/caller-audio-sender.js'
import { queueFormat } from './audio/frame-coder.js'
import { ReplyLatency } from './audio/reply-latency.js'
import type { BotEvent, BotStats } from './bot-event.js'
import { BotPlayback } from './bot-playback.js'
import type { BotSpec } from './bot-spec.js'
import { BotTextReader } from './dialects/bot-message.js'
import { openDialect } from './dialects/registry.js'
import {
  type BotCommand,
  type BotErrorCode,
  type BotMessage,
  type StopReason,
  type StreamInfo,
  stopReasonOf,
  type TransferUpdate,
  type WireFormat,
} from './dialects/wire-format.js'
import { EarlyCommands } from './early-commands.js'
import { ProtocolViolations } from './protocol-violations.js'
import { type BotConnection, GOING_AWAY, HANGUP_CODES, NORMAL, POLICY } from './transport/bot-connection.js'
import { connectBot } from './transport/connect-bot.js'
import { handshakeOf } from './transport/handshake.js'

/** Longest playout of queued audio after the bot hangs up (ms). */
const DRAIN_MS = 5_000
const AS_AGREED: NamedFormat = { rate: null }
/** Transfer requests accepted in one call. Each is answered; a call makes two attempts. */
const MAX_TRANSFERS = 100

export interface BotEndpointOptions {
  readonly id: EndpointId
  readonly spec: BotSpec
  /** Rate of the session. */
  readonly rate: SessionRate
  readonly clock: Clock
  readonly log: Log
  readonly lookup: LookupFunction
  readonly allowPrivate: boolean
  readonly emit: (event: BotEvent) => void
  /** Sends DTMF on the call; returns false when that is not possible. */
  readonly sendDigits: (digits: readonly Digit[], timing?: DtmfTiming) => boolean
  /** Called once when code of ours threw. */
  readonly onFault: (error: unknown) => void
  /**
   * Called within `pull`: moves the frame clock earlier by `ms` from the next tick on, in steps of 5 up to
   * 15; returns false when it cannot.
   */
  readonly advancePhase: (ms: number) => boolean
  /** Called outside `pull` when the audio arrives for which `ready` returned false. */
  readonly audioReady: () => void
  /** When an earlier connection of this call began, by the clock; absent for the first one. */
  readonly beganMs?: number
  /** Connects to the bot; `connectBot` by default. */
  readonly dial?: typeof connectBot
}

type Finished = Extract<BotEvent, { type: 'finished' }>

type Phase = 'idle' | 'connecting' | 'connected' | 'live' | 'draining' | 'over'

/** The customer's bot as an endpoint of a session. */
export class BotEndpoint implements Endpoint {
  readonly id: EndpointId
  readonly kind = 'byo'
  readonly delivery = 'arrival'
  readonly #options: BotEndpointOptions
  readonly #spec: BotSpec
  readonly #clock: Clock
  /** The start is set again when the stream begins: the handshake and the ringing take time. */
  readonly #stream: StreamInfo & { startedAt: number }
  readonly #wireFormat: WireFormat
  readonly #texts: BotTextReader
  readonly #playback: BotPlayback
  readonly #callerAudio: CallerAudioSender
  readonly #replyLatency = new ReplyLatency()
  readonly #scope = new Scope()
  #connection: BotConnection | null = null
  readonly #early = new EarlyCommands()
  readonly #violations: ProtocolViolations
  #phase: Phase = 'idle'
  /** Media is live on the call, whatever the state of the bot. */
  #started = false
  /** Null before the call is live. */
  #startMs: number | null
  #sipCallId: string | null = null
  #drainUntilMs = 0
  /** Reason of the end, as the bot is informed of it. */
  #reason: StopReason | null = null
  #transfers = 0
  #isTransferring = false
  /** Id of the latest warm transfer. The bot hears no party until the telephone is answered; then it hears the person. */
  #warmId: string | null = null
  #callerPaused = false
  /** Id of the transfer whose person the bot talks with now. */
  #presenting: string | null = null
  #failed = false
  #closeCode: number | null = null
  #resumeToken: string | null = null

  constructor(options: BotEndpointOptions) {
    const { id, spec, rate, clock } = options
    this.id = id
    this.#options = options
    this.#spec = spec
    this.#clock = clock
    this.#startMs = options.beganMs ?? null
    this.#stream = { spec, streamId: randomUUID(), startedAt: clock.wall() }
    this.#wireFormat = openDialect(this.#stream)
    this.#texts = new BotTextReader(this.#wireFormat)
    const format = queueFormat(spec, this.#wireFormat.coder)
    this.#violations = new ProtocolViolations({
      report: (code, message) => this.#send(this.#wireFormat.error(code, message)),
      record: (code, message) => this.#emitFailure(code, message),
    })
    this.#playback = new BotPlayback({
      wireFormat: this.#wireFormat,
      format,
      rate,
      send: (message) => this.#send(message),
      violation: (code, message) => this.#error(code, message),
      overload: () => {
        this.#resumeToken = null
        this.#connection?.close(POLICY)
      },
      advancePhase: options.advancePhase,
      audioReady: options.audioReady,
      sendDigits: options.sendDigits,
    })
    this.#callerAudio = new CallerAudioSender(this.#wireFormat, format, rate)
  }

  /** The token by which a bot that was lost can go on with the call; null when it cannot. */
  get resumeToken(): string | null {
    return this.#resumeToken
  }

  /** True from a request of the bot for a transfer to its outcome. Another connection could not go on with it. */
  get isTransferring(): boolean {
    return this.#isTransferring
  }

  /** Connects to the bot. Resolves to false when it cannot be reached, which has been reported as an event. */
  async connect(): Promise<boolean> {
    if (this.#phase !== 'idle') return this.#phase !== 'over'
    this.#phase = 'connecting'
    const { clock, lookup, allowPrivate, log, dial = connectBot } = this.#options
    const result = await dial(
      {
        handshake: handshakeOf(this.#spec, randomUUID()),
        clock,
        lookup,
        allowPrivate,
        events: {
          opened: (connection) => this.#opened(connection),
          text: (data) => this.#text(data),
          binary: (data) => this.#binary(data),
          closed: (code) => this.#closed(code),
          internalError: (error) => this.#internalError(error),
        },
      },
      this.#scope,
    )
    if (!result.ok) {
      if (!this.#isOver()) {
        log.warn({ reason: result.reason, status: result.status }, 'bot.unreachable')
        this.#lost('bot_unreachable', result.reason)
      }
      return false
    }
    return !this.#isOver()
  }

  /** Starts the stream, or lets it start once the bot is connected. `sipCallId` is the Call-ID of the leg. */
  start(sipCallId: string | null): void {
    if (this.#started || this.#phase === 'over') return
    this.#started = true
    this.#sipCallId = sipCallId
    this.#startMs ??= this.#clock.now()
    const limit = this.#startMs + this.#spec.maxCallSeconds * 1000 - this.#clock.now()
    this.#scope.after(this.#clock, limit, () => this.#finish('max_duration', 'max_duration'))
    if (this.#phase === 'connected') this.#begin()
    else if (this.#phase === 'idle') void this.connect()
  }

  /** Returns false when audio for the next tick is due and has not arrived: the tick should wait briefly. */
  ready(): boolean {
    return this.#phase !== 'live' || this.#playback.ready()
  }

  pull(into: Int16Array): boolean {
    const phase = this.#phase
    if (phase !== 'live' && phase !== 'draining') return false
    const nowMs = this.#clock.now()
    const hasAudio = this.#playback.pull(into, nowMs, phase === 'live')
    this.#replyLatency.botFrame(hasAudio ? into : null, nowMs)
    if (phase === 'draining' && (this.#playback.idle || nowMs >= this.#drainUntilMs)) {
      queueMicrotask(this.#drained)
    }
    return hasAudio
  }

  push(frame: AudioFrame): void {
    const connection = this.#connection
    if (connection === null || (this.#phase !== 'live' && this.#phase !== 'draining') || this.#callerPaused)
      return
    this.#replyLatency.callerFrame(frame.pcm, this.#clock.now())
    this.#callerAudio.send(frame, connection)
  }

  dtmf(digit: Digit, durationMs: number): void {
    if (this.#phase === 'live' || this.#phase === 'draining') {
      this.#send(this.#wireFormat.dtmf(digit, durationMs))
    }
    this.#options.emit({ type: 'dtmf', digit, atMs: this.#atMs(), durationMs })
  }

  transferUpdate(update: TransferUpdate): void {
    if (this.#transfers === 0 || this.#isOver()) return
    this.#send(this.#wireFormat.transfer(update))
    const { id, status, mode } = update
    this.#isTransferring = status === 'accepted' || status === 'ringing' || status === 'answered'
    if (status === 'completed') this.#sayGoodbye('transferred')
    if (status === 'rejected') {
      if (id === this.#warmId) this.#callerPaused = false
      return
    }
    this.#presenting = status === 'answered' && mode === 'consult' ? id : null
    if (id === this.#warmId) this.#callerPaused = status === 'accepted' || status === 'ringing'
  }

  close(why: CloseReason): void {
    if (this.#scope.closed) return
    if (this.#started) this.#options.emit({ type: 'bot_stats', stats: this.#stats() })
    this.#sayGoodbye(this.#reason ?? stopReasonOf(why), why === 'shutdown' ? GOING_AWAY : NORMAL)
    this.#scope.close().catch((error: unknown) => this.#internalError(error))
  }

  /** Says goodbye to the bot; does not affect the call. */
  #sayGoodbye(reason: StopReason, code = NORMAL): void {
    this.#reason = reason
    this.#phase = 'over'
    if (this.#connection?.open && this.#started) this.#send(this.#wireFormat.stop(reason))
    this.#connection?.close(code)
  }

  readonly #drained = () => {
    if (this.#phase === 'draining') this.#finish('bot_hangup', 'agent_hangup')
  }

  #opened(connection: BotConnection): void {
    this.#connection = connection
    if (this.#isOver()) {
      connection.close(NORMAL)
      return
    }
    this.#phase = 'connected'
    if (this.#started) this.#begin()
  }

  #begin(): void {
    this.#phase = 'live'
    this.#stream.startedAt = this.#clock.wall()
    for (const message of this.#wireFormat.opening(this.#sipCallId)) this.#send(message)
    for (const command of this.#early.take()) this.#run(command)
  }

  #text(data: Buffer): void {
    if (this.#accepts()) this.#run(this.#texts.read(data))
  }

  #binary(data: Buffer): void {
    if (!this.#accepts()) return
    if (this.#wireFormat.readBinary !== undefined) this.#run(this.#wireFormat.readBinary(data))
    else if (this.#phase === 'live') this.#play(data, AS_AGREED, null)
    else this.#run({ type: 'play', audio: data, rate: null, id: null })
  }

  #accepts(): boolean {
    return this.#phase === 'live' || this.#phase === 'connected'
  }

  #run(command: BotCommand): void {
    if (this.#phase === 'connected' && this.#defer(command)) return
    switch (command.type) {
      case 'play':
        if (command.replaces) this.#playback.clear(this.#clock.now())
        this.#play(command.audio, command, command.id)
        return
      case 'mark':
        this.#playback.mark(command.name)
        return
      case 'clear':
        this.#playback.clear(this.#clock.now())
        return
      case 'forget_marks':
        this.#playback.forgetMarks()
        return
      case 'dtmf':
        this.#playback.dtmf(command.keys, command.timing)
        return
      case 'transfer':
        if (++this.#transfers > MAX_TRANSFERS) {
          this.#error('rate_limited', 'too many transfer requests')
          return
        }
        if (!this.#callerPaused) this.#warmId = command.request.handoff === 'warm' ? command.request.id : null
        this.#isTransferring = true
        this.#options.emit({ type: 'transfer_requested', request: command.request })
        return
      case 'transfer_decision':
        if (command.id !== this.#presenting) {
          this.#error('transfer_failed', 'no person is asked in a transfer with this id')
          return
        }
        this.#options.emit({ type: 'transfer_decided', accepted: command.accepted })
        return
      case 'resume':
        this.#resumeToken = command.token
        return
      case 'hangup':
        if (command.drain) this.#drain()
        else this.#finish('bot_hangup', 'agent_hangup')
        return
      case 'fault':
        this.#error(command.code, command.message)
        return
      case 'give_up':
        this.#resumeToken = null
        this.#lost('bot_disconnected', command.message)
        return
      case 'nothing':
        return
    }
  }

  /** Before the stream begins, commands are kept and carried out later. */
  #defer(command: BotCommand): boolean {
    if (command.type === 'hangup' || command.type === 'give_up') return false
    if (!this.#early.add(command)) this.#error('buffer_full', 'too many commands before the stream started')
    return true
  }

  #play(audio: Uint8Array, named: NamedFormat, id: string | null): void {
    const { coder } = this.#wireFormat
    this.#playback.play(
      coder ? coder.decode(audio) : audio,
      named,
      id,
      this.#clock.now(),
      this.#callerAudio.acceptedMs,
    )
  }

  #drain(): void {
    if (this.#phase !== 'live' && this.#phase !== 'connected') return
    this.#reason = 'bot_hangup'
    // Audio that a bot sent before the stream began is not played after its hang-up.
    if (this.#phase === 'connected' || this.#playback.idle) {
      this.#finish('bot_hangup', 'agent_hangup')
      return
    }
    this.#phase = 'draining'
    this.#drainUntilMs = this.#clock.now() + DRAIN_MS
  }

  #closed(code: number): void {
    this.#closeCode = code
    if (this.#phase === 'draining' || this.#phase === 'over') return
    // A bot with a token goes away for a restart, not because the call is over.
    const isBack = code === GOING_AWAY && this.#resumeToken !== null
    if (HANGUP_CODES.includes(code) && !isBack) {
      this.#drain()
      return
    }
    this.#lost('bot_disconnected', `the socket closed with ${code}`)
  }

  #lost(code: 'bot_unreachable' | 'bot_disconnected', message: string): void {
    this.#emitFailure(code, message)
    this.#finish('error', 'bot_disconnected', { message })
  }

  #finish(reason: StopReason, why: Finished['why'], more: Pick<Finished, 'message'> = {}): void {
    if (this.#isOver()) return
    this.#reason = reason
    this.#phase = 'over'
    this.#options.emit({ type: 'finished', why, ...more })
  }

  /** A method, because the compiler assumes that the phase is unchanged after an await. */
  #isOver(): boolean {
    return this.#phase === 'over'
  }

  #error(code: BotErrorCode, message: string): void {
    this.#violations.add(code, message, this.#clock.now())
  }

  /** Returns false when there was nothing to send. */
  #send(message: BotMessage | null): boolean {
    if (message === null) return false
    this.#connection?.send(message)
    return true
  }

  #emitFailure(code: string, message: string): void {
    this.#options.emit({ type: 'trouble', part: 'bot', code, message, atMs: this.#atMs() })
  }

  #atMs(): number {
    return this.#startMs === null ? 0 : Math.round(this.#clock.now() - this.#startMs)
  }

  #internalError(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    this.#options.log.error({ error: errorText(error) }, 'bot.endpoint_failed')
    this.#options.onFault(error)
  }

  #stats(): BotStats {
    const { firstAudioMs, replyMs } = this.#replyLatency
    return {
      firstAudioMs: firstAudioMs === null ? null : Math.round(firstAudioMs - (this.#startMs ?? 0)),
      replyMs: replyMs.map(Math.round),
      underruns: this.#playback.underruns,
      droppedInMs: this.#callerAudio.droppedMs,
      droppedOutMs: Math.round(this.#playback.droppedMs),
      trimmedMs: Math.round(this.#playback.trimmedMs),
      marks: this.#playback.marks,
      errors: this.#violations.count,
      closeCode: this.#closeCode,
    }
  }
}
