import { createHash } from 'node:crypto'
import { type FileHandle, link, open, rename, rm, unlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { EngineError } from '../base/errors.js'
import { opusLibrary } from '../codec/opus-library.js'
import { granules, OggOpusWriter } from './ogg-opus.js'
import { readWavFormat, WAV_HEADER_BYTES, type WavFormat } from './wav-header.js'

const FRAME_MS = 20
/** Bit rate per channel: nearly transparent for telephone speech. */
const BITRATE = 20_000
const FRAMES_READ = 200

/** Returns the path of the Opus copy of a recording. */
export function opusPath(path: string): string {
  return path.replace(/(?:\.wav)?$/, '.opus')
}

/** A second name of a recording, under which it can be read after it was moved to the object store. */
function heldPath(path: string): string {
  return `${path}.copying`
}

/** Keeps a finished recording readable for `compressRecording`, which may come later. Throws file system errors. */
export async function holdRecording(path: string): Promise<void> {
  await rm(heldPath(path), { force: true })
  await link(path, heldPath(path))
}

/** Gives up a held recording. */
export async function releaseRecording(path: string): Promise<void> {
  await rm(heldPath(path), { force: true })
}

/**
 * Writes an Opus copy (RFC 7845) beside a held recording and returns its size (bytes). The copy gets its final
 * name when it is complete. Throws file system errors, and EngineError `internal` when the file is not a
 * recording of Parley.
 */
export async function compressRecording(path: string): Promise<number> {
  const wav = await open(heldPath(path), 'r')
  try {
    const format = await readWavFormat(wav)
    const frames = ((await wav.stat()).size - WAV_HEADER_BYTES) / (2 * format.channels)
    return await compress(wav, format, frames, opusPath(path))
  } finally {
    await wav.close()
    await releaseRecording(path)
  }
}

async function compress(wav: FileHandle, format: WavFormat, frames: number, path: string): Promise<number> {
  const { rate, channels } = format
  if (channels !== 1 && channels !== 2) throw new EngineError('internal', 'unsupported number of channels')
  const encoder = new (opusLibrary().OpusEncoder)(rate, channels)
  encoder.setBitrate(BITRATE * channels)
  const serial = createHash('sha256').update(basename(path)).digest().readUInt32LE(0)
  const writer = new OggOpusWriter({ serial, channels, inputRate: rate, vendor: 'parley' })
  const partial = `${path}.partial`
  const out = await open(partial, 'w', 0o600)
  let bytes = 0
  try {
    const put = async (page: Uint8Array): Promise<void> => {
      await out.writeFile(page)
      bytes += page.length
    }
    await put(writer.head())
    const frame = (rate / 1000) * FRAME_MS
    const frameBytes = frame * channels * 2
    const chunk = Buffer.alloc(frameBytes * FRAMES_READ)
    // The encoder lags by its look-ahead, so one more packet is needed for the last audio.
    const packets = Math.ceil(frames / frame) + 1
    for (let done = 0; done < packets; ) {
      const read = await fill(wav, chunk, WAV_HEADER_BYTES + done * frameBytes)
      chunk.fill(0, read)
      for (let i = 0; i < FRAMES_READ && done < packets; i++) {
        done++
        const packet = encoder.encode(chunk.subarray(i * frameBytes, (i + 1) * frameBytes))
        const last = done === packets ? { end: granules(frames, rate) } : null
        const page = writer.packet(packet, granules(frame, rate), last)
        if (page !== null) await put(page)
      }
    }
    await out.sync()
  } catch (error) {
    await out.close()
    await unlink(partial)
    throw error
  }
  await out.close()
  await rename(partial, path)
  return bytes
}

async function fill(file: FileHandle, into: Buffer, position: number): Promise<number> {
  let done = 0
  while (done < into.length) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}
