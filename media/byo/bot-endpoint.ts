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
import {
  type BotCommand,
  type BotErrorCode,
  type BotMessage,
  type Dialect,
  type StopReason,
  stopReasonOf,
  type TransferUpdate,
} from './dialects/dialect.js'
import { openDialect } from './dialects/registry.js'
import { EarlyCommands } from './early-commands.js'
import { ProtocolViolations } from './protocol-violations.js'
import { type BotConnection, GOING_AWAY, HANGUP_CODES, NORMAL, POLICY } from './transport/bot-connection.js'
import { connectBot } from './transport/connect-bot.js'
import { handshakeOf } from './transport/handshake.js'

/** What waits is played out for so long when the bot says goodbye. */
const DRAIN_MS = 5_000
/** Requests for a transfer in one call; each is answered, and a call makes two attempts. */
const MAX_TRANSFERS = 100

export interface BotEndpointOptions {
  readonly id: EndpointId
  readonly spec: BotSpec
  /** Of the session. */
  readonly rate: SessionRate
  readonly clock: Clock
  readonly log: Log
  readonly lookup: LookupFunction
  readonly allowPrivate: boolean
  readonly emit: (event: BotEvent) => void
  /** Sends keys on the call; false when it cannot. */
  readonly sendDigits: (digits: readonly Digit[], timing?: DtmfTiming) => boolean
  /** Once: something of ours threw. */
  readonly onFault: (error: unknown) => void
  /**
   * Asked within `pull`: beats come so many ms earlier from the next one on, steps of 5 up to 15; false
   * when they cannot.
   */
  readonly advancePhase: (ms: number) => boolean
  /** The sound has come for which `ready` was false. Called outside of `pull`. */
  readonly audioReady: () => void
  /** Reaches the bot; `connectBot` unless told. */
  readonly dial?: typeof connectBot
}

/** The customer's bot as an end of a session. */
export interface BotEndpoint extends Endpoint {
  /** Dials the bot. False when it cannot be reached, which was told. */
  connect(): Promise<boolean>
  /** Media is live: the stream begins, connected before or from now on. `sipCallId` is the leg's. */
  start(sipCallId: string | null): void
  transferUpdate(update: TransferUpdate): void
  /** False when sound for the next beat is due and has not come: the beat should wait a little for it. */
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
  readonly #dialect: Dialect
  readonly #sound: AudioFormat
  readonly #voice: BotPlayout
  readonly #queue: PlaybackQueue
  readonly #mouth: CallerAudioSender
  readonly #times = new ReplyLatency()
  readonly #scope = new Scope()
  readonly #answers: AckQueue
  readonly #afterBeat = () => {
    this.#answers.tick()
    this.#tellReached()
  }
  #line: BotConnection | null = null
  readonly #early = new EarlyCommands()
  readonly #complaints: ProtocolViolations
  #phase: Phase = 'idle'
  /** Media is live on the call, whatever the bot does. */
  #started = false
  /** The beat waits for sound. */
  #awaited = false
  /** There was a beat: before the first one the line takes no keys. */
  #pulled = false
  #startMs = 0
  #sipCallId: string | null = null
  #drainUntilMs = 0
  /** Why it is over, as the bot is told. */
  #reason: StopReason | null = null
  #transfers = 0
  /** The warm one that was asked for last; once it is accepted the bot does not hear the caller. */
  #warmId: string | null = null
  #deaf = false
  #faulty = false
  #droppedOutMs = 0
  #marks = 0
  #closeCode: number | null = null

  constructor(options: BotEndpointOptions) {
    const { id, spec, rate, clock } = options
    this.id = id
    this.#options = options
    this.#spec = spec
    this.#clock = clock
    const sound = audioFormatOf(spec.format, spec.sampleRate)
    if (sound === null) throw new TypeError('no such audio')
    this.#sound = sound
    this.#dialect = openDialect({
      spec,
      streamId: randomUUID(),
      startedAt: clock.wall(),
    })
    this.#answers = new AckQueue(this.#dialect, (message) => this.#send(message))
    this.#complaints = new ProtocolViolations({
      report: (code, message) => this.#send(this.#dialect.error(code, message)),
      record: (code, message) => this.#trouble(code, message),
    })
    this.#voice = new BotPlayout(rate, options.advancePhase)
    this.#queue = this.#voice.queue
    this.#mouth = new CallerAudioSender(this.#dialect, sound, rate)
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
          opened: (line) => this.#opened(line),
          text: (data) => this.#text(data),
          binary: (data) => this.#binary(data),
          closed: (code) => this.#closed(code),
          internalError: (error) => this.#fault(error),
        },
      },
      this.#scope,
    )
    if (!result.ok) {
      if (!this.#isOver()) {
        log.warn({ reason: result.reason, status: result.status }, 'a bot cannot be reached')
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
    if (this.#phase !== 'live' || this.#voice.ready) return true
    this.#awaited = true
    return false
  }

  pull(into: Int16Array): boolean {
    const phase = this.#phase
    if (phase !== 'live' && phase !== 'draining') return false
    this.#pulled = true
    const nowMs = this.#clock.now()
    if (this.#awaited) this.#voice.pullDelayed()
    this.#awaited = false
    const sounding = this.#voice.pull(into, nowMs)
    this.#times.botFrame(sounding ? into : null, nowMs)
    if (this.#queue.hasReached || this.#answers.active) queueMicrotask(this.#afterBeat)
    if (phase === 'draining') {
      if (this.#queue.idle || nowMs >= this.#drainUntilMs) queueMicrotask(this.#drained)
    } else {
      this.#voice.trimBacklog(nowMs)
    }
    return sounding
  }

  push(frame: AudioFrame): void {
    const line = this.#line
    if (line === null || (this.#phase !== 'live' && this.#phase !== 'draining') || this.#deaf) return
    this.#times.callerFrame(frame.pcm, this.#clock.now())
    this.#mouth.send(frame, line)
  }

  dtmf(digit: Digit, durationMs: number): void {
    if (this.#phase === 'live' || this.#phase === 'draining') {
      this.#send(this.#dialect.dtmf(digit, durationMs))
    }
    this.#options.emit({ type: 'dtmf', digit, atMs: this.#atMs(), durationMs })
  }

  transferUpdate(update: TransferUpdate): void {
    if (this.#transfers === 0 || this.#isOver()) return
    this.#send(this.#dialect.transfer(update))
    const { id, status } = update
    if (status === 'completed') this.#leave('transferred')
    else if (id === this.#warmId) this.#deaf = status !== 'rejected' && status !== 'failed'
  }

  close(why: CloseReason): void {
    if (this.#started) this.#options.emit({ type: 'bot_stats', stats: this.#stats() })
    this.#leave(this.#reason ?? stopReasonOf(why), why === 'shutdown' ? GOING_AWAY : NORMAL)
    this.#scope.close().catch((error: unknown) => this.#fault(error))
  }

  /** Takes leave of the bot, whatever becomes of the call. */
  #leave(reason: StopReason, code = NORMAL): void {
    this.#reason = reason
    this.#phase = 'over'
    if (this.#line?.open && this.#started) this.#send(this.#dialect.stop(reason))
    this.#line?.close(code)
  }

  readonly #drained = () => {
    if (this.#phase === 'draining') this.#finish('bot_hangup', 'agent_hangup')
  }

  #opened(line: BotConnection): void {
    this.#line = line
    if (this.#isOver()) {
      line.close(NORMAL)
      return
    }
    this.#phase = 'connected'
    if (this.#started) this.#begin()
  }

  #begin(): void {
    this.#phase = 'live'
    for (const message of this.#dialect.opening(this.#sipCallId)) this.#send(message)
    for (const command of this.#early.take()) this.#obey(command)
  }

  #text(data: Buffer): void {
    if (this.#heeds()) this.#obey(this.#dialect.readText(data.toString()))
  }

  #binary(data: Buffer): void {
    if (!this.#heeds()) return
    if (this.#dialect.readBinary !== undefined) this.#obey(this.#dialect.readBinary(data))
    else if (this.#phase === 'live') this.#play(data, null, null)
    else this.#obey({ type: 'play', audio: data, rate: null, id: null })
  }

  #heeds(): boolean {
    return this.#phase === 'live' || this.#phase === 'connected'
  }

  #obey(command: BotCommand): void {
    if (this.#phase === 'connected' && this.#waits(command)) return
    switch (command.type) {
      case 'play':
        if (command.replaces) this.#clear()
        this.#play(command.audio, command.rate, command.id)
        return
      case 'mark':
        this.#marks++
        this.#queued({ kind: 'mark', name: command.name })
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
          if (!this.#queued(marker)) return
        }
        return
      case 'transfer':
        if (++this.#transfers > MAX_TRANSFERS) {
          this.#error('rate_limited', 'too many requests for a transfer')
          return
        }
        if (!this.#deaf) this.#warmId = command.request.handoff === 'warm' ? command.request.id : null
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

  /** Before the stream begins nothing is answered or played; what a bot wants then is done after. */
  #waits(command: BotCommand): boolean {
    if (command.type === 'hangup' || command.type === 'give_up') return false
    if (!this.#early.add(command)) this.#error('buffer_full', 'too much before the stream began')
    return true
  }

  /** `rate` is what the message names for itself. */
  #play(audio: Uint8Array, rate: number | null, id: string | null): void {
    const found = readAudio(this.#sound, audio, rate)
    if (typeof found === 'string') {
      this.#error('bad_audio', found)
      return
    }
    if (!this.#voice.enqueue(found, this.#clock.now(), this.#mouth.acceptedMs)) {
      this.#droppedOutMs += durationMs(found)
      this.#error('buffer_full', 'more than 300 s of sound wait')
    }
    if (id !== null) this.#queued({ kind: 'played', id })
    if (this.#awaited && this.#voice.ready) this.#options.audioReady()
  }

  #queued(marker: Marker): boolean {
    if (!this.#queue.addMarker(marker)) {
      this.#error('buffer_full', 'too many marks and keys wait')
      return false
    }
    // With nothing before it, it is reached at once.
    if (this.#queue.hasReached && this.#pulled) this.#tellReached()
    return true
  }

  #clear(): void {
    const { droppedMs, marks } = this.#queue.clear()
    this.#voice.reset(this.#clock.now())
    for (const marker of marks) {
      if (marker.kind === 'mark') this.#tell({ type: 'mark', name: marker.name, how: 'cleared' })
    }
    this.#tell({ type: 'clear', droppedMs })
  }

  #tell(answer: Ack): void {
    if (!this.#answers.push(answer)) this.#line?.close(POLICY)
  }

  #tellReached(): void {
    const reached = this.#queue.takeReached()
    if (reached === null) return
    for (const marker of reached) {
      if (marker.kind === 'mark') this.#tell({ type: 'mark', name: marker.name, how: 'played' })
      else if (marker.kind === 'played') this.#tell({ type: 'audio', id: marker.id })
      else if (marker.kind === 'key' && !this.#options.sendDigits([marker.digit], marker.timing)) {
        this.#error('bad_frame', 'keys cannot be sent on this call')
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
    this.#trouble(code, message)
    this.#finish('error', 'bot_disconnected', { message })
  }

  #finish(reason: StopReason, why: Finished['why'], more: Pick<Finished, 'message'> = {}): void {
    if (this.#isOver()) return
    this.#reason = reason
    this.#phase = 'over'
    this.#options.emit({ type: 'finished', why, ...more })
  }

  /** Through a function: an await lies between what the compiler knows and what is. */
  #isOver(): boolean {
    return this.#phase === 'over'
  }

  #error(code: BotErrorCode, message: string): void {
    this.#complaints.add(code, message, this.#clock.now())
  }

  /** False when there was nothing to send. */
  #send(message: BotMessage | null): boolean {
    if (message === null) return false
    this.#line?.send(message)
    return true
  }

  #trouble(code: string, message: string): void {
    this.#options.emit({ type: 'trouble', part: 'bot', code, message, atMs: this.#atMs() })
  }

  #atMs(): number {
    return this.#started ? Math.round(this.#clock.now() - this.#startMs) : 0
  }

  #fault(error: unknown): void {
    if (this.#faulty) return
    this.#faulty = true
    this.#options.log.error({ error: errorText(error) }, 'a bot end failed')
    this.#options.onFault(error)
  }

  #stats(): BotStats {
    const { firstAudioMs: firstSoundMs, replyMs: waitsMs } = this.#times
    return {
      firstAudioMs: firstSoundMs === null ? null : Math.round(firstSoundMs - this.#startMs),
      replyMs: waitsMs.map(Math.round),
      underruns: this.#queue.underruns,
      droppedInMs: this.#mouth.droppedMs,
      droppedOutMs: Math.round(this.#droppedOutMs),
      trimmedMs: Math.round(this.#voice.trimmedMs),
      marks: this.#marks,
      errors: this.#complaints.count,
      closeCode: this.#closeCode,
    }
  }
}
