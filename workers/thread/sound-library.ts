import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '../../media/base/errors.js'
import { FRAME_MS, type SessionRate } from '../../media/base/frame.js'
import { projectRoot } from '../../media/base/project-root.js'
import { type InputRate, openResampler } from '../../media/codec/resampler.js'
import { makeSeamless } from '../../media/sounds/endpoints.js'
import { parseWav } from '../../media/vendors/shared/wav.js'

const FOLDER = join(projectRoot, 'media', 'sounds')
const NAMES = ['office', 'cafe', 'call_center', 'hold'] as const
export type SoundName = (typeof NAMES)[number]

/** Five minutes in stereo at 48 kHz. */
const MAX_FILE_BYTES = 5 * 60 * 48_000 * 4 + 65_536
const RATES: readonly number[] = [8000, 16000, 22050, 24000, 44100, 48000]
/** Frames converted in one slice (about 0.3 ms); the calls of the thread run in between. */
const SLICE_FRAMES = 25

export interface SoundLibrary {
  /**
   * Returns samples that loop without a seam, at the wanted rate; shared, must not be modified. Rejects with
   * EngineError `config_invalid` when the file is missing or not playable.
   */
  load(name: SoundName, rate: SessionRate): Promise<Int16Array>
}

/** Opens background sounds and hold music, read at first use and cached: about 200 KB each at 8 kHz. */
export function openSoundLibrary(options: {
  /** Path of a WAV file with the operator's own hold music; null plays the shipped one. */
  readonly holdMusic: string | null
}): SoundLibrary {
  const cache = new Map<string, Promise<Int16Array>>()
  return {
    load(name, rate) {
      const key = `${rate}/${name}`
      const known = cache.get(key)
      if (known !== undefined) return known
      const own = name === 'hold' ? options.holdMusic : null
      const sound = own === null ? shipped(name, rate) : foreign(own, rate)
      cache.set(key, sound)
      // A failure is not cached: the file may exist next time.
      sound.catch(() => cache.delete(key))
      return sound
    },
  }
}

/** Loads a shipped sound, whose end already leads into its beginning. */
async function shipped(name: SoundName, rate: SessionRate): Promise<Int16Array> {
  const { pcm, rate: from } = samplesOf(await bytesOf(join(FOLDER, `${name}.wav`)), name)
  return convertedRing(pcm, from, rate)
}

async function foreign(path: string, rate: SessionRate): Promise<Int16Array> {
  const { pcm, rate: from } = samplesOf(await bytesOf(path), path)
  return convertedRing(makeSeamless(pcm, from), from, rate)
}

async function bytesOf(path: string): Promise<Uint8Array> {
  let bytes: Uint8Array
  try {
    bytes = await readFile(path)
  } catch (cause) {
    throw new EngineError('config_invalid', 'the sound file cannot be read', { cause, context: { path } })
  }
  if (bytes.length > MAX_FILE_BYTES) throw invalid(path, 'it is longer than five minutes')
  return bytes
}

/** Returns the mono samples of a WAV file; averages its channels. */
function samplesOf(bytes: Uint8Array, path: string): { pcm: Int16Array; rate: InputRate } {
  let format: ReturnType<typeof parseWav>
  try {
    format = parseWav(bytes)
  } catch (cause) {
    throw invalid(path, 'it is not a WAV file of 16-bit PCM', cause)
  }
  if (format === null) throw invalid(path, 'the WAV file is incomplete')
  const { rate, channels, dataOffset, dataBytes } = format
  if (!RATES.includes(rate)) throw invalid(path, `${rate} Hz is none of ${RATES.join(', ')}`)
  const frameBytes = 2 * channels
  const length = Math.floor(Math.min(dataBytes ?? Infinity, bytes.length - dataOffset) / frameBytes)
  if (length === 0) throw invalid(path, 'it contains no audio')
  const view = new DataView(bytes.buffer, bytes.byteOffset + dataOffset, length * frameBytes)
  const pcm = new Int16Array(length)
  for (let i = 0; i < length; i++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++)
      sum += view.getInt16(i * frameBytes + 2 * channel, true)
    pcm[i] = Math.round(sum / channels)
  }
  return { pcm, rate: rate as InputRate }
}

/**
 * Resamples a loop. The converter is primed with the loop's own end, so that the seam stays inaudible. Works
 * in slices: a long file may take a quarter of a second.
 */
async function convertedRing(pcm: Int16Array, from: InputRate, to: SessionRate): Promise<Int16Array> {
  if (from === to) return pcm
  const converter = openResampler(from, to)
  const frame = Math.round((from / 1000) * FRAME_MS)
  const length = Math.round((pcm.length * to) / from)
  const ring = new Int16Array(length)
  // One lead-in frame fills the filter with the audio before the beginning.
  const leadIn = Math.min(frame, pcm.length)
  converter.process(pcm.slice(pcm.length - leadIn))
  let filled = 0
  for (let at = 0, frames = 0; filled < length; at = (at + frame) % pcm.length, frames++) {
    const piece = new Int16Array(frame)
    for (let i = 0; i < frame; i++) piece[i] = pcm[(at + i) % pcm.length] as number
    const out = converter.process(piece)
    const take = Math.min(out.length, length - filled)
    ring.set(out.subarray(0, take), filled)
    filled += take
    if (frames % SLICE_FRAMES === SLICE_FRAMES - 1) await new Promise<void>((done) => setImmediate(done))
  }
  return ring
}

function invalid(path: string, why: string, cause?: unknown): EngineError {
  return new EngineError('config_invalid', `a sound cannot be played: ${why}`, { cause, context: { path } })
}
