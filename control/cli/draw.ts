import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { EngineError, errorText } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import { readPeaks } from '../../media/recording/peaks.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import { openRecording, type StoredRecording } from '../calls/recording-file.js'
import { drawCall } from '../calls/report/drawing.js'
import { readCallDrawing } from '../calls/report/drawing-data.js'
import type { Settings } from '../config/settings.js'
import type { Db } from '../db/database.js'
import { openObjectStore } from '../objects/open-object-store.js'
import { UsageError } from './options.js'

/** Resolution of the waveform (pixels per second), the same as the drawing's. */
const PEAKS_PER_SECOND = 50

/**
 * Runs `parley draw`: draws one call into an SVG file, and writes its waveform as JSON on request. Throws
 * UsageError for wrong arguments, EngineError `storage_failed` when there is no such call or file.
 */
export async function drawCommand(
  args: readonly string[],
  withDatabase: (work: (db: Db, settings: Settings) => Promise<void>) => Promise<number>,
): Promise<number> {
  const { callId, out, peaks: peaksFile } = parsed(args)
  return withDatabase(async (db, settings) => {
    const { call, peaks } = await readDrawing(db, settings, callId)
    if (peaksFile !== undefined) {
      if (peaks === null)
        throw new EngineError('storage_failed', `there is no recording of ${callId}, or it was deleted`)
      await written(peaksFile, `${JSON.stringify(peaks)}\n`)
    }
    if (peaksFile === undefined || out !== undefined) {
      await written(out ?? `${callId}.svg`, drawCall({ ...call, peaks }))
    }
  })
}

/** Reads a call and its waveform, which is null without a recording. */
async function readDrawing(db: Db, settings: Settings, callId: string) {
  const objects = await openObjectStore(settings.objectStore, silentLog)
  const folder = await mkdtemp(join(tmpdir(), 'parley-draw-'))
  const fetchRecording = async (place: Pick<StoredRecording, 'name' | 'key'>): Promise<string | null> => {
    const content = await openRecording(objects, recordingsFolder(settings.dataFolder), place)
    if (content === null) return null
    const path = join(folder, 'recording.wav')
    await pipeline(content, createWriteStream(path, { mode: 0o600 }))
    return path
  }
  try {
    const found = await readCallDrawing(db, fetchRecording, callId)
    if (found === null) throw new EngineError('storage_failed', `there is no call ${callId}`)
    const { call, recording } = found
    return { call, peaks: recording === null ? null : await readPeaks(recording, PEAKS_PER_SECOND) }
  } finally {
    objects.close()
    await rm(folder, { recursive: true })
  }
}

async function written(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o600 })
  } catch (error) {
    throw new EngineError('storage_failed', `${path}: ${errorText(error)}`, { cause: error })
  }
  process.stdout.write(`${path}\n`)
}

function parsed(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { out: { type: 'string' }, peaks: { type: 'string' } },
      allowPositionals: true,
    })
    const [callId, more] = positionals
    if (callId === undefined || more !== undefined) throw new UsageError('parley draw CALL_ID')
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(callId))
      throw new UsageError('a call id consists of letters, digits, _ and -')
    return { callId, ...values }
  } catch (error) {
    throw new UsageError(errorText(error))
  }
}
