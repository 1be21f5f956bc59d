import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../base/clock.js'
import { errorText } from '../base/errors.js'
import type { AudioFrame, Digit, DtmfTiming, SessionRate } from '../base/frame.js'
import type { Log } from '../base/log.js'
import { Scope } from '../base/scope.js'
import type { CloseReason, Endpoint, EndpointId } from '../session/endpoint.js'
import { type Ack, AckQueue } from './ack-queue.js'
import { type AudioFormat, audioFormatOf, durationMs, readAudio } from './audio/audio-format.js'
import { BotPlayout } from './audio/bot-playout.js'
import { CallerAudioSender } from './audio/caller-audio-sender.js'
import type { Marker, PlaybackQueue } from './audio/playback-queue.js'
import { ReplyLatency } from './audio/reply-latency.js'
import type { BotEvent, BotStats } from './bot-event.js'
import type { BotSpec } from './bot-spec.js'
import { openDialect } from './dialects/registry.js'
import {
  type BotCommand,
  type BotErrorCode,
  type BotMessage,
  type StopReason,
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
  /** Connects to the bot; `connectBot` by default. */
  readonly dial?: typeof connectBot
}

/** The customer's bot as an endpoint of a session. */
export interface BotEndpoint extends Endpoint {
  /**
   * Connects to the bot. Resolves to false when it cannot be reached, which has been reported as an event.
   */
  connect(): Promise<boolean>
  /** Starts the stream, or lets it start once the bot is connected. `sipCallId` is the Call-ID of the leg. */
  start(sipCallId: string | null): void
  transferUpdate(update: TransferUpdate): void
  /** Returns false when audio for the next tick is due and has not arrived: the tick should wait briefly. */
  ready(): boolean
}

export function openBotEndpoint(options: BotEndpointOptions): BotEndpoint {
  return new SocketBot(options)
}

type Finished = Extract<BotEvent, { type: 'finished' }>

type Phase = 'idle' | 'connecting' | 'connected' | 'live' | 'draining' | 'over'

class SocketBot implements BotEndpoint {
  readonly id: EndpointId
  readonly kind = 'byo'
  readonly delivery = 'arrival'
  readonly #options: BotEndpointOptions
  readonly #spec: BotSpec
  readonly #clock: Clock
  readonly #wireFormat: WireFormat
  readonly #format: AudioFormat
  readonly #playout: BotPlayout
  readonly #queue: PlaybackQueue
  readonly #callerAudio: CallerAudioSender
  readonly #replyLatency = new ReplyLatency()
  readonly #scope = new Scope()
  readonly #acks: AckQueue
  readonly #afterTick = () => {
    this.#acks.tick()
    this.#ackReached()
  }
  #connection: BotConnection | null = null
  readonly #early = new EarlyCommands()
  readonly #violations: ProtocolViolations
  #phase: Phase = 'idle'
  /** Media is live on the call, whatever the state of the bot. */
  #started = false
  /** The frame clock is waiting for audio. */
  #waiting = false
  /** A tick has happened; before the first one the call takes no DTMF. */
  #ticked = false
  #startMs = 0
  #sipCallId: string | null = null
  #drainUntilMs = 0
  /** Reason of the end, as the bot is informed of it. */
  #reason: StopReason | null = null
  #transfers = 0
  /** Id of the latest warm transfer; once it is accepted the bot no longer receives the caller's audio. */
  #warmId: string | null = null
  #callerPaused = false
  #failed = false
  #droppedOutMs = 0
  #marks = 0
  #closeCode: number | null = null

  constructor(options: BotEndpointOptions) {
    const { id, spec, rate, clock } = options
    this.id = id
    this.#options = options
    this.#spec = spec
    this.#clock = clock
    const format = audioFormatOf(spec.format, spec.sampleRate)
    if (format === null) throw new TypeError('no such audio')
    this.#format = format
    this.#wireFormat = openDialect({
      spec,
      streamId: randomUUID(),
      startedAt: clock.wall(),
    })
    this.#acks = new AckQueue(this.#wireFormat, (message) => this.#send(message))
    this.#violations = new ProtocolViolations({
      report: (code, message) => this.#send(this.#wireFormat.error(code, message)),
      record: (code, message) => this.#emitFailure(code, message),
    })
    this.#playout = new BotPlayout(rate, options.advancePhase)
    this.#queue = this.#playout.queue
    this.#callerAudio = new CallerAudioSender(this.#wireFormat, format, rate)
  }

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

  start(sipCallId: string | null): void {
    if (this.#started || this.#phase === 'over') return
    this.#started = true
    this.#sipCallId = sipCallId
    this.#startMs = this.#clock.now()
    const limit = this.#spec.maxCallSeconds * 1000
    this.#scope.after(this.#clock, limit, () => this.#finish('max_duration', 'max_duration'))
    if (this.#phase === 'connected') this.#begin()
    else if (this.#phase === 'idle') void this.connect()
  }

  ready(): boolean {
    if (this.#phase !== 'live' || this.#playout.ready) return true
    this.#waiting = true
    return false
  }

  pull(into: Int16Array): boolean {
    const phase = this.#phase
    if (phase !== 'live' && phase !== 'draining') return false
    this.#ticked = true
    const nowMs = this.#clock.now()
    if (this.#waiting) this.#playout.pullDelayed()
    this.#waiting = false
    const hasAudio = this.#playout.pull(into, nowMs)
    this.#replyLatency.botFrame(hasAudio ? into : null, nowMs)
    if (this.#queue.hasReached || this.#acks.active) queueMicrotask(this.#afterTick)
    if (phase === 'draining') {
      if (this.#queue.idle || nowMs >= this.#drainUntilMs) queueMicrotask(this.#drained)
    } else {
      this.#playout.trimBacklog(nowMs)
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
    const { id, status } = update
    if (status === 'completed') this.#sayGoodbye('transferred')
    else if (id === this.#warmId) this.#callerPaused = status !== 'rejected' && status !== 'failed'
  }

  close(why: CloseReason): void {
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
    for (const message of this.#wireFormat.opening(this.#sipCallId)) this.#send(message)
    for (const command of this.#early.take()) this.#run(command)
  }

  #text(data: Buffer): void {
    if (this.#accepts()) this.#run(this.#wireFormat.readText(data.toString()))
  }

  #binary(data: Buffer): void {
    if (!this.#accepts()) return
    if (this.#wireFormat.readBinary !== undefined) this.#run(this.#wireFormat.readBinary(data))
    else if (this.#phase === 'live') this.#play(data, null, null)
    else this.#run({ type: 'play', audio: data, rate: null, id: null })
  }

  #accepts(): boolean {
    return this.#phase === 'live' || this.#phase === 'connected'
  }

  #run(command: BotCommand): void {
    if (this.#phase === 'connected' && this.#defer(command)) return
    switch (command.type) {
      case 'play':
        if (command.replaces) this.#clear()
        this.#play(command.audio, command.rate, command.id)
        return
      case 'mark':
        this.#marks++
        this.#enqueue({ kind: 'mark', name: command.name })
        return
      case 'clear':
        this.#clear()
        return
      case 'forget_marks':
        this.#queue.forgetMarks()
        return
      case 'dtmf':
        for (const key of command.keys) {
          const marker: Marker =
            key === 'w' ? { kind: 'pause' } : { kind: 'key', digit: key as Digit, timing: command.timing }
          if (!this.#enqueue(marker)) return
        }
        return
      case 'transfer':
        if (++this.#transfers > MAX_TRANSFERS) {
          this.#error('rate_limited', 'too many transfer requests')
          return
        }
        if (!this.#callerPaused) this.#warmId = command.request.handoff === 'warm' ? command.request.id : null
        this.#options.emit({ type: 'transfer_requested', request: command.request })
        return
      case 'hangup':
        if (command.drain) this.#drain()
        else this.#finish('bot_hangup', 'agent_hangup')
        return
      case 'fault':
        this.#error(command.code, command.message)
        return
      case 'give_up':
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

  /** `rate` is the rate that the message itself names, or null. */
  #play(audio: Uint8Array, rate: number | null, id: string | null): void {
    const encoded = readAudio(this.#format, audio, rate)
    if (typeof encoded === 'string') {
      this.#error('bad_audio', encoded)
      return
    }
    if (!this.#playout.enqueue(encoded, this.#clock.now(), this.#callerAudio.acceptedMs)) {
      this.#droppedOutMs += durationMs(encoded)
      this.#error('buffer_full', 'more than 300 s of audio are queued')
    }
    if (id !== null) this.#enqueue({ kind: 'played', id })
    if (this.#waiting && this.#playout.ready) this.#options.audioReady()
  }

  #enqueue(marker: Marker): boolean {
    if (!this.#queue.addMarker(marker)) {
      this.#error('buffer_full', 'too many marks and keys are queued')
      return false
    }
    // With nothing queued before it, the marker is reached at once.
    if (this.#queue.hasReached && this.#ticked) this.#ackReached()
    return true
  }

  #clear(): void {
    const { droppedMs, marks } = this.#queue.clear()
    this.#playout.reset(this.#clock.now())
    for (const marker of marks) {
      if (marker.kind === 'mark') this.#ack({ type: 'mark', name: marker.name, how: 'cleared' })
    }
    this.#ack({ type: 'clear', droppedMs })
  }

  #ack(ack: Ack): void {
    if (!this.#acks.push(ack)) this.#connection?.close(POLICY)
  }

  #ackReached(): void {
    const reached = this.#queue.takeReached()
    if (reached === null) return
    for (const marker of reached) {
      if (marker.kind === 'mark') this.#ack({ type: 'mark', name: marker.name, how: 'played' })
      else if (marker.kind === 'played') this.#ack({ type: 'audio', id: marker.id })
      else if (marker.kind === 'key' && !this.#options.sendDigits([marker.digit], marker.timing)) {
        this.#error('bad_frame', 'DTMF cannot be sent on this call')
      }
    }
  }

  #drain(): void {
    if (this.#phase !== 'live') {
      if (this.#phase === 'connected') this.#lost('bot_disconnected', 'the bot hung up before the call')
      return
    }
    this.#reason = 'bot_hangup'
    if (this.#queue.idle) {
      this.#finish('bot_hangup', 'agent_hangup')
      return
    }
    this.#phase = 'draining'
    this.#drainUntilMs = this.#clock.now() + DRAIN_MS
  }

  #closed(code: number): void {
    this.#closeCode = code
    if (this.#phase === 'draining' || this.#phase === 'over') return
    if (HANGUP_CODES.includes(code) && this.#phase === 'live') {
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
    return this.#started ? Math.round(this.#clock.now() - this.#startMs) : 0
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
      firstAudioMs: firstAudioMs === null ? null : Math.round(firstAudioMs - this.#startMs),
      replyMs: replyMs.map(Math.round),
      underruns: this.#queue.underruns,
      droppedInMs: this.#callerAudio.droppedMs,
      droppedOutMs: Math.round(this.#droppedOutMs),
      trimmedMs: Math.round(this.#playout.trimmedMs),
      marks: this.#marks,
      errors: this.#violations.count,
      closeCode: this.#closeCode,
    }
  }
}
