import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../base/clock.js'
import { Scope } from '../base/scope.js'
import { type AudioFormat, audioFormatOf, durationMs, readAudio } from './audio/audio-format.js'
import { CallerAudioSender } from './audio/caller-audio-sender.js'
import { PlaybackQueue } from './audio/playback-queue.js'
import { ReplyLatency } from './audio/reply-latency.js'
import type { BotSpec } from './bot-spec.js'
import type { BotCommand, BotMessage } from './dialects/dialect.js'
import { openDialect } from './dialects/registry.js'
import { type BotConnection, NORMAL } from './transport/bot-connection.js'
import { connectBot } from './transport/connect-bot.js'
import { handshakeOf } from './transport/handshake.js'

/** What was seen of a bot; times are ms. */
export interface BotReport {
  /** Null: it was reached; else why not. */
  readonly unreachable: string | null
  readonly connectMs: number
  /** Messages by what they asked for. */
  readonly commands: Readonly<Record<BotCommand['type'], number>>
  /** What was wrong with messages, each once. */
  readonly violations: readonly string[]
  /** What was left unheeded, each once. */
  readonly ignored: readonly string[]
  readonly audioMs: number
  /** Since the stream began; null: none came. */
  readonly firstAudioMs: number | null
  readonly replyMs: readonly number[]
  readonly underruns: number
  /** Most sound that waited to be played. */
  readonly maxQueuedMs: number
  /** The bot asked for the end, so long after the stream began. */
  readonly hungUpMs: number | null
  /** The bot closed the socket before we did, with this code. */
  readonly closedWith: number | null
}

export interface CheckOptions {
  readonly spec: BotSpec
  readonly clock: Clock
  readonly lookup: LookupFunction
  readonly allowPrivate: boolean
}

const FRAME = 160
/** The caller listens, speaks, waits, presses a key, waits again, and hangs up. */
const SCRIPT = { speakFromMs: 1_500, speakToMs: 3_000, keyAtMs: 6_000, endAtMs: 8_000 }

/**
 * Calls a bot as the service would, with a caller of 8 s behind it, and tells what it did. Never
 * rejects for what a bot does.
 */
export async function checkBot({ spec, clock, lookup, allowPrivate }: CheckOptions): Promise<BotReport> {
  const scope = new Scope()
  const sound = audioFormatOf(spec.format, spec.sampleRate)
  if (sound === null) throw new TypeError('no such audio')
  const visit = new Visit(spec, sound, clock)
  const startedMs = clock.now()
  const result = await connectBot(
    {
      handshake: handshakeOf(spec, randomUUID()),
      clock,
      lookup,
      allowPrivate,
      events: {
        opened: (line) => visit.opened(line),
        text: (data) => visit.obey(visit.dialect.readText(data.toString())),
        binary: (data) => visit.binary(data),
        closed: (code) => visit.closed(code),
        internalError: (error) => visit.blame(String(error)),
      },
    },
    scope,
  )
  const connectMs = clock.now() - startedMs
  if (!result.ok) {
    await scope.close()
    return visit.report(result.reason, connectMs)
  }
  const { connection: line } = result
  for (let beat = 0; beat * 20 < SCRIPT.endAtMs && !visit.over; beat++) {
    visit.beat(beat, line)
    if (beat * 20 === SCRIPT.keyAtMs) visit.answer(visit.dialect.dtmf('5', 160))
    await until(clock, startedMs + connectMs + (beat + 1) * 20)
  }
  visit.leave()
  visit.answer(visit.dialect.stop('caller_hangup'))
  line.close(NORMAL)
  await visit.gone
  await scope.close()
  return visit.report(null, connectMs)
}

class Visit {
  answer: (message: BotMessage | null) => void = () => {}
  closedWith: number | null = null
  readonly gone: Promise<void>
  readonly dialect
  readonly #sound: AudioFormat
  readonly #clock: Clock
  readonly #queue = new PlaybackQueue(8000)
  readonly #mouth: CallerAudioSender
  readonly #times = new ReplyLatency()
  readonly #said = new Int16Array(FRAME)
  readonly #heard = new Int16Array(FRAME)
  readonly #faults = new Set<string>()
  readonly #ignored = new Set<string>()
  readonly #commands: Record<BotCommand['type'], number> = {
    play: 0,
    mark: 0,
    clear: 0,
    forget_marks: 0,
    dtmf: 0,
    transfer: 0,
    hangup: 0,
    nothing: 0,
    fault: 0,
    give_up: 0,
  }
  #resolveGone: () => void = () => {}
  #audioMs = 0
  #mostWaitingMs = 0
  #startMs = 0
  #left = false
  #hungUpMs: number | null = null

  constructor(spec: BotSpec, sound: AudioFormat, clock: Clock) {
    this.#sound = sound
    this.#clock = clock
    this.dialect = openDialect({ spec, streamId: randomUUID(), startedAt: clock.wall() })
    this.#mouth = new CallerAudioSender(this.dialect, sound, 8000)
    this.gone = new Promise((resolve) => {
      this.#resolveGone = resolve
    })
  }

  /** It hung up, and all it said was played, or it is gone. */
  get over(): boolean {
    return this.closedWith !== null || (this.#hungUpMs !== null && this.#queue.idle)
  }

  opened(line: BotConnection): void {
    this.answer = (message) => {
      if (message !== null) line.send(message)
    }
    this.#startMs = this.#clock.now()
    for (const message of this.dialect.opening(null)) this.answer(message)
  }

  leave(): void {
    this.#left = true
  }

  closed(code: number): void {
    if (!this.#left) this.closedWith = code
    this.#resolveGone()
  }

  blame(text: string): void {
    if (this.#faults.size < 20) this.#faults.add(text)
  }

  obey(command: BotCommand): void {
    this.#commands[command.type]++
    switch (command.type) {
      case 'play':
        if (command.replaces) this.#clear()
        this.#play(command.audio, command.rate)
        if (command.id !== null) this.#queue.addMarker({ kind: 'played', id: command.id })
        this.#tell()
        return
      case 'mark':
        if (!this.#queue.addMarker({ kind: 'mark', name: command.name })) this.blame('too many marks wait')
        this.#tell()
        return
      case 'clear':
        this.#clear()
        return
      case 'transfer':
        this.answer(
          this.dialect.transfer({ id: command.request.id, status: 'rejected', code: 'not_supported' }),
        )
        return
      case 'fault':
        if (command.harmless && this.#ignored.size < 20) this.#ignored.add(command.message)
        else if (!command.harmless) this.blame(command.message)
        this.answer(this.dialect.error(command.code, command.message))
        return
      case 'give_up':
        this.blame(command.message)
        return
      case 'hangup':
        this.#hungUpMs ??= this.#clock.now() - this.#startMs
        return
      case 'forget_marks':
        this.#queue.forgetMarks()
        return
      case 'dtmf':
      case 'nothing':
        return
    }
  }

  binary(data: Buffer): void {
    if (this.dialect.readBinary === undefined) this.#play(data, null)
    else this.obey(this.dialect.readBinary(data))
  }

  #clear(): void {
    const { droppedMs, marks } = this.#queue.clear()
    for (const mark of marks) {
      if (mark.kind === 'mark') this.answer(this.dialect.markAck(mark.name, 'cleared'))
    }
    this.answer(this.dialect.clearAck(droppedMs))
  }

  #play(audio: Uint8Array, rate: number | null): void {
    const found = readAudio(this.#sound, audio, rate)
    if (typeof found === 'string') {
      this.blame(found)
      return
    }
    if (!this.#queue.enqueue(found.bytes, found.format)) this.blame('more than 300 s of sound wait')
    this.#audioMs += durationMs(found)
    this.#mostWaitingMs = Math.max(this.#mostWaitingMs, this.#queue.queuedMs)
  }

  beat(beat: number, line: BotConnection): void {
    const atMs = beat * 20
    const speaks = atMs >= SCRIPT.speakFromMs && atMs < SCRIPT.speakToMs
    for (let i = 0; i < FRAME; i++) {
      // A voice-like buzz of 125 Hz: what detectors of speech take for speech more than a pure tone.
      this.#said[i] = speaks ? (((beat * FRAME + i) % 64) - 32) * 250 : 0
    }
    const nowMs = this.#clock.now()
    this.#times.callerFrame(this.#said, nowMs)
    this.#mouth.send({ pcm: this.#said, rate: 8000, at: beat * FRAME }, line)
    this.#times.botFrame(this.#queue.pull(this.#heard) ? this.#heard : null, nowMs)
    this.#tell()
  }

  report(unreachable: string | null, connectMs: number): BotReport {
    const { firstAudioMs: firstSoundMs, replyMs: waitsMs } = this.#times
    return {
      unreachable,
      connectMs,
      commands: this.#commands,
      violations: [...this.#faults],
      ignored: [...this.#ignored],
      hungUpMs: this.#hungUpMs,
      audioMs: this.#audioMs,
      firstAudioMs: firstSoundMs === null ? null : firstSoundMs - this.#startMs,
      replyMs: waitsMs,
      underruns: this.#queue.underruns,
      maxQueuedMs: this.#mostWaitingMs,
      closedWith: this.closedWith,
    }
  }

  #tell(): void {
    for (const marker of this.#queue.takeReached() ?? []) {
      if (marker.kind === 'mark') this.answer(this.dialect.markAck(marker.name, 'played'))
      else if (marker.kind === 'played') this.answer(this.dialect.playedAck(marker.id))
    }
  }
}

function until(clock: Clock, dueMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(Math.max(0, dueMs - clock.now()), resolve)
  })
}
