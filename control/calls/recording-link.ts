import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { Timestamp, timestamp } from '../base/schemas.js'
import { writeAddressToken } from '../base/signed-address.js'

/** Lifetime of a download URL (ms). */
const MEDIA_LINK_MS = 10 * 60_000

export const Recording = z.object({
  url: z.string(),
  expiresAt: Timestamp,
  contentType: z.literal('audio/wav'),
  bytes: z.int(),
  durationSeconds: z.number(),
  channels: z.literal(2),
  sha256: z.string(),
})

/** Returns the download URL of a recording and what it leads to. `name` is that of the recording. */
export function recordingLink(
  { clock, rootKey, publicUrl }: Pick<Deps, 'clock' | 'rootKey' | 'publicUrl'>,
  recording: {
    readonly name: string
    readonly bytes: number
    readonly durationMs: number
    readonly sha256: string
  },
): z.input<typeof Recording> {
  const expiresAt = clock.wall() + MEDIA_LINK_MS
  const token = writeAddressToken(rootKey, 'recording', { subject: recording.name, expiresAt })
  return {
    url: `${publicUrl()}/v1/media/${token}`,
    expiresAt: timestamp(expiresAt),
    contentType: 'audio/wav',
    bytes: recording.bytes,
    durationSeconds: recording.durationMs / 1000,
    channels: 2,
    sha256: recording.sha256,
  }
}
