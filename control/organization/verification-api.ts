import { z } from 'zod'
import { audited } from '../api/audited.js'
import { operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { ADMIN_ROLES } from '../api/scopes.js'
import { E164, nameText } from '../base/schemas.js'
import { addressProblem, Gstin, Pincode, StateCode } from '../billing/billing-details.js'
import { isPan, panOfGstin } from '../billing/gstin.js'
import { refuseUndialable } from '../compliance/dialable.js'
import { UploadRequest, uploadRequest } from '../uploads/api.js'
import { DOCUMENT_TYPES } from '../uploads/magic-bytes.js'
import { UPLOAD_PURPOSES } from '../uploads/purposes.js'
import { insertUpload, MissingUpload, useUploads } from '../uploads/store.js'
import { latestVerification, submitVerification, unsealDetails } from './verification-store.js'
import { VerificationState, verificationView } from './view.js'

const ENTITY_TYPES = [
  'individual',
  'proprietorship',
  'partnership',
  'llp',
  'private_limited',
  'public_limited',
  'trust',
  'society',
  'government',
  'other',
] as const

/** Documents of each type of entity. */
const Submission = z.strictObject({
  legalName: nameText(200),
  entityType: z.enum(ENTITY_TYPES),
  gstin: Gstin.nullable().default(null),
  pan: z.string().refine(isPan, 'must be a PAN such as AAPFU0939F').nullable().default(null),
  registeredAddress: z.strictObject({
    address: nameText(500),
    city: nameText(100),
    pincode: Pincode,
    stateCode: StateCode,
  }),
  authorisedPerson: z.strictObject({
    name: nameText(120),
    email: z.email().max(254),
    phone: E164,
  }),
  documents: z.array(z.string().min(1).max(64)).max(20).default([]),
})

/** Submission as shown. `entityType` is an open enumeration. */
export const ShownSubmission = z.object({
  legalName: z.string(),
  entityType: z.string().meta({ 'x-known-values': [...ENTITY_TYPES] }),
  gstin: z.string().nullable(),
  pan: z.string().nullable(),
  registeredAddress: z.object({
    address: z.string(),
    city: z.string(),
    pincode: z.string(),
    stateCode: z.string(),
  }),
  authorisedPerson: z.object({ name: z.string(), email: z.string(), phone: z.string() }),
  documents: z.array(z.string()),
})

const Verification = z.object({
  ...VerificationState.shape,
  submission: ShownSubmission.nullable().meta({
    description: 'Latest submission. Visible to owners and admins only.',
  }),
})

export const readVerification = operation({
  id: 'readVerification',
  method: 'get',
  path: '/v1/organization/verification',
  tag: 'Organization',
  summary: 'Get the verification status of the organization',
  description: 'Owners and admins also see the latest submission.',
  audience: 'session',
  status: 200,
  result: Verification,
  fails: [],
  run: async ({ actor, deps }) => {
    const row = await latestVerification(deps.db, actor.organizationId)
    const mayRead = row !== null && ADMIN_ROLES.includes(actor.role)
    return {
      ...verificationView(row),
      submission: mayRead ? ShownSubmission.parse(unsealDetails(deps.rootKey, row)) : null,
    }
  },
})

export const submitForVerification = operation({
  id: 'submitVerification',
  method: 'post',
  path: '/v1/organization/verification',
  tag: 'Organization',
  summary: 'Submit the organization for verification',
  description: 'Can be repeated after a rejection.',
  audience: 'session',
  roles: ADMIN_ROLES,
  body: Submission,
  status: 201,
  result: Verification,
  fails: ['unprocessable_entity', 'conflict', 'not_found'],
  run: async ({ body, actor, deps, requestId }) => {
    const undialable = refuseUndialable(deps, body.authorisedPerson.phone, 'authorisedPerson.phone')
    if (undialable !== null) return undialable
    const contradiction = addressProblem({ stateCode: body.registeredAddress.stateCode, gstin: body.gstin })
    if (contradiction !== null) {
      return refuse('unprocessable_entity', contradiction.message, { path: 'gstin' })
    }
    if (body.gstin !== null && body.pan !== null && panOfGstin(body.gstin) !== body.pan) {
      return refuse('unprocessable_entity', 'The GSTIN belongs to another PAN. Correct gstin or pan.', {
        path: 'pan',
      })
    }
    const { organizationId, userId } = actor
    const { documents } = body
    try {
      return await audited({ actor, deps, requestId }, async (trx, record, now) => {
        const submission = { organizationId, userId, details: body }
        const row = await submitVerification(trx, deps.rootKey, submission, now)
        if (row === null) {
          const open = await latestVerification(trx, organizationId)
          return refuse('conflict', 'A verification is already pending or granted.', {
            status: open?.status ?? 'submitted',
          })
        }
        await useUploads(trx, { organizationId, purpose: 'verification' }, documents)
        await record('verification.submitted', row.id, {
          after: { status: row.status, legalName: body.legalName, entityType: body.entityType },
        })
        return { ...verificationView(row), submission: body }
      })
    } catch (error) {
      if (!(error instanceof MissingUpload)) throw error
      return refuse('not_found', 'The upload does not exist or has no file.', {
        resource: 'upload',
        path: `documents[${documents.indexOf(error.id)}]`,
      })
    }
  },
})

export const createVerificationUpload = operation({
  id: 'createVerificationUpload',
  method: 'post',
  path: '/v1/organization/verification/upload-url',
  tag: 'Organization',
  summary: 'Get an address to upload a verification document to',
  description:
    'Send the file to the returned address, then name `uploadId` in `documents` of the submission. A file that is ' +
    'in no submission after a day is deleted. Only staff can read the documents.',
  audience: 'session',
  roles: ADMIN_ROLES,
  body: z.strictObject({
    fileName: z.string().min(1).max(255),
    contentType: z.enum(DOCUMENT_TYPES),
    bytes: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  }),
  status: 201,
  result: z.object({ uploadId: z.string(), upload: UploadRequest }),
  fails: ['document_too_large', 'conflict'],
  run: async ({ body, actor, deps, requestId }) => {
    const { maxBytes, maxUnused } = UPLOAD_PURPOSES.verification
    if (body.bytes > maxBytes) {
      return refuse('document_too_large', `A document has at most ${maxBytes} bytes.`, {
        bytes: body.bytes,
        maxBytes,
      })
    }
    const { organizationId, userId } = actor
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const purpose = 'verification' as const
      const id = await insertUpload(trx, { ...body, organizationId, purpose, createdBy: userId }, now)
      if (id === null) {
        return refuse(
          'conflict',
          `At most ${maxUnused} uploads may wait for a submission. Submit or wait a day.`,
        )
      }
      const { contentType, bytes } = body
      await record('upload.created', id, { after: { purpose, contentType, bytes } })
      return {
        uploadId: id,
        upload: uploadRequest(deps, { id, contentType, organizationId: actor.organizationId }),
      }
    })
  },
})

export const verificationOperations = [readVerification, submitForVerification, createVerificationUpload]
