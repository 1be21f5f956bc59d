import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { uploadOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { Timestamp, timestamp } from '../base/schemas.js'
import { writeAddressToken } from '../base/signed-address.js'
import { checkedFile, FILE_TYPES } from './magic-bytes.js'
import { UPLOAD_PURPOSES } from './purposes.js'
import { findUpload, receiveFile } from './store.js'

/** Lifetime of an upload address (ms). */
const ADDRESS_MS = 15 * 60_000
const MAX_BYTES = Math.max(...Object.values(UPLOAD_PURPOSES).map(({ maxBytes }) => maxBytes))

/** The request with which a client sends the bytes. */
export const UploadRequest = z.object({
  method: z.literal('PUT'),
  url: z.string(),
  headers: z.record(z.string(), z.string()).meta({ description: 'Send them with the bytes.' }),
  expiresAt: Timestamp,
})

interface NewAddress {
  readonly id: string
  readonly contentType: string
  readonly organizationId: string
}

/** Returns the signed address of an upload. It takes one file. */
export function uploadRequest(
  { rootKey, clock, publicUrl }: Pick<Deps, 'rootKey' | 'clock' | 'publicUrl'>,
  { id, contentType, organizationId }: NewAddress,
): z.input<typeof UploadRequest> {
  const expiresAt = clock.wall() + ADDRESS_MS
  const token = writeAddressToken(rootKey, 'upload', { subject: id, expiresAt, organizationId })
  return {
    method: 'PUT',
    url: `${publicUrl()}/v1/uploads/${token}`,
    headers: { 'content-type': contentType },
    expiresAt: timestamp(expiresAt),
  }
}

export const putUpload = uploadOperation({
  id: 'putUpload',
  method: 'put',
  path: '/v1/uploads/:token',
  tag: 'Organization',
  summary: 'Send a file to a signed address',
  description:
    'Takes the URL and the headers of an upload-url operation. The first bytes must be those of a file of the ' +
    'stated type. An address takes one file.',
  audience: 'address',
  address: 'upload',
  params: z.object({ token: z.string().max(512) }),
  accepts: FILE_TYPES,
  maxBytes: MAX_BYTES,
  status: 204,
  fails: ['not_found', 'conflict', 'unprocessable_entity', 'document_too_large'],
  run: async ({ actor, body, deps, keep }) => {
    const upload = await findUpload(deps.db, actor.subject)
    if (upload === null) return refuse('not_found', 'The upload no longer exists.')
    const again = () => refuse('conflict', 'The file was already uploaded. Request a new address.')
    if (upload.state !== 'awaiting') return again()
    const contentType = FILE_TYPES.find((type) => type === upload.contentType)
    if (contentType === undefined || body.contentType !== contentType) {
      return refuse('unprocessable_entity', `The address takes a file of type ${upload.contentType}.`, {
        contentType: upload.contentType,
      })
    }
    const received = await receiveFile(deps, upload, checkedFile(body.content, contentType), (trx) =>
      keep(trx, undefined),
    )
    if (received === 'received') return
    if (received === 'again') return again()
    return refuse('document_too_large', `The file is larger than the ${upload.bytes} bytes announced.`, {
      maxBytes: upload.bytes,
    })
  },
})
