import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { softClip } from '../session/limiter.js'
import type { RawRecording } from './recorder.js'
import { littleEndian, readWavFormat, readWavHeader, WAV_HEADER_BYTES, wavHeader } from './wav-header.js'

/** Frames processed at a time: about 4 s of stereo at 8 kHz. */
const CHUNK_FRAMES = 32_768

export interface RecordedFile {
  readonly path: string
  readonly bytes: number
  readonly durationMs: number
  /** SHA-256 of the whole file (hex). */
  readonly sha256: string
}

/**
 * Turns the raw files of a call into one stereo file: mixes the persons of transfers into the agent's channel
 * and computes the hash. A killed process can repeat it after `recoverRecording` with the same result. Throws
 * file system errors. Returns null when there is no audio.
 */
export async function finishRecording(raw: RawRecording): Promise<RecordedFile | null> {
  if (raw.persons.length > 0) await mixPersons(raw)
  const file = await open(raw.path, 'r')
  try {
    const format = await readWavFormat(file)
    const { size } = await file.stat()
    const frames = (size - WAV_HEADER_BYTES) / (2 * format.channels)
    if (frames <= 0) return null
    const sha256 = await hashOf(file)
    return { path: raw.path, bytes: size, durationMs: (frames / format.rate) * 1000, sha256 }
  } finally {
    await file.close()
  }
}

/** Returns the names of the files in a folder; none when the folder does not exist. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/**
 * Repairs the files that a killed process left at `path`: corrects the headers, cuts an incomplete sample,
 * and completes or discards a mix in progress. Returns null when there is no audio. `names` are the files of
 * the folder, for callers that recover many recordings.
 */
export async function recoverRecording(
  path: string,
  names?: readonly string[],
): Promise<RawRecording | null> {
  return await recovered(path, names ?? (await filesIn(dirname(path))))
}

async function recovered(path: string, names: readonly string[]): Promise<RawRecording | null> {
  const stem = basename(path).replace(/\.wav$/, '')
  const tracks = names.flatMap((name) => {
    const start = name.startsWith(`${stem}.person-`) ? /\.person-(\d+)\.wav$/.exec(name)?.[1] : undefined
    return start === undefined ? [] : [{ path: join(dirname(path), name), start: Number(start) }]
  })
  if (names.includes(basename(mixedPath(path)))) {
    await completeMix({ path, persons: tracks })
    return (await repair(path)) ? { path, persons: [] } : null
  }
  if (names.includes(basename(mixingPath(path)))) await unlink(mixingPath(path))
  if (!names.includes(basename(path)) || !(await repair(path))) return null
  const persons: { path: string; start: number }[] = []
  for (const track of tracks) if (await repair(track.path)) persons.push(track)
  return { path, persons: persons.sort((a, b) => a.start - b.start) }
}

/*
 * A mix is written under one name and renamed when it is complete; only then the tracks are removed and the
 * mix takes the name of the recording. After a crash the names show which step was the last.
 */
function mixingPath(path: string): string {
  return `${path}.mixing`
}

function mixedPath(path: string): string {
  return `${path}.mixed`
}

async function mixPersons(raw: RawRecording): Promise<void> {
  const opened: FileHandle[] = []
  const openedFile = async (path: string, flags: string): Promise<FileHandle> => {
    const file = await open(path, flags, 0o600)
    opened.push(file)
    return file
  }
  try {
    const main = await openedFile(raw.path, 'r')
    const format = await readWavFormat(main)
    const persons = await Promise.all(
      raw.persons.map(async ({ path, start }) => ({ file: await openedFile(path, 'r'), start })),
    )
    const out = await openedFile(mixingPath(raw.path), 'w')
    const frames = Math.floor(((await main.stat()).size - WAV_HEADER_BYTES) / 4)
    await out.writeFile(wavHeader(format, frames * 4))
    const stereo = new Int16Array(CHUNK_FRAMES * 2)
    const mono = new Int16Array(CHUNK_FRAMES)
    for (let at = 0; at < frames; at += CHUNK_FRAMES) {
      const count = Math.min(CHUNK_FRAMES, frames - at)
      await samplesAt(main, 2, at, stereo, count)
      for (const { file, start } of persons) {
        const from = Math.max(at, start)
        const got = from < at + count ? await samplesAt(file, 1, from - start, mono, at + count - from) : 0
        for (let i = 0; i < got; i++) {
          const place = (from - at + i) * 2 + 1
          stereo[place] = Math.round(softClip((stereo[place] as number) + (mono[i] as number)))
        }
      }
      await out.writeFile(littleEndian(stereo, count * 2))
    }
    await out.sync()
  } finally {
    await Promise.all(opened.map((file) => file.close()))
  }
  await rename(mixingPath(raw.path), mixedPath(raw.path))
  await completeMix(raw)
}

async function completeMix({ path, persons }: RawRecording): Promise<void> {
  for (const track of persons) await unlink(track.path)
  await rename(mixedPath(path), path)
}

/** Corrects the header and the length of a file to match its samples. Returns false when it holds none. */
async function repair(path: string): Promise<boolean> {
  if ((await stat(path)).size <= WAV_HEADER_BYTES) return false
  const file = await open(path, 'r+')
  try {
    const header = new Uint8Array(WAV_HEADER_BYTES)
    await file.read(header, 0, WAV_HEADER_BYTES, 0)
    const format = readWavHeader(header)
    if (format === null) return false
    const frameBytes = 2 * format.channels
    const { size } = await file.stat()
    const dataBytes = Math.floor((size - WAV_HEADER_BYTES) / frameBytes) * frameBytes
    if (dataBytes === 0) return false
    await file.write(wavHeader(format, dataBytes), 0, WAV_HEADER_BYTES, 0)
    await file.truncate(WAV_HEADER_BYTES + dataBytes)
    return true
  } finally {
    await file.close()
  }
}

/** Reads up to `frames` frames from frame `at` on. Returns the number of frames read. */
async function samplesAt(
  file: FileHandle,
  channels: number,
  at: number,
  into: Int16Array,
  frames: number,
): Promise<number> {
  const bytes = new Uint8Array(into.buffer, into.byteOffset, frames * channels * 2)
  let done = 0
  while (done < bytes.length) {
    const position = WAV_HEADER_BYTES + at * channels * 2 + done
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position)
    if (bytesRead === 0) break
    done += bytesRead
  }
  littleEndian(into, frames * channels)
  return Math.floor(done / (channels * 2))
}

async function hashOf(file: FileHandle): Promise<string> {
  const hash = createHash('sha256')
  const chunk = new Uint8Array(65_536)
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(chunk.subarray(0, bytesRead))
    at += bytesRead
  }
}
