import type { AudioFrame, Digit, DtmfTiming, SessionRate } from '../base/frame.js'
import type { CloseReason, Endpoint, EndpointId } from '../session/endpoint.js'
import { dtmfTone, ToneGenerator, type ToneSpec } from './tone.js'

/** Plays a tone with its cadence until it is stopped. Ignores received audio. */
export class ToneEndpoint implements Endpoint {
  readonly id: EndpointId
  readonly kind = 'tone'
  readonly delivery = 'tick'
  readonly #generator: ToneGenerator

  constructor(id: EndpointId, rate: SessionRate, spec: ToneSpec | null = null) {
    this.id = id
    this.#generator = new ToneGenerator(rate)
    if (spec !== null) this.play(spec)
  }

  get playing(): boolean {
    return this.#generator.playing
  }

  play(spec: ToneSpec): void {
    this.#generator.play(spec)
  }

  stop(): void {
    this.#generator.stop()
  }

  pull(into: Int16Array): boolean {
    return this.#generator.pull(into)
  }

  push(_frame: AudioFrame): void {}

  close(_why: CloseReason): void {
    this.stop()
  }
}

const MAX_KEYS = 64

/**
 * Plays DTMF digits as audio tones (ITU-T Q.23) for a peer without telephone-event. It also counts as audio
 * during the pauses between digits, so that ducked routes stay silent until the end.
 */
export class DtmfToneEndpoint implements Endpoint {
  readonly id: EndpointId
  readonly kind = 'tone'
  readonly delivery = 'tick'
  readonly #generator: ToneGenerator
  readonly #queue: ToneSpec[] = []

  constructor(id: EndpointId, rate: SessionRate) {
    this.id = id
    this.#generator = new ToneGenerator(rate)
  }

  /** Queues digits. Returns false, and queues none, when they do not all fit. */
  press(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    if (this.#queue.length + digits.length > MAX_KEYS) return false
    for (const digit of digits) this.#queue.push(dtmfTone(digit, timing))
    return true
  }

  pull(into: Int16Array): boolean {
    if (!this.#generator.playing) {
      const key = this.#queue.shift()
      if (key === undefined) return false
      this.#generator.play(key)
    }
    this.#generator.pull(into)
    return true
  }

  push(_frame: AudioFrame): void {}

  close(_why: CloseReason): void {
    this.#queue.length = 0
    this.#generator.stop()
  }
}

/**
 * Plays a clip in a loop: background sound or hold music. The samples are shared and must be seamless
 * (`makeSeamless`). The position depends only on session time, so that skipped ticks do not shift it. Ignores
 * received audio.
 */
export class LoopEndpoint implements Endpoint {
  readonly id: EndpointId
  readonly kind = 'file'
  readonly delivery = 'tick'
  readonly #pcm: Int16Array
  readonly #from: number

  /** @param from sample of the clip at session time 0 */
  constructor(id: EndpointId, pcm: Int16Array, from = 0) {
    this.id = id
    this.#pcm = pcm
    this.#from = from
  }

  pull(into: Int16Array, at: number): boolean {
    const pcm = this.#pcm
    if (pcm.length === 0) return false
    let position = (this.#from + at) % pcm.length
    for (let i = 0; i < into.length; i++) {
      into[i] = pcm[position++] as number
      if (position === pcm.length) position = 0
    }
    return true
  }

  push(_frame: AudioFrame): void {}

  close(_why: CloseReason): void {}
}

/**
 * Returns a copy of a clip whose end joins its beginning: the last `fadeMs` are cross-faded with equal power
 * over the first ones. A clip too short for that is only copied. The caller owns the result.
 */
export function makeSeamless(pcm: Int16Array, rate: number, fadeMs = 250): Int16Array {
  const fade = Math.round((rate / 1000) * fadeMs)
  if (pcm.length < 2 * fade) return pcm.slice()
  const loop = pcm.slice(0, pcm.length - fade)
  for (let i = 0; i < fade; i++) {
    const turn = ((i + 0.5) / fade) * (Math.PI / 2)
    const tail = pcm[loop.length + i] as number
    const sum = (loop[i] as number) * Math.sin(turn) + tail * Math.cos(turn)
    loop[i] = Math.max(-32768, Math.min(32767, Math.round(sum)))
  }
  return loop
}
