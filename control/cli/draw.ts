import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { EngineError, errorText } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import { MAX_PEAKS, readPeaks } from '../../media/recording/peaks.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import { findStoredRecording, openRecording } from '../calls/recording-file.js'
import { drawCall } from '../calls/report/drawing.js'
import { readCallDrawing } from '../calls/report/drawing-data.js'
import type { Settings } from '../config/settings.js'
import type { Db } from '../db/database.js'
import { openObjectStore } from '../objects/open-object-store.js'
import { UsageError } from './options.js'

/** Resolution of the waveform, the same as the drawing's. */
const RESOLUTION = { perSecond: 50, most: MAX_PEAKS }

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
  const recording = await findStoredRecording(db, callId)
  const objects = await openObjectStore(settings.objectStore, silentLog)
  try {
    const content =
      recording === null
        ? null
        : await openRecording(objects, recordingsFolder(settings.dataFolder), recording)
    const call = await readCallDrawing(db, callId, content === null ? null : recording)
    if (call === null) throw new EngineError('storage_failed', `there is no call ${callId}`)
    const peaks =
      content === null || recording === null ? null : await readPeaks(content, recording.bytes, RESOLUTION)
    return { call, peaks }
  } finally {
    objects.close()
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
