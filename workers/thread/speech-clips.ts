import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '../../media/base/errors.js'
import type { Rate, SessionRate } from '../../media/base/frame.js'
import { projectRoot } from '../../media/base/project-root.js'
import { resample } from '../../media/codec/resampler.js'
import { parseWav } from '../../media/vendors/shared/wav.js'

const FOLDER = join(projectRoot, 'signalling', 'sandbox', 'clips')

/** About ten seconds each at most: some 10 MB when full. */
const MAX_CACHED = 64

export interface SpeechClips {
  /**
   * Returns the samples of a clip of `signalling/sandbox/clips/manifest.json` at the wanted rate; shared,
   * must not be modified. Rejects with EngineError `config_invalid` when the clip is missing or unreadable.
   */
  load(name: string, rate: SessionRate): Promise<Int16Array>
}

/** Opens the speech clips of simulated callers; each is read once per thread and cached while in use. */
export function openSpeechClips(): SpeechClips {
  // In insertion order: the oldest is dropped first; a used clip becomes the newest.
  const cache = new Map<string, Promise<Int16Array>>()
  let manifest: Promise<ReadonlyMap<string, string>> | null = null

  const read = async (name: string, rate: SessionRate): Promise<Int16Array> => {
    manifest ??= readManifest()
    const file = (await manifest).get(name)
    if (file === undefined) {
      throw new EngineError('config_invalid', 'unknown speech clip', { context: { clip: name } })
    }
    return samplesOf(await readFile(join(FOLDER, file)), name, rate)
  }

  return {
    load(name, rate) {
      const key = `${rate}/${name}`
      const clip = cache.get(key) ?? read(name, rate)
      cache.delete(key)
      cache.set(key, clip)
      // A failure is not cached: the file may exist next time.
      clip.catch(() => cache.delete(key))
      const oldest = cache.keys().next().value
      if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest)
      return clip
    },
  }
}

async function readManifest(): Promise<ReadonlyMap<string, string>> {
  const path = join(FOLDER, 'manifest.json')
  try {
    const entries: readonly { readonly clip: string; readonly file: string }[] = JSON.parse(
      await readFile(path, 'utf8'),
    )
    return new Map(entries.map(({ clip, file }) => [clip, file]))
  } catch (cause) {
    throw new EngineError('config_invalid', 'the list of speech clips cannot be read', { cause })
  }
}

function samplesOf(bytes: Uint8Array, name: string, rate: SessionRate): Int16Array {
  const format = parseWav(bytes)
  if (format === null || format.channels !== 1) {
    throw new EngineError('config_invalid', 'a speech clip is not mono WAV', { context: { clip: name } })
  }
  const length = Math.floor((bytes.length - format.dataOffset) / 2)
  const samples = Math.min(length, format.dataBytes === null ? length : format.dataBytes / 2)
  const view = new DataView(bytes.buffer, bytes.byteOffset + format.dataOffset, samples * 2)
  const pcm = new Int16Array(samples)
  for (let i = 0; i < samples; i++) pcm[i] = view.getInt16(i * 2, true)
  return format.rate === rate ? pcm : resample(pcm, format.rate as Rate, rate)
}
