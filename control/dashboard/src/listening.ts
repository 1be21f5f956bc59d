import type { SessionApi } from './api.js'

/** Sample rate of the loudspeaker (Hz). Narrowband calls are raised to it, so that the pieces join without a click. */
const RATE = 16_000
/** Sound that is collected before it plays, and the most that may wait (s). Beyond it the rest is skipped. */
const DELAY_S = 0.2
const MOST_S = 1.5
/** Attempts to reach the process that carries the call, and the time between them (ms). */
const ATTEMPTS = 10
const AGAIN_MS = 150

const PROTOCOL = 'parley.listen'
const OTHER_PROCESS = 'other_process'

/** Why nothing is heard any more. `lost`: the connection failed. */
export const ENDINGS = ['call_ended', 'not_allowed', 'too_many_listeners', 'lost'] as const
export type Ending = (typeof ENDINGS)[number]

/** Loudness of both sides, 0 to 1. */
export interface Levels {
  readonly caller: number
  readonly agent: number
}

/**
 * Plays a live call until the returned function is called or the call ends. Call it while the user presses something, or
 * browsers keep the loudspeaker silent. `failed` gets what the service refused.
 */
export function listenTo(options: {
  readonly api: SessionApi
  readonly callId: string
  readonly started: () => void
  readonly levels: (levels: Levels) => void
  readonly ended: (ending: Ending) => void
  readonly failed: (error: Error) => void
}): () => void {
  const { api, callId, started, levels, ended, failed } = options
  const speaker = new Speaker()
  let socket: WebSocket | null = null
  let over = false
  const stop = (): void => {
    over = true
    socket?.close()
    speaker.close()
  }
  const end = (ending: Ending): void => {
    if (over) return
    stop()
    ended(ending)
  }

  function connect(url: string, ticket: string, attempts: number): void {
    if (over) return
    const opened = new WebSocket(url, [PROTOCOL, `ticket.${ticket}`])
    socket = opened
    opened.binaryType = 'arraybuffer'
    let rate = 0
    opened.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') {
        if (rate > 0) levels(speaker.play(new Int16Array(data), rate))
        return
      }
      const message = JSON.parse(data) as { readonly type: string; readonly sampleRate?: number }
      if (message.type !== 'started') return
      rate = message.sampleRate ?? 0
      started()
    }
    opened.onclose = ({ reason }) => {
      if (reason === OTHER_PROCESS && attempts > 1)
        setTimeout(() => connect(url, ticket, attempts - 1), AGAIN_MS)
      else end(ENDINGS.find((known) => known === reason) ?? 'lost')
    }
  }

  api.requestListenTicket({ id: callId }).then(
    ({ url, ticket }) => connect(url, ticket, ATTEMPTS),
    (error: Error) => {
      if (over) return
      stop()
      failed(error)
    },
  )
  return stop
}

/** The loudspeaker: pieces of sound one after the other. */
class Speaker {
  readonly #context = new AudioContext({ sampleRate: RATE })
  /** Start of the next piece, by the clock of the loudspeaker (s). */
  #next = 0
  /** The last sample of both, between which and the next one a narrowband call is filled. */
  #last = 0

  /** Plays both sides at once. Returns how loud they are. */
  play(pcm: Int16Array, rate: number): Levels {
    const frames = pcm.length / 2
    const step = RATE / rate
    const buffer = this.#context.createBuffer(1, Math.max(1, frames * step), RATE)
    const out = buffer.getChannelData(0)
    let caller = 0
    let agent = 0
    for (let i = 0; i < frames; i++) {
      const left = (pcm[2 * i] ?? 0) / 32_768
      const right = (pcm[2 * i + 1] ?? 0) / 32_768
      caller += left * left
      agent += right * right
      const sample = Math.max(-1, Math.min(1, left + right))
      for (let j = 1; j <= step; j++) out[i * step + j - 1] = this.#last + ((sample - this.#last) * j) / step
      this.#last = sample
    }
    this.#schedule(buffer)
    return { caller: Math.sqrt(caller / frames), agent: Math.sqrt(agent / frames) }
  }

  close(): void {
    void this.#context.close()
  }

  #schedule(buffer: AudioBuffer): void {
    const now = this.#context.currentTime
    if (this.#next < now) this.#next = now + DELAY_S
    if (this.#next > now + MOST_S) return
    const source = this.#context.createBufferSource()
    source.buffer = buffer
    source.connect(this.#context.destination)
    source.start(this.#next)
    this.#next += buffer.duration
  }
}
