import { closeSync, openSync, readFileSync, realpathSync, statSync, writeSync } from 'node:fs'
import { errorText } from '../../../media/base/errors.js'
import { FRAME_MS, type SessionRate } from '../../../media/base/frame.js'
import { type InputRate, resample } from '../../../media/codec/resampler.js'
import { littleEndian, WAV_HEADER_BYTES, wavHeader } from '../../../media/recording/wav-header.js'
import { parseWav } from '../../../media/vendors/shared/wav.js'
import { UsageError } from '../options.js'

const RATES: readonly number[] = [8000, 16000, 22050, 24000, 44100, 48000] satisfies InputRate[]
/** Limit of an input file: eleven minutes of stereo at 48 kHz, or over an hour of telephone audio. */
const MAX_BYTES = 128 * 1024 * 1024
/** Frames per write: one second. */
const FLUSH_FRAMES = 50

/** The first channel of an input file. */
export interface Recording {
  readonly path: string
  readonly rate: InputRate
  readonly pcm: Int16Array
}

/** Reads a WAV file of 16-bit PCM. Throws UsageError that names the file and the problem. */
export function readRecording(path: string): Recording {
  const bytes = bytesOf(path)
  const wrong = (what: string): UsageError => new UsageError(`${path}: ${what}`)
  let format: ReturnType<typeof parseWav>
  try {
    format = parseWav(bytes)
  } catch (error) {
    throw wrong(errorText(error))
  }
  if (format === null) throw wrong('it ends before the samples')
  const rate = RATES.find((known) => known === format.rate)
  if (rate === undefined) throw wrong(`${format.rate} Hz; it must be ${RATES.join(', ')} Hz`)
  if (format.channels > 2) throw wrong(`${format.channels} channels; it must be mono or stereo`)
  const samples = bytes.subarray(format.dataOffset)
  const length = Math.min(format.dataBytes ?? samples.length, samples.length)
  const frames = Math.floor(length / (2 * format.channels))
  if (frames === 0) throw wrong('it contains no audio')
  const view = new DataView(samples.buffer, samples.byteOffset, samples.byteLength)
  const pcm = Int16Array.from({ length: frames }, (_, i) => view.getInt16(2 * i * format.channels, true))
  return { path, rate: rate as InputRate, pcm }
}

/** Converts to whole frames of the session's rate. The last frame is padded with silence. */
export function toFrames({ pcm, rate }: Recording, to: SessionRate): Int16Array {
  const converted = resample(pcm, rate, to)
  const frame = (to / 1000) * FRAME_MS
  const whole = new Int16Array(Math.ceil(converted.length / frame) * frame)
  whole.set(converted)
  return whole
}

function bytesOf(path: string): Uint8Array {
  try {
    const { size } = statSync(path)
    if (size > MAX_BYTES) throw new Error(`${size} bytes, more than ${MAX_BYTES}`)
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${errorText(error)}`)
  }
}

/** Writes a conversation: caller left and agent right, or the agent alone. */
export class ConversationFile {
  readonly #file: number
  readonly #path: string
  readonly #rate: SessionRate
  readonly #channels: 1 | 2
  readonly #batch: Int16Array
  #filled = 0
  #bytes = 0

  /** Replaces an existing file, unless it is one of `inputs`. Throws UsageError. */
  constructor(path: string, rate: SessionRate, agentOnly: boolean, inputs: readonly string[]) {
    this.#path = path
    this.#rate = rate
    this.#channels = agentOnly ? 1 : 2
    this.#batch = new Int16Array(FLUSH_FRAMES * (rate / 1000) * FRAME_MS * this.#channels)
    if (inputs.some((input) => same(input, path))) {
      throw new UsageError(`--out ${path} is one of the files of --in`)
    }
    try {
      this.#file = openSync(path, 'w')
      writeSync(this.#file, wavHeader({ rate, channels: this.#channels }, 0))
    } catch (error) {
      throw new UsageError(`${path} cannot be written: ${errorText(error)}`)
    }
  }

  /** Adds one frame of both sides. */
  add(caller: Int16Array, agent: Int16Array): void {
    for (let i = 0; i < agent.length; i++) {
      if (this.#channels === 2) this.#batch[this.#filled++] = caller[i] ?? 0
      this.#batch[this.#filled++] = agent[i] ?? 0
    }
    if (this.#filled === this.#batch.length) this.#flush()
  }

  /** Completes the file. Returns its length (s). */
  close(): number {
    this.#flush()
    const header = wavHeader({ rate: this.#rate, channels: this.#channels }, this.#bytes)
    writeSync(this.#file, header, 0, header.length, 0)
    closeSync(this.#file)
    return this.#bytes / 2 / this.#channels / this.#rate
  }

  get path(): string {
    return this.#path
  }

  #flush(): void {
    const bytes = littleEndian(this.#batch, this.#filled)
    this.#filled = 0
    for (let done = 0; done < bytes.length; ) {
      const at = WAV_HEADER_BYTES + this.#bytes
      const written = writeSync(this.#file, bytes, done, bytes.length - done, at)
      done += written
      this.#bytes += written
    }
  }
}

function same(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false // one of them does not exist: they are not the same
  }
}
