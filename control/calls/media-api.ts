import { join } from 'node:path'
import { z } from 'zod'
import { fileOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { recordingsFolder } from './lifecycle/settle.js'

export const downloadMedia = fileOperation({
  id: 'downloadMedia',
  path: '/v1/media/:token',
  tag: 'Calls',
  summary: 'Download a recording',
  description: 'Takes the signed URL that "Get the download URL of a recording" returns.',
  audience: 'address',
  address: 'recording',
  params: z.object({ token: z.string().max(512) }),
  contentType: 'audio/wav',
  fails: ['not_found'],
  run: async ({ actor, deps }) => {
    const row = await deps.db
      .selectFrom('recordings')
      .select('file')
      .where('callId', '=', actor.subject)
      .executeTakeFirst()
    if (row === undefined) return refuse('not_found', 'The recording no longer exists.')
    return {
      path: join(recordingsFolder(deps.settings.dataFolder), row.file),
      contentType: 'audio/wav',
      fileName: `${actor.subject}.wav`,
    }
  },
})
