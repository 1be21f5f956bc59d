import { z } from 'zod'
import { fileOperation } from '../api/operation.js'
import { refuse, unavailable } from '../api/problem.js'
import { recordingsFolder } from './lifecycle/settle.js'
import { findStoredRecording, isBeingStored, openRecording } from './recording-file.js'

export const downloadMedia = fileOperation({
  id: 'downloadMedia',
  path: '/v1/media/:token',
  tag: 'Calls',
  summary: 'Download a recording',
  description:
    'Takes the signed URL that "Get the download URL of a recording" returns. Answers 503 for a moment when ' +
    'the process that carried the call has not stored the recording yet.',
  audience: 'address',
  address: 'recording',
  params: z.object({ token: z.string().max(512) }),
  contentType: 'audio/wav',
  fails: ['not_found'],
  run: async ({ actor, deps }) => {
    const { db, objects } = deps
    const gone = () => refuse('not_found', 'The recording no longer exists.')
    const row = await findStoredRecording(db, actor.subject)
    if (row === null) return gone()
    return {
      bytes: row.bytes,
      version: row.sha256,
      modifiedAt: row.createdAt,
      contentType: 'audio/wav',
      fileName: `${row.name}.wav`,
      open: async (range) => {
        const content = await openRecording(objects, recordingsFolder(deps.settings.dataFolder), row, range)
        if (content !== null) return content
        return (await isBeingStored(db, row.name))
          ? unavailable('The recording is being stored. Retry in a moment.', { reason: 'storing' })
          : gone()
      },
    }
  },
})
