import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../base/clock.js'
import { Scope } from '../base/scope.js'
import { type AudioFormat, durationMs, type NamedFormat, readAudio } from './audio/audio-format.js'
import { CallerAudioSender } from './audio/caller-audio-sender.js'
import { queueFormat } from './audio/frame-coder.js'
import { PlaybackQueue } from './audio/playback-queue.js'
import { ReplyLatency } from './audio/reply-latency.js'
import type { BotSpec } from './bot-spec.js'
import { openDialect } from './dialects/registry.js'
import type { BotCommand, BotMessage, StreamInfo } from './dialects/wire-format.js'
import { type BotConnection, NORMAL } from './transport/bot-connection.js'
import { connectBot } from './transport/connect-bot.js'
import { handshakeOf } from './transport/handshake.js'

/** Findings about a bot; times are ms. */
export interface BotReport {
  /** Reason why the bot could not be reached, or null when it was. */
  readonly unreachable: string | null
  readonly connectMs: number
  /** Number of messages by command. */
  readonly commands: Readonly<Record<BotCommand['type'], number>>
  /** Problems with messages, each once. */
  readonly violations: readonly string[]
  /** Messages that were ignored, each once. */
  readonly ignored: readonly string[]
  readonly audioMs: number
  /** First audio since the stream began, or null when there was none. */
  readonly firstAudioMs: number | null
  readonly replyMs: readonly number[]
  readonly underruns: number
  /** Most audio that was queued at any time. */
  readonly maxQueuedMs: number
  /** Time since the stream began at which the bot hung up, or null. */
  readonly hungUpMs: number | null
  /** Close code when the bot closed the socket before we did, or null. */
  readonly closedWith: number | null
}

export interface CheckOptions {
  readonly spec: BotSpec
  readonly clock: Clock
  readonly lookup: LookupFunction
  readonly allowPrivate: boolean
}

const FRAME = 160
/** The simulated caller listens, speaks, waits, presses a key, waits again, and hangs up. */
const SCRIPT = { speakFromMs: 1_500, speakToMs: 3_000, keyAtMs: 6_000, endAtMs: 8_000 }

/**
 * Calls a bot as the service would, with a simulated caller of 8 s, and reports its behaviour. Does not
 * reject for anything the bot does.
 */
export async function checkBot({ spec, clock, lookup, allowPrivate }: CheckOptions): Promise<BotReport> {
  const scope = new Scope()
  const call = new CheckCall(spec, clock)
  const startedMs = clock.now()
  const result = await connectBot(
    {
      handshake: handshakeOf(spec, randomUUID()),
      clock,
      lookup,
      allowPrivate,
      events: {
        opened: (connection) => call.opened(connection),
        text: (data) => call.run(call.wireFormat.readText(data.toString())),
        binary: (data) => call.binary(data),
        closed: (code) => call.closed(code),
        internalError: (error) => call.addViolation(String(error)),
      },
    },
    scope,
  )
  const connectMs = clock.now() - startedMs
  if (!result.ok) {
    await scope.close()
    return call.report(result.reason, connectMs)
  }
  const { connection } = result
  for (let tick = 0; tick * 20 < SCRIPT.endAtMs && !call.over; tick++) {
    call.tick(tick, connection)
    if (tick * 20 === SCRIPT.keyAtMs) call.send(call.wireFormat.dtmf('5', 160))
    await until(clock, startedMs + connectMs + (tick + 1) * 20)
  }
  call.leave()
  call.send(call.wireFormat.stop('caller_hangup'))
  connection.close(NORMAL)
  await call.gone
  await scope.close()
  return call.report(null, connectMs)
}

class CheckCall {
  send: (message: BotMessage | null) => void = () => {}
  closedWith: number | null = null
  readonly gone: Promise<void>
  readonly wireFormat
  readonly #stream: StreamInfo & { startedAt: number }
  readonly #format: AudioFormat
  readonly #clock: Clock
  readonly #queue = new PlaybackQueue(8000)
  readonly #callerAudio: CallerAudioSender
  readonly #replyLatency = new ReplyLatency()
  readonly #callerFrame = new Int16Array(FRAME)
  readonly #botFrame = new Int16Array(FRAME)
  readonly #violations = new Set<string>()
  readonly #ignored = new Set<string>()
  readonly #commands: Record<BotCommand['type'], number> = {
    play: 0,
    mark: 0,
    clear: 0,
    forget_marks: 0,
    dtmf: 0,
    transfer: 0,
    transfer_decision: 0,
    resume: 0,
    hangup: 0,
    nothing: 0,
    fault: 0,
    give_up: 0,
  }
  #resolveGone: () => void = () => {}
  #audioMs = 0
  #maxQueuedMs = 0
  #startMs = 0
  #leaving = false
  #hungUpMs: number | null = null

  constructor(spec: BotSpec, clock: Clock) {
    this.#clock = clock
    this.#stream = { spec, streamId: randomUUID(), startedAt: clock.wall() }
    this.wireFormat = openDialect(this.#stream)
    this.#format = queueFormat(spec, this.wireFormat.coder)
    this.#callerAudio = new CallerAudioSender(this.wireFormat, this.#format, 8000)
    this.gone = new Promise((resolve) => {
      this.#resolveGone = resolve
    })
  }

  /** True when the bot hung up and its audio was played, or when its connection is gone. */
  get over(): boolean {
    return this.closedWith !== null || (this.#hungUpMs !== null && this.#queue.idle)
  }

  opened(connection: BotConnection): void {
    this.send = (message) => {
      if (message !== null) connection.send(message)
    }
    this.#startMs = this.#clock.now()
    this.#stream.startedAt = this.#clock.wall()
    for (const message of this.wireFormat.opening(null)) this.send(message)
  }

  leave(): void {
    this.#leaving = true
  }

  closed(code: number): void {
    if (!this.#leaving) this.closedWith = code
    this.#resolveGone()
  }

  addViolation(text: string): void {
    if (this.#violations.size < 20) this.#violations.add(text)
  }

  run(command: BotCommand): void {
    this.#commands[command.type]++
    switch (command.type) {
      case 'play':
        if (command.replaces) this.#clear()
        this.#play(command.audio, command)
        if (command.id !== null) this.#queue.addMarker({ kind: 'played', id: command.id })
        this.#ackReached()
        return
      case 'mark':
        if (!this.#queue.addMarker({ kind: 'mark', name: command.name }))
          this.addViolation('too many marks are queued')
        this.#ackReached()
        return
      case 'clear':
        this.#clear()
        return
      case 'transfer':
        this.send(
          this.wireFormat.transfer({ id: command.request.id, status: 'rejected', code: 'not_supported' }),
        )
        return
      case 'transfer_decision':
        this.addViolation('a decision about a transfer that nobody was asked in')
        return
      case 'fault':
        if (command.harmless && this.#ignored.size < 20) this.#ignored.add(command.message)
        else if (!command.harmless) this.addViolation(command.message)
        this.send(this.wireFormat.error(command.code, command.message))
        return
      case 'give_up':
        this.addViolation(command.message)
        return
      case 'hangup':
        this.#hungUpMs ??= this.#clock.now() - this.#startMs
        return
      case 'forget_marks':
        this.#queue.forgetMarks()
        return
      case 'dtmf':
      case 'resume':
      case 'nothing':
        return
    }
  }

  binary(data: Buffer): void {
    if (this.wireFormat.readBinary === undefined) this.#play(data, { rate: null })
    else this.run(this.wireFormat.readBinary(data))
  }

  #clear(): void {
    const { droppedMs, marks } = this.#queue.clear()
    for (const mark of marks) {
      if (mark.kind === 'mark') this.send(this.wireFormat.markAck(mark.name, 'cleared'))
    }
    this.send(this.wireFormat.clearAck(droppedMs))
  }

  #play(audio: Uint8Array, named: NamedFormat): void {
    const { coder } = this.wireFormat
    const encoded = readAudio(this.#format, coder ? coder.decode(audio) : audio, named)
    if (typeof encoded === 'string') {
      this.addViolation(encoded)
      return
    }
    if (!this.#queue.enqueue(encoded.bytes, encoded.format))
      this.addViolation('more than 300 s of audio are queued')
    this.#audioMs += durationMs(encoded)
    this.#maxQueuedMs = Math.max(this.#maxQueuedMs, this.#queue.queuedMs)
  }

  tick(tick: number, connection: BotConnection): void {
    const atMs = tick * 20
    const speaking = atMs >= SCRIPT.speakFromMs && atMs < SCRIPT.speakToMs
    for (let i = 0; i < FRAME; i++) {
      // A voice-like buzz of 125 Hz: speech detectors accept it more readily than a pure tone.
      this.#callerFrame[i] = speaking ? (((tick * FRAME + i) % 64) - 32) * 250 : 0
    }
    const nowMs = this.#clock.now()
    this.#replyLatency.callerFrame(this.#callerFrame, nowMs)
    this.#callerAudio.send({ pcm: this.#callerFrame, rate: 8000, at: tick * FRAME }, connection)
    this.#replyLatency.botFrame(this.#queue.pull(this.#botFrame) ? this.#botFrame : null, nowMs)
    this.#ackReached()
  }

  report(unreachable: string | null, connectMs: number): BotReport {
    const { firstAudioMs, replyMs } = this.#replyLatency
    return {
      unreachable,
      connectMs,
      commands: this.#commands,
      violations: [...this.#violations],
      ignored: [...this.#ignored],
      hungUpMs: this.#hungUpMs,
      audioMs: this.#audioMs,
      firstAudioMs: firstAudioMs === null ? null : firstAudioMs - this.#startMs,
      replyMs,
      underruns: this.#queue.underruns,
      maxQueuedMs: this.#maxQueuedMs,
      closedWith: this.closedWith,
    }
  }

  #ackReached(): void {
    for (const marker of this.#queue.takeReached() ?? []) {
      if (marker.kind === 'mark') this.send(this.wireFormat.markAck(marker.name, 'played'))
      else if (marker.kind === 'played') this.send(this.wireFormat.playedAck(marker.id))
    }
  }
}

function until(clock: Clock, dueMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(Math.max(0, dueMs - clock.now()), resolve)
  })
}
