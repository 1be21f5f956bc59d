import type { UploadRow } from '../db/tables/organization.js'
import { DOCUMENT_TYPES, type FileType } from './magic-bytes.js'

const MIB = 1024 * 1024

interface Purpose {
  readonly types: readonly FileType[]
  readonly maxBytes: number
  /** Unused uploads that an organization may have at a time. */
  readonly maxUnused: number
  /** State of an upload that has its bytes. A `stored` one is deleted unless it is used within a day. */
  readonly complete: 'stored' | 'used'
}

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

/** Purposes of uploads, with their limits. */
export const UPLOAD_PURPOSES = {
  verification: { types: DOCUMENT_TYPES, maxBytes: 10 * MIB, maxUnused: 40, complete: 'stored' },
  knowledge: {
    types: ['application/pdf', 'text/plain', 'text/markdown', 'text/html', 'text/csv', DOCX],
    maxBytes: 20 * MIB,
    maxUnused: 200,
    complete: 'used',
  },
} as const satisfies Readonly<Record<UploadRow['purpose'], Purpose>>
