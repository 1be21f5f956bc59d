import { randomUUID } from 'node:crypto'
import type { SpeakerScript } from '../../media/agent/agent-spec.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Digit } from '../../media/base/frame.js'
import { type Log, silentLog } from '../../media/base/log.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import { recoverRecording } from '../../media/recording/finish.js'
import type { CloseReason } from '../../media/session/endpoint.js'
import {
  CALLER_LEG,
  type ClosedSession,
  type LegId,
  type LegRequest,
  type MediaPool,
  type OpenedSession,
  type OpenSessionOptions,
  type ProviderSettings,
  type RecordingFile,
  type RemoteMedia,
  type SessionEvent,
  type SessionId,
  type WorkerLoad,
  type WorkerResult,
} from '../channel/protocol.js'
import { RecordingJobs } from '../jobs/recording-jobs.js'
import { chooseWorker } from './placement.js'
import { withScript } from './sandbox-script.js'
import { WaitingRoom } from './waiting-room.js'
import { WorkerSlot } from './worker-slot.js'

export interface MediaPoolSettings {
  /** Number of media threads, at least 1; cores - 1 is right. */
  readonly workers: number
  readonly rtpAddress: string
  readonly iceAddress?: string | null
  readonly rtpPorts: { readonly first: number; readonly last: number }
  readonly mediaTimeoutMs: number
  /** Threads hold calls with themselves before they take others. Default: true. */
  readonly warmUp?: boolean
  /** Makes an Opus copy of each recording. Default: false. */
  readonly compressRecordings?: boolean
  /** Path of the ONNX file of a neural voice detector. Default: none. */
  readonly vadModel?: string | null
  /** Path of the ONNX file of a turn detector. Default: none. */
  readonly turnModel?: string | null
  readonly speculate?: boolean
  /** Default: false. */
  readonly allowPrivateUrls?: boolean
  readonly providers: ProviderSettings
  /** Returns the script of the simulated caller of a SIP Call-ID; null for any other caller. */
  readonly sandboxScript?: (sipCallId: string) => SpeakerScript | null
  readonly clock?: Clock
  readonly log?: Log
}

export interface RunningMediaPool extends MediaPool {
  /** Number of open sessions. */
  readonly size: number
  /** Terminates one worker as a crash would: its sessions are lost and another worker starts. */
  terminate(worker: number): Promise<void>
}

/** Opening includes the synthesis of the opening line, which has a lower limit of its own. */
const OPEN_MS = 12_000
const REQUEST_MS = 5000
/** 2,000 characters last less than four minutes. */
const SAY_MS = 240_000
/** Closing includes finishing the recording. */
const CLOSE_MS = 15_000

const EMPTY: ClosedSession = { stats: { frames: 0, rtp: null }, legs: [], recording: null, parts: [] }

interface Entry {
  readonly slot: WorkerSlot
  readonly events: (event: SessionEvent) => void
  /**
   * The recordings that the session was told to make, in order. The first one is that of the call. Null stands for
   * none.
   */
  readonly recordings: (string | null)[]
  closing: Promise<ClosedSession> | null
  /** True if the session was reported as lost although its worker lives. */
  isLost: boolean
}

/**
 * Starts the media threads and resolves when all are ready. When one cannot start, ends the others and
 * rejects with its reason.
 */
export async function openMediaPool(settings: MediaPoolSettings): Promise<RunningMediaPool> {
  const pool = new ThreadPool(settings)
  try {
    await pool.boot()
  } catch (error) {
    await pool.close()
    throw error
  }
  return pool
}

class ThreadPool implements RunningMediaPool {
  readonly #slots: readonly WorkerSlot[]
  readonly #log: Log
  readonly #entries = new Map<SessionId, Entry>()
  readonly #lostListeners: ((session: SessionId) => void)[] = []
  readonly #sandboxScript: (sipCallId: string) => SpeakerScript | null
  readonly #waitingRoom: WaitingRoom<Entry>
  /** The recordings of sessions that died with their worker and are not closed yet. */
  readonly #dead = new Map<SessionId, readonly (string | null)[]>()
  /** Finishes the recordings of dead sessions. */
  readonly #recordings: RecordingJobs
  #closing: Promise<void> | undefined

  constructor(settings: MediaPoolSettings) {
    const { workers, clock = systemClock, log = silentLog, sandboxScript = () => null } = settings
    this.#log = log
    this.#sandboxScript = sandboxScript
    this.#recordings = new RecordingJobs({ compress: settings.compressRecordings ?? false, log })
    this.#waitingRoom = new WaitingRoom(clock, () => {
      for (const slot of this.#slots) slot.refresh()
    })
    // A process may run several pools.
    const circuits = `circuits-${randomUUID()}`
    this.#slots = Array.from({ length: Math.max(1, workers) }, (_, index) => {
      const slot: WorkerSlot = new WorkerSlot({
        circuits,
        settings: {
          index,
          workers: Math.max(1, workers),
          rtpAddress: settings.rtpAddress,
          iceAddress: settings.iceAddress ?? null,
          rtpPorts: settings.rtpPorts,
          mediaTimeoutMs: settings.mediaTimeoutMs,
          warmUp: settings.warmUp ?? true,
          compressRecordings: settings.compressRecordings ?? false,
          vadModel: settings.vadModel ?? null,
          turnModel: settings.turnModel ?? null,
          speculate: settings.speculate ?? false,
          allowPrivateUrls: settings.allowPrivateUrls ?? false,
          providers: settings.providers,
        },
        clock,
        log,
        onEvent: (session, event) => this.#entries.get(session)?.events(event),
        onLost: (session) => this.#lose(session),
        onDied: () => this.#dropAll(slot),
      })
      return slot
    })
  }

  get size(): number {
    return this.#entries.size
  }

  async boot(): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.start()))
  }

  async open(
    session: SessionId,
    options: OpenSessionOptions,
    events: (event: SessionEvent) => void,
  ): Promise<OpenedSession & { readonly worker: number }> {
    if (this.#closing) throw new EngineError('closed', 'the media pool is closed')
    if (this.#entries.has(session) || this.#waitingRoom.has(session)) {
      throw new EngineError('internal', 'the session id is already in use', { context: { session } })
    }
    const attempt = (): Entry | null => this.#place(session, options.recordTo, events)
    // Those who wait come first.
    const placed = this.#waitingRoom.size === 0 ? attempt() : null
    const entry = placed ?? (await this.#waitingRoom.wait(session, attempt))
    if (entry === null) {
      throw new EngineError('overloaded', 'no media worker has room', {
        retryable: true,
        context: { sessions: this.#entries.size, workers: this.#slots.length },
      })
    }
    const { slot } = entry
    try {
      const opened = await slot.request({ type: 'open', session, options }, OPEN_MS)
      return { ...opened, worker: slot.index }
    } catch (error) {
      if (this.#entries.get(session) === entry) this.#entries.delete(session)
      this.#dead.delete(session)
      if (error instanceof EngineError && error.code === 'timeout') {
        // The session may still open on the worker: close it.
        slot.request({ type: 'close', session, why: 'error' }, CLOSE_MS).catch((failure: unknown) => {
          this.#log.warn({ session, error: errorText(failure) }, 'session.late_close_failed')
        })
      }
      throw error
    }
  }

  async setRemote(session: SessionId, remote: RemoteMedia): Promise<void> {
    await this.#entry(session).slot.request({ type: 'remote', session, remote }, REQUEST_MS)
  }

  async request<R extends LegRequest>(request: R): Promise<WorkerResult<R>> {
    const limitMs =
      request.type === 'collect'
        ? request.options.timeoutMs + REQUEST_MS
        : request.type === 'say'
          ? SAY_MS
          : REQUEST_MS
    const entry = this.#entry(request.session)
    if (request.type === 'record') entry.recordings.push(request.path)
    return await entry.slot.request(withScript(request, this.#sandboxScript), limitMs)
  }

  async start(session: SessionId, sipCallId: string | null = null): Promise<void> {
    const { slot } = this.#entry(session)
    const script = sipCallId === null ? null : this.#sandboxScript(sipCallId)
    const requests: Promise<unknown>[] = []
    // Both requests leave at once; the channel keeps their order.
    if (script !== null) requests.push(slot.request({ type: 'sandboxScript', session, script }, REQUEST_MS))
    requests.push(slot.request({ type: 'start', session, sipCallId }, REQUEST_MS))
    await Promise.all(requests)
  }

  async toolResult(session: SessionId, request: number, result: string): Promise<void> {
    await this.#entry(session).slot.request({ type: 'toolResult', session, request, result }, REQUEST_MS)
  }

  async digit(session: SessionId, digit: Digit, durationMs: number, leg: LegId = CALLER_LEG): Promise<void> {
    await this.#entry(session).slot.request({ type: 'digit', session, leg, digit, durationMs }, REQUEST_MS)
  }

  async transferUpdate(session: SessionId, update: TransferUpdate): Promise<void> {
    await this.#entry(session).slot.request({ type: 'transfer_update', session, update }, REQUEST_MS)
  }

  async closeSession(session: SessionId, why: CloseReason): Promise<ClosedSession> {
    if (this.#waitingRoom.leave(session)) return EMPTY
    const dead = this.#dead.get(session)
    if (dead !== undefined) {
      this.#dead.delete(session)
      return await this.#recovered(session, dead)
    }
    const entry = this.#entries.get(session)
    if (entry === undefined) return EMPTY
    entry.closing ??= this.#close(session, entry, why)
    return entry.closing
  }

  onLost(listener: (session: SessionId) => void): void {
    this.#lostListeners.push(listener)
  }

  async load(): Promise<readonly WorkerLoad[]> {
    const loads = await Promise.allSettled(
      this.#slots.map((slot) => slot.request({ type: 'load' }, REQUEST_MS)),
    )
    return loads.flatMap((load) => (load.status === 'fulfilled' ? [load.value] : []))
  }

  async terminate(worker: number): Promise<void> {
    await this.#slots[worker]?.terminate()
  }

  close(): Promise<void> {
    this.#waitingRoom.close()
    this.#closing ??= Promise.all(this.#slots.map((slot) => slot.close())).then(async () => {
      this.#entries.clear()
      this.#dead.clear()
      await this.#recordings.close()
    })
    return this.#closing
  }

  /** Gives the session a worker; returns null when none has room. */
  #place(session: SessionId, recordTo: string | null, events: (event: SessionEvent) => void): Entry | null {
    const chosen = chooseWorker(
      this.#slots.map((slot) => ({
        ready: slot.ready,
        sessions: this.#count(slot),
        busy: slot.load?.busy ?? 0,
        busySessions: slot.load?.sessions ?? 0,
        sustainedLateMs: slot.load?.sustainedMs ?? 0,
      })),
    )
    const slot = chosen === null ? undefined : this.#slots[chosen]
    if (slot === undefined) return null
    const entry: Entry = { slot, events, recordings: [recordTo], closing: null, isLost: false }
    this.#entries.set(session, entry)
    return entry
  }

  #count(slot: WorkerSlot): number {
    let sessions = 0
    for (const entry of this.#entries.values()) if (entry.slot === slot) sessions++
    return sessions
  }

  #entry(session: SessionId): Entry {
    const entry = this.#entries.get(session)
    if (entry === undefined)
      throw new EngineError('closed', 'the session does not exist', { context: { session } })
    return entry
  }

  async #close(session: SessionId, entry: Entry, why: CloseReason): Promise<ClosedSession> {
    try {
      return await entry.slot.request({ type: 'close', session, why }, CLOSE_MS)
    } catch (error) {
      // The slot ends a worker that does not answer.
      this.#log.warn({ session, error: errorText(error) }, 'session.stats_lost')
      const isDead = error instanceof EngineError && error.code === 'worker_lost'
      return isDead ? await this.#recovered(session, entry.recordings) : EMPTY
    } finally {
      if (this.#entries.get(session) === entry) this.#entries.delete(session)
    }
  }

  /** Repairs and finishes the recordings of a dead worker, as after the death of the process. Never rejects. */
  async #recovered(session: SessionId, recordings: readonly (string | null)[]): Promise<ClosedSession> {
    let recording: RecordingFile | null = null
    const parts: RecordingFile[] = []
    for (const [index, path] of recordings.entries()) {
      if (path === null) continue
      try {
        const raw = await recoverRecording(path)
        const file = raw === null ? null : await this.#recordings.finish(raw)
        if (file === null) continue
        if (index === 0) recording = file
        else parts.push(file)
      } catch (error) {
        this.#log.error({ session, error: errorText(error) }, 'recording.recover_failed')
      }
    }
    return { ...EMPTY, recording, parts }
  }

  /** Drops all sessions of a worker that died. */
  #dropAll(slot: WorkerSlot): void {
    for (const [session, entry] of [...this.#entries]) {
      if (entry.slot !== slot) continue
      this.#entries.delete(session)
      // A session that is being closed recovers its recordings itself.
      if (entry.closing !== null) continue
      this.#dead.set(session, entry.recordings)
      if (!entry.isLost) this.#tellLost(session)
    }
  }

  /**
   * Reports a session that failed while its worker lives. The worker finishes its recordings, and `closeSession`
   * returns them.
   */
  #lose(session: SessionId): void {
    const entry = this.#entries.get(session)
    if (entry === undefined || entry.isLost) return
    entry.isLost = true
    // A session that is being closed is not reported as lost.
    if (entry.closing === null) this.#tellLost(session)
  }

  #tellLost(session: SessionId): void {
    for (const listener of this.#lostListeners) listener(session)
  }
}
