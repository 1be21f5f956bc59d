import { systemClock } from '../../media/base/clock.js'
import type { AudioFrame, SessionRate } from '../../media/base/frame.js'
import { Recorder } from '../../media/recording/recorder.js'
import type { Disk } from '../../media/recording/wav-file.js'
import type { Endpoint } from '../../media/session/endpoint.js'
import { Limiter } from '../../media/session/limiter.js'
import { Session } from '../../media/session/session.js'
import { LoopEndpoint } from '../../media/sounds/endpoints.js'
import type { Measured } from '../lib/figures.js'
import { cost, speechLike } from './frame-cost.js'

/** A disk that accepts everything at once: only the engine's share is measured. */
const NO_DISK: Disk = {
  create: async () => ({
    write: async (_bytes, _offset, length) => ({ bytesWritten: length }),
    truncate: async () => {},
    close: async () => {},
  }),
  remove: async () => {},
}

/** Speaks all the time and discards what it receives. */
class Talker implements Endpoint {
  readonly kind = 'byo'
  readonly delivery = 'tick'
  readonly #frames: readonly Int16Array[]
  #next = 0

  constructor(
    readonly id: string,
    rate: SessionRate,
  ) {
    this.#frames = speechLike(rate)
  }

  pull(into: Int16Array): boolean {
    into.set(this.#frames[this.#next] as Int16Array)
    this.#next = (this.#next + 1) % this.#frames.length
    return true
  }

  push(_frame: AudioFrame): void {}

  close(): void {}
}

/** M_mix: measures one tick of a session with this many parties, all speaking, and of its single parts. */
export async function measureMixing(): Promise<Measured[]> {
  const figures: Measured[] = []
  for (const rate of [8000, 16_000] as const) {
    const named = (name: string) => `M_mix@${name}-${rate}`
    figures.push(
      cost(named('2'), 1, beats(rate, ['a', 'b'], false)),
      cost(named('3'), 1, beats(rate, ['a', 'b', 'c'], false)),
      cost(named('ambience'), 1, beats(rate, ['a', 'b'], true)),
      cost(named('limiter'), 1, limiting(rate)),
      cost(named('recorder'), 1, recording(rate)),
    )
  }
  return figures
}

/** Every party hears all others; with ambience, one of them hears that too. */
function beats(rate: SessionRate, names: readonly string[], ambience: boolean): () => void {
  const session = new Session({ rate, clock: systemClock, recordTo: null, onRecordingFailed: () => {} })
  for (const name of names) session.add(new Talker(name, rate))
  for (const name of names) {
    session.route(
      name,
      names.filter((other) => other !== name),
    )
  }
  if (ambience) {
    const sound = Int16Array.from(speechLike(rate).flatMap((frame) => [...frame]))
    session.add(new LoopEndpoint('room', sound))
    session.route('room', [{ to: 'a', gain: 0.4, duckedBy: [{ endpoint: 'b', gain: 0.3, releaseMs: 400 }] }])
  }
  session.start()
  return () => session.tick(0)
}

function limiting(rate: SessionRate): () => void {
  const limiter = new Limiter(rate)
  const loud = speechLike(rate).map((frame) => Float32Array.from(frame, (sample) => sample * 8))
  const out = new Int16Array(rate / 50)
  let next = 0
  return () => {
    limiter.process(loud[next] as Float32Array, out)
    next = (next + 1) % loud.length
  }
}

function recording(rate: SessionRate): () => void {
  const recorder = new Recorder({
    path: 'nowhere.wav',
    rate,
    disk: NO_DISK,
    onFailed: (message) => {
      // The writes wait for a pause that the measurement does not make: the queue overflows and is discarded.
      if (!message.includes('too slow')) throw new Error(message)
    },
  })
  const frames = speechLike(rate)
  let at = 0
  let next = 0
  return () => {
    const frame = frames[next] as Int16Array
    recorder.caller.write(at, frame)
    recorder.writeAgent(at, frame)
    at += frame.length
    recorder.advance(at)
    next = (next + 1) % frames.length
  }
}
