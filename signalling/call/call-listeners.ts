import { errorText } from '../../media/base/errors.js'
import type { SessionRate } from '../../media/base/frame.js'
import type { Log } from '../../media/base/log.js'
import { allocateLiveAudio, LiveAudioReader } from '../../media/session/live-audio.js'
import type { MediaPool } from '../../workers/channel/protocol.js'
import type { CallId, MonitorEvent } from './call-events.js'
import type { CallListener, LiveAudio } from './ports.js'

/** The people who listen to a call. Its media session shares the audio while there is one. */
export class CallListeners {
  readonly #deps: { readonly pool: MediaPool; readonly log: Log }
  readonly #callId: CallId
  readonly #rate: SessionRate
  readonly #publish: (event: MonitorEvent) => void
  readonly #listeners = new Set<CallListener>()
  /** Memory of the audio, when the session writes it. Null while nobody listens. */
  #shared: Promise<SharedArrayBuffer> | null = null
  #over = false

  constructor(
    deps: { readonly pool: MediaPool; readonly log: Log },
    call: {
      readonly callId: CallId
      readonly rate: SessionRate
      readonly publish: (event: MonitorEvent) => void
    },
  ) {
    this.#deps = deps
    this.#callId = call.callId
    this.#rate = call.rate
    this.#publish = call.publish
  }

  /** Adds a listener. Resolves with null when the call ended meanwhile; rejects when the session does not answer. */
  async add(listener: CallListener): Promise<LiveAudio | null> {
    if (this.#over) return null
    const { id, by } = listener
    this.#listeners.add(listener)
    this.#publish({ type: 'monitored', id, by, mode: 'listen', status: 'begun', outcome: null })
    this.#shared ??= this.#share()
    let memory: SharedArrayBuffer
    try {
      memory = await this.#shared
    } catch (error) {
      this.#remove(listener)
      throw error
    }
    // The call ended meanwhile, and told the listener.
    if (this.#over) return null
    const reader = new LiveAudioReader(memory, this.#rate)
    return {
      rate: this.#rate,
      read: () => reader.read(),
      get lostMs() {
        return reader.lostMs
      },
      close: () => this.#remove(listener),
    }
  }

  /** Ends the listening of everybody. Idempotent. */
  end(): void {
    this.#over = true
    for (const listener of [...this.#listeners]) {
      this.#remove(listener)
      listener.ended()
    }
  }

  #remove(listener: CallListener): void {
    if (!this.#listeners.delete(listener)) return
    const { id, by } = listener
    this.#publish({ type: 'monitored', id, by, mode: 'listen', status: 'over', outcome: 'left' })
    if (this.#listeners.size > 0 || this.#over) return
    this.#shared = null
    this.#deps.pool
      .request({ type: 'shareAudio', session: this.#callId, memory: null })
      .catch((error: unknown) => {
        this.#deps.log.warn({ callId: this.#callId, error: errorText(error) }, 'call.share_audio_failed')
      })
  }

  async #share(): Promise<SharedArrayBuffer> {
    const memory = allocateLiveAudio(this.#rate)
    await this.#deps.pool.request({ type: 'shareAudio', session: this.#callId, memory })
    return memory
  }
}
