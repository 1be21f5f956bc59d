import { join } from 'node:path'
import { z } from 'zod'
import { fileOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { recordingsFolder } from './lifecycle/settle.js'
import { readMediaToken } from './media-token.js'

export const downloadMedia = fileOperation({
  id: 'downloadMedia',
  path: '/v1/media/:token',
  tag: 'Calls',
  summary: 'Download a recording',
  description: 'Takes the signed URL that "Get the download URL of a recording" returns.',
  audience: 'public',
  params: z.object({ token: z.string().max(512) }),
  contentType: 'audio/wav',
  fails: ['not_found'],
  run: async ({ params, deps }) => {
    const gone = () => refuse('not_found', 'The recording does not exist, or its URL has expired.')
    const grant = readMediaToken(deps.rootKey, params.token, deps.clock.wall())
    if (grant === null) return gone()
    const row = await deps.db
      .selectFrom('recordings')
      .select('file')
      .where('callId', '=', grant.callId)
      .executeTakeFirst()
    if (row === undefined) return gone()
    return {
      path: join(recordingsFolder(deps.settings.dataFolder), row.file),
      contentType: 'audio/wav',
      fileName: `${grant.callId}.wav`,
    }
  },
})
