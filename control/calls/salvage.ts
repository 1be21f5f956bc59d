import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { RecordingFile } from '../../workers/protocol.js'

const HEADER_BYTES = 44
const BYTE_RATE_OFFSET = 28

/**
 * The recording a stopped process left: its header is kept valid while it grows, so what is there
 * can be played. Null when there is none, or nothing in it.
 */
export async function salvageRecording(path: string): Promise<RecordingFile | null> {
  const bytes = await stat(path).then(
    (file) => file.size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return 0
      throw error
    },
  )
  if (bytes <= HEADER_BYTES) return null
  const header = Buffer.alloc(HEADER_BYTES)
  const file = await open(path)
  try {
    await file.read(header, 0, HEADER_BYTES, 0)
  } finally {
    await file.close()
  }
  const bytesPerSecond = header.readUInt32LE(BYTE_RATE_OFFSET)
  if (header.toString('latin1', 0, 4) !== 'RIFF' || bytesPerSecond === 0) return null
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  const durationMs = ((bytes - HEADER_BYTES) / bytesPerSecond) * 1000
  return { path, bytes, durationMs, sha256: hash.digest('hex') }
}
